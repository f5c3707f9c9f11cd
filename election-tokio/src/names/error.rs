//! Why a name is not registered.

use election_core::NameOwner;

use crate::client::TransactionError;
use crate::error::{Error, SharedError};
use crate::group::MembershipError;

/// Why a name is not registered, or not given back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another registration has the name.
    #[error("the name is taken")]
    NameTaken {
        /// What its znode lives by.
        owner: NameOwner,
    },
    /// The name is not registered by this registration any more: an operator has deleted it.
    #[error("the name is not registered by this registration")]
    NotRegistered,
    /// The operating system gave no random bytes.
    #[error("no randomness for the registration: {0}")]
    Randomness(#[source] SharedError),
    /// The znode that lives by the session is not made.
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
            MembershipError::NameTaken { owner } => Self::NameTaken { owner },
            error => Self::Membership(error),
        }
    }
}
