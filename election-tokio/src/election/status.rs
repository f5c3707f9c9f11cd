//! What a nomination is doing, and how it ended.

use core::fmt;

use election_core::{CandidateName, Cause, Departure, End as CoreEnd, NominationError, Token};
use tokio::time::Instant;
use zk_jute::{ErrorCode, SessionId};
use zk_session::{LeaseOutlook, SessionEnd};

/// What a nomination is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// Its role.
    pub role: Role,
    /// The name of its candidate znode, while it has one.
    pub candidate: Option<CandidateName>,
    /// The session that it stands in, once it had one.
    pub session: Option<SessionId>,
}

impl Status {
    pub(crate) const fn new() -> Self {
        Self { role: Role::Connecting, candidate: None, session: None }
    }
}

/// The role of a nominee.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Without a connection, and not leading.
    Connecting,
    /// On the way to a place in the queue.
    Standing,
    /// Waiting for its predecessor to go.
    Following {
        /// The next lower candidate, which is watched.
        predecessor: CandidateName,
        /// The lowest candidate when the nominee last looked; it may have gone since.
        leader: CandidateName,
    },
    /// Promoted, and not elected yet: its candidate is the first, but the lease is not proved, or would
    /// lapse before it is proved again. It is told that it leads once the lease can be relied on; with
    /// [`LeaseOutlook::RoundTripTooLong`] that is never, as long as replies take that long.
    AwaitingLease {
        /// What the lease waits for, and why.
        outlook: LeaseOutlook,
    },
    /// Leading. Whether it may act at this moment is for
    /// [`Leadership::is_valid`](super::Leadership::is_valid) to say, which asks the clock.
    Leading {
        /// Fences this leadership.
        token: Token,
    },
    /// Leading, with the connection lost: it goes on if the session does.
    Suspended {
        /// Fences this leadership.
        token: Token,
        /// Until when no other nominee can lead: the lease deadline.
        valid_until: Option<Instant>,
    },
    /// Removing its candidate znode.
    Leaving,
    /// Over.
    Ended(EndReason),
}

/// How a nomination ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EndReason {
    /// It led and resigned.
    #[error("resigned")]
    Resigned(Departure),
    /// It withdrew without leading.
    #[error("withdrew")]
    Withdrawn(Departure),
    /// Its candidate was lost, and it was not to stand again.
    #[error("{0}")]
    Lost(LostReason),
    /// Something that standing again does not repair.
    #[error("{}", Named(*.0))]
    Failed(NominationError),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl EndReason {
    pub(crate) fn of(end: CoreEnd) -> Self {
        match end {
            CoreEnd::Resigned(departure) => Self::Resigned(departure),
            CoreEnd::Withdrawn(departure) => Self::Withdrawn(departure),
            CoreEnd::Lost(cause) => Self::Lost(LostReason::of_cause(cause)),
            CoreEnd::Failed(error) => Self::Failed(error),
        }
    }
}

/// Why a leadership is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LostReason {
    /// The nominee resigned, or its nomination was dropped.
    #[error("resigned")]
    Resigned,
    /// The session expired.
    #[error("the session expired")]
    SessionExpired,
    /// The lease deadline passed without proof that the session lives: from then on another
    /// nominee may lead.
    #[error("the lease deadline passed")]
    LeaseLapsed,
    /// Somebody else deleted the candidate znode.
    #[error("somebody else deleted the candidate znode")]
    Evicted,
    /// Something that standing again does not repair.
    #[error("{}", Named(*.0))]
    Failed(NominationError),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl LostReason {
    pub(crate) fn of(end: CoreEnd) -> Self {
        match end {
            CoreEnd::Resigned(_) | CoreEnd::Withdrawn(_) => Self::Resigned,
            CoreEnd::Lost(cause) => Self::of_cause(cause),
            CoreEnd::Failed(error) => Self::Failed(error),
        }
    }
}

impl LostReason {
    pub(crate) const fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::SessionExpired => Self::SessionExpired,
            Cause::LeaseLapsed => Self::LeaseLapsed,
            Cause::Evicted => Self::Evicted,
        }
    }
}

/// With the name of the server's error code, of which the machine knows the number alone.
struct Named(NominationError);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        match *error {
            NominationError::Rejected(code) => write!(f, "{error}: {}", ErrorCode::new(code)),
            _ => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_by_the_name_of_its_code() {
        let rejected = NominationError::Rejected(ErrorCode::NO_AUTH.get());
        for text in
            [EndReason::Failed(rejected).to_string(), LostReason::Failed(rejected).to_string()]
        {
            assert!(text.ends_with("-102: NoAuth"), "{text}");
        }
        let other = NominationError::NoElectionNode;
        assert_eq!(EndReason::Failed(other).to_string(), other.to_string());
    }
}
