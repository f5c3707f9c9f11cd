//! Errors of jobs that run once in a period.

use crate::client::TransactionError;
use crate::error::Place;
use crate::lock::{LockError, LockLost, ReleaseError};
use crate::path::PathError;

/// Why a job was not begun, or its end not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// The lock was not acquired.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The lock was lost. The last state that was recorded stands, or the one that was being recorded.
    #[error("{at}: the lock was lost: {lost}")]
    Lost {
        /// The recipe, its path and the step.
        at: Place,
        /// The reason.
        lost: LockLost,
    },
    /// The znode of the record has other data, of another program or an operator. It was not overwritten:
    /// delete it, or empty it, to have the job run.
    #[error(
        "{path} is not the record of a run, and was not overwritten: use another path, or delete it to \
         have the job run"
    )]
    NotARecord {
        /// The path of the record.
        path: String,
    },
    /// The record could not be read or written.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: TransactionError,
    },
    /// The end was recorded, but no server confirmed that the lock is free.
    #[error("the end of the run was recorded, but the release was not confirmed: {0}")]
    NotReleased(ReleaseError),
}

impl OnceError {
    /// Returns whether the record may have been changed, although this failed.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Lock(_) | Self::NotARecord { .. } => false,
            Self::Lost { .. } | Self::NotReleased(_) => true,
            Self::Request { error, .. } => error.may_have_happened(),
        }
    }
}

/// The record would be outside of the client's chroot.
pub(super) fn at_chroot(path: &str) -> OnceError {
    LockError::InvalidPath { path: path.to_owned(), error: PathError::Chroot }.into()
}
