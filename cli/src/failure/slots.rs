//! Failures of `zkelect slots`.

use election_tokio::TransactionError;
use election_tokio::slots::SlotsError;

use super::{Failure, is_permission};
use crate::exit::Exit;

impl From<SlotsError> for Failure {
    fn from(error: SlotsError) -> Self {
        match error {
            SlotsError::Election(error) => Self::Election(error),
            SlotsError::Ended(ended) => Self::Nomination(ended),
            SlotsError::Lock(error) => Self::Lock(error),
            SlotsError::Request { error, .. } => Self::Operation(error),
            error => Self::Slots(error),
        }
    }
}

impl Failure {
    /// Returns the exit code for an error that is none of another recipe.
    pub(super) fn exit_of_slots(error: &SlotsError) -> Exit {
        match error {
            SlotsError::Plan { error: TransactionError::Refused { code, .. }, .. }
                if is_permission(*code) =>
            {
                Exit::NoPermission
            }
            SlotsError::Plan { .. } => Exit::WrongSetUp,
            _ => Exit::Usage,
        }
    }
}
