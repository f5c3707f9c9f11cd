//! Entries, each behind all others: sequential znodes, lines of a ledger, guarded writes.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::history::Call;
use super::super::operation::Op;
use super::super::spec::Kind;

pub(crate) struct Log;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    written: usize,
    token: Option<i64>,
}

impl Kind for Log {
    /// All entries as they stand in the end.
    type Context = Vec<String>;
    type State = State;

    fn context(calls: &[Call]) -> Self::Context {
        let logs = super::done(calls).filter_map(|op| match op {
            Op::Log { entries } => Some(entries.clone()),
            _ => None,
        });
        logs.last().unwrap_or_default()
    }

    fn done(op: &Op, entries: &Self::Context, state: &State) -> Option<State> {
        match op {
            Op::Append { entry, token } => {
                let is_next = entries.get(state.written) == Some(entry);
                let is_fenced = state.token.is_some_and(|greatest| *token < greatest);
                let next = State { written: state.written + 1, token: Some(*token) };
                (is_next && !is_fenced).then_some(next)
            }
            Op::Log { .. } => (state.written == entries.len()).then(|| state.clone()),
            _ => None,
        }
    }

    fn unknown(op: &Op, entries: &Self::Context, state: &State) -> Option<State> {
        Self::done(op, entries, state).filter(|_| matches!(op, Op::Append { .. }))
    }
}
