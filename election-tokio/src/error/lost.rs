//! Why locks, permits and slots are lost.

use election_core::election::Cause;
use election_core::lock::LockFailure;
use zk_session::SessionEnd;

use super::Refusable;

/// Why a lock is not held any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LockLost {
    /// It was released.
    #[error("released")]
    Released,
    /// The session expired.
    #[error("the session expired")]
    SessionExpired,
    /// The lease deadline passed without proof that the session lives. From then on another client
    /// may hold the lock.
    #[error("the lease deadline passed")]
    LeaseLapsed,
    /// Another client deleted the holder's znode: the lock was broken.
    #[error("another client deleted the holder's znode")]
    Broken,
    /// It failed in a way that trying again does not repair.
    #[error("{}", Refusable(*.0))]
    Failed(LockFailure),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl LockLost {
    pub(crate) const fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::SessionExpired => Self::SessionExpired,
            Cause::LeaseLapsed => Self::LeaseLapsed,
            Cause::Evicted => Self::Broken,
            Cause::SteppedDown => Self::Released,
        }
    }
}
