//! The state of a semaphore's contender, for its user.

use super::Semaphore;
use super::course::Course;
use crate::id::Token;
use crate::lock::LockEnd;
use crate::name::CandidateName;
use crate::outcome::Role;

/// The present state of a contender for a permit.
///
/// It is what is known here. Whether the holder may act also depends on the time: a driver compares
/// the lease deadline with its clock before it relies on [`Held`](Self::Held).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreState<'a> {
    /// It is not connected, and neither holds a permit nor leaves.
    Connecting,
    /// It is connected, and on the way to a place in the queue, or to a permit.
    Queueing,
    /// It waits for the contender before it to go, and watches that one's znode.
    Waiting {
        /// The next earlier contender.
        behind: &'a CandidateName,
    },
    /// It is the first that waits: it gets the next permit that is released.
    Next,
    /// It holds a permit.
    Held {
        /// The token that fences this acquisition.
        token: Token,
    },
    /// It holds a permit, but the link is down, or the znode is not verified yet after a reconnect.
    /// The lease deadline says how long the permit can still be relied on.
    Suspended {
        /// The token that fences this acquisition.
        token: Token,
    },
    /// It removes its znodes, to end.
    Leaving,
    /// It has ended.
    Ended(LockEnd),
}

impl Semaphore {
    /// Returns the present state of the contender.
    pub fn state(&self) -> SemaphoreState<'_> {
        match self.course {
            Course::Queueing | Course::Retreating => match self.mutex.role() {
                Role::Connecting => SemaphoreState::Connecting,
                Role::Following { predecessor, .. } => {
                    SemaphoreState::Waiting { behind: predecessor }
                }
                _ => SemaphoreState::Queueing,
            },
            Course::Entering | Course::Holding => match self.permit.role() {
                Role::Connecting => SemaphoreState::Connecting,
                Role::Leading { token } => SemaphoreState::Held { token },
                Role::Suspended { token } => SemaphoreState::Suspended { token },
                _ if self.permit.is_crowded_out() => SemaphoreState::Next,
                _ => SemaphoreState::Queueing,
            },
            Course::Leaving => SemaphoreState::Leaving,
            Course::Ended(end) => SemaphoreState::Ended(end),
        }
    }
}
