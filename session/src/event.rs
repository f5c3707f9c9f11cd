//! Outputs of a session, and errors.

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

/// A command to the driver about its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportCommand {
    /// Drop the transport, if there is one, and open one to this server. Then report
    /// [`handle_opened`](crate::Session::handle_opened) or
    /// [`handle_closed`](crate::Session::handle_closed). Report nothing more of the dropped
    /// transport.
    Connect(ServerIndex),
    /// Drop the transport, with all bytes that wait to be sent on it.
    Disconnect,
}

/// An event. Events come in the order in which things happened.
///
/// `R` is the type of the caller's tags for requests, `W` that for watches. The sequence of events
/// is a path of this automaton:
///
/// ```text
/// Apart      --ConnectFailed--> Apart
/// Apart      --Connected-->     Together   (the same session each time, but see below)
/// Together   --Fired-->         Together
/// Together   --Changed-->       Together
/// Together   --ChangesMissed--> Together
/// Together   --HeartbeatRefused--> Together
/// Together   --RolledBack-->    Together
/// Together   --Disconnected-->  Apart
/// either     --Completed-->     itself
/// either     --LeaseLapsed-->   itself
/// either     --WatchLost-->     itself
/// either     --Ended-->         the end
/// ```
///
/// It starts in `Apart`. `LeaseLapsed` comes once each time that a
/// [`lease_deadline`](crate::Session::lease_deadline) passes. It never comes before the first
/// `Connected`, and each further one comes only after another `Connected`, or a reply that renewed
/// the lease.
///
/// A session that a read-only server made is not kept: the `Connected` after one with `read_only`
/// may bring another session. The earlier one had no lease and owned nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<R, W> {
    /// A server accepted the session, for the first time or again. The SASL exchange, if there is
    /// one, is complete.
    Connected {
        /// The session.
        session: SessionId,
        /// The negotiated timeout. It may differ from the requested one, and from connection to
        /// connection.
        timeout: Duration,
        /// Whether the server is cut off from its ensemble and answers only reads. Then its answers
        /// may be out of date, writes are refused, and nothing proves the lease.
        read_only: bool,
    },
    /// An attempt to connect failed. Another one follows.
    ConnectFailed {
        /// The server, by its place in the list that counted when the attempt began.
        server: ServerIndex,
        /// Why.
        end: ConnectionEnd,
        /// When the next attempt will begin.
        retry_at: Instant,
    },
    /// The connection is lost. The session may live on, and reconnecting has begun.
    Disconnected {
        /// Why.
        end: ConnectionEnd,
        /// Until when no server can have expired the session; `None` if that has passed.
        lease_deadline: Option<Instant>,
    },
    /// A request has its outcome.
    Completed {
        /// The tag of the request.
        tag: R,
        /// The reply's body, or why there is none.
        outcome: Result<Completion, Failure>,
    },
    /// A one-shot watch fired, and is gone.
    Fired {
        /// The tag of the watch.
        watcher: W,
        /// The kind of change to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; otherwise −1.
        zxid: Zxid,
    },
    /// The server refused a heartbeat: its znode is gone or may not be read, or the server has too
    /// much to do. The heartbeat proves nothing. The next one follows soon: a 24th of the timeout
    /// later, and with each further refusal after twice as long, up to a third. After
    /// [`keep_lease`](crate::Session::keep_lease) with another znode it follows at once.
    HeartbeatRefused {
        /// Why.
        error: ErrorCode,
    },
    /// The ensemble has lost transactions that it had shown to an earlier session of this client. It comes
    /// once, before the completion of the write that shows it, and only from Apache ZooKeeper.
    RolledBack(Rollback),
    /// A persistent watch saw a change. The watch stays.
    Changed {
        /// The tag of the watch.
        watcher: W,
        /// The path of the znode: that of the watch, or of a descendant if the watch is recursive.
        path: Arc<str>,
        /// The kind of change to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; otherwise −1.
        zxid: Zxid,
    },
    /// A persistent watch is set again after a reconnect. Changes in between are not reported, so
    /// the caller has to read the znode again.
    ChangesMissed {
        /// The tag of the watch.
        watcher: W,
    },
    /// A watch is gone: a one-shot watch without having fired, a persistent one for good. Either
    /// the session ended; or the present server knows no persistent watches; or it refused a
    /// persistent watch on which a one-shot watch of the same path relied.
    WatchLost {
        /// The tag of the watch.
        watcher: W,
    },
    /// From now on a server may have expired the session. The caller has to stop what it does by
    /// virtue of the session. If the session goes on nevertheless, [`lease_deadline`] returns a new
    /// deadline.
    ///
    /// [`lease_deadline`]: crate::Session::lease_deadline
    LeaseLapsed,
    /// The session has ended. This is the last event.
    Ended(SessionEnd),
}

