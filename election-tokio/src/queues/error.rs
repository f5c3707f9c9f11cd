//! Errors of putting and taking items.

use election_core::queue::{PriorityError, TakerFailure};
use zk_session::SessionEnd;

use super::item::QueueItem;
use crate::Error;
use crate::acl::AclError;
use crate::client::TransactionError;
use crate::error::{Place, Refusable, SharedError};
use crate::path::PathError;
use crate::spot::misplaced;

/// Why an item was not put, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PutError {
    /// The znode could not be created, or may not have been.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure of the request.
        error: Error,
    },
    /// The znodes could not be created, or may not have been: all of them, or none.
    #[error("{at}: {error}")]
    Transaction {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure of the transaction.
        error: TransactionError,
    },
    /// The priority is too great for the format: nothing was sent.
    #[error("{at}: {error}")]
    Priority {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault in the priority.
        error: PriorityError,
    },
    /// The queue's node has given out all numbers, so use another path. Nothing was put.
    #[error(
        "{at}: the queue's node has given out its last number: put into a queue at another path"
    )]
    SequenceExhausted {
        /// The recipe, its path and the step.
        at: Place,
    },
}

impl PutError {
    /// Returns whether the items may be in the queue, although this failed. Putting them again may
    /// then put them twice.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Request { error, .. } => error.may_have_happened(),
            Self::Transaction { error, .. } => error.may_have_happened(),
            Self::Priority { .. } | Self::SequenceExhausted { .. } => false,
        }
    }
}

/// Why no item was taken, or none may have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// The path of the queue is invalid.
    #[error("invalid path of a queue {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The fault in the path.
        error: PathError,
    },
    /// No server would accept the access list.
    #[error("{at}: invalid access list: {error}")]
    InvalidAcl {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault in the list.
        error: AclError,
    },
    /// The operating system gave no random numbers for the taker's id.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
    /// The item is gone, and the reply to this client's deletion was lost: this client has taken
    /// the item, or another taker has. If the client ended, the item may also be there.
    #[error("the item {} may have been taken by this client, or by another one: it is gone from the queue, or may be there if the client ended", .0.name)]
    Unknown(QueueItem),
    /// It failed in a way that trying again does not repair.
    #[error("{at}: {}", Refusable(*failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: TakerFailure,
    },
    /// The client ended.
    #[error("{at}: {end}")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
}

misplaced!(TakeError);

/// The item was not done, or not given back, as far as this claim knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {lost}")]
pub struct ClaimError {
    /// The recipe, its path and the step.
    pub at: Place,
    /// The reason.
    pub lost: ClaimLost,
}

/// It is not known that only this claim has done the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimLost {
    /// The claim was lost, with its session or by an operator: the item is in the queue, or another
    /// taker has it.
    #[error("the claim was lost: another taker may have the item")]
    Lost,
    /// The claim was lost while its item was deleted. The item is gone: this client deleted it, or
    /// another taker has done it, too.
    #[error("the claim was lost while its item was deleted: another taker may have done it, too")]
    Unknown,
    /// The server refused to delete the item, or its claim. The item is given back, as soon as the
    /// server permits that.
    #[error("{}", Refusable(*.0))]
    Failed(TakerFailure),
    /// The client ended. The item is given back once its session is over.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}
