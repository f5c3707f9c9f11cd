//! Errors of acquiring, holding and downgrading locks.

use election_core::format::Format;
use election_core::lock::{DowngradeRefused, LockFailure, LockFormatError};
use zk_session::SessionEnd;

use crate::acl::AclError;
use crate::error::lost::LockLost;
use crate::error::{Place, Refusable, SharedError};
use crate::path::PathError;
use crate::spot::misplaced;

/// Why a lock was not acquired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The path of the lock, or semaphore, is invalid.
    #[error("invalid path of a lock or a semaphore {path:?}: {error}")]
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
    /// The names of the format have no id, and this client contends at the path already, or has a
    /// contender there that has given up or released while its znode remains. Nothing would tell
    /// their znodes apart.
    #[error(
        "this client contends at {path} already, and the names of its format do not tell one contender \
         of a session from another: wait until the first one's znode is gone, or use another client"
    )]
    AlreadyContending {
        /// The path of the lock.
        path: String,
    },
    /// The operating system gave no random numbers for the contender's id.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
    /// The lock cannot be held in this format.
    #[error(transparent)]
    Format(#[from] LockFormatError),
    /// A contender of another format was at the path before this one, or came later and stayed. Contenders of
    /// two formats do not see each other, and two that wait for each other would do so for good. Give all of
    /// them one format ([`Lock::format`](crate::lock::Lock::format)).
    #[error(
        "at {path} the contender {other} has another format than {format:?}, and contenders of two \
         formats do not see each other: let all use one"
    )]
    OtherFormat {
        /// The path of the lock.
        path: String,
        /// The name of the other contender's znode.
        other: String,
        /// The format of this contender.
        format: Format,
    },
    /// It failed in a way that trying again does not repair.
    #[error("{at}: {}", Refusable(*failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: LockFailure,
    },
    /// The client ended.
    #[error("{at}: {end}")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
}

misplaced!(LockError);

/// The lock, permit or slot of a guard was lost, which ended what rested on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {lost}")]
pub struct GuardLost {
    /// The recipe, its path and the step.
    pub at: Place,
    /// The reason.
    pub lost: LockLost,
}

/// The lock is not held any more for this client, but its znode may still exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The client ended before a server confirmed the deletion.
    #[error("{at}: {end}; the holder's znode lives on until its session ends")]
    Unconfirmed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
    /// The lock had been lost before.
    #[error("{at}: it had been lost: {lost}")]
    AlreadyLost {
        /// The recipe, its path and the step.
        at: Place,
        /// The reason.
        lost: LockLost,
    },
}

/// Why a writer has not become a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotDowngraded {
    /// The holder is no writer, or its format does not offer it. No request was sent.
    #[error(transparent)]
    Refused(#[from] DowngradeRefused),
    /// A server refused it: the lock is held by the writer, as before.
    #[error("{}", Refusable(*.0))]
    Failed(LockFailure),
    /// The lock was lost, before or meanwhile.
    #[error("the lock was lost: {0}")]
    Lost(LockLost),
}

impl NotDowngraded {
    pub(super) const fn of(refused: DowngradeRefused, lost: Option<LockLost>) -> Self {
        match (refused, lost) {
            (DowngradeRefused::NotHeld, Some(lost)) => Self::Lost(lost),
            (refused, _) => Self::Refused(refused),
        }
    }
}
