//! The status of a nomination, and its end.

use core::fmt;

use election_core::Token;
use election_core::election::{
    Cause, Departure, End, NominationError, Nominee, Notice, Role as CoreRole,
};
use election_core::name::CandidateName;
use zk_jute::{ErrorCode, SessionId};
use zk_session::lease::LeaseOutlook;
use zk_session::{Instant, SessionEnd};

use crate::event::Step;
use crate::grant::{Grant, GrantChange, GrantEnd};
use crate::view::View;

/// The status of a nomination. `I` is the type of the lease deadline.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status<I = Instant> {
    /// Its role.
    pub role: Role<I>,
    /// The name of its candidate znode, while it has one.
    pub candidate: Option<CandidateName>,
    /// The session that it stands in, or stood in last.
    pub session: Option<SessionId>,
}

impl<I> Status<I> {
    /// Returns the status of a nomination that has not been connected yet.
    pub const fn new() -> Self {
        Self { role: Role::Connecting, candidate: None, session: None }
    }

    /// Keeps the predecessor that the nominee followed until now, from the status before this one.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        if let (
            Role::Following { predecessor, previous, .. },
            Role::Following { predecessor: last, previous: last_but_one, .. },
        ) = (&mut self.role, &before.role)
        {
            *previous = if predecessor == last { last_but_one.clone() } else { Some(last.clone()) };
        }
        self
    }

    /// Returns the same status with another type of moments.
    pub fn map_instant<J>(self, map: impl FnOnce(I) -> J) -> Status<J> {
        let Self { role, candidate, session } = self;
        let role = match role {
            Role::Connecting => Role::Connecting,
            Role::Standing => Role::Standing,
            Role::Following { predecessor, previous, leader } => {
                Role::Following { predecessor, previous, leader }
            }
            Role::AwaitingLockDelay { until } => Role::AwaitingLockDelay { until: until.map(map) },
            Role::AwaitingLease { outlook } => Role::AwaitingLease { outlook },
            Role::Leading { token } => Role::Leading { token },
            Role::Suspended { token, valid_until } => {
                Role::Suspended { token, valid_until: valid_until.map(map) }
            }
            Role::Leaving => Role::Leaving,
            Role::Ended(reason) => Role::Ended(reason),
        };
        Status { role, candidate, session }
    }
}

impl<I> Default for Status<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl Status {
    /// Returns the status of a nominee, by what its host knows.
    pub fn of(nominee: &Nominee, view: View<'_>) -> Self {
        let role = match (nominee.role(), view.grant) {
            (CoreRole::Ended(end), _) => Role::Ended(EndReason::of(end)),
            _ if view.is_closing => Role::Leaving,
            (CoreRole::Leading { token }, Grant::Announced { .. }) => Role::Leading { token },
            (CoreRole::Suspended { token }, Grant::Announced { .. }) => {
                Role::Suspended { token, valid_until: view.lease_deadline }
            }
            (CoreRole::Leading { .. }, Grant::AwaitsLease { outlook, .. }) => {
                Role::AwaitingLease { outlook: *outlook }
            }
            (CoreRole::Promoted, _) => Role::AwaitingLockDelay { until: view.delay_until },
            (CoreRole::Leading { .. } | CoreRole::Standing, _) => Role::Standing,
            (CoreRole::Connecting | CoreRole::Suspended { .. }, _) => Role::Connecting,
            (CoreRole::Following { predecessor, leader }, _) => Role::Following {
                predecessor: predecessor.clone(),
                previous: None,
                leader: leader.clone(),
            },
            (CoreRole::Leaving, _) => Role::Leaving,
        };
        Self { role, candidate: nominee.candidate().cloned(), session: view.session }
    }
}

