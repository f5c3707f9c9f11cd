//! The budgets, in a file beside the program, and what has become of them.

use core::fmt;
use std::collections::BTreeMap;
use std::fs;

use crate::Outcome;
use crate::callgrind::instructions;
use crate::figure::Figure;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/budgets.txt");
const HEAD: &str = "# Instructions, by callgrind. Written by `zk-budgets renew`: see tests/suites/benches/README.md.\n";

/// A budget is left at more than so many percent, in either direction: what takes less than it may would
/// hide what takes more again.
const TOLERANCE_PERCENT: u64 = 3;

/// How many instructions each figure takes, or may take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budgets(BTreeMap<&'static str, u64>);

/// One figure beside its budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    figure: Figure,
    measured: u64,
    budget: Option<u64>,
}

impl Budgets {
    /// Counts the instructions of each figure.
    pub(crate) fn measure() -> Outcome<Self> {
        let counted = Figure::ALL.map(|figure| Ok((figure.name(), instructions(figure)?)));
        Ok(Self(counted.into_iter().collect::<Outcome<_>>()?))
    }

    /// Reads the file.
    pub(crate) fn read() -> Outcome<Self> {
        let text = fs::read_to_string(FILE)?;
        let mut budgets = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, budget) = line.rsplit_once(' ').ok_or("a line is a name and a number")?;
            let figure = Figure::named(name.trim()).ok_or_else(|| format!("no figure {name:?}"))?;
            budgets.0.insert(figure.name(), budget.parse()?);
        }
        Ok(budgets)
    }

    /// Writes the file.
    pub(crate) fn write(&self) -> Outcome<()> {
        let lines = Figure::ALL.map(|figure| {
            let instructions = self.0.get(figure.name()).copied().unwrap_or_default();
            format!("{:24} {instructions}\n", figure.name())
        });
        Ok(fs::write(FILE, [HEAD, &lines.concat()].concat())?)
    }

    /// Returns each figure, as it was measured, beside its budget.
    pub(crate) fn compare(&self, measured: &Self) -> Vec<Verdict> {
        let verdict = |figure: Figure| Verdict {
            figure,
            measured: measured.0.get(figure.name()).copied().unwrap_or_default(),
            budget: self.0.get(figure.name()).copied(),
        };
        Figure::ALL.map(verdict).into()
    }
}

impl Verdict {
    pub(crate) fn is_kept(&self) -> bool {
        let is_within =
            |budget: u64| self.measured.abs_diff(budget) * 100 <= budget * TOLERANCE_PERCENT;
        self.budget.is_some_and(is_within)
    }

    /// Returns by how many percent the figure differs from its budget.
    #[expect(clippy::cast_precision_loss, reason = "far fewer instructions than 2^52")]
    fn change(&self) -> Option<f64> {
        self.budget.map(|budget| (self.measured as f64 / budget as f64 - 1.0) * 100.0)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, measured, budget } = self;
        write!(f, "{:24} {measured:>9} instructions", figure.name())?;
        match (budget, self.change()) {
            (Some(budget), Some(change)) => {
                write!(f, ", budget {budget:>9}, {change:+.1} %")?;
            }
            _ => f.write_str(", which has no budget")?,
        }
        f.write_str(if self.is_kept() { "" } else { "  <-- has left its budget" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_may_differ_by_three_percent_in_either_direction() {
        let kept =
            |measured| Verdict { figure: Figure::Join, measured, budget: Some(1000) }.is_kept();
        assert_eq!([969, 970, 1000, 1030, 1031].map(kept), [false, true, true, true, false]);
        assert!(!Verdict { figure: Figure::Join, measured: 1, budget: None }.is_kept());
    }

    #[test]
    fn every_figure_has_a_budget() {
        let budgets = Budgets::read().unwrap();
        assert_eq!(budgets.0.len(), Figure::ALL.len());
    }
}
