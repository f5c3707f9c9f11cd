//! Leaving: removes a znode that exists, or may exist.

use super::options::NameOrigin;
use super::request::Request;
use super::stage::{Leave, Leaving, Stage};
use super::told::{MemberEnd, MemberFailure};
use crate::event::{Failure, Reply};
use crate::id::SessionId;
use crate::outcome::Departure;

impl Leaving {
    pub(super) fn answered(
        self,
        request: Request,
        result: &Result<Reply<'_>, Failure>,
        (name, session): (NameOrigin, Option<SessionId>),
    ) -> Stage {
        let is_own = |owner| name == NameOrigin::Random || session.is_some() && owner == session;
        let step = match (request, result) {
            (Request::Look, Ok(Reply::Exists(stat))) if is_own(stat.owner) => {
                Leave::Delete(stat.version)
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
                return Stage::Ended(match self.end {
                    MemberEnd::Left(_) => MemberEnd::Failed(MemberFailure::of(result)),
                    end => end,
                });
            }
        };
        Stage::Leaving(Self { step, ..self })
    }
}