/// The role of a nominee.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "serde", serde(bound = ""))]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role<I = Instant> {
    /// It has no connection, and does not lead.
    Connecting,
    /// It is on the way to a place in the queue.
    Standing,
    /// It waits for its predecessor to go.
    Following {
        /// The next lower candidate, which it watches.
        predecessor: CandidateName,
        /// The candidate that it watched before, if it followed that one until now.
        previous: Option<CandidateName>,
        /// The lowest candidate when the nominee last looked. It may have gone since.
        leader: CandidateName,
    },
    /// It is promoted, and not elected yet. Its candidate is the first, but the leader before it
    /// may not have confirmed that it ended, so the lock delay has to pass.
    AwaitingLockDelay {
        /// When the delay ends; `None` while the nominee reads the mark of that leader and writes
        /// its own.
        #[cfg_attr(feature = "serde", serde(skip))]
        until: Option<I>,
    },
    /// It is promoted, and not elected yet. Its candidate is the first, but the lease is not
    /// proved, or would lapse before it is proved again. It becomes [`Leading`](Self::Leading) once
    /// the lease can be relied on; with [`LeaseOutlook::RoundTripTooLong`] it does not, as long as
    /// answers take that long, and with [`LeaseOutlook::NoLease`] never on these servers.
    AwaitingLease {
        /// The prospect of the lease: in force, or waiting for something.
        outlook: LeaseOutlook,
    },
    /// It leads. It may act while the lease deadline lies ahead, so it has to ask the clock.
    Leading {
        /// The token that fences this leadership.
        token: Token,
    },
    /// It leads without a connection. It goes on leading if the session goes on.
    Suspended {
        /// The token that fences this leadership.
        token: Token,
        /// The lease deadline: until when no other nominee can lead.
        #[cfg_attr(feature = "serde", serde(skip))]
        valid_until: Option<I>,
    },
    /// It removes its candidate znode.
    Leaving,
    /// It has ended.
    Ended(EndReason),
}

/// Writes a sentence without a full stop, for logs and readers. The words may change.
impl<I> fmt::Display for Role<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Standing => f.write_str("taking a place in the queue"),
            Self::Following { predecessor, leader, .. } if predecessor == leader => {
                write!(f, "waiting behind the leader {predecessor}")
            }
            Self::Following { predecessor, .. } => write!(f, "waiting behind {predecessor}"),
            Self::AwaitingLockDelay { .. } => {
                f.write_str("promoted, and elected once the lock delay has passed")
            }
            Self::AwaitingLease { outlook: LeaseOutlook::RoundTripTooLong { .. } } => f.write_str(
                "promoted, and not elected: answers take too long for a lease to be kept",
            ),
            Self::AwaitingLease { outlook: LeaseOutlook::NoLease { family } } => {
                write!(f, "promoted, and not elected: no lease holds on {family}")
            }
            Self::AwaitingLease { .. } => {
                f.write_str("promoted, and elected once the lease is proved")
            }
            Self::Leading { token } => write!(f, "leading with token {token}"),
            Self::Suspended { token, .. } => {
                write!(f, "leading with token {token}, with the connection lost")
            }
            Self::Leaving => f.write_str("removing its candidate"),
            Self::Ended(reason) => write!(f, "ended: {reason}"),
        }
    }
}

/// Writes a sentence without a full stop, for logs and readers. The words may change.
impl<I> fmt::Display for Status<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, candidate, session } = self;
        role.fmt(f)?;
        if let Some(candidate) = candidate {
            write!(f, ", by candidate {candidate}")?;
        }
        match session {
            Some(session) => write!(f, ", in session {session}"),
            None => Ok(()),
        }
    }
}

/// Why a nomination ended.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum EndReason {
    /// The nominee led and resigned.
    #[error("resigned")]
    Resigned(Departure),
    /// The nominee withdrew without leading.
    #[error("withdrew")]
    Withdrawn(Departure),
    /// Its candidate was lost, and it was not configured to stand again.
    #[error("{0}")]
    Lost(LostReason),
    /// The election was ended for all nominees. None stands in it until it is reopened.
    #[error("the election was ended")]
    ElectionEnded,
    /// It failed in a way that standing again does not repair.
    #[error("{}", Named(*.0))]
    Failed(NominationError),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl EndReason {
    /// Makes the reason of a nominee's end.
    pub const fn of(end: End) -> Self {
        match end {
            End::Resigned(departure) => Self::Resigned(departure),
            End::Withdrawn(departure) => Self::Withdrawn(departure),
            End::Lost(cause) => Self::Lost(LostReason::of_cause(cause)),
            End::ElectionEnded => Self::ElectionEnded,
            End::Failed(error) => Self::Failed(error),
        }
    }
}

