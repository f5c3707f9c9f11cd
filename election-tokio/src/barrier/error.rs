//! What goes wrong at a barrier, or a double barrier.

use core::fmt;

use election_core::{BarrierFailure, Cause};
use zk_jute::ErrorCode;
use zk_session::{SessionEnd, ZnodePath};

use crate::acl::AclError;
use crate::error::SharedError;
use crate::path::PathError;

/// Why something that was asked of a barrier was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierError {
    /// The path of the barrier is invalid.
    #[error("invalid path of a barrier {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        #[source]
        error: PathError,
    },
    /// The access list is one that no server would take.
    #[error("invalid access list: {0}")]
    InvalidAcl(#[from] AclError),
    /// The operating system gave no random numbers for the name of an entry.
    #[error("no random numbers from the operating system: {0}")]
    Randomness(#[source] SharedError),
    /// Something that asking again does not repair.
    #[error("{}", Named(*.0))]
    Failed(BarrierFailure),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

/// Why a participant is inside a double barrier no longer, although it has not left: to the others it
/// has, and they leave without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierLost {
    /// The session expired.
    #[error("the session expired")]
    SessionExpired,
    /// Another client deleted the participant's entry.
    #[error("another client deleted the participant's entry")]
    Evicted,
    /// Something that asking again does not repair.
    #[error("{}", Named(*.0))]
    Failed(BarrierFailure),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl BarrierLost {
    pub(crate) const fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::SessionExpired | Cause::LeaseLapsed => Self::SessionExpired,
            // No member of a barrier steps down.
            Cause::Evicted | Cause::SteppedDown => Self::Evicted,
        }
    }
}

pub(crate) fn checked_path(path: &str) -> Result<ZnodePath, BarrierError> {
    let invalid = |error| BarrierError::InvalidPath { path: path.to_owned(), error };
    path.parse().map_err(invalid)
}

/// With the name of the server's error code, of which the machine knows the number alone.
struct Named(BarrierFailure);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(failure) = self;
        match *failure {
            BarrierFailure::Rejected(code) => write!(f, "{failure}: {}", ErrorCode::new(code)),
            _ => failure.fmt(f),
        }
    }
}
