//! The law of the counter: each change is made once, or is reported as unknown and made at most once.

use std::collections::{BTreeMap, BTreeSet};

use election_core::counter::{CounterEnd, CounterOp};
use zk_embedded::{Database, Znode};

use super::{Broken, COUNTER};

/// The knowledge of a counter that only grows.
#[derive(Debug, Default)]
pub struct CounterBook {
    value: i64,
    /// The changes that were acknowledged: what each of them made of which number.
    made: BTreeMap<i64, i64>,
    /// By how much the counter would grow by those of which the outcome is not known.
    unknown: Vec<i64>,
}

impl CounterBook {
    pub(super) fn take_in(&mut self, database: &Database) -> Result<(), Broken> {
        let data = database.znode(COUNTER).and_then(Znode::data).unwrap_or_default();
        let value = match data {
            [] => 0,
            data => {
                let text = core::str::from_utf8(data).map_err(|error| error.to_string())?;
                text.parse().map_err(|error| format!("{text:?} is counted: {error}"))?
            }
        };
        if value < self.value {
            return Err(format!("the counter is at {value} after {}", self.value));
        }
        self.value = value;
        Ok(())
    }

    /// Returns its value.
    pub const fn value(&self) -> i64 {
        self.value
    }

    /// Returns how many changes were acknowledged, and how many have an unknown outcome.
    pub fn counts(&self) -> (u64, u64) {
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        (count(self.made.len()), count(self.unknown.len()))
    }

    /// Checks the end of an operation that began when the counter was at `floor`; this client had
    /// seen `seen` in the same session. Returns what it sees now.
    ///
    /// # Errors
    ///
    /// The answer is one that the counter cannot give.
    pub fn ended(
        &mut self,
        op: CounterOp,
        (floor, seen): (i64, i64),
        end: CounterEnd,
    ) -> Result<i64, Broken> {
        let now = match end {
            CounterEnd::Value(number) | CounterEnd::Differs { actual: number } => number,
            CounterEnd::Changed { before, after } => {
                self.changed(op, floor, (before, after))?;
                after
            }
            CounterEnd::Unknown { .. } | CounterEnd::Withdrawn => {
                self.in_doubt(op);
                return Ok(seen);
            }
            CounterEnd::Failed(failure) => return Err(format!("a counter failed: {failure}")),
        };
        if now > self.value {
            return Err(format!("{now} is told, and the counter is at {}", self.value));
        }
        if now < seen {
            return Err(format!("{now} is told after {seen}"));
        }
        Ok(now)
    }

    fn changed(
        &mut self,
        op: CounterOp,
        floor: i64,
        (before, after): (i64, i64),
    ) -> Result<(), Broken> {
        if after - before != amount(op) {
            return Err(format!("{op:?} has made {after} of {before}"));
        }
        if before < floor {
            return Err(format!("{before} was changed, and it was {floor} when that began"));
        }
        let overlaps = |(from, to): (&i64, &i64)| *from < after && before < *to;
        let last = self.made.range(..after).next_back();
        if let Some((from, to)) = last.filter(|range| overlaps(*range)) {
            return Err(format!("{before} became {after}, and {from} became {to}"));
        }
        self.made.insert(before, after);
        Ok(())
    }

    /// Notes that the user of an operation is gone, and will not hear of its outcome.
    pub fn in_doubt(&mut self, op: CounterOp) {
        if amount(op) != 0 {
            self.unknown.push(amount(op));
        }
    }

    /// Notes that the outcome of an operation is known after all.
    pub fn in_doubt_no_more(&mut self, op: CounterOp) {
        if let Some(at) = self.unknown.iter().position(|unknown| *unknown == amount(op)) {
            self.unknown.swap_remove(at);
        }
    }

    pub(super) fn check_at_rest(&self) -> Result<(), Broken> {
        let made: i64 = self.made.iter().map(|(before, after)| after - before).sum();
        let mut sums = BTreeSet::from([made]);
        for amount in &self.unknown {
            let more: Vec<i64> = sums.iter().map(|sum| sum + amount).collect();
            sums.extend(more.into_iter().filter(|sum| *sum <= self.value));
        }
        if sums.contains(&self.value) {
            return Ok(());
        }
        let Self { value, unknown, .. } = self;
        Err(format!(
            "the counter is at {value}; {made} was added, and of these each or not: {unknown:?}"
        ))
    }
}

/// Returns by how much the counter grows, if the change is made.
const fn amount(op: CounterOp) -> i64 {
    match op {
        CounterOp::Get => 0,
        CounterOp::Add(amount) => amount,
        CounterOp::CompareAndSet { expected, new } => new - expected,
    }
}
