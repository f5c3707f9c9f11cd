//! The path of a group.

use election_tokio::group::MembershipError;

use crate::connection;

/// Refuses the path before anything is sent.
pub(super) fn check(path: &str) -> Result<(), MembershipError> {
    connection::check_path(path)
        .map_err(|error| MembershipError::InvalidPath { path: path.to_owned(), error })
}
