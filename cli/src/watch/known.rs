//! The observations of an election.

use std::time::SystemTime;

use election_tokio::ConnectionState;
use election_tokio::election::Observation;

use super::count::Counted;

/// The last observation, and since when it holds.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) seen: Observation,
    pub(super) since: Since,
    pub(super) connection: ConnectionState,
    pub(super) counted: Option<Counted>,
}

/// When the present leader's lead began, or the time without a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// Before the first observation, which was at this time.
    Before(SystemTime),
    At(SystemTime),
}

impl Since {
    pub(super) fn time(self) -> SystemTime {
        match self {
            Self::Before(time) | Self::At(time) => time,
        }
    }
}

impl Known {
    pub(super) fn new(connection: ConnectionState) -> Self {
        let since = Since::Before(SystemTime::now());
        Self { seen: Observation::Unknown, since, connection, counted: None }
    }

    /// Records an observation, and returns whether the leader is another one.
    pub(super) fn see(&mut self, seen: Observation) -> bool {
        let before = core::mem::replace(&mut self.seen, seen);
        let token = |seen: &Observation| seen.first().map(|first| first.token);
        let is_first = before == Observation::Unknown;
        let is_new = is_first
            || token(&before) != token(&self.seen)
            || core::mem::discriminant(&before) != core::mem::discriminant(&self.seen);
        if is_new {
            let now = SystemTime::now();
            self.since = if is_first { Since::Before(now) } else { Since::At(now) };
        }
        is_new
    }

    pub(super) fn is_connected(&self) -> bool {
        matches!(self.connection, ConnectionState::Connected { .. })
    }

    /// Returns why there is no connection, if that is known.
    pub(super) fn trouble(&self) -> Option<String> {
        match &self.connection {
            ConnectionState::Connecting { last_failure: Some(failure), .. }
            | ConnectionState::Suspended { last_failure: Some(failure), .. } => {
                Some(failure.to_string())
            }
            ConnectionState::Expired { expiry } => Some(expiry.to_string()),
            _ => None,
        }
    }
}
