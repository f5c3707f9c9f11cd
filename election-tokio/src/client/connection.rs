//! What can be seen of the connection.

use core::time::Duration;
use std::sync::Arc;

use zk_jute::SessionId;
use zk_session::{ConnectStringError, Expiry, LeaseGrade, LeaseMargin, ServerAddress, SessionEnd};

use crate::error::{Error, SharedError};
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
        /// Whether the server is cut off from its ensemble and answers reads only. Its session may
        /// be its own: then the next connection brings another one, without an
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
    /// The session is over; a new one is being made.
    Expired {
        /// Who said so.
        expiry: Expiry,
    },
    /// The client is over.
    Closed {
        /// How its session ended.
        end: SessionEnd,
    },
}

impl ConnectionState {
    pub(crate) fn attempt_failed(&mut self, failure: Arc<ConnectFailure>) {
        match self {
            Self::Connecting { failures, last_failure }
            | Self::Suspended { failures, last_failure } => {
                *failures = failures.saturating_add(1);
                *last_failure = Some(failure);
            }
            Self::Expired { .. } => {
                *self = Self::Connecting { failures: 1, last_failure: Some(failure) };
            }
            Self::Connected { .. } | Self::Closed { .. } => {}
        }
    }

    pub(crate) fn connection_lost(&mut self) {
        *self = Self::Suspended { failures: 0, last_failure: None };
    }
}

/// An attempt to connect that failed.
///
/// Its [`source`](core::error::Error::source) is the reason by its own type: an [`io::Error`] of the
/// transport or of the [`ServerSource`](crate::source::ServerSource), with what lies below it; or a
/// [`ConnectionEnd`](crate::error::ConnectionEnd), where the transport did not fail.
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
        /// Why.
        #[source]
        reason: SharedError,
        /// Why the list that the server is from may be out of date: what became of the last question
        /// to the [`ServerSource`](crate::source::ServerSource), if it brought no servers.
        outdated: Option<SharedError>,
    },
    /// No server is known: the [`ServerSource`](crate::source::ServerSource) has named none so far.
    #[error("no server is known: {reason}")]
    NoneKnown {
        /// Why.
        #[source]
        reason: SharedError,
    },
}

/// What follows when the session expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnExpiry {
    /// The client makes a new session, and nominations go on in it by their policy
    /// ([`OnLoss`](crate::OnLoss)).
    #[default]
    Renew,
    /// The client is closed.
    Close,
}

/// A list of servers without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an empty list of servers: the last one stays")]
pub struct NoServers;

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
    /// An identity of [`ClientBuilder::auth`](crate::ClientBuilder::auth) is larger than a server
    /// would read.
    #[error("an identity of {length} bytes is above the limit of {limit}")]
    IdentityTooLarge {
        /// The length in bytes of the request that presents it.
        length: usize,
        /// The limit in bytes ([`Limits::max_frame`](crate::Limits::max_frame)).
        limit: usize,
    },
    /// With this margin no lease of this grade could be kept alive.
    #[error(
        "a lease margin of {} percent leaves no time to prove a lease of grade {grade:?}: \
         it can be 20 at most, or the grade `Contact`",
        margin.as_percent()
    )]
    Margin {
        /// The margin.
        margin: LeaseMargin,
        /// The grade.
        grade: LeaseGrade,
    },
    /// The options of TLS cannot be used: nothing was sent.
    #[cfg(feature = "tls")]
    #[error("TLS: {0}")]
    Tls(#[from] crate::tls::TlsError),
    /// There is no tokio runtime, which the client could run in.
    #[error("a client has to be started within a tokio runtime")]
    NoRuntime,
    /// The operating system gave no random numbers.
    #[error("no random numbers from the operating system: {0}")]
    Randomness(#[source] SharedError),
    /// No server granted a session in time.
    #[error(
        "no server granted a session within {after:?}{}",
        last_failure.as_ref().map(|failure| format!("; last tried {failure}")).unwrap_or_default()
    )]
    NoServer {
        /// How long was tried.
        after: Duration,
        /// The last attempt.
        #[source]
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The chroot, which was to be created ([`ClientBuilder::create_chroot`]), does not exist and was
    /// not created.
    ///
    /// [`ClientBuilder::create_chroot`]: crate::ClientBuilder::create_chroot
    #[error("the chroot was not created: {0}")]
    ChrootNotCreated(#[source] Error),
    /// The session that was to be resumed is gone, and its ephemeral znodes with it.
    #[error("the session is gone: {0}")]
    SessionGone(#[source] Expiry),
    /// The session ended while it was being made.
    #[error("{0}")]
    Ended(#[source] SessionEnd),
}

/// No server confirmed that the session is closed: its ephemeral znodes go when the server expires
/// it, after at most the session timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server confirmed the close: ephemeral znodes live on for at most the session timeout")]
pub struct CloseError;
