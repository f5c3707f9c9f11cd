//! Rows of medians and ratios.

use core::fmt::Write as _;

use crate::contender::{COLUMNS, Contender};

/// A client within two percent of the best is among the best.
const NOISE: f64 = 1.02;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

/// One thing measured.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    /// A value a round, of each that was measured.
    pub(crate) cells: Vec<(Contender, Vec<f64>)>,
    /// What ours is to keep to, if anything was agreed on.
    bar: Option<Bar>,
}

/// A bound on the median of ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    /// So many times the floor.
    TimesRaw(f64),
    Value(f64),
    AtLeast(f64),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, unit: &'static str) -> Self {
        Self { what: what.into(), unit, better: Better::Lower, cells: Vec::new(), bar: None }
    }

    pub(crate) fn higher_is_better(mut self) -> Self {
        self.better = Better::Higher;
        self
    }

    pub(crate) fn keeps_to(mut self, bar: Bar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// Returns by how much ours has missed its bar: the figure, and the bound.
    pub(crate) fn missed(&self) -> Option<(f64, f64)> {
        let (figure, bound) = match self.bar? {
            Bar::TimesRaw(times) => (self.ratio(Contender::Ours, Contender::Raw)?, times),
            Bar::Value(value) | Bar::AtLeast(value) => (self.median(Contender::Ours)?, value),
        };
        let is_missed = match self.bar? {
            Bar::TimesRaw(_) | Bar::Value(_) => figure > bound,
            Bar::AtLeast(_) => figure < bound,
        };
        is_missed.then_some((figure, bound))
    }

    /// Adds the value of one more round.
    pub(crate) fn push(&mut self, contender: Contender, value: f64) {
        match self.cells.iter_mut().find(|(of, _)| *of == contender) {
            Some((_, values)) => values.push(value),
            None => self.cells.push((contender, vec![value])),
        }
    }

    pub(crate) fn median(&self, contender: Contender) -> Option<f64> {
        median(self.values(contender)?.to_vec())
    }

    /// Returns the best of the peers by its median.
    pub(crate) fn best_peer(&self) -> Option<Contender> {
        let peers = self.cells.iter().map(|(of, _)| *of).filter(|of| of.is_peer());
        let medians = peers.filter_map(|peer| Some((self.median(peer)?, peer)));
        let ordered = |one: &(f64, Contender), other: &(f64, Contender)| one.0.total_cmp(&other.0);
        let best = match self.better {
            Better::Lower => medians.min_by(ordered),
            Better::Higher => medians.max_by(ordered),
        };
        best.map(|(_, peer)| peer)
    }

    /// Whether none but the floor is better, by more than the noise.
    fn is_among_the_best(&self, contender: Contender) -> bool {
        let Some(median) = self.median(contender) else { return false };
        let all = COLUMNS.into_iter().filter(|column| *column != Contender::Raw);
        let mut others = all.filter_map(|column| self.median(column));
        contender != Contender::Raw
            && match self.better {
                Better::Lower => others.all(|other| median <= other * NOISE),
                Better::Higher => others.all(|other| median * NOISE >= other),
            }
    }

    /// Returns the median of one divided by the other, round by round.
    pub(crate) fn ratio(&self, one: Contender, other: Contender) -> Option<f64> {
        let pairs = self.values(one)?.iter().zip(self.values(other)?);
        median(pairs.filter(|pair| *pair.1 > 0.0).map(|(one, other)| one / other).collect())
    }

    /// Returns the least and the greatest value.
    fn spread(&self, contender: Contender) -> Option<(f64, f64)> {
        let values = self.values(contender)?;
        Some((
            values.iter().copied().min_by(f64::total_cmp)?,
            values.iter().copied().max_by(f64::total_cmp)?,
        ))
    }

    fn values(&self, contender: Contender) -> Option<&[f64]> {
        let cell = self.cells.iter().find(|(of, _)| *of == contender);
        cell.map(|(_, values)| values.as_slice())
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[odd / 2]),
        even => Some(f64::midpoint(values[even / 2 - 1], values[even / 2])),
    }
}

