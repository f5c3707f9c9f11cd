//! Nominees and contenders for locks, through one interface.

use election_core::election::{End, NominationError, Notice, Role};
use election_core::lock::{LockEnd, LockFailure, LockNotice, LockState};
use election_core::name::CandidateName;
use election_core::semaphore::SemaphoreState;
use election_core::{NomineeId, Phase};

/// A nominee, or a contender for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued<'a> {
    pub(crate) id: NomineeId,
    /// That of a contender is told in a nominee's terms: its leader is its predecessor, since a lock
    /// does not tell which contender is the first.
    pub(crate) role: Role<'a>,
    pub(crate) phase: Phase,
    pub(crate) znode: Option<&'a CandidateName>,
}

impl Queued<'_> {
    pub(super) const fn holds(&self) -> bool {
        matches!(self.role, Role::Leading { .. } | Role::Suspended { .. })
    }
}

/// Returns a contender's state, in the terms of a nominee.
pub(super) const fn role_of(state: LockState<'_>) -> Role<'_> {
    match state {
        LockState::Connecting => Role::Connecting,
        LockState::Queueing => Role::Standing,
        LockState::Waiting { behind } => Role::Following { predecessor: behind, leader: behind },
        LockState::Held { token } => Role::Leading { token },
        LockState::Suspended { token } => Role::Suspended { token },
        LockState::Leaving => Role::Leaving,
        LockState::Ended(end) => Role::Ended(end_of(end)),
    }
}

/// Returns the same of a contender that wants a permit. The next one has its turn, and waits for a
/// permit.
pub(super) const fn role_at_semaphore(state: SemaphoreState<'_>) -> Role<'_> {
    match state {
        SemaphoreState::Connecting => Role::Connecting,
        SemaphoreState::Queueing | SemaphoreState::Next => Role::Standing,
        SemaphoreState::Waiting { behind } => {
            Role::Following { predecessor: behind, leader: behind }
        }
        SemaphoreState::Held { token } => Role::Leading { token },
        SemaphoreState::Suspended { token } => Role::Suspended { token },
        SemaphoreState::Leaving => Role::Leaving,
        SemaphoreState::Ended(end) => Role::Ended(end_of(end)),
    }
}

/// Returns a contender's notice in the terms of a nominee, if a nominee can give it.
pub(super) const fn notice_of(notice: LockNotice) -> Option<Notice> {
    Some(match notice {
        LockNotice::Waiting => Notice::Following,
        LockNotice::WaitingUnwatched => Notice::FollowingUnwatched,
        LockNotice::WaitingForPersistent => Notice::FollowingPersistent,
        LockNotice::Obstructed(obstacle) => Notice::Obstructed(obstacle),
        LockNotice::ForeignChild => Notice::ForeignChild,
        LockNotice::Acquired(token) => Notice::Elected(token),
        LockNotice::Suspended => Notice::Suspended,
        LockNotice::Resumed(token) => Notice::Resumed(token),
        LockNotice::Lost(cause) => Notice::Lost(cause),
        LockNotice::PlaceLost(cause) => Notice::CandidateLost(cause),
        LockNotice::Ended(end) => Notice::Ended(end_of(end)),
        LockNotice::RevokeRequested | LockNotice::Downgraded | LockNotice::NotDowngraded(_) => {
            return None;
        }
    })
}

const fn end_of(end: LockEnd) -> End {
    match end {
        LockEnd::Released(departure) => End::Resigned(departure),
        LockEnd::NotAcquired(_, departure) => End::Withdrawn(departure),
        LockEnd::Lost(cause) => End::Lost(cause),
        LockEnd::Failed(LockFailure::Concluded) => End::ElectionEnded,
        LockEnd::Failed(failure) => End::Failed(error_of(failure)),
    }
}

const fn error_of(failure: LockFailure) -> NominationError {
    match failure {
        LockFailure::NoNode => NominationError::NoElectionNode,
        LockFailure::SequenceExhausted => NominationError::SequenceExhausted,
        LockFailure::UnexpectedName => NominationError::UnexpectedName,
        LockFailure::Rejected(code) => NominationError::Rejected(code),
        LockFailure::UnreadableReply => NominationError::UnreadableReply,
        LockFailure::TooLarge => NominationError::TooLarge,
        _ => NominationError::UnexpectedReply,
    }
}
