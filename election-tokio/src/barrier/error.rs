//! Errors of barriers and double barriers.

use election_core::barrier::BarrierFailure;
use election_core::election::Cause;
use zk_session::SessionEnd;

use crate::acl::AclError;
use crate::error::{Place, Refusable, SharedError};
use crate::path::PathError;
use crate::spot::misplaced;

/// Why an operation on a barrier failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierError {
    /// The path of the barrier is invalid.
    #[error("invalid path of a barrier {path:?}: {error}")]
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
    /// The operating system gave no random numbers for the name of an entry.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
    /// It failed in a way that trying again does not repair.
    #[error("{at}: {}", Refusable(*failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: BarrierFailure,
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

/// Why a participant is not inside a double barrier any more, although it has not left. For the
/// others it has left, and they leave without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum BarrierLost {
    /// The session expired.
    #[error("the session expired")]
    SessionExpired,
    /// Another client deleted the participant's entry.
    #[error("another client deleted the participant's entry")]
    Evicted,
    /// It failed in a way that trying again does not repair.
    #[error("{}", Refusable(*.0))]
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

misplaced!(BarrierError);
