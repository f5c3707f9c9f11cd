//! The verdict on each object of a history.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::history::{Call, End, History};
use super::kinds::{Counter, Lock, Log, Queue, Register, by_item};
use super::operation::Op;
use super::spec::{Kind, Word, ask};

/// The verdict on one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is an order that the specification allows.
    Linearizable,
    /// There is none.
    Not(Finding),
    /// The checker did not come to an end with so many operations of an unknown outcome.
    Undecided,
}

/// The operation that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The operation, with its results.
    pub op: Op,
    /// When it was invoked.
    pub invoked: Duration,
    /// When it ended.
    pub ended: Duration,
}

/// An object of no kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is of no kind: its name begins with none of register/, lock/, log/, queue/, counter/")]
pub struct Unfit(String);

/// Judges each object of a history: its key, how many operations it has, how many of them with an unknown outcome,
/// and the verdict.
///
/// # Errors
///
/// [`Unfit`].
pub fn judge(history: &History) -> Result<Vec<(String, [usize; 2], Verdict)>, Unfit> {
    let by_key = history.by_key().into_iter();
    by_key
        .map(|(key, calls)| {
            let unknown = calls.iter().filter(|call| call.end == End::Unknown).count();
            let verdict = judge_object(key, &calls)?;
            Ok((key.to_owned(), [calls.len(), unknown], verdict))
        })
        .collect()
}

fn judge_object(key: &str, calls: &[&Call]) -> Result<Verdict, Unfit> {
    let kind = key.split_once('/').map_or("", |(kind, _)| kind);
    let owned: Vec<Call> = calls.iter().map(|call| (*call).clone()).collect();
    Ok(match kind {
        "register" => verdict::<Register>(&owned),
        "lock" => verdict::<Lock>(&owned),
        "log" => verdict::<Log>(&owned),
        "counter" => verdict::<Counter>(&owned),
        "queue" => {
            let verdicts = by_item(calls).into_values().map(|calls| verdict::<Queue>(&calls));
            let worst = verdicts.filter(|verdict| *verdict != Verdict::Linearizable);
            worst
                .max_by_key(|verdict| matches!(verdict, Verdict::Not(_)))
                .unwrap_or(Verdict::Linearizable)
        }
        _ => return Err(Unfit(key.to_owned())),
    })
}

fn verdict<K: Kind>(calls: &[Call]) -> Verdict {
    match ask::<K>(calls) {
        Word::Linearizable => Verdict::Linearizable,
        Word::Undecided => Verdict::Undecided,
        Word::Not => first_unexplained::<K>(calls).map_or(Verdict::Undecided, Verdict::Not),
    }
}

/// Returns the first operation to end that no order explains: what ends behind it is taken for unknown, and what begins
/// behind it left out, but for the last look at the object.
fn first_unexplained<K: Kind>(calls: &[Call]) -> Option<Finding> {
    let mut ends: Vec<(Duration, usize)> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        match &call.end {
            End::Ok(_, Op::Log { .. } | Op::Left { .. }) | End::Failed(_) | End::Unknown => {}
            End::Ok(ended, _) => ends.push((*ended, at)),
        }
    }
    ends.sort_unstable();
    let is_broken_by = |count: usize| {
        let last = count.checked_sub(1).and_then(|last| ends.get(last)).copied();
        let (border, _) = last.unwrap_or_default();
        let mut cut = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            let mut call = call.clone();
            match call.end {
                End::Ok(_, Op::Log { .. } | Op::Left { .. }) => {}
                _ if call.invoked > border => continue,
                End::Ok(ended, _) if Some((ended, at)) > last => call.end = End::Unknown,
                _ => {}
            }
            cut.push(call);
        }
        ask::<K>(&cut) == Word::Not
    };
    // Broken by `broken`, not by `fine`.
    let (mut fine, mut broken) = (0, ends.len());
    while broken - fine > 1 {
        let middle = fine.midpoint(broken);
        if is_broken_by(middle) {
            broken = middle;
        } else {
            fine = middle;
        }
    }
    let (_, at) = ends.get(broken.checked_sub(1)?)?;
    let call = calls.get(*at)?;
    match &call.end {
        End::Ok(ended, op) => {
            Some(Finding { op: op.clone(), invoked: call.invoked, ended: *ended })
        }
        End::Failed(_) | End::Unknown => None,
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linearizable => f.write_str("linearizable"),
            Self::Undecided => f.write_str("undecided"),
            Self::Not(Finding { op, invoked, ended }) => {
                write!(f, "NOT linearizable: {op:?}, from {invoked:?} to {ended:?}")
            }
        }
    }
}