/// Why a leadership is over.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LostReason {
    /// The nominee resigned, or its nomination was dropped.
    #[error("resigned")]
    Resigned,
    /// The session expired.
    #[error("the session expired")]
    SessionExpired,
    /// The lease deadline passed without proof that the session lives. From then on another nominee
    /// may lead.
    #[error("the lease deadline passed")]
    LeaseLapsed,
    /// Another client deleted the candidate znode.
    #[error("another client deleted the candidate znode")]
    Evicted,
    /// The leader stepped down, to stand again behind the others.
    #[error("stepped down")]
    SteppedDown,
    /// The election was ended for good, by `DONE` in go-leaderelection's format. In the other
    /// format of elections the leader of an ended election gets [`Evicted`](Self::Evicted), and its
    /// nomination then ends with [`EndReason::ElectionEnded`].
    #[error("the election was ended")]
    ElectionEnded,
    /// The connection was lost, and the leader's policy is to stop then. No other nominee leads
    /// before the lease deadline. If the session is resumed before, the nominee is elected again
    /// with the same token.
    #[error("the connection was lost")]
    Suspended,
    /// It failed in a way that standing again does not repair.
    #[error("{}", Named(*.0))]
    Failed(NominationError),
    /// The client ended.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl LostReason {
    const fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::SessionExpired => Self::SessionExpired,
            Cause::LeaseLapsed => Self::LeaseLapsed,
            Cause::Evicted => Self::Evicted,
            Cause::SteppedDown => Self::SteppedDown,
        }
    }
}

impl Step<Notice> {
    /// Returns why the announced leadership of a nominee is over, if this step ends one.
    pub const fn lost_reason(&self) -> Option<LostReason> {
        let Some(GrantChange::Ended { by, .. }) = self.grant else {
            return None;
        };
        Some(match (by, self.notice) {
            (GrantEnd::Host(end), _) => LostReason::ClientClosed(end),
            (GrantEnd::Recipe, Some(Notice::Lost(cause) | Notice::Ended(End::Lost(cause)))) => {
                LostReason::of_cause(cause)
            }
            (GrantEnd::Recipe, Some(Notice::Ended(End::ElectionEnded))) => {
                LostReason::ElectionEnded
            }
            (GrantEnd::Recipe, Some(Notice::Ended(End::Failed(error)))) => {
                LostReason::Failed(error)
            }
            (GrantEnd::Recipe, _) => LostReason::Resigned,
        })
    }
}

/// Shows the name of the server's error code; the machine knows only the number.
struct Named(NominationError);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        match *error {
            NominationError::Rejected(code) => {
                let code = ErrorCode::new(code);
                write!(f, "the server refused a request of the nomination: {code}")?;
                match code {
                    ErrorCode::NO_AUTH => f.write_str(
                        "; the identity of the client needs CREATE on the election node, and READ on \
                         what is in it",
                    ),
                    _ => Ok(()),
                }
            }
            _ => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn a_refusal_is_told_by_the_name_of_its_code() {
        let rejected = NominationError::Rejected(ErrorCode::NO_AUTH.get());
        for text in
            [EndReason::Failed(rejected).to_string(), LostReason::Failed(rejected).to_string()]
        {
            assert!(text.contains("of the nomination: NoAuth; "), "{text}");
            assert!(text.contains("needs CREATE on the election node"), "{text}");
        }
        let other = NominationError::NoElectionNode;
        assert_eq!(EndReason::Failed(other).to_string(), other.to_string());
    }

    fn following(number: u32) -> Status {
        let name = alloc::format!("_c_eeeeeeee-eeee-eeee-eeee-eeeeeeeeeeee-latch-{number:010}");
        let predecessor = CandidateName::parse(&name).expect("a candidate");
        let leader = predecessor.clone();
        let role = Role::Following { predecessor, previous: None, leader };
        Status { role, ..Status::new() }
    }

    #[test]
    fn a_status_is_told_in_a_sentence() {
        assert_eq!(<Status>::new().to_string(), "connecting");
        let told = following(3).to_string();
        assert!(told.starts_with("waiting behind the leader _c_eeeeeeee-"), "{told}");
        let (role, session) = (Role::Leading { token: Token::new(7) }, Some(SessionId::new(0x2a)));
        let candidate = CandidateName::parse("latch-0000000001").ok();
        let status: Status = Status { role, candidate, session };
        assert_eq!(
            status.to_string(),
            "leading with token 7, by candidate latch-0000000001, in session 0x000000000000002a"
        );
        let ended: Role = Role::Ended(EndReason::Lost(LostReason::Evicted));
        assert_eq!(ended.to_string(), "ended: another client deleted the candidate znode");
    }

    #[test]
    fn a_follower_keeps_the_predecessor_that_it_followed_before() {
        let previous = |status: &Status| match &status.role {
            Role::Following { previous, .. } => previous.as_ref().map(|name| name.sequence().get()),
            _ => None,
        };
        let first = following(1).after(&Status::new());
        assert_eq!(previous(&first), None);
        let second = following(2).after(&first);
        assert_eq!(previous(&second), Some(1));
        assert_eq!(previous(&following(2).after(&second)), Some(1), "it follows the same");
        assert_eq!(previous(&following(3).after(&second)), Some(2));
    }
}
