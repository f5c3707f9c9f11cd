//! Messages between a replica and its leader.

use core::time::Duration;

use zk_jute::SessionId;

use crate::transport::ConnectionId;
use crate::write::WriteRequest;

/// The number of a replica in its ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u8);

/// Matches the leader's answer to the request that a replica forwarded. A ticket means nothing to
/// another [`Replica`](crate::replication::Replica), nor to one that replaces this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    pub(crate) connection: ConnectionId,
    pub(crate) number: u64,
}

/// A request of a replica to the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forward {
    /// Begin a session.
    CreateSession {
        /// Its id, chosen by the replica.
        session: SessionId,
        /// The negotiated timeout.
        timeout: Duration,
    },
    /// Continue a session. The client gave the right password.
    ResumeSession {
        /// Its id.
        session: SessionId,
        /// The timeout, negotiated anew.
        timeout: Duration,
    },
    /// Change something.
    Write(WriteRequest),
    /// Answer once this replica has applied everything that is committed so far.
    Sync {
        /// The session that asks.
        session: SessionId,
    },
}

/// The leader's answer to a request that needs no transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Forward::Sync`].
    Synced,
    /// To [`Forward::ResumeSession`].
    SessionResumed,
    /// To [`Forward::ResumeSession`]: the session has ended, or never existed.
    SessionUnknown,
    /// To [`Forward::CreateSession`]: the limit is reached.
    TooManySessions,
    /// To [`Forward::Write`]: the session has been opened on another server since.
    SessionMoved,
}
