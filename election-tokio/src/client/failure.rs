//! Errors of making and closing a client.

use core::time::Duration;
use std::sync::Arc;

use zk_session::lease::{LeaseGrade, LeaseMargin};
use zk_session::{ConnectStringError, Expiry, SessionEnd};

use crate::Error;
use crate::error::SharedError;
use crate::path::PathError;
use crate::state::ConnectFailure;

/// A list of servers is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an empty list of servers: the last one stays")]
pub struct NoServers;

/// Why a client could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The connect string cannot be used.
    #[error("invalid connect string: {0}")]
    ConnectString(ConnectStringError),
    /// The chroot of the connect string is no valid path.
    #[error("invalid chroot: {0}")]
    Chroot(PathError),
    /// An identity of [`ClientBuilder::auth`](crate::ClientBuilder::auth) is larger than servers
    /// accept.
    #[error("an identity of {length} bytes is above the limit of {limit}")]
    IdentityTooLarge {
        /// The length in bytes of the request that presents it.
        length: usize,
        /// The limit in bytes ([`Limits::max_frame`](crate::session::Limits::max_frame)).
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
    Tls(crate::tls::TlsError),
    /// The caller is not within a tokio runtime, which a client needs.
    #[error("a client has to be started within a tokio runtime")]
    NoRuntime,
    /// The operating system gave no random numbers.
    #[error("no random numbers from the operating system")]
    Randomness(#[source] SharedError),
    /// No server granted a session in time.
    #[error(
        "no server granted a session within {after:?}{}",
        last_failure.as_ref().map(|failure| format!("; last tried {failure}")).unwrap_or_default()
    )]
    NoServer {
        /// How long the client tried.
        after: Duration,
        /// The last attempt, with its reason by its own type.
        last_failure: Option<Arc<ConnectFailure>>,
    },
    /// The chroot was to be created ([`ClientBuilder::create_chroot`]). It does not exist, and
    /// could not be created.
    ///
    /// [`ClientBuilder::create_chroot`]: crate::ClientBuilder::create_chroot
    #[error("the chroot was not created: {0}")]
    ChrootNotCreated(Error),
    /// The session to resume is gone, and its ephemeral znodes with it.
    #[error("the session is gone: {0}")]
    SessionGone(Expiry),
    /// The session ended while it was being made.
    #[error("{0}")]
    Ended(SessionEnd),
}

#[cfg(feature = "tls")]
impl From<crate::tls::TlsError> for ConnectError {
    fn from(error: crate::tls::TlsError) -> Self {
        Self::Tls(error)
    }
}

impl From<ConnectStringError> for ConnectError {
    fn from(error: ConnectStringError) -> Self {
        Self::ConnectString(error)
    }
}

/// No server confirmed that the session is closed. Its ephemeral znodes go when the server expires
/// it, after at most the session timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no server confirmed the close: ephemeral znodes live on for at most the session timeout")]
pub struct CloseError;