/// The proof that an ensemble has lost transactions: it was emptied, or restored from a copy, or is another
/// one. An ensemble that loses nothing gives each write a greater zxid than all that a client saw before it
/// sent the write.
///
/// What is counted by zxids goes back too, such as tokens. That no rollback is reported proves nothing: an
/// ensemble that goes on in a newer epoch shows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rollback {
    /// The highest zxid that earlier sessions of this client saw.
    pub seen: Zxid,
    /// The zxid with which a later write was answered.
    pub written: Zxid,
}

/// Writes a sentence without a full stop.
impl fmt::Display for Rollback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seen, written } = self;
        write!(
            f,
            "the ensemble has lost transactions: a write got the zxid {written}, after {seen} was seen"
        )
    }
}

/// The answer to a request that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The last transaction that the server has applied; for a write, its transaction.
    pub zxid: Zxid,
    /// The body, to be decoded as the request's [`Response`](zk_jute::Request::Response).
    pub body: Bytes,
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// The server refused the request.
    #[error("the server refused: {0}")]
    Refused(ErrorCode),
    /// The connection was lost before the answer. The request may or may not have been executed.
    #[error("connection lost: the request may or may not have been executed")]
    ConnectionLoss,
    /// The answer was longer than the driver keeps. The server executed the request. A watch that
    /// came with it is not kept.
    #[error("the answer of {length} bytes is above the limit of {limit}")]
    ReplyTooLarge {
        /// The answer's length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The session ended before the request was sent, so it was not executed.
    #[error("the session ended before the request was sent")]
    NotSent,
}

/// Why a request was not accepted. It is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum SubmitError {
    /// The session has no connection, and is configured to refuse requests then.
    #[error("not connected: the request was not sent")]
    NotConnected,
    /// Too many requests or bytes wait. Try again after an answer.
    #[error("too many requests in flight")]
    Full,
    /// The request is larger than servers accept.
    #[error("request of {length} bytes is above the limit of {limit}")]
    TooLarge {
        /// The payload's length.
        length: usize,
        /// The limit ([`Limits::max_frame`](crate::Limits::max_frame)).
        limit: usize,
    },
    /// Connections in a row have ended over a request of this length or a shorter one, without an answer: the
    /// servers may take none so long, or the losses were chance. It is not sent before the suspicion ends,
    /// which takes a minute from the first refusal on, and twice as long after each trial that costs a
    /// connection, up to an hour. Try again later.
    #[error(
        "connections were lost over requests of more than {limit} bytes, so that one of {length} bytes is \
         held back for a while"
    )]
    Suspected {
        /// The payload's length.
        length: usize,
        /// The longest payload that is sent meanwhile.
        limit: usize,
    },
    /// A server did not know the operation, and closed the connection over it; or two connections in a
    /// row to a server that is not Apache ZooKeeper have ended over it, without an answer. This session
    /// does not try it again.
    #[error("the server does not know {0}")]
    Unsupported(OpCode),
    /// The session has ended, or is closing.
    #[error("the session is closed")]
    Closed,
}

