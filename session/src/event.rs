//! What comes out of a session, and what can go wrong with it.

use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

use bytes::Bytes;
use zk_jute::{
    DecodeError, ErrorCode, FrameError, OpCode, Oversized, SessionId, Xid, Zxid, records::EventType,
};

use crate::sasl::SaslFailure;
use crate::servers::ServerIndex;
use crate::time::Instant;

/// What the driver is to do with its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportCommand {
    /// Drop the transport, if there is one, and open one to this server; then report
    /// [`handle_opened`](crate::Session::handle_opened) or
    /// [`handle_closed`](crate::Session::handle_closed). Nothing that the dropped one still
    /// delivers may be reported.
    Connect(ServerIndex),
    /// Drop the transport, with everything that was to be sent on it.
    Disconnect,
}

/// What happened, in the order in which it did.
///
/// `R` tells the caller's requests apart, `W` its watches. The sequence of events is a path of
/// this automaton:
///
/// ```text
/// Apart      --ConnectFailed--> Apart
/// Apart      --Connected-->     Together   (the same session each time, but see below)
/// Together   --Fired-->         Together
/// Together   --Changed-->       Together
/// Together   --ChangesMissed--> Together
/// Together   --HeartbeatRefused--> Together
/// Together   --Disconnected-->  Apart
/// either     --Completed-->     itself
/// either     --LeaseLapsed-->   itself
/// either     --WatchLost-->     itself
/// either     --Ended-->         the end
/// ```
///
/// It starts in `Apart`. `LeaseLapsed` comes once each time that a
/// [`lease_deadline`](crate::Session::lease_deadline) passes: never before the first `Connected`,
/// and each further one only after another `Connected` or a reply that renewed the lease.
///
/// A session that a read-only server made is not kept: the `Connected` after one with `read_only`
/// may bring another session. The one before had no lease, and owned nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<R, W> {
    /// A server accepted the session, for the first time or again, and the SASL exchange, if there
    /// is to be one.
    Connected {
        /// The session.
        session: SessionId,
        /// The negotiated timeout, which may differ from the requested one and from connection to
        /// connection.
        timeout: Duration,
        /// Whether the server is cut off from its ensemble and answers reads only; if so, what it
        /// tells may be old, writes are refused, and nothing proves the lease.
        read_only: bool,
    },
    /// An attempt to connect failed; another will follow.
    ConnectFailed {
        /// The server, in the list that counted when the attempt began.
        server: ServerIndex,
        /// Why.
        end: ConnectionEnd,
        /// When the next attempt will begin.
        retry_at: Instant,
    },
    /// The connection is gone. The session may live on: reconnecting has begun.
    Disconnected {
        /// Why.
        end: ConnectionEnd,
        /// Until when no server can have expired the session; `None` if that has passed.
        lease_deadline: Option<Instant>,
    },
    /// A request has its outcome.
    Completed {
        /// Which request.
        tag: R,
        /// The reply's body, or why there is none.
        outcome: Result<Completion, Failure>,
    },
    /// A watch fired; being one-shot, it is gone.
    Fired {
        /// Which watch.
        watcher: W,
        /// What happened to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; else −1.
        zxid: Zxid,
    },
    /// The server refused a heartbeat: its znode is gone, or may not be read, or the server has too
    /// much to do. It proves nothing. The next one follows soon (a 24th of the timeout later, and
    /// with each further refusal after twice as long, up to a third); after
    /// [`keep_lease`](crate::Session::keep_lease) with another znode, at once.
    HeartbeatRefused {
        /// Why.
        error: ErrorCode,
    },
    /// A persistent watch saw a change; it stays.
    Changed {
        /// Which watch.
        watcher: W,
        /// The znode: that of the watch or, if it is recursive, one below.
        path: Arc<str>,
        /// What happened to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; else −1.
        zxid: Zxid,
    },
    /// A persistent watch is set again after a reconnect. What changed meanwhile is not
    /// reported: read again what it is about.
    ChangesMissed {
        /// Which watch.
        watcher: W,
    },
    /// A watch is gone without having fired, or for a persistent one, for good: with the session;
    /// or the server that the session has come to knows no persistent watches; or it refused one
    /// on which a one-shot watch of the same path relied.
    WatchLost {
        /// Which watch.
        watcher: W,
    },
    /// From now on a server may have expired the session: what acts by virtue of it has to
    /// stop. If the session goes on nevertheless, [`lease_deadline`] tells a new deadline.
    ///
    /// [`lease_deadline`]: crate::Session::lease_deadline
    LeaseLapsed,
    /// The session is over. Nothing follows.
    Ended(SessionEnd),
}

/// The answer to a request that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What the server had applied; for a write, its transaction.
    pub zxid: Zxid,
    /// The body, to be decoded as the request's [`Response`](zk_jute::Request::Response).
    pub body: Bytes,
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// The server refused it.
    #[error("the server refused: {0}")]
    Refused(ErrorCode),
    /// The connection was lost before the answer: it may or may not have been executed.
    #[error("connection lost: the request may or may not have been executed")]
    ConnectionLoss,
    /// The answer was longer than the driver keeps. The server did what was asked; a watch that was
    /// asked for is not kept.
    #[error("the answer of {length} bytes is above the limit of {limit}")]
    ReplyTooLarge {
        /// The answer's length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The session ended before the request was sent: it was not executed.
    #[error("the session ended before the request was sent")]
    NotSent,
}

