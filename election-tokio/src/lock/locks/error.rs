//! Errors of several locks at once.

use election_core::format::Format;

use crate::error::Place;
use crate::lock::{LockError, LockLost};

/// Why several locks were not acquired. None is held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocksError {
    /// One of them was not acquired.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Two of them are one lock. A contender that holds it would wait for itself.
    #[error("{path} is twice among the locks to be held at once: name it once")]
    Duplicate {
        /// The path of the second one.
        path: String,
    },
    /// There is no lock among them.
    #[error("no lock is named: name one at least")]
    NoLocks,
    /// The names of the format have no id ([`Format::names_recur`]): neither could a contender that begins anew tell its
    /// znodes apart, nor would they guard a write.
    #[error("locks in {format:?} are not held at once: use a format with ids in its names")]
    NamesRecur {
        /// The format.
        format: Format,
    },
}

/// Why several locks are not held any more: one of them was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {lost}")]
pub struct LocksLost {
    /// The recipe, the path of the lock that was lost first, and the step.
    pub at: Place,
    /// The reason.
    pub lost: LockLost,
}
