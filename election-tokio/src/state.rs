//! The state of the connection and the session.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use zk_jute::SessionId;
use zk_session::{Expiry, ServerAddress, SessionEnd};

use crate::error::SharedError;

/// The state of a client's connection and session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionState {
    /// No server has granted a session yet.
    Connecting {
        /// Attempts that failed.
        failures: u32,
        /// The last one of them.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// Connected.
    Connected {
        /// The session.
        session: SessionId,
        /// Its timeout as the server granted it. It may differ from the requested one.
        timeout: Duration,
        /// Whether the server is cut off from its ensemble and answers only reads. It may have made
        /// a session of its own: then the next connection brings another one, without an
        /// [`Expired`](Self::Expired) in between.
        read_only: bool,
    },
    /// The connection is lost, and the session in doubt: another server may still accept it.
    Suspended {
        /// Attempts to reconnect that failed.
        failures: u32,
        /// The last one of them.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The session is over, and a new one is being made.
    Expired {
        /// The proof of that.
        expiry: Expiry,
    },
    /// The client has ended.
    Closed {
        /// How its session ended.
        end: SessionEnd,
    },
}

/// Writes a sentence without a full stop, for logs and readers. The words may change.
impl fmt::Display for ConnectionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting { failures, last_failure } => {
                f.write_str("connecting")?;
                attempts(f, *failures, last_failure.as_deref())
            }
            Self::Connected { session, timeout, read_only: false } => {
                write!(f, "connected, in session {session} with a timeout of {timeout:?}")
            }
            Self::Connected { session, timeout, read_only: true } => write!(
                f,
                "connected to a read-only server, in session {session} with a timeout of {timeout:?}"
            ),
            Self::Suspended { failures, last_failure } => {
                f.write_str("disconnected, the session in doubt")?;
                attempts(f, *failures, last_failure.as_deref())
            }
            Self::Expired { expiry } => {
                write!(f, "session expired ({expiry}), another one is being made")
            }
            Self::Closed { end } => write!(f, "closed: {end}"),
        }
    }
}

fn attempts(
    f: &mut fmt::Formatter<'_>,
    failures: u32,
    last: Option<&ConnectFailure>,
) -> fmt::Result {
    match (failures, last) {
        (0, _) => Ok(()),
        (failures, None) => write!(f, "; attempts that failed: {failures}"),
        (failures, Some(last)) => {
            write!(f, "; attempts that failed: {failures}, the last one at {last}")
        }
    }
}

impl ConnectionState {
    /// Returns whether the client is connected to a server, be it one that only reads.
    pub const fn is_connected(&self) -> bool {
        matches!(self, Self::Connected { .. })
    }

    /// Records a failure, and returns the one that is not shown any more: it may be an error of the
    /// user's.
    pub(crate) fn attempt_failed(
        &mut self,
        failure: Arc<ConnectFailure>,
    ) -> Option<Arc<ConnectFailure>> {
        match self {
            Self::Connecting { failures, last_failure }
            | Self::Suspended { failures, last_failure } => {
                *failures = failures.saturating_add(1);
                last_failure.replace(failure)
            }
            Self::Expired { .. } => {
                *self = Self::Connecting { failures: 1, last_failure: Some(failure) };
                None
            }
            Self::Connected { .. } | Self::Closed { .. } => Some(failure),
        }
    }

    /// Records the loss, and returns the state before.
    pub(crate) fn connection_lost(&mut self) -> Self {
        core::mem::replace(self, Self::Suspended { failures: 0, last_failure: None })
    }
}

/// An attempt to connect that failed.
///
/// Its text has the reason. The field `reason` has it by its own type: an [`io::Error`] of the
/// transport or of the [`ServerSource`](crate::source::ServerSource), with its own sources; or a
/// [`ConnectionEnd`](crate::error::ConnectionEnd), if the transport did not fail.
///
/// [`io::Error`]: std::io::Error
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// A server was tried.
    #[error(
        "{server}: {reason}{}",
        outdated.as_ref().map(|why| format!(" (from an old list: {why})")).unwrap_or_default()
    )]
    Server {
        /// The server.
        server: ServerAddress,
        /// The reason.
        reason: SharedError,
        /// Why the list with this server may be out of date: the failure of the last question to
        /// the [`ServerSource`](crate::source::ServerSource), if it brought no servers.
        outdated: Option<SharedError>,
    },
    /// No server is known: the [`ServerSource`](crate::source::ServerSource) has named none so far.
    #[error("no server is known: {reason}")]
    NoneKnown {
        /// The reason.
        reason: SharedError,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_told_in_a_sentence() {
        let none = ConnectionState::Connecting { failures: 0, last_failure: None };
        assert_eq!(none.to_string(), "connecting");
        let server = "zk1:2181".parse::<zk_session::ConnectString>().unwrap();
        let server = server.servers().next().unwrap().clone();
        let reason = SharedError::new("connection refused");
        let failure = ConnectFailure::Server { server, reason, outdated: None };
        let mut state = ConnectionState::Suspended { failures: 0, last_failure: None };
        state.attempt_failed(Arc::new(failure));
        assert_eq!(
            state.to_string(),
            "disconnected, the session in doubt; attempts that failed: 1, the last one at zk1:2181: \
             connection refused"
        );
        let (session, timeout) = (SessionId::new(1), Duration::from_secs(10));
        let state = ConnectionState::Connected { session, timeout, read_only: false };
        assert_eq!(
            state.to_string(),
            "connected, in session 0x0000000000000001 with a timeout of 10s"
        );
        let end = SessionEnd::Closed;
        assert_eq!(ConnectionState::Closed { end }.to_string(), "closed: session closed");
    }
}
