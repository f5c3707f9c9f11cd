//! The automaton that the documentation of `Event` draws.

use core::fmt::Debug;

use zk_session::Event;

/// Follows the events of one session, and refuses one that is not on a path
/// (CURATOR-367, CURATOR-525).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Automaton {
    Apart,
    Together,
    End,
}

impl Automaton {
    pub(crate) fn follow<R: Debug, W: Debug>(&mut self, event: &Event<R, W>) {
        *self = match (*self, event) {
            (Self::Apart, Event::ConnectFailed { .. })
            | (Self::Together, Event::Disconnected { .. }) => Self::Apart,
            (Self::Apart, Event::Connected { .. })
            | (
                Self::Together,
                Event::Fired { .. }
                | Event::Changed { .. }
                | Event::ChangesMissed { .. }
                | Event::HeartbeatRefused { .. }
                | Event::RolledBack(_),
            ) => Self::Together,
            (
                either @ (Self::Apart | Self::Together),
                Event::Completed { .. } | Event::LeaseLapsed | Event::WatchLost { .. },
            ) => either,
            (Self::Apart | Self::Together, Event::Ended(_)) => Self::End,
            (state, event) => unreachable!("{event:?} in {state:?}"),
        };
    }
}
