//! Errors of joining and leaving a group, and of writing its data.

use election_core::group::{MemberFailure, NameOwner};
use zk_session::SessionEnd;

use crate::acl::AclError;
use crate::error::{Place, Refusable, SharedError};
use crate::path::PathError;
use crate::spot::misplaced;

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
    /// The operating system gave no random bytes for the name.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
    /// Another member has the name, and was not to be waited for.
    #[error("{at}: the name is taken: take another one, or let the member wait")]
    NameTaken {
        /// The recipe, its path and the step.
        at: Place,
        /// The event that ends its znode's life.
        owner: NameOwner,
    },
    /// Another client deleted the member's znode, and the member was not to join again.
    #[error("{at}: another client deleted the znode of the member")]
    Evicted {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// It failed in a way that trying again does not repair.
    #[error("{at}: {}", Refusable(*failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: MemberFailure,
    },
    /// The client ended, and with it the membership: its znode goes with the session.
    #[error("{at}: {end}")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
    /// The member has left.
    #[error("{at}: the member has left the group")]
    Left {
        /// The recipe, its path and the step.
        at: Place,
    },
}

misplaced!(MembershipError);
