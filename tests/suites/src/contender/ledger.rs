//! The record of which contender held what, and when; and whether two did that must not.
//!
//! A contender reads the clock after it was told that it holds, and before it lets go; of one that is
//! killed, its killer reads the clock before. So each interval lies within the true one, and
//! intervals that overlap are holders that did. Slow machines make the check weaker, never wrong.

use core::fmt;
use core::time::Duration;

use election_core::format::Access;

/// One time that a contender held something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The contender.
    pub contender: String,
    /// Alone or beside others.
    pub access: Access,
    /// From this moment or earlier.
    pub from: Duration,
    /// To this moment or later.
    pub until: Duration,
}

impl fmt::Display for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contender, access, from, until } = self;
        write!(formatter, "{contender} ({access:?}) from {from:?} or before to {until:?} or after")
    }
}

/// Which contenders may hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// One contender has exclusive access, or any number share.
    Lock,
    /// As many as there are permits.
    Permits(usize),
}

impl Rule {
    /// Returns how many contenders that want exclusive access hold at once.
    pub const fn capacity(self) -> usize {
        match self {
            Self::Lock => 1,
            Self::Permits(permits) => permits,
        }
    }

    /// Returns the number of znodes while these hold and wait; of a semaphore, the first that waits has the lock and
    /// a permit's znode.
    pub const fn znodes(self, holding: usize, waiting: usize) -> usize {
        match self {
            Self::Lock => holding + waiting,
            Self::Permits(_) => holding + waiting + if waiting > 0 { 1 } else { 0 },
        }
    }

    /// Whether one contender with this access may hold beside all these at one moment.
    fn allows(self, newcomer: &Held, others: &[Held]) -> bool {
        match self {
            Self::Lock => !others.iter().any(|other| other.access.excludes(newcomer.access)),
            Self::Permits(permits) => others.len() < permits,
        }
    }
}

/// A breach of the law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("held at once against {rule:?}: {newcomer}; and already then: {}", list(.others))]
pub struct Contradiction {
    /// The rule that is broken.
    pub rule: Rule,
    /// The contender that was the last to hold.
    pub newcomer: Held,
    /// The contenders that held already.
    pub others: Vec<Held>,
}

fn list(all: &[Held]) -> String {
    all.iter().map(Held::to_string).collect::<Vec<_>>().join("; ")
}

/// All that was held at one path.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    held: Vec<Held>,
}

impl Ledger {
    /// Adds one. The order does not matter.
    pub fn record(&mut self, held: Held) {
        self.held.push(held);
    }

    /// Returns all records, in the order in which they began.
    ///
    /// # Errors
    ///
    /// The first [`Contradiction`].
    pub fn check(&self, rule: Rule) -> Result<Vec<Held>, Contradiction> {
        let mut all = self.held.clone();
        all.sort_by_key(|held| held.from);
        let mut present: Vec<Held> = Vec::new();
        for newcomer in &all {
            present.retain(|other| other.until > newcomer.from);
            if !rule.allows(newcomer, &present) {
                return Err(Contradiction { rule, newcomer: newcomer.clone(), others: present });
            }
            // One that held for no time at all was beside none.
            if newcomer.until > newcomer.from {
                present.push(newcomer.clone());
            }
        }
        Ok(all)
    }
}

impl Extend<Held> for Ledger {
    fn extend<I: IntoIterator<Item = Held>>(&mut self, all: I) {
        self.held.extend(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(contender: &str, access: Access, from: u64, until: u64) -> Held {
        let (from, until) = (Duration::from_millis(from), Duration::from_millis(until));
        Held { contender: contender.to_owned(), access, from, until }
    }

    fn check(rule: Rule, all: &[(&str, Access, u64, u64)]) -> Result<usize, Contradiction> {
        let mut ledger = Ledger::default();
        ledger.extend(
            all.iter().map(|(name, access, from, until)| held(name, *access, *from, *until)),
        );
        ledger.check(rule).map(|held| held.len())
    }

    #[test]
    fn holders_one_after_another_are_fine() {
        let all = [("b", Access::Exclusive, 20, 30), ("a", Access::Exclusive, 10, 20)];
        assert_eq!(check(Rule::Lock, &all), Ok(2));
    }

    #[test]
    fn two_at_once_are_found() {
        let all = [("a", Access::Exclusive, 10, 21), ("b", Access::Exclusive, 20, 30)];
        let contradiction = check(Rule::Lock, &all).expect_err("from 20 to 21");
        assert!(contradiction.to_string().contains("a (Exclusive)"), "{contradiction}");
    }

    #[test]
    fn one_behind_another_that_lies_within_a_third_is_found() {
        let all = [
            ("a", Access::Exclusive, 10, 40),
            ("b", Access::Exclusive, 40, 41),
            ("c", Access::Exclusive, 39, 39),
        ];
        check(Rule::Lock, &all).expect_err("c holds while a does");
    }

    #[test]
    fn readers_hold_together_and_writers_alone() {
        let readers = [("a", Access::Shared, 10, 20), ("b", Access::Shared, 15, 30)];
        assert_eq!(check(Rule::Lock, &readers), Ok(2));
        let writer_first = [("a", Access::Exclusive, 10, 20), ("b", Access::Shared, 15, 30)];
        check(Rule::Lock, &writer_first).expect_err("a reader beside a writer");
        let reader_first = [("a", Access::Shared, 10, 20), ("b", Access::Exclusive, 15, 30)];
        check(Rule::Lock, &reader_first).expect_err("a writer beside a reader");
    }

    #[test]
    fn permits_are_counted() {
        let all = [
            ("a", Access::Exclusive, 10, 20),
            ("b", Access::Exclusive, 15, 30),
            ("c", Access::Exclusive, 20, 30),
        ];
        assert_eq!(check(Rule::Permits(2), &all), Ok(3));
        check(Rule::Permits(1), &all).expect_err("two with one permit");
    }
}
