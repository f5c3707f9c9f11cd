//! Errors of registering names.

use election_core::group::NameOwner;

use crate::Error;
use crate::client::TransactionError;
use crate::error::{Place, SharedError};
use crate::group::MembershipError;

/// Why a name was not registered, or not given back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another registration has the name.
    #[error("the name {path} is taken: take another one, or wait until it is given back")]
    NameTaken {
        /// The path of the name.
        path: String,
        /// The event that ends its znode's life.
        owner: NameOwner,
    },
    /// This registration does not have the name any more: an operator has deleted it.
    #[error("the name {path} is not registered by this registration")]
    NotRegistered {
        /// The path of the name.
        path: String,
    },
    /// The operating system gave no random bytes.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
    /// The znode of the session was not created.
    #[error(transparent)]
    Membership(MembershipError),
    /// The request failed.
    #[error(transparent)]
    Request(#[from] Error),
    /// The transaction was refused.
    #[error(transparent)]
    Transaction(#[from] TransactionError),
}

impl From<MembershipError> for RegisterError {
    fn from(error: MembershipError) -> Self {
        match error {
            MembershipError::NameTaken { at, owner } => {
                Self::NameTaken { path: at.path().to_owned(), owner }
            }
            error => Self::Membership(error),
        }
    }
}