/// Why a connection ended, or was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The transport failed, or the other side closed it. Before the handshake's answer this also
    /// means that the server is not serving, or that it refuses a client that has seen more than
    /// itself.
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
    /// The server answers only reads, and the session found one that takes writes.
    #[error("left for a server that takes writes")]
    LeftReadOnly,
    /// Nothing was received for two thirds of the session timeout.
    #[error("silent for two thirds of the session timeout")]
    Silent,
    /// Nothing was received for this time while something was in flight, and another server is known: see
    /// [`SilentServers::Leave`](crate::SilentServers::Leave).
    #[error("silent for {} ms while something was in flight", .0.as_millis())]
    Overdue(Duration),
    /// The server refused to make a new session.
    #[error("the server refused to make a session")]
    Refused,
    /// The server answered a request or a ping with the error that the session has expired. This is
    /// no proof: a deposed leader of the ensemble that does not know it yet sends that error to
    /// sessions that live on. The next handshake decides.
    #[error("the server says that the session has expired; the next handshake decides")]
    ExpiryClaimed,
    /// A server of the family [`KeeperLike`](crate::ServerFamily::KeeperLike) has not answered this
    /// operation for the session timeout: some of them never answer one that they do not know.
    #[error("{0} was not answered for the session timeout")]
    Unanswered(OpCode),
    /// The peer broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl ConnectionEnd {
    /// Returns the reason for a connection on which a frame came that is too long for its kind.
    pub(crate) fn too_long(frame: &Oversized) -> Self {
        let error = FrameError::TooLong { length: frame.length, limit: frame.limit };
        Self::Protocol(error.into())
    }
}

/// How a peer broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A frame that does not decode.
    #[error("undecodable frame: {0}")]
    Undecodable(DecodeError),
    /// A frame with an impossible length.
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
    /// The server granted a session timeout within which no connection can be made, and less than
    /// was asked for: the session would expire as fast as it is made. The next attempt goes to
    /// another server.
    #[error(
        "a session timeout of {granted:?} was granted, where {asked:?} was asked for: no session \
         can be kept for that; check minSessionTimeout, maxSessionTimeout and tickTime of the \
         server"
    )]
    TimeoutTooShort {
        /// The timeout that the server granted.
        granted: Duration,
        /// The timeout that the session asked for.
        asked: Duration,
    },
    /// The server refused to set watches again.
    #[error("watches were not set again: {0}")]
    WatchesRefused(ErrorCode),
    /// The server answered a SASL token with an error that does not concern the credentials.
    #[error("the SASL exchange was refused: {0}")]
    SaslRefused(ErrorCode),
    /// The session was used over another connection.
    #[error("the session has moved to another connection")]
    SessionMoved,
}

impl From<DecodeError> for ProtocolError {
    fn from(error: DecodeError) -> Self {
        Self::Undecodable(error)
    }
}

/// Why a session ended.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum SessionEnd {
    /// It was closed, and the server confirmed it: its ephemeral znodes are gone.
    #[error("session closed")]
    Closed,
    /// It was given up without a confirmation. Its ephemeral znodes, if any, stay until a server
    /// expires the session.
    #[error("session abandoned: its ephemeral znodes go when the server expires it")]
    Abandoned,
    /// It was handed over. It lives on, for the process that has its
    /// [ticket](crate::SessionTicket), until a server expires it.
    #[error("session handed over")]
    Detached,
    /// It expired. Its ephemeral znodes are gone, or will be as soon as a server can delete them;
    /// [`Expiry::Refused`] says when that may take longer.
    #[error("session expired: {0}")]
    Expired(Expiry),
    /// The server refused the credentials.
    #[error("authentication failed: {}", Refusal(*.0))]
    AuthFailed(ErrorCode),
    /// The SASL exchange cannot be completed.
    #[error("SASL authentication failed: {0}")]
    SaslFailed(SaslFailure),
}

/// Shows what an error code means to a client, in words that say what to do.
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

/// The proof that a session has expired.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Expiry {
    /// A server refused to continue it in a handshake.
    ///
    /// A leader of the ensemble that was deposed, and does not know it yet, may refuse a session
    /// that lives on. Then its ephemeral znodes stay longer, by at most the longest timeout that
    /// was granted to it.
    #[error("a server refused to go on with it")]
    Refused,
    /// A server answered with another session, which
    /// [happens](https://github.com/ClickHouse/ClickHouse/issues/116690).
    #[error("a server answered with another session, {0}")]
    Replaced(SessionId),
    /// No server was in reach for four thirds of the timeout; with SASL, none that completed the
    /// exchange.
    #[error("no server was in reach for four thirds of its timeout")]
    Unreachable,
}
