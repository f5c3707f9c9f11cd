//! How far a contender for a permit has come.

use crate::lock::LockEnd;
use crate::outcome::Notice;

/// How far a contender has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Course {
    /// It contends for the mutex.
    Queueing,
    /// It holds the mutex and contends for a permit.
    Entering,
    /// It has lost the mutex, and takes the znode of its permit back.
    Retreating,
    /// It holds a permit, and lets go of the mutex.
    Holding,
    /// Both parts are on the way to their end.
    Leaving,
    /// The end was told.
    Ended(LockEnd),
}

/// What the two parts say.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) mutex: Option<Notice>,
    pub(super) permit: Option<Notice>,
}
