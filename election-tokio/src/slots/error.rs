//! Errors of sharing slots.

use election_session::slots::{SlotName, SlotNameError};

use crate::Error;
use crate::client::TransactionError;
use crate::election::{ElectionError, NominationEnded};
use crate::error::Place;
use crate::lock::LockError;
use crate::path::PathError;

/// Why a member of slots could not join, or is not one any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotsError {
    /// The path of the slots is invalid.
    #[error("invalid path of slots {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The fault in the path.
        error: PathError,
    },
    /// The name of the member, or of a slot, is invalid.
    #[error(transparent)]
    InvalidName(#[from] SlotNameError),
    /// A list names a slot twice.
    #[error("the slot {0} is in the list twice")]
    Repeated(SlotName),
    /// A group of slots that are to be apart names one that is not in the list.
    #[error("the slot {0} is to be apart from others, and is not in the list")]
    NotListed(SlotName),
    /// A slot is in the groups of those that are to be apart twice.
    #[error("the slot {0} is in two groups of slots that are to be apart, or in one twice")]
    NotApart(SlotName),
    /// The member's znode cannot be made.
    #[error(transparent)]
    Election(#[from] ElectionError),
    /// The member's znode is gone for good.
    #[error("the member has ended: {0}")]
    Ended(NominationEnded),
    /// The lock of a slot cannot be asked for.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// This member has to plan, and its plan is refused.
    #[error("{at}: {error}")]
    Plan {
        /// The recipe, its path and the step.
        at: Place,
        /// The refusal.
        error: TransactionError,
    },
    /// A request failed.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
}
