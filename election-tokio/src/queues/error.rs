//! Why an item was not put, or not taken.

use core::fmt;

use election_core::{PriorityError, TakerFailure};
use zk_jute::ErrorCode;
use zk_session::SessionEnd;

use super::item::QueueItem;
use crate::acl::AclError;
use crate::client::TransactionError;
use crate::error::{Error, SharedError};
use crate::path::PathError;

/// Why an item was not put, or is not known to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PutError {
    /// The znode could not be created, or is not known to be.
    #[error(transparent)]
    Request(#[from] Error),
    /// The znodes could not be created, or are not known to be: all of them, or none.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
    /// The priority is too great for the format: nothing was sent.
    #[error(transparent)]
    Priority(#[from] PriorityError),
    /// The queue's node has given out all numbers: items are put under another path. Nothing was put.
    #[error("the queue's node has given out its last number: put into a queue at another path")]
    SequenceExhausted,
}

impl PutError {
    /// Whether the items may be in the queue, although this failed. A put that is made again then may
    /// put them twice.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Request(error) => error.may_have_happened(),
            Self::Transaction(error) => error.may_have_happened(),
            Self::Priority(_) | Self::SequenceExhausted => false,
        }
    }
}

/// Why no item was taken, or none is known to be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// The path of the queue is invalid.
    #[error("invalid path of a queue {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        #[source]
        error: PathError,
    },
    /// The access list is one that no server would take.
    #[error("invalid access list: {0}")]
    InvalidAcl(#[from] AclError),
    /// The operating system gave no random numbers for the taker's id.
    #[error("no random numbers from the operating system: {0}")]
    Randomness(#[source] SharedError),
    /// The item is gone, and the reply to the deletion by this client was lost: it has taken the item,
    /// or another taker has. If the client ended, the item may also stand.
    #[error("{} may have been taken by this client, or by another one", .0.name)]
    Unknown(QueueItem),
    /// Something that asking again does not repair.
    #[error("{}", Named(*.0))]
    Failed(TakerFailure),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

/// An item is not known to be done by this claim alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimLost {
    /// The claim was lost, with its session or by an operator: the item is in the queue, or another
    /// taker has it.
    #[error("the claim was lost: another taker may have the item")]
    Lost,
    /// The claim was lost while its item was deleted: the item is gone, by this client or after another
    /// taker has done it, too.
    #[error("the claim was lost while its item was deleted: another taker may have done it, too")]
    Unknown,
    /// The server refused to delete the item, which was given back.
    #[error("{}", Named(*.0))]
    Failed(TakerFailure),
    /// The client ended: the item is given back once its session is over.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

/// With the name of the server's error code, of which the machine knows the number alone.
struct Named(TakerFailure);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(failure) = self;
        match *failure {
            TakerFailure::Rejected(code) => write!(f, "{failure}: {}", ErrorCode::new(code)),
            _ => failure.fmt(f),
        }
    }
}
