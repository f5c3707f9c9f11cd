//! Transactions: the leader decides on each once, and every replica applies it.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;
use zk_jute::records::Stat;
use zk_jute::{ErrorCode, SessionId, Zxid};

use crate::access::AccessList;
use crate::lifetime::Lifetime;
use crate::time::Timestamp;

/// When a transaction was made: its number, and the leader's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The transaction's number.
    pub zxid: Zxid,
    /// The time that goes into [`Stat::ctime`] and [`Stat::mtime`].
    pub time: Timestamp,
}

/// One entry of the log. It leaves nothing to decide: transactions that are applied in the order of
/// their numbers to equal databases give equal databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Txn {
    /// When it was made.
    pub at: Moment,
    /// The session that asked for it; [`SessionId::NONE`] for the deletion of containers.
    pub session: SessionId,
    /// The change that it makes.
    pub body: TxnBody,
}

/// The change that a transaction makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnBody {
    /// The session begins.
    CreateSession {
        /// The negotiated timeout.
        timeout: Duration,
    },
    /// The session ends, and its ephemeral znodes with it.
    CloseSession,
    /// These operations, all together.
    Apply(Vec<TxnOperation>),
    /// The transaction changes nothing: a write was refused. It takes a number nevertheless.
    Reject(Rejection),
}

/// A checked operation on one znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnOperation {
    /// A znode is created.
    Create {
        /// The final path, with the sequence.
        path: String,
        /// The data.
        data: Option<Bytes>,
        /// The access list, resolved.
        access: AccessList,
        /// The event that ends the znode's life.
        lifetime: Lifetime,
    },
    /// A znode is deleted.
    Delete {
        /// The znode.
        path: String,
    },
    /// A znode's data is replaced.
    SetData {
        /// The znode.
        path: String,
        /// The new data.
        data: Option<Bytes>,
    },
    /// A znode's access list is replaced.
    SetAcl {
        /// The znode.
        path: String,
        /// The new list, resolved.
        access: AccessList,
    },
    /// Nothing happens: the version was compared when the transaction was made.
    Check,
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The index of the operation in a multi; 0 for other writes.
    pub operation: usize,
    /// The reason.
    pub error: ErrorCode,
    /// The refused part of the request.
    pub extent: Extent,
}

/// How much of a request an error concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One operation. The others of its multi fail with it.
    Operation,
    /// The request: it could not be decoded, or its session has ended.
    Request,
}

/// The result of a transaction, for the client that asked for it and for the clients that watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) outcome: TxnOutcome,
    /// In the order in which they happened.
    pub(crate) changes: Vec<TreeChange>,
}

/// The answer to a transaction's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TxnOutcome {
    SessionCreated,
    SessionClosed,
    Applied(Vec<OperationOutcome>),
    Rejected(Rejection),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OperationOutcome {
    Created { path: String, stat: Stat },
    Deleted,
    DataSet(Stat),
    AclSet(Stat),
    Checked,
}

/// A change that watches report, with the access lists that decide which clients may hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TreeChange {
    Created { path: String, access: AccessList, parent_access: AccessList },
    Deleted { path: String, access: AccessList, parent_access: AccessList },
    DataSet { path: String, access: AccessList },
}

/// The transaction does not fit: it was made for a database in another state, or its number is not
/// higher than the last one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transaction was made for a database in another state")]
pub struct Diverged;
