//! What the user of a semaphore is told.

use super::Semaphore;
use super::course::Course;
use crate::id::Token;
use crate::lock::LockEnd;
use crate::name::CandidateName;
use crate::outcome::Role;

/// What a contender for a permit is at the moment.
///
/// It says what is known here. Whether the holder may act is a question of time as well: a driver
/// compares the lease deadline with its clock before it believes [`Held`](Self::Held).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SemaphoreState<'a> {
    /// Not connected, and neither holding a permit nor leaving.
    Connecting,
    /// Connected, and on the way to a place in the queue, or to a permit.
    Queueing,
    /// Waiting for a contender to go that is before it, whose znode is watched.
    Waiting {
        /// The next earlier contender.
        behind: &'a CandidateName,
    },
    /// It is the first that waits: it gets the next permit that is released.
    Next,
    /// A permit is held.
    Held {
        /// Fences this acquisition.
        token: Token,
    },
    /// A permit is held, but the link is down, or the znode not yet verified after a reconnect. The lease
    /// deadline says how long it can still be relied on.
    Suspended {
        /// Fences this acquisition.
        token: Token,
    },
    /// Removing the own znodes, to end.
    Leaving,
    /// Over.
    Ended(LockEnd),
}

impl Semaphore {
    /// What the contender is at the moment.
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
