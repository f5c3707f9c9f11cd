//! The path of a barrier.

use election_tokio::barrier::BarrierError;

use crate::connection;

/// Refuses the path before anything is sent.
pub(super) fn check(path: &str) -> Result<(), BarrierError> {
    connection::check_path(path)
        .map_err(|error| BarrierError::InvalidPath { path: path.to_owned(), error })
}
