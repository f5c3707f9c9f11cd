//! A counter that only grows.

use alloc::collections::BTreeSet;

use super::super::history::Call;
use super::super::operation::Op;
use super::super::spec::Kind;

pub(crate) struct Counter;

/// The values between which acknowledged changes went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    before: BTreeSet<i64>,
    all: BTreeSet<i64>,
}

impl Kind for Counter {
    type Context = Known;
    type State = i64;

    fn context(calls: &[Call]) -> Known {
        let mut known = Known::default();
        for op in super::done(calls) {
            if let Some((before, after)) = change(op) {
                known.before.insert(before);
                known.all.extend([before, after]);
            }
        }
        known
    }

    fn done(op: &Op, _known: &Known, value: &i64) -> Option<i64> {
        change(op).filter(|(before, _)| before == value).map(|(_, after)| after)
    }

    /// A counter that grows shows each of these values once: so none of them is passed over, and from one that an
    /// acknowledged change was made to, no other change is made.
    fn unknown(op: &Op, known: &Known, value: &i64) -> Option<i64> {
        let after = match op {
            Op::Add { by, .. } => *value + by,
            Op::CompareAndSet { expected, new } if expected == value => *new,
            _ => return None,
        };
        let leads_on = after > *value
            && !known.before.contains(value)
            && known.all.range(value + 1..after).next().is_none();
        leads_on.then_some(after)
    }
}

fn change(op: &Op) -> Option<(i64, i64)> {
    match op {
        Op::Add { by, value: Some(value) } => Some((value - by, *value)),
        Op::CompareAndSet { expected, new } => Some((*expected, *new)),
        _ => None,
    }
}
