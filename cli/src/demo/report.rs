//! The take-over times.

use core::fmt::Write as _;
use core::time::Duration;

/// How a leader ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Resignation,
    Crash,
}

impl End {
    /// Alternates, beginning with a resignation.
    pub(super) fn of_round(round: u32) -> Self {
        if round % 2 == 1 { Self::Resignation } else { Self::Crash }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Resignation => "resignation",
            Self::Crash => "crash",
        }
    }
}

/// Collects the times from a leader's end to the moment at which the next one knows that it leads.
#[derive(Debug, Default)]
pub(super) struct Report {
    take_overs: Vec<(End, Duration)>,
}

impl Report {
    pub(super) fn add(&mut self, end: End, took: Duration) {
        self.take_overs.push((end, took));
    }

    /// Returns a table with a line for each kind of end.
    pub(super) fn table(&self) -> String {
        let mut table =
            format!("{:<22}{:>7}{:>12}{:>12}\n", "take-over after", "times", "median", "worst");
        for end in [End::Resignation, End::Crash] {
            let mut times: Vec<Duration> = self
                .take_overs
                .iter()
                .filter(|(of, _)| *of == end)
                .map(|(_, took)| *took)
                .collect();
            times.sort_unstable();
            let (Some(median), Some(worst)) = (median(&times), times.last()) else {
                continue;
            };
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                table,
                "{:<22}{:>7}{:>12}{:>12}",
                end.label(),
                times.len(),
                show(median),
                show(*worst)
            );
        }
        table
    }
}

/// Returns the median of sorted times; of an even number, the mean of the middle two.
fn median(times: &[Duration]) -> Option<Duration> {
    let upper = times.get(times.len() / 2)?;
    if times.len() % 2 == 1 {
        return Some(*upper);
    }
    let lower = times.get(times.len() / 2 - 1)?;
    Some((*lower + *upper) / 2)
}

pub(super) fn show(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_median_lies_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[ms(3)]), Some(ms(3)));
        assert_eq!(median(&[ms(1), ms(3)]), Some(ms(2)));
        assert_eq!(median(&[ms(1), ms(2), ms(9)]), Some(ms(2)));
    }

    #[test]
    fn each_kind_of_end_that_happened_has_a_line() {
        let mut report = Report::default();
        report.add(End::Crash, ms(2000));
        report.add(End::Crash, ms(1000));
        let table = report.table();
        assert!(!table.contains("resignation"), "{table}");
        let crash = table.lines().nth(1).expect("a line");
        assert_eq!(
            crash.split_whitespace().collect::<Vec<_>>(),
            ["crash", "2", "1500.0", "ms", "2000.0", "ms"]
        );
    }
}
