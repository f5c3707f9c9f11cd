//! The progress of a contender for a permit.

use crate::lock::LockEnd;
use crate::outcome::Notice;

/// The progress of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Course {
    /// It contends for the mutex.
    Queueing,
    /// It holds the mutex and contends for a permit.
    Entering,
    /// It has lost the mutex, and takes the znode of its permit back.
    Retreating,
    /// It holds a permit, and releases the mutex.
    Holding,
    /// Both parts are ending.
    Leaving,
    /// The end was reported.
    Ended(LockEnd),
}

/// The reports of the two parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Reports {
    pub(super) mutex: Option<Notice>,
    pub(super) permit: Option<Notice>,
}
