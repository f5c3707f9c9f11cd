//! Errors of joining and leaving a group, and of writing its data.

use election_core::group::{MemberFailure, NameOwner};
use zk_session::SessionEnd;

use crate::acl::AclError;
use crate::error::SharedError;
use crate::path::PathError;

/// Why a member has not joined, or is not a member any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MembershipError {
    /// The path of the group, or the name of the member, is invalid.
    #[error("invalid path of a member {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The fault in the path.
        #[source]
        error: PathError,
    },
    /// No server would accept the access list.
    #[error("invalid access list: {0}")]
    InvalidAcl(#[from] AclError),
    /// The operating system gave no random bytes for the name.
    #[error("no randomness for the name of the member: {0}")]
    Randomness(#[source] SharedError),
    /// Another member has the name, and was not to be waited for.
    #[error("the name is taken")]
    NameTaken {
        /// The event that ends its znode's life.
        owner: NameOwner,
    },
    /// Another client deleted the member's znode, and the member was not to join again.
    #[error("another client deleted the znode of the member")]
    Evicted,
    /// It failed in a way that trying again does not repair.
    #[error(transparent)]
    Failed(MemberFailure),
    /// The client ended, and with it the membership: its znode goes with the session.
    #[error("{0}")]
    ClientClosed(SessionEnd),
    /// The member has left.
    #[error("the member has left the group")]
    Left,
}
