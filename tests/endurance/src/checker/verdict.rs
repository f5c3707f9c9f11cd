//! The verdict on a run.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;
use core::fmt::Write as _;
use core::time::Duration;

use election_tokio::Token;
use zk_test_kit::history::Contradiction;

use super::guard::Guard;
use super::register::Tally;
use super::report::Report;
use super::second::SecondVerdict;

/// A leadership as its process and the checker saw it, counted from the beginning of the run.
#[derive(Clone, Debug)]
pub(super) struct Reign {
    pub(super) writer: usize,
    pub(super) token: Token,
    pub(super) from: Duration,
    /// Until when it saw itself lead validly.
    pub(super) until: Duration,
}

/// A fault that was there.
#[derive(Clone, Debug)]
pub(super) struct Incident {
    pub(super) what: String,
    /// The writer that it hit, if it hit one.
    pub(super) writer: Option<usize>,
    pub(super) from: Duration,
    pub(super) until: Duration,
}

/// The results of a run.
#[derive(Debug)]
pub struct Verdict {
    pub(super) span: Duration,
    pub(super) writers: Vec<String>,
    pub(super) reigns: Vec<Reign>,
    pub(super) incidents: Vec<Incident>,
    pub(super) tallies: BTreeMap<Guard, Tally>,
    /// Two that saw themselves lead validly at once.
    pub(super) contradiction: Option<Contradiction>,
    /// The operations, judged by a checker that others wrote.
    pub(super) second: SecondVerdict,
    /// Whether clocks ran at different rates.
    pub(super) clocks: Clocks,
}

/// Whether clocks ran at different rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clocks {
    True,
    Drifting,
}

impl Verdict {
    /// Whether what is promised was kept: no write lost under the guards that hold whatever happens,
    /// and no two valid leaders at once.
    pub fn is_kept(&self) -> bool {
        let clean = |(guard, tally): (&Guard, &Tally)| !guard.is_absolute() || tally.is_clean();
        let is_clean = self.contradiction.is_none() && self.tallies.iter().all(clean);
        is_clean && self.second.is_kept()
    }

    /// Returns the operations as a history, for this checker and for others.
    pub fn operations(&self) -> String {
        self.second.history.to_string()
    }

    /// Returns the second verdict on the writes under this guard.
    pub fn second(&self, guard: Guard) -> Option<&zk_verdict::Verdict> {
        self.second.on_writes_under(guard)
    }

    /// Returns the history, in JSON: an object a line.
    pub fn history(&self) -> String {
        let mut history = String::new();
        let milliseconds = |at: &Duration| at.as_millis();
        // Writing to a `String` cannot fail.
        for Reign { writer, token, from, until } in &self.reigns {
            let name = self.writers.get(*writer).map_or("", String::as_str);
            let (from, until) = (milliseconds(from), milliseconds(until));
            let span = format!("\"from_ms\":{from},\"until_ms\":{until}");
            let _ = writeln!(history, "{{\"leads\":\"{name}\",\"token\":{token},{span}}}");
        }
        for Incident { what, writer, from, until } in &self.incidents {
            let hit = writer.and_then(|writer| self.writers.get(writer));
            let name = hit.map_or("ensemble", String::as_str);
            let (from, until) = (milliseconds(from), milliseconds(until));
            let span = format!("\"from_ms\":{from},\"until_ms\":{until}");
            let _ = writeln!(history, "{{\"fault\":\"{what}\",\"hits\":\"{name}\",{span}}}");
        }
        for (guard, tally) in &self.tallies {
            for at in tally.lost.iter().map(milliseconds) {
                let _ = writeln!(history, "{{\"lost_under\":\"{guard}\",\"at_ms\":{at}}}");
            }
        }
        history
    }

    /// Returns the fate of the writes under this guard.
    pub fn tally(&self, guard: Guard) -> Option<&Tally> {
        self.tallies.get(&guard)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (leaders, faults) = (self.reigns.len(), self.incidents.len());
        let clocks = match self.clocks {
            Clocks::True => "true clocks",
            Clocks::Drifting => "clocks within 4 % of the true one",
        };
        let span = self.span.as_secs();
        writeln!(formatter, "{span} s, {faults} faults, {leaders} leaders, {clocks}")?;
        writeln!(formatter, "guard        writes  refused     lost  overlapped    stale")?;
        for (guard, tally) in &self.tallies {
            let Tally { written, refused, lost, overlapped, stale } = tally;
            let lost = lost.len();
            let line = format!("{guard:<11} {written:>7} {refused:>8} {lost:>8}");
            writeln!(formatter, "{line} {overlapped:>11} {stale:>8}")?;
        }
        match &self.contradiction {
            None => writeln!(formatter, "valid leaders at once: none"),
            Some(contradiction) => writeln!(formatter, "TWO VALID LEADERS: {contradiction}"),
        }?;
        write!(formatter, "{}", self.second)
    }
}

/// The versions of the znode, as writers have seen them.
#[derive(Debug, Default)]
pub(super) struct Versions {
    seen: BTreeMap<i32, (Token, i32)>,
    lost_at: BTreeSet<i32>,
    tally: Tally,
}

impl Versions {
    pub(super) fn note(&mut self, at: Duration, report: &Report) {
        match *report {
            Report::Seen { token, base, version } => {
                let is_new = self.seen.insert(version, (token, base)).is_none();
                self.tally.written += u64::from(is_new);
                if base.saturating_add(1) != version && self.lost_at.insert(version) {
                    self.tally.lost.push(at);
                }
            }
            Report::NotWritten(_) => self.tally.refused += 1,
            Report::Elected(_) | Report::Valid(_) | Report::Lost(..) => {}
        }
    }

    /// Counts the lost writes. In the order of their versions, tokens never fall.
    pub(super) fn into_tally(mut self) -> Tally {
        let mut greatest = None;
        for (token, _) in self.seen.into_values() {
            self.tally.stale += u64::from(greatest.is_some_and(|greatest| token < greatest));
            greatest = greatest.max(Some(token));
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(token: i64, base: i32, version: i32) -> Report {
        Report::Seen { token: Token::new(token), base, version }
    }

    fn tally(reports: &[Report]) -> Tally {
        let mut versions = Versions::default();
        for report in reports {
            versions.note(Duration::ZERO, report);
        }
        versions.into_tally()
    }

    #[test]
    fn versions_made_of_each_other_are_clean() {
        let reports = [seen(1, 0, 1), seen(1, 0, 1), seen(1, 1, 2), seen(4, 2, 3)];
        let tally = tally(&reports);
        assert!(tally.is_clean());
        assert_eq!(tally.written, 3, "one was seen twice");
    }

    #[test]
    fn a_version_that_was_not_read_before_it_was_replaced_is_lost() {
        let tally = tally(&[seen(1, 0, 1), seen(4, 1, 2), seen(1, 1, 3)]);
        assert_eq!((tally.lost.len(), tally.stale), (1, 1));
    }
}
