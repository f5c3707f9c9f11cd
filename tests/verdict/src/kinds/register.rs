//! A register that leaders write to, each with its token.

use alloc::collections::BTreeSet;

use super::super::history::Call;
use super::super::operation::Op;
use super::super::spec::Kind;

pub(crate) struct Register;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The greatest token so far.
    token: Option<i64>,
    version: u64,
}

impl Kind for Register {
    /// The versions that acknowledged writes made.
    type Context = BTreeSet<u64>;
    type State = State;

    fn context(calls: &[Call]) -> Self::Context {
        let made = super::done(calls).filter_map(|op| match op {
            Op::Write { version, .. } => *version,
            _ => None,
        });
        made.collect()
    }

    fn done(op: &Op, _made: &Self::Context, state: &State) -> Option<State> {
        match op {
            Op::Read { token, version } => {
                let State { version: shown, .. } = admitted(*token, state)?;
                version
                    .is_none_or(|version| version == shown)
                    .then_some(State { token: Some(*token), version: shown })
            }
            Op::Write { token, base, version } => {
                let next = written(*token, *base, state)?;
                version.is_none_or(|version| version == next.version).then_some(next)
            }
            _ => None,
        }
    }

    fn state_behind(op: &Op) -> Option<State> {
        match op {
            Op::Read { token, version: Some(version) }
            | Op::Write { token, version: Some(version), .. } => {
                Some(State { token: Some(*token), version: *version })
            }
            _ => None,
        }
    }

    fn is_past(op: &Op, state: &State) -> bool {
        match op {
            Op::Write { token, base, .. } => {
                admitted(*token, state).is_none() || base.is_some_and(|base| base < state.version)
            }
            _ => true,
        }
    }

    /// It makes no version that another one is known to have made.
    fn unknown(op: &Op, made: &Self::Context, state: &State) -> Option<State> {
        match op {
            Op::Write { token, base, .. } => {
                written(*token, *base, state).filter(|next| !made.contains(&next.version))
            }
            _ => None,
        }
    }
}

fn admitted(token: i64, state: &State) -> Option<State> {
    let is_fenced = state.token.is_some_and(|greatest| token < greatest);
    (!is_fenced).then_some(State { token: Some(token), version: state.version })
}

fn written(token: i64, base: Option<u64>, state: &State) -> Option<State> {
    let State { token, version } = admitted(token, state)?;
    let is_lost_upon = base.is_some_and(|base| base != version);
    (!is_lost_upon).then_some(State { token, version: version + 1 })
}