/// Why a request was not accepted; it was not and will not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SubmitError {
    /// There is no connection, and the session is not to queue.
    #[error("not connected: the request was not sent")]
    NotConnected,
    /// Too many requests or bytes are waiting; try again after an answer.
    #[error("too many requests in flight")]
    Full,
    /// The request is larger than a server would read.
    #[error("request of {length} bytes is above the limit of {limit}")]
    TooLarge {
        /// Its payload's length.
        length: usize,
        /// The limit ([`Limits::max_frame`](crate::Limits::max_frame)).
        limit: usize,
    },
    /// A server of this session did not know the operation, and closed the connection over it: it
    /// is not tried again in this session.
    #[error("the server does not know {0}")]
    Unsupported(OpCode),
    /// The session is over, or closing.
    #[error("the session is closed")]
    Closed,
}

/// Why a connection ended, or was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The transport failed or was closed by the other side. Before the handshake's answer this
    /// also is how a server refuses a client that has seen more than itself, and how one that is
    /// not serving answers.
    #[error("closed by the other side")]
    Closed,
    /// Opening the transport, or the handshake, took too long.
    #[error("timed out before the server answered")]
    TimedOut,
    /// The other side closed the connection in answer to a SASL token. Before ZooKeeper 3.5.9 this
    /// is how a server refuses credentials.
    #[error(
        "closed by the other side in the SASL exchange: ZooKeeper before 3.5.9 refuses wrong \
         credentials so"
    )]
    ClosedInSasl,
    /// It was to a server that answers reads only, and one was found that takes writes.
    #[error("left for a server that takes writes")]
    LeftReadOnly,
    /// Nothing was received for two thirds of the session timeout.
    #[error("silent for two thirds of the session timeout")]
    Silent,
    /// A server refused to make a new session.
    #[error("the server refused to make a session")]
    Refused,
    /// The server answered a request or a ping by saying that the session has expired. That is no
    /// proof: a leader of the ensemble that was deposed, and does not know it yet, says so of
    /// sessions that live on. The next handshake decides.
    #[error("the server says that the session has expired; the next handshake decides")]
    ExpiryClaimed,
    /// The peer broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl ConnectionEnd {
    /// The end of a connection on which a frame came that is too long for its kind.
    pub(crate) fn too_long(frame: &Oversized) -> Self {
        let error = FrameError::TooLong { length: frame.length, limit: frame.limit };
        Self::Protocol(error.into())
    }
}

/// What a peer did that the protocol does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A frame that does not decode.
    #[error("undecodable frame: {0}")]
    Undecodable(#[from] DecodeError),
    /// A frame whose length cannot be.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A reply out of order, or to no request.
    #[error("reply to request {got} where {} was due", expected.map_or(0, Xid::get))]
    UnexpectedReply {
        /// The oldest request without a reply, if there is one.
        expected: Option<Xid>,
        /// The request that the reply names.
        got: Xid,
    },
    /// The server refused to set watches again.
    #[error("watches were not set again: {0}")]
    WatchesRefused(ErrorCode),
    /// The server answered a SASL token with an error that says nothing of the credentials.
    #[error("the SASL exchange was refused: {0}")]
    SaslRefused(ErrorCode),
    /// The session was used over another connection meanwhile.
    #[error("the session has moved to another connection")]
    SessionMoved,
}

/// How a session ended.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SessionEnd {
    /// Closed, and the server confirmed: its ephemeral znodes are gone.
    #[error("session closed")]
    Closed,
    /// Given up without a server's confirmation: its ephemeral znodes, if any, live on until a
    /// server expires the session.
    #[error("session abandoned: its ephemeral znodes go when the server expires it")]
    Abandoned,
    /// Handed over: it lives on, for the process that has its
    /// [ticket](crate::SessionTicket), until a server expires it.
    #[error("session handed over")]
    Detached,
    /// Expired: its ephemeral znodes are gone, or will be as soon as a server can delete them; see
    /// [`Expiry::Refused`] for when that may take longer.
    #[error("session expired: {0}")]
    Expired(Expiry),
    /// The server refused the credentials.
    #[error("authentication failed: {}", Refusal(*.0))]
    AuthFailed(ErrorCode),
    /// The SASL exchange cannot be completed.
    #[error("SASL authentication failed: {0}")]
    SaslFailed(SaslFailure),
}

/// What the code means to a client, in words that say what to do.
struct Refusal(ErrorCode);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(code) = self;
        match *code {
            ErrorCode::AUTH_FAILED => {
                write!(f, "{code}: the server refused the credentials; check user and password")
            }
            ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH => {
                write!(
                    f,
                    "{code}: the server serves nobody without SASL (or another scheme that it \
                     enforces); check that the client uses it, and its user and password"
                )
            }
            code => write!(f, "{code}"),
        }
    }
}

/// Who said that a session is expired.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Expiry {
    /// A server refused to go on with it in a handshake.
    ///
    /// A leader of the ensemble that was deposed, and does not know it yet, may refuse a session
    /// that lives on. Then its ephemeral znodes outlive this, at most by the longest timeout that
    /// was granted to it.
    #[error("a server refused to go on with it")]
    Refused,
    /// A server answered with another session, which
    /// [happens](https://github.com/ClickHouse/ClickHouse/issues/116690).
    #[error("a server answered with another session, {0}")]
    Replaced(SessionId),
    /// No server was in reach for four thirds of the timeout; with SASL, none that completed
    /// the exchange.
    #[error("no server was in reach for four thirds of its timeout")]
    Unreachable,
}
