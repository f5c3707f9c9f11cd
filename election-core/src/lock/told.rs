//! Reports to the user of a lock.

use thiserror::Error;

use crate::id::Token;
use crate::name::CandidateName;
use crate::outcome::{Cause, Departure, End, NominationError, Notice, Obstacle};

/// The present state of a contender for a lock.
///
/// It is what is known here. Whether the holder may act also depends on the time: a driver compares
/// the lease deadline with its clock before it relies on [`Held`](Self::Held).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState<'a> {
    /// It is not connected, and neither holds the lock nor leaves.
    Connecting,
    /// It is connected, and on the way to a place in the queue.
    Queueing,
    /// It waits for a contender to go, and watches that one's znode.
    Waiting {
        /// The nearest earlier contender that is in the way.
        behind: &'a CandidateName,
    },
    /// The lock is held.
    Held {
        /// The token that fences this acquisition.
        token: Token,
    },
    /// It holds the lock, but the link is down, or the znode is not verified yet after a reconnect.
    /// The lease deadline says how long the lock can still be relied on.
    Suspended {
        /// The token that fences this acquisition.
        token: Token,
    },
    /// It removes its znode, to end.
    Leaving,
    /// It has ended.
    Ended(LockEnd),
}

/// A change for the user of a lock. An event gives at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockNotice {
    /// The contender waits behind another one, which [`LockState::Waiting`] names; or it is the
    /// first that waits for a permit of a semaphore
    /// ([`SemaphoreState::Next`](crate::semaphore::SemaphoreState::Next)). Reported again when that changes,
    /// and after each reconnect.
    Waiting,
    /// It waits behind a znode that it may not read, so no watch reports the end of that znode:
    /// only the next [`Event::Look`](crate::Event::Look) shows that it is gone.
    WaitingUnwatched,
    /// It waits behind a znode that is not ephemeral: only its deletion ends the wait.
    WaitingForPersistent,
    /// It waits, because of a znode that it can neither wait for nor delete. It looks again at each
    /// [`Event::Look`](crate::Event::Look), and repeats this if the znode is still there.
    Obstructed(Obstacle),
    /// A sequential znode of another format is in the lock's node, the first such znode by number:
    /// [`Lock::foreign_child`](super::Lock::foreign_child) names it. Contenders of two formats do
    /// not see each other. Reported by the contender that is about to hold, or waits for only one
    /// other, and again when another one is the first.
    ForeignChild,
    /// The lock is held. The token is greater than that of every earlier holder that did not share it.
    Acquired(Token),
    /// The link went down while the lock was held.
    Suspended,
    /// The link is back and the znode still stands: the lock is held as before.
    Resumed(Token),
    /// Another client asks this one to release, by writing to this contender's znode; also while it
    /// waits. To consent, [withdraw](crate::Recipe::withdraw). Reported once for each request.
    RevokeRequested,
    /// The writer has become a reader. The lock was held all the time, and still is, with the same
    /// token.
    Downgraded,
    /// The server refused to let the writer become a reader. It holds the lock as before.
    NotDowngraded(LockFailure),
    /// The lock is not held any more; [`Ended`](Self::Ended) follows once nothing of it is left.
    Lost(Cause),
    /// The znode of a contender that waits is gone; it contends again.
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
    /// It failed in a way that contending again does not repair.
    Failed(LockFailure),
}

/// Why a contender gave up without having held the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GaveUp {
    /// It was withdrawn.
    Withdrawn,
    /// The lock was not free: [`WhenBusy::GiveUp`](super::WhenBusy::GiveUp).
    Busy,
    /// [`Event::Deadline`](crate::Event::Deadline) came first.
    TimedOut,
}

/// Why an acquisition failed. Znodes that it may have left on the server are still removed:
/// [`Phase::CleaningUp`](crate::Phase::CleaningUp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum LockFailure {
    /// The lock's node does not exist, and must not be created, or was gone again after each of
    /// several attempts to create it.
    #[error(
        "its node does not exist, and was not created: let the contender create it, or create \
         it yourself"
    )]
    NoNode,
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The server has no number left below the lock's node that it gives to only one contender.
    #[error(
        "its node has given out its last sequence number (2147483646): take a fresh node, or \
         delete this one and create it again once it is empty"
    )]
    SequenceExhausted,
    /// The contest has ended: the lock's node has the znode that marks the end in its format.
    #[error("there is nothing to hold any more: the znode `DONE` below its node ends it")]
    Concluded,
    /// The server named the created znode otherwise than asked.
    #[error("the server gave the contender's znode a name that was not asked for")]
    UnexpectedName,
    /// The server refused, with this error code: no permission, a quota, failed authentication.
    #[error("the server refused a request for the lock, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// A request was not sent, because it is longer than servers take.
    #[error(
        "the contender's data, path and access list are longer together than servers take: shorten the \
         data, or raise the client's limit and `jute.maxbuffer` of the servers"
    )]
    TooLarge,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
    /// A contender of another format was at the lock's node before this one; or it came later, and was
    /// still there at the next [`Event::Look`](crate::Event::Look). Contenders of two formats do not see
    /// each other. [`Lock::foreign_child`](super::Lock::foreign_child) names it.
    #[error(
        "a contender of another format stands in the lock's node, and the two do not see each other: \
         let all contenders use one format"
    )]
    OtherFormat,
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
            NominationError::NoChroot => Self::NoChroot,
            NominationError::SequenceExhausted => Self::SequenceExhausted,
            NominationError::UnexpectedName => Self::UnexpectedName,
            NominationError::Rejected(code) => Self::Rejected(code),
            NominationError::UnreadableReply => Self::UnreadableReply,
            NominationError::TooLarge => Self::TooLarge,
            NominationError::UnexpectedReply => Self::UnexpectedReply,
            NominationError::OtherFormat => Self::OtherFormat,
        }
    }
}
