//! The law of writes: each acknowledged write is there in the end, once, at the place that its answer
//! named, and in the order of its writer. A write with an unknown outcome may be there, once. A write
//! that is known not to have happened is not there.

use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// A value that is written at most once: its writer, and its number among that writer's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// The writer.
    pub writer: u32,
    /// Its number, which grows from write to write.
    pub number: u32,
}

/// How a write ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<P> {
    /// The server confirmed it.
    Done(P),
    /// The connection was lost before the answer.
    Unknown,
    /// It is known not to have happened: refused, or never sent.
    NotDone,
}

/// One attempt to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt<P> {
    /// The entry that was to be written.
    pub entry: Entry,
    /// [`now`](zk_test_kit::history::now) before it was asked for.
    pub asked_at: Duration,
    /// [`now`](zk_test_kit::history::now) after the outcome was heard.
    pub answered_at: Duration,
    /// The outcome of the write.
    pub outcome: Outcome<P>,
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An acknowledged write is not there.
    #[error("{0} was acknowledged and is not there")]
    Lost(Entry),
    /// A write is there twice.
    #[error("{0} is there twice")]
    Twice(Entry),
    /// A write that did not happen is there.
    #[error("{0} was reported as not done and is there")]
    NotDone(Entry),
    /// No client wrote the entry that is there.
    #[error("{0} is there, and nobody wrote it")]
    Foreign(Entry),
    /// A write is elsewhere than its answer said.
    #[error("{entry} was acknowledged at {acknowledged} and is at {found}")]
    Misplaced {
        /// The write.
        entry: Entry,
        /// The place that its answer gave.
        acknowledged: String,
        /// The place where it is.
        found: String,
    },
    /// A writer's later write stands before an earlier one.
    #[error("{later} stands before {earlier}")]
    OutOfOrder {
        /// Written first.
        earlier: Entry,
        /// Written second.
        later: Entry,
    },
}

/// Holds the attempts of all writers against what is there, in its order.
///
/// # Errors
///
/// The first [`Violation`].
pub fn check<P: PartialEq + fmt::Debug>(
    attempts: &[Attempt<P>],
    found: &[(Entry, P)],
) -> Result<(), Violation> {
    let attempts: BTreeMap<Entry, &Attempt<P>> =
        attempts.iter().map(|attempt| (attempt.entry, attempt)).collect();
    let mut seen = BTreeSet::new();
    let mut latest: BTreeMap<u32, Entry> = BTreeMap::new();
    for (entry, place) in found {
        if !seen.insert(*entry) {
            return Err(Violation::Twice(*entry));
        }
        match attempts.get(entry).map(|attempt| &attempt.outcome) {
            None => return Err(Violation::Foreign(*entry)),
            Some(Outcome::NotDone) => return Err(Violation::NotDone(*entry)),
            Some(Outcome::Done(acknowledged)) if acknowledged != place => {
                return Err(Violation::Misplaced {
                    entry: *entry,
                    acknowledged: format!("{acknowledged:?}"),
                    found: format!("{place:?}"),
                });
            }
            Some(Outcome::Done(_) | Outcome::Unknown) => {}
        }
        match latest.insert(entry.writer, *entry) {
            Some(later) if later > *entry => {
                return Err(Violation::OutOfOrder { earlier: *entry, later });
            }
            _ => {}
        }
    }
    let lost = attempts.values().find(|attempt| {
        matches!(attempt.outcome, Outcome::Done(_)) && !seen.contains(&attempt.entry)
    });
    lost.map_or(Ok(()), |attempt| Err(Violation::Lost(attempt.entry)))
}

impl<P> Attempt<P> {
    /// Returns the place of the write, if it was acknowledged.
    pub const fn place(&self) -> Option<&P> {
        match &self.outcome {
            Outcome::Done(place) => Some(place),
            Outcome::Unknown | Outcome::NotDone => None,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.writer, self.number)
    }
}

/// Data that is no entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no entry: {0:?}")]
pub struct NoEntry(String);

impl NoEntry {
    pub(super) fn in_text(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for Entry {
    type Err = NoEntry;

    fn from_str(text: &str) -> Result<Self, NoEntry> {
        let parsed = text.split_once(':').and_then(|(writer, number)| {
            Some(Self { writer: writer.parse().ok()?, number: number.parse().ok()? })
        });
        parsed.ok_or_else(|| NoEntry::in_text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn entry(writer: u32, number: u32) -> Entry {
        Entry { writer, number }
    }

    fn attempt(writer: u32, number: u32, outcome: Outcome<u32>) -> Attempt<u32> {
        let at = Duration::ZERO;
        Attempt { entry: entry(writer, number), asked_at: at, answered_at: at, outcome }
    }

    fn attempts() -> [Attempt<u32>; 5] {
        [
            attempt(1, 1, Outcome::Done(0)),
            attempt(1, 2, Outcome::Unknown),
            attempt(1, 3, Outcome::NotDone),
            attempt(1, 4, Outcome::Done(2)),
            attempt(2, 1, Outcome::Done(3)),
        ]
    }

    #[test]
    fn what_is_unknown_may_be_there_or_not() {
        let with = [(entry(1, 1), 0), (entry(1, 2), 1), (entry(1, 4), 2), (entry(2, 1), 3)];
        assert_eq!(check(&attempts(), &with), Ok(()));
        let without = [(entry(1, 1), 0), (entry(1, 4), 2), (entry(2, 1), 3)];
        assert_eq!(check(&attempts(), &without), Ok(()));
    }

    #[test]
    fn a_lost_write_is_found() {
        let found = [(entry(1, 1), 0), (entry(2, 1), 3)];
        assert_eq!(check(&attempts(), &found), Err(Violation::Lost(entry(1, 4))));
    }

    #[test]
    fn a_write_that_is_there_twice_is_found_also_if_its_outcome_is_unknown() {
        let found = [(entry(1, 1), 0), (entry(1, 2), 1), (entry(1, 2), 2)];
        assert_eq!(check(&attempts(), &found), Err(Violation::Twice(entry(1, 2))));
    }

    #[test]
    fn a_write_that_did_not_happen_and_yet_did_is_found() {
        let found = [(entry(1, 1), 0), (entry(1, 3), 1)];
        assert_eq!(check(&attempts(), &found), Err(Violation::NotDone(entry(1, 3))));
    }

    #[test]
    fn a_write_of_nobody_is_found() {
        let found = [(entry(7, 1), 0)];
        assert_eq!(check(&attempts(), &found), Err(Violation::Foreign(entry(7, 1))));
    }

    #[test]
    fn a_write_in_another_place_is_found() {
        let found = [(entry(1, 1), 5)];
        let violation = check(&attempts(), &found).expect_err("it was acknowledged at 0");
        assert!(matches!(violation, Violation::Misplaced { .. }), "{violation}");
    }

    #[test]
    fn writes_of_one_writer_in_another_order_are_found() {
        let attempts = [attempt(1, 1, Outcome::Unknown), attempt(1, 2, Outcome::Unknown)];
        let found = [(entry(1, 2), 0), (entry(1, 1), 1)];
        let wrong = Violation::OutOfOrder { earlier: entry(1, 1), later: entry(1, 2) };
        assert_eq!(check(&attempts, &found), Err(wrong));
    }

    #[test]
    fn entries_read_as_they_are_written() {
        assert_eq!("7:12".parse(), Ok(entry(7, 12)));
        "7".parse::<Entry>().expect_err("no number");
    }
}
