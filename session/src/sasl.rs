//! SASL: the messages between the session and the driver's mechanism (docs/protocol.md#sasl).
//!
//! A session knows no mechanism. On each connection it carries the tokens before anything else, and
//! keeps every request waiting meanwhile.

use bytes::Bytes;

use crate::servers::ServerIndex;

#[cfg(feature = "sasl-digest-md5")]
mod digest_md5;

#[cfg(feature = "sasl-digest-md5")]
pub use digest_md5::{DigestMd5, ServerProof};

/// The beginning of each connection: with a SASL exchange, or without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sasl {
    /// They do not.
    #[default]
    Off,
    /// Every connection does. A server that takes no part in the exchange ends the session, which
    /// never goes on unauthenticated.
    Required,
}

/// A challenge for the mechanism, to be answered with [`handle_sasl`](crate::Session::handle_sasl).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SaslChallenge {
    /// An exchange with this server begins, and an earlier one is void. The client sends first; a
    /// mechanism that lets the server begin sends an empty token.
    Begin(ServerIndex),
    /// The server's token.
    Token(Bytes),
}

/// The mechanism's answer. `Debug` does not show tokens.
#[derive(Clone, Copy)]
pub enum SaslAnswer<'a> {
    /// A token for the server. The server's next one is awaited.
    Token(&'a [u8]),
    /// The last token: the exchange is complete when the server has confirmed it. Use it only if
    /// the server has proved itself to the mechanism by then, because a server without SASL
    /// confirms it too.
    LastToken(&'a [u8]),
    /// The server's token completed the exchange.
    Done,
    /// The exchange cannot be completed, and trying again would change nothing: the session ends.
    /// If trying again might help, the driver closes its transport instead.
    Failed(SaslFailure),
}

/// Why a SASL exchange failed for good.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SaslFailure {
    /// The server answered without a token, so no authentication took place.
    #[error(
        "the server takes no part in it: it has no JAAS section `Server`, or is told to keep \
         clients that fail (`zookeeper.allowSaslFailedClients`); set it up, or use no SASL"
    )]
    NotOffered,
    /// The mechanism cannot answer the server's token.
    #[error(
        "the server's challenge is not one of this mechanism: check that its JAAS section `Server` \
         names the login module of the mechanism that the client uses"
    )]
    Challenge,
    /// The name or the password has characters that cannot be sent to this server.
    #[error("the user's name or password cannot be written in the server's character set")]
    Unencodable,
    /// The server did not prove that it knows the user's secret: it may be another one.
    #[error("the server did not prove that it knows the password: it may be an impostor")]
    ServerUnproved,
    /// The mechanism has no usable credentials.
    #[error("there are no credentials that could be used")]
    NoCredentials,
    /// The mechanism's token is above [`Limits::max_frame`](crate::Limits::max_frame).
    #[error("the mechanism's token is longer than the server would read")]
    TokenTooLong,
}

impl core::fmt::Debug for SaslAnswer<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Token(_) => f.write_str("Token(redacted)"),
            Self::LastToken(_) => f.write_str("LastToken(redacted)"),
            Self::Done => f.write_str("Done"),
            Self::Failed(failure) => f.debug_tuple("Failed").field(failure).finish(),
        }
    }
}
