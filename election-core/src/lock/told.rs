//! What the user of a lock is told.

use thiserror::Error;

use crate::id::Token;
use crate::name::CandidateName;
use crate::outcome::{Cause, Departure, End, NominationError, Notice, Obstacle};

/// What a contender for a lock is at the moment.
///
/// It says what is known here. Whether the holder may act is a question of time as well: a driver
/// compares the lease deadline with its clock before it believes [`Held`](Self::Held).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState<'a> {
    /// Not connected, and neither holding the lock nor leaving.
    Connecting,
    /// Connected, and on the way to a place in the queue.
    Queueing,
    /// Waiting for a contender to go, whose znode is watched.
    Waiting {
        /// The nearest earlier contender that is in the way.
        behind: &'a CandidateName,
    },
    /// The lock is held.
    Held {
        /// Fences this acquisition.
        token: Token,
    },
    /// The lock is held, but the link is down, or the znode not yet verified after a reconnect. The lease
    /// deadline says how long it can still be relied on.
    Suspended {
        /// Fences this acquisition.
        token: Token,
    },
    /// Removing the own znode, to end.
    Leaving,
    /// Over.
    Ended(LockEnd),
}

/// What changed for the user of a lock. Feeding an event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockNotice {
    /// The contender waits behind another one, which [`LockState::Waiting`] names; or it is the first that
    /// waits for a permit of a semaphore ([`SemaphoreState::Next`](crate::SemaphoreState::Next)). Reported
    /// again when that changes, and after each reconnect.
    Waiting,
    /// It waits behind one whose znode it may not read, so that no watch tells of its end: only the next
    /// [`Event::Look`](crate::Event::Look) shows that it is gone.
    WaitingUnwatched,
    /// It waits behind one whose znode is not ephemeral: nothing but its deletion ends the wait.
    WaitingForPersistent,
    /// It waits: a znode is in its way that it can neither wait for nor delete. It looks again at each
    /// [`Event::Look`](crate::Event::Look), and says so again where it is still there.
    Obstructed(Obstacle),
    /// A sequential znode of another format stands in the lock's node, the first by name of those that do:
    /// [`Lock::foreign_child`](super::Lock::foreign_child) names it. Contenders of two formats do not see
    /// each other. Reported by the contender that is about to hold, or waits for one other only, and again
    /// when another one is the first.
    ForeignChild,
    /// The lock is held. The token is greater than that of every earlier holder that did not share it.
    Acquired(Token),
    /// The link went down while the lock was held.
    Suspended,
    /// The link is back and the znode still stands: the lock is held as before.
    Resumed(Token),
    /// Another client asks this one to let go, by what it has written to the own znode; also while it
    /// waits. To consent is to [withdraw](crate::Recipe::withdraw). Told once for each request.
    RevokeRequested,
    /// The writer has become a reader: the lock was held all the time, and is by the same token.
    Downgraded,
    /// The server refused to let the writer become a reader: it holds as before.
    NotDowngraded(LockFailure),
    /// The lock is held no longer; [`Ended`](Self::Ended) follows once nothing is left of it.
    Lost(Cause),
    /// The znode is gone of a contender that waits; it contends again.
    PlaceLost(Cause),
    /// The acquisition is over. Reported exactly once, and last.
    Ended(LockEnd),
}

/// How an acquisition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockEnd {
    /// The lock was held, and released.
    Released(Departure),
    /// It was not acquired.
    NotAcquired(GaveUp, Departure),
    /// It was held, and lost.
    Lost(Cause),
    /// Something that contending again does not repair.
    Failed(LockFailure),
}

/// Why a contender gave up that did not hold the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GaveUp {
    /// It was withdrawn.
    Withdrawn,
    /// The lock was not free: [`WhenBusy::GiveUp`](super::WhenBusy::GiveUp).
    Busy,
    /// [`Event::Deadline`](crate::Event::Deadline) came first.
    TimedOut,
}

/// Why an acquisition failed. What it may have left on the server is still removed:
/// [`Phase::CleaningUp`](crate::Phase::CleaningUp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum LockFailure {
    /// The lock's node does not exist, and is not to be created, or was gone again after each of several
    /// attempts to create it.
    #[error(
        "the lock's node does not exist, and was not created: let the contender create it, or create \
         it yourself; if the client has a chroot that does not exist, create that first"
    )]
    NoNode,
    /// The server has no number left below the lock's node that it gives to one contender only.
    #[error(
        "the lock's node has given out its last sequence number (2147483646): take a fresh node, or \
         delete this one and create it again once it is empty"
    )]
    SequenceExhausted,
    /// There is nothing to contend for any more: the lock's node holds the znode by which its format says
    /// so.
    #[error(
        "there is nothing to hold any more: the lock's node holds a znode that says so (`DONE`)"
    )]
    Concluded,
    /// The server named the created znode otherwise than it was asked to.
    #[error("the server gave the contender's znode a name that was not asked for")]
    UnexpectedName,
    /// The server refused, with this error code: no permission, a quota, failed authentication.
    #[error("the server refused a request for the lock, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than what the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with what belongs to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

impl LockNotice {
    pub(super) const fn of(notice: Notice, gives_up: GaveUp) -> Self {
        match notice {
            Notice::Following => Self::Waiting,
            Notice::FollowingUnwatched => Self::WaitingUnwatched,
            Notice::FollowingPersistent => Self::WaitingForPersistent,
            Notice::Obstructed(obstacle) => Self::Obstructed(obstacle),
            Notice::ForeignChild => Self::ForeignChild,
            Notice::Elected(token) => Self::Acquired(token),
            Notice::Suspended => Self::Suspended,
            Notice::Resumed(token) => Self::Resumed(token),
            Notice::Lost(cause) => Self::Lost(cause),
            Notice::CandidateLost(cause) => Self::PlaceLost(cause),
            Notice::Ended(end) => Self::Ended(LockEnd::of(end, gives_up)),
        }
    }
}

impl LockEnd {
    pub(super) const fn of(end: End, gives_up: GaveUp) -> Self {
        match end {
            End::Resigned(departure) => Self::Released(departure),
            End::Withdrawn(departure) => Self::NotAcquired(gives_up, departure),
            End::Lost(cause) => Self::Lost(cause),
            End::ElectionEnded => Self::Failed(LockFailure::Concluded),
            End::Failed(error) => Self::Failed(LockFailure::of(error)),
        }
    }
}

impl LockFailure {
    pub(crate) const fn of(error: NominationError) -> Self {
        match error {
            NominationError::NoElectionNode => Self::NoNode,
            NominationError::SequenceExhausted => Self::SequenceExhausted,
            NominationError::UnexpectedName => Self::UnexpectedName,
            NominationError::Rejected(code) => Self::Rejected(code),
            NominationError::UnreadableReply => Self::UnreadableReply,
            NominationError::UnexpectedReply => Self::UnexpectedReply,
        }
    }
}