/// Writes all rows in Markdown, the best of ours and the peers in bold; the floor is no client.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::from("| |");
    for column in COLUMNS {
        // Writing to a `String` cannot fail.
        let _ = write!(text, " {} |", column.name());
    }
    text.push_str(" ours ÷ raw | ours ÷ best peer |\n|---|");
    text.push_str(&"---:|".repeat(COLUMNS.len() + 2));
    text.push('\n');
    for row in rows {
        let against = row.best_peer().and_then(|peer| row.ratio(Contender::Ours, peer));
        let _ = write!(text, "| {}, {} |", row.what, row.unit);
        for column in COLUMNS {
            let shown = row.median(column).map_or("–".to_owned(), figure);
            let stars = if row.is_among_the_best(column) { "**" } else { "" };
            let _ = write!(text, " {stars}{shown}{stars} |");
        }
        for ratio in [row.ratio(Contender::Ours, Contender::Raw), against] {
            let _ = write!(text, " {} |", ratio.map_or("–".to_owned(), figure));
        }
        text.push('\n');
    }
    text
}

/// Writes the least and the greatest value of all rounds in Markdown.
pub(crate) fn spreads(rows: &[Row]) -> String {
    let mut text = String::from("| least to most of all rounds |");
    for column in COLUMNS {
        let _ = write!(text, " {} |", column.name());
    }
    text.push_str("\n|---|");
    text.push_str(&"---:|".repeat(COLUMNS.len()));
    text.push('\n');
    for row in rows {
        let _ = write!(text, "| {}, {} |", row.what, row.unit);
        for column in COLUMNS {
            let shown = row.spread(column).map_or("–".to_owned(), |(least, most)| {
                format!("{} to {}", figure(least), figure(most))
            });
            let _ = write!(text, " {shown} |");
        }
        text.push('\n');
    }
    text
}

/// Writes a number with three digits that count.
pub(crate) fn figure(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        large if large >= 100.0 => format!("{large:.0}"),
        medium if medium >= 10.0 => format!("{medium:.1}"),
        small if small >= 0.1 => format!("{small:.2}"),
        tiny => format!("{tiny:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let mut row = Row::new("getData", "µs");
        for (raw, ours, peer) in [(1.0, 2.0, 8.0), (1.0, 9.0, 9.0), (2.0, 4.0, 20.0)] {
            row.push(Contender::Raw, raw);
            row.push(Contender::Ours, ours);
            row.push(Contender::Kazoo, peer);
        }
        row
    }

    #[test]
    fn ratios_are_those_of_one_round() {
        assert_eq!(row().median(Contender::Ours), Some(4.0));
        assert_eq!(row().ratio(Contender::Ours, Contender::Raw), Some(2.0));
        assert_eq!(row().ratio(Contender::Ours, Contender::Kazoo), Some(0.25));
        assert_eq!(row().ratio(Contender::Ours, Contender::Curator), None);
    }

    #[test]
    fn a_bar_is_missed_by_the_median() {
        let missed = |bar| row().keeps_to(bar).missed();
        assert_eq!(missed(Bar::TimesRaw(2.0)), None);
        assert_eq!(missed(Bar::TimesRaw(1.5)), Some((2.0, 1.5)));
        assert_eq!(missed(Bar::Value(4.0)), None);
        assert_eq!(missed(Bar::Value(3.0)), Some((4.0, 3.0)));
        assert_eq!(missed(Bar::AtLeast(4.0)), None);
        assert_eq!(missed(Bar::AtLeast(5.0)), Some((4.0, 5.0)));
        assert_eq!(row().missed(), None);
    }

    #[test]
    fn a_peer_that_is_better_is_the_bold_one() {
        let (costs, rates) = (table(&[row()]), table(&[row().higher_is_better()]));
        assert!(costs.contains("**4.00**") && !costs.contains("**9.00**"), "{costs}");
        assert!(rates.contains("**9.00**") && !rates.contains("**4.00**"), "{rates}");
    }

    #[test]
    fn the_spread_is_that_of_all_rounds() {
        let spreads = spreads(&[row()]);
        assert!(spreads.contains("| 1.00 to 2.00 | 2.00 to 9.00 |"), "{spreads}");
        assert!(spreads.contains("| 8.00 to 20.0 |"), "{spreads}");
    }

    #[test]
    fn the_median_of_two_lies_between_them() {
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(Vec::new()), None);
    }
}
