//! SASL mechanisms, and the progress of their exchange.
//!
//! How servers are set up, and when the client ends: [who the client
//! is](https://github.com/zk-election/zk-election/blob/main/docs/client.md#who-the-client-is).
//!
//! ```no_run
//! # #[cfg(feature = "sasl-digest-md5")]
//! # async fn example(password: String) -> Result<(), Box<dyn std::error::Error>> {
//! use election_tokio::{sasl::{DigestMd5, Secret}, Client};
//!
//! let bob = DigestMd5::new("bob", Secret::new(password));
//! let client = Client::builder("zk1:2181,zk2:2181").sasl(bob).connect().await?;
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use zk_session::ServerAddress;

#[cfg(feature = "sasl-digest-md5")]
mod digest_md5;
#[cfg(feature = "sasl-gssapi")]
mod gssapi;

#[cfg(feature = "sasl-gssapi")]
pub use gssapi::Gssapi;
pub use zk_session::Secret;
#[cfg(feature = "sasl-digest-md5")]
pub use zk_session::sasl::DigestMd5;
pub use zk_session::sasl::SaslFailure;

/// The client's side of a SASL mechanism, with the credentials that prove the client's identity.
///
/// ZooKeeper does not negotiate mechanisms: client and server have to be set up for the same one. A
/// mechanism with user and password, `DigestMd5`, is behind the feature `sasl-digest-md5`.
pub trait SaslMechanism: fmt::Debug + Send + Sync + 'static {
    /// Begins an exchange with `server`: on each connection, before anything else. If the server
    /// has to begin, the mechanism sends an empty token.
    fn begin(&self, server: &ServerAddress) -> SaslStepping;
}

/// A step in progress. It may take its time, for example to ask a key distribution centre. The
/// client drops it when the session gives the connection up: the whole exchange may take a third of
/// the session timeout divided by the number of servers, and three seconds at most; twice as long in
/// each round of all servers that came to nothing, up to twelve seconds.
pub type SaslStepping = Pin<Box<dyn Future<Output = Result<SaslStep, SaslError>> + Send>>;

/// The code that handles the server's answer to a token.
pub type SaslContinuation = Box<dyn FnOnce(Bytes) -> SaslStepping + Send>;

/// The next act of the mechanism.
#[non_exhaustive]
pub enum SaslStep {
    /// Sends a token, and continues with the server's answer.
    Send {
        /// The token.
        token: Secret,
        /// The continuation.
        then: SaslContinuation,
    },
    /// Sends the last token. Use it only if the server has proved itself to the mechanism by then:
    /// a server that takes no part in SASL confirms any last token.
    SendLast(Secret),
    /// The server's last token completed the exchange.
    Done,
}

impl SaslStep {
    /// Sends `token`, and continues with `then`.
    pub fn send<F, S>(token: Secret, then: F) -> Self
    where
        F: FnOnce(Bytes) -> S + Send + 'static,
        S: Future<Output = Result<Self, SaslError>> + Send + 'static,
    {
        Self::Send { token, then: Box::new(move |answer| Box::pin(then(answer))) }
    }
}

impl fmt::Debug for SaslStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Send { .. } => "Send",
            Self::SendLast(_) => "SendLast",
            Self::Done => "Done",
        })
    }
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaslError {
    /// Trying again would change nothing: the client ends.
    #[error(transparent)]
    Failed(#[from] SaslFailure),
    /// It may work later, or with another server. The client gives the connection up, and connects
    /// again.
    #[error("SASL is not available: {0}")]
    Unavailable(io::Error),
}

impl From<io::Error> for SaslError {
    fn from(error: io::Error) -> Self {
        Self::Unavailable(error)
    }
}

/// The exchange on the present connection.
#[derive(Default)]
pub(crate) enum Exchange {
    #[default]
    None,
    Stepping(SaslStepping),
    Awaiting(SaslContinuation),
}

impl Exchange {
    pub(crate) fn begin(
        mechanism: Option<&Arc<dyn SaslMechanism>>,
        server: &ServerAddress,
    ) -> Self {
        mechanism.map_or(Self::None, |mechanism| Self::Stepping(mechanism.begin(server)))
    }

    pub(crate) fn handle_token(&mut self, token: Bytes) {
        if let Self::Awaiting(then) = core::mem::take(self) {
            *self = Self::Stepping(then(token));
        }
    }

    /// Returns the next step, once it is ready.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<SaslAnswer, SaslError>> {
        let Self::Stepping(step) = self else {
            return Poll::Pending;
        };
        let Poll::Ready(step) = step.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        *self = Self::None;
        Poll::Ready(step.map(|step| match step {
            SaslStep::Send { token, then } => {
                *self = Self::Awaiting(then);
                SaslAnswer::Token(token)
            }
            SaslStep::SendLast(token) => SaslAnswer::LastToken(token),
            SaslStep::Done => SaslAnswer::Done,
        }))
    }
}

/// An answer to the session: like [`zk_session::sasl::SaslAnswer`], but owned.
pub(crate) enum SaslAnswer {
    Token(Secret),
    LastToken(Secret),
    Done,
}

impl SaslAnswer {
    pub(crate) fn as_ref(&self) -> zk_session::sasl::SaslAnswer<'_> {
        match self {
            Self::Token(token) => zk_session::sasl::SaslAnswer::Token(token.expose()),
            Self::LastToken(token) => zk_session::sasl::SaslAnswer::LastToken(token.expose()),
            Self::Done => zk_session::sasl::SaslAnswer::Done,
        }
    }
}
