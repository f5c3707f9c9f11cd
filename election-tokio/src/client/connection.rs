//! What can be seen of the connection.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use zk_jute::SessionId;
use zk_session::{ConnectStringError, End, Expiry, Grade, Margin, ServerAddress, SubmitError};

use crate::path::PathError;

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
        /// Its timeout as the server granted it, which may differ from the requested one.
        timeout: Duration,
        /// Whether the server is cut off from its ensemble and answers reads only.
        read_only: bool,
    },
    /// The connection is lost, and the session in doubt: another server may still accept it.
    Suspended {
        /// Attempts to reconnect that failed.
        failures: u32,
        /// The last one of them.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The session is over; a new one is being made.
    Expired {
        /// Who said so.
        expiry: Expiry,
    },
    /// The client is over.
    Closed {
        /// How its session ended.
        end: End,
    },
}

impl ConnectionState {
    pub(crate) fn attempt_failed(&mut self, failure: Option<Arc<ConnectFailure>>) {
        match self {
            Self::Connecting { failures, last_failure }
            | Self::Suspended { failures, last_failure } => {
                *failures = failures.saturating_add(1);
                *last_failure = failure;
            }
            Self::Expired { .. } => *self = Self::Connecting { failures: 1, last_failure: failure },
            Self::Connected { .. } | Self::Closed { .. } => {}
        }
    }

    pub(crate) fn connection_lost(&mut self) {
        *self = Self::Suspended { failures: 0, last_failure: None };
    }
}

/// An attempt to connect that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectFailure {
    /// The server.
    pub server: ServerAddress,
    /// Why, in words.
    pub reason: String,
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.server, self.reason)
    }
}

/// Why there is no client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The connect string cannot be used.
    #[error("invalid connect string: {0}")]
    ConnectString(#[from] ConnectStringError),
    /// The chroot of the connect string is no valid path.
    #[error("invalid chroot: {0}")]
    Chroot(#[source] PathError),
    /// An identity is too large to be presented.
    #[error("an identity cannot be presented: {0}")]
    Identity(#[source] SubmitError),
    /// With this margin no lease of this grade could be kept alive.
    #[error(
        "a lease margin of {} percent leaves no time to prove a lease of grade {grade:?}: \
         it can be 20 at most, or the grade `Contact`",
        margin.as_percent()
    )]
    Margin {
        /// The margin.
        margin: Margin,
        /// The grade.
        grade: Grade,
    },
    /// The options of TLS cannot be used: nothing was sent.
    #[cfg(feature = "tls")]
    #[error("TLS: {0}")]
    Tls(#[from] crate::tls::TlsError),
    /// The operating system gave no random numbers.
    #[error("no random numbers from the operating system: {0}")]
    Randomness(String),
    /// No server granted a session in time.
    #[error(
        "no server granted a session within {after:?}{}",
        last_failure.as_ref().map(|failure| format!("; last tried {failure}")).unwrap_or_default()
    )]
    NoServer {
        /// How long was tried.
        after: Duration,
        /// The last attempt.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The session ended while it was being made.
    #[error("{0}")]
    Ended(#[source] End),
}

/// No server confirmed that the session is closed: its ephemeral znodes go when the server expires
/// it, after at most the session timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server confirmed the close: ephemeral znodes live on for at most the session timeout")]
pub struct CloseError;
