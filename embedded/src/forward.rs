//! What goes between a replica and its leader.

use core::time::Duration;

use zk_jute::SessionId;

use crate::transport::ConnectionId;
use crate::write::WriteRequest;

/// The number of a replica in its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u8);

/// By which a replica recognises the answer to what it forwarded. It means nothing to another
/// [`Replica`](crate::replication::Replica), also to one that takes this one's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    pub(crate) connection: ConnectionId,
    pub(crate) number: u64,
}

/// What a replica asks of the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Begin a session.
    CreateSession {
        /// Its id, made by the replica.
        session: SessionId,
        /// The negotiated timeout.
        timeout: Duration,
    },
    /// Go on with a session whose password was right.
    ResumeSession {
        /// Its id.
        session: SessionId,
        /// The timeout, negotiated anew.
        timeout: Duration,
    },
    /// Change something.
    Write(WriteRequest),
    /// Answer once everything committed so far has been applied here.
    Sync {
        /// The session that asks.
        session: SessionId,
    },
}

/// The leader's answer to what needs no transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Forward::Sync`].
    Synced,
    /// To [`Forward::ResumeSession`].
    SessionResumed,
    /// To [`Forward::ResumeSession`]: it is over, or never was.
    SessionUnknown,
    /// To [`Forward::CreateSession`]: the limit is reached.
    TooManySessions,
    /// To [`Forward::Write`]: the session was opened elsewhere since.
    SessionMoved,
}
