//! Leaving: a site that has joined deletes its ephemeral znode, if this session owns it.

use super::child::{ChildName, CommitChild, SitePresence};
use super::told::CommitFailure;
use crate::command::{Delete, ExpectedVersion, Op, Watch, Znode};
use crate::event::{Failure, Reply};
use crate::id::SessionId;
use crate::site_name::SiteName;

/// The next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LeavingStep {
    /// The request on its way was executed, or never will be.
    Barrier,
    Look,
    Delete,
}

/// A site that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    step: LeavingStep,
    presence: SitePresence,
    site: SiteName,
    child: ChildName,
}

impl Leaving {
    pub(super) fn of(site: &SiteName) -> Self {
        Self::at(LeavingStep::Barrier, SitePresence::Live, site)
    }

    fn at(step: LeavingStep, presence: SitePresence, site: &SiteName) -> Self {
        let child = CommitChild::Presence(presence, site.as_str()).name();
        Self { step, presence, site: site.clone(), child }
    }

    /// Begins again, on another connection.
    pub(super) fn again(&self) -> Self {
        Self::of(&self.site)
    }

    pub(super) const fn step(&self) -> LeavingStep {
        self.step
    }

    pub(super) fn op(&self) -> Op<'_> {
        let znode = Znode::child(self.child.as_str());
        match self.step {
            LeavingStep::Barrier => Op::Barrier,
            LeavingStep::Look => Op::Exists { znode, watch: Watch::None },
            LeavingStep::Delete => Op::Delete(Delete { znode, version: ExpectedVersion::Any }),
        }
    }

    /// Returns what follows; `None`: it has left.
    pub(super) fn answered(
        &self,
        result: &Result<Reply<'_>, Failure>,
        session: Option<SessionId>,
    ) -> Option<Result<Self, CommitFailure>> {
        let go_on = |step| Some(Ok(Self::at(step, self.presence, &self.site)));
        match (self.step, result) {
            (LeavingStep::Barrier, Ok(Reply::BarrierPassed)) => go_on(LeavingStep::Look),
            (LeavingStep::Look, Ok(Reply::Exists(stat))) if stat.owner == session => {
                go_on(LeavingStep::Delete)
            }
            (LeavingStep::Look, Ok(Reply::Exists(_)) | Err(Failure::NoNode))
            | (LeavingStep::Delete, Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                match self.presence {
                    SitePresence::Live => {
                        Some(Ok(Self::at(LeavingStep::Look, SitePresence::Bound, &self.site)))
                    }
                    SitePresence::Bound => None,
                }
            }
            (_, result) => Some(Err(CommitFailure::of(result))),
        }
    }
}
