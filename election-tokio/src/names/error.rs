//! Errors of registering names.

use election_core::group::NameOwner;

use crate::Error;
use crate::client::TransactionError;
use crate::error::{Place, SharedError};
use crate::group::MembershipError;

/// The recipe and the steps that errors name.
pub(super) const RECIPE: &str = "name";
pub(super) const REGISTER: &str = "register";
pub(super) const UNREGISTER: &str = "unregister";

/// Why a name was not registered, or not given back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another registration has the name.
    #[error("{at}: the name is taken: take another one, or wait until it is given back")]
    NameTaken {
        /// The recipe, its path and the step.
        at: Place,
        /// The event that ends its znode's life.
        owner: NameOwner,
    },
    /// This registration does not have the name any more: an operator has deleted it.
    #[error("{at}: the name is not registered by this registration")]
    NotRegistered {
        /// The recipe, its path and the step.
        at: Place,
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
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
    /// The transaction was refused.
    #[error("{at}: {error}")]
    Transaction {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: TransactionError,
    },
}

impl From<MembershipError> for RegisterError {
    fn from(error: MembershipError) -> Self {
        match error {
            MembershipError::NameTaken { at, owner } => {
                Self::NameTaken { at: Place::new(RECIPE, at.path(), REGISTER), owner }
            }
            error => Self::Membership(error),
        }
    }
}
