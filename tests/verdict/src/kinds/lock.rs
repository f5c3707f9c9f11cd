//! A lock, or a leadership: one that holds it alone, or several that share it.

use alloc::collections::BTreeSet;

use super::super::history::Call;
use super::super::operation::{Mode, Op};
use super::super::spec::Kind;

pub(crate) struct Lock;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    alone: Option<i64>,
    shared: BTreeSet<i64>,
    /// The greatest tokens so far: of those that held it alone, and of all.
    last_alone: Option<i64>,
    last: Option<i64>,
}

impl Kind for Lock {
    type Context = ();
    type State = State;

    fn context(_calls: &[Call]) -> Self::Context {}

    fn done(op: &Op, (): &(), state: &State) -> Option<State> {
        match op {
            Op::Acquire { token: Some(token), mode } => acquired(*token, *mode, state),
            Op::Release { token } => released(*token, state),
            _ => None,
        }
    }

    /// Of a lock that was not given to its user nobody claims anything.
    fn unknown(op: &Op, (): &(), state: &State) -> Option<State> {
        match op {
            Op::Release { token } => released(*token, state),
            _ => None,
        }
    }
}

fn acquired(token: i64, mode: Mode, state: &State) -> Option<State> {
    let mut next = state.clone();
    next.last = state.last.max(Some(token));
    let (is_free, rivals) = match mode {
        Mode::Alone => (state.alone.is_none() && state.shared.is_empty(), state.last),
        Mode::Shared => (state.alone.is_none(), state.last_alone),
    };
    match mode {
        Mode::Alone => {
            next.alone = Some(token);
            next.last_alone = Some(token);
        }
        Mode::Shared => {
            next.shared.insert(token);
        }
    }
    (is_free && rivals < Some(token)).then_some(next)
}

fn released(token: i64, state: &State) -> Option<State> {
    let mut next = state.clone();
    if state.alone == Some(token) {
        next.alone = None;
        return Some(next);
    }
    next.shared.remove(&token).then_some(next)
}
