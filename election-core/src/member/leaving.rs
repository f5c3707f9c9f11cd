//! Leaving: removes a znode that exists, or may exist.

use super::options::NameOrigin;
use super::request::Request;
use super::stage::{Leave, Leaving, Left, MemberStage, Removing};
use super::told::{MemberEnd, MemberFailure};
use crate::event::{Failure, Reply, Stat};
use crate::id::SessionId;
use crate::outcome::Departure;
use crate::owed::{Owed, Removal, Rest};
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
    ) -> MemberStage {
        let is_own = |owner| is_own((name, session), owner);
        let step = match (request, result) {
            (Request::Look, Ok(Reply::Exists(stat))) if is_own(stat.owner) => {
                Leave::Delete(Seen::from(*stat))
            }
            (Request::Look, Ok(Reply::Exists(_)) | Err(Failure::NoNode))
            | (Request::Create, Err(Failure::NoNode)) => return MemberStage::Ended(self.end),
            (Request::Delete, Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                return MemberStage::Ended(match self.end {
                    MemberEnd::Left(_) => MemberEnd::Left(Departure::Deleted),
                    end => end,
                });
            }
            // No server has looked at it, so this one may not have applied yet what another has executed before.
            (Request::Create, Err(Failure::HeldBack | Failure::TooLarge)) => Leave::Barrier,
            // The look shows the owner of a znode, if there is one: it comes behind this reply.
            (Request::Create, _)
            | (Request::Barrier, Ok(Reply::BarrierPassed))
            | (Request::Delete, Err(Failure::BadVersion)) => Leave::Look,
            (_, result) => {
                let end = match self.end {
                    MemberEnd::Left(_) => MemberEnd::Failed(MemberFailure::of(result)),
                    end => end,
                };
                return MemberStage::Owing { owed: Owed::Refused(Removing::after(self.step)), end };
            }
        };
        MemberStage::Leaving(Self { step, ..self })
    }
}

impl Removal for Removing {
    fn anew(&self) -> Self {
        Self::Barrier(self.left())
    }
}

impl Removing {
    /// Returns what is to be done by a member that could not do this step.
    const fn after(step: Leave) -> Self {
        Self::Barrier(match step {
            Leave::Delete(seen) => Left::Seen(seen),
            Leave::AwaitCreate | Leave::Barrier | Leave::Look => Left::Unseen,
        })
    }

    const fn left(self) -> Left {
        match self {
            Self::Barrier(left) | Self::Look(left) => left,
            Self::Delete(seen) => Left::Seen(seen),
        }
    }

    pub(super) const fn request(self) -> Request {
        match self {
            Self::Barrier(_) => Request::Barrier,
            Self::Look(_) => Request::Look,
            Self::Delete(_) => Request::Delete,
        }
    }

    /// Returns what is still to be done after an answer.
    pub(super) fn answered(
        self,
        (request, result): (Request, &Result<Reply<'_>, Failure>),
        (name, session): (NameOrigin, Option<SessionId>),
    ) -> Rest<Self> {
        let left = self.left();
        let is_left = |stat: Stat| match left {
            _ if name == NameOrigin::Random => true,
            Left::Unseen => is_own((name, session), stat.owner),
            Left::Seen(seen) => seen == Seen::from(stat),
        };
        match (request, result) {
            (Request::Look, Ok(Reply::Exists(stat))) if is_left(*stat) => {
                Rest::GoesOn(Self::Delete(Seen::from(*stat)))
            }
            (Request::Look, Ok(Reply::Exists(_)) | Err(Failure::NoNode))
            | (Request::Delete, Ok(Reply::Deleted) | Err(Failure::NoNode)) => Rest::Gone,
            (Request::Barrier, Ok(Reply::BarrierPassed))
            | (Request::Delete, Err(Failure::BadVersion)) => Rest::GoesOn(Self::Look(left)),
            _ => Rest::Refused(self),
        }
    }
}
