//! Errors of entering and leaving a double barrier.

use election_core::barrier::BarrierFailure;
use zk_session::SessionEnd;

use crate::barrier::{BarrierError, BarrierLost};
use crate::error::{Place, Refusable};

/// Why a double barrier was not entered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EnterError {
    /// A round is under way, and was not to be waited for.
    #[error(
        "{at}: a round is under way that was not left by all yet: wait for its end, or try later"
    )]
    RoundUnderWay {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// It failed in a way that waiting does not repair.
    #[error(transparent)]
    Barrier(#[from] BarrierError),
}

/// Why it is not known whether all others have left, too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaveError {
    /// The participant was not inside any more: for the others it had left.
    #[error("{at}: the participant was inside no longer: {lost}")]
    AlreadyLost {
        /// The recipe, its path and the step.
        at: Place,
        /// The reason.
        lost: BarrierLost,
    },
    /// The client ended before the others had left.
    #[error("{at}: {end}; the participant's entry lives on until its session ends")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
    /// It failed in a way that trying again does not repair.
    #[error("{at}: {}", Refusable(*failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: BarrierFailure,
    },
}
