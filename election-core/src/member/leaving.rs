//! Leaving: removes a znode that exists, or may exist.

use super::options::NameOrigin;
use super::request::Request;
use super::stage::{Debt, Leave, Leaving, Left, Stage};
use super::told::{MemberEnd, MemberFailure};
use crate::event::{Failure, Reply, Stat};
use crate::id::SessionId;
use crate::outcome::Departure;
use crate::seen::Seen;

/// Returns whether the member may delete the znode of its name with this owner.
fn is_own((name, session): (NameOrigin, Option<SessionId>), owner: Option<SessionId>) -> bool {
    name == NameOrigin::Random || session.is_some() && owner == session
}

impl Leaving {
    pub(super) fn answered(
        self,
        request: Request,
        result: &Result<Reply<'_>, Failure>,
        (name, session): (NameOrigin, Option<SessionId>),
    ) -> Stage {
        let is_own = |owner| is_own((name, session), owner);
        let step = match (request, result) {
            (Request::Look, Ok(Reply::Exists(stat))) if is_own(stat.owner) => {
                Leave::Delete(Seen::from(*stat))
            }
            (Request::Look, Ok(Reply::Exists(_)) | Err(Failure::NoNode))
            | (Request::Create, Err(Failure::NoNode)) => return Stage::Ended(self.end),
            (Request::Delete, Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                return Stage::Ended(match self.end {
                    MemberEnd::Left(_) => MemberEnd::Left(Departure::Deleted),
                    end => end,
                });
            }
            // The look shows the owner of a znode, if there is one: it comes behind this reply.
            (Request::Create, _)
            | (Request::Barrier, Ok(Reply::BarrierPassed))
            | (Request::Delete, Err(Failure::BadVersion)) => Leave::Look,
            (_, result) => {
                let end = match self.end {
                    MemberEnd::Left(_) => MemberEnd::Failed(MemberFailure::of(result)),
                    end => end,
                };
                return Stage::Owing { debt: Debt::after(self.step), end };
            }
        };
        Stage::Leaving(Self { step, ..self })
    }
}

impl Debt {
    /// Returns the debt of a member that could not do this step.
    const fn after(step: Leave) -> Self {
        Self::Refused(match step {
            Leave::Delete(seen) => Left::Seen(seen),
            Leave::AwaitCreate | Leave::Barrier | Leave::Look => Left::Unseen,
        })
    }

    const fn left(self) -> Left {
        match self {
            Self::Refused(left) | Self::Barrier(left) | Self::Look(left) => left,
            Self::Delete(seen) => Left::Seen(seen),
        }
    }

    pub(super) const fn request(self) -> Option<Request> {
        match self {
            Self::Refused(_) => None,
            Self::Barrier(_) => Some(Request::Barrier),
            Self::Look(_) => Some(Request::Look),
            Self::Delete(_) => Some(Request::Delete),
        }
    }

    /// Begins anew on the next connection: what was asked for may have been done.
    pub(super) const fn link_lost(&mut self) {
        *self = Self::Barrier(self.left());
    }

    /// Begins anew after a refusal: an access list may have been restored.
    pub(super) const fn look(&mut self) {
        if let Self::Refused(left) = *self {
            *self = Self::Barrier(left);
        }
    }

    /// Returns what is still to be done after an answer, or the end.
    pub(super) fn answered(
        self,
        end: MemberEnd,
        (request, result): (Request, &Result<Reply<'_>, Failure>),
        (name, session): (NameOrigin, Option<SessionId>),
    ) -> Stage {
        let left = self.left();
        let is_left = |stat: Stat| match left {
            _ if name == NameOrigin::Random => true,
            Left::Unseen => is_own((name, session), stat.owner),
            Left::Seen(seen) => seen == Seen::from(stat),
        };
        let debt = match (request, result) {
            (Request::Look, Ok(Reply::Exists(stat))) if is_left(*stat) => {
                Self::Delete(Seen::from(*stat))
            }
            (Request::Look, Ok(Reply::Exists(_)) | Err(Failure::NoNode))
            | (Request::Delete, Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                return Stage::Ended(end);
            }
            (Request::Barrier, Ok(Reply::BarrierPassed))
            | (Request::Delete, Err(Failure::BadVersion)) => Self::Look(left),
            _ => Self::Refused(left),
        };
        Stage::Owing { debt, end }
    }
}
