//! Leaving: a site that has joined deletes its ephemeral znode, and owes that if a server refuses.

use super::child::{ChildName, CommitChild, SitePresence};
use crate::command::{Delete, ExpectedVersion, Op, Watch, Znode};
use crate::event::{Failure, Reply, Stat};
use crate::id::{SessionId, Version};
use crate::owed::{Removal, Rest};
use crate::seen::Seen;
use crate::site_name::SiteName;

/// The next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LeavingStep {
    /// The request on its way was executed, or never will be.
    Barrier,
    Look,
    Delete(Seen),
}

/// How a site got its ephemeral znode. The client's next participant for the site has the same
/// session, and writes to the znode that it finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// By a create, perhaps without a reply. The site does not write to it.
    Created,
    /// By a write to the znode that it found, perhaps without a reply: it is this one since.
    Adopted(Seen),
}

impl Origin {
    fn is_of(self, stat: Stat) -> bool {
        match self {
            Self::Adopted(seen) if seen.token == stat.token => seen == Seen::from(stat),
            Self::Created | Self::Adopted(_) => stat.version == Version::new(0),
        }
    }
}

/// A site that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    step: LeavingStep,
    left: Left,
    site: SiteName,
    /// The znode of the step.
    presence: SitePresence,
    child: ChildName,
}

/// The znode that it leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Left {
    Unseen(Origin),
    /// It has no other one: no vote of this participant is on its way behind the barrier.
    Seen(Seen),
}

impl Removal for Leaving {
    fn anew(&self) -> Self {
        match self.left {
            Left::Unseen(origin) => Self::of(&self.site, origin),
            Left::Seen(_) => self.at(LeavingStep::Barrier),
        }
    }
}

impl Leaving {
    pub(super) fn of(site: &SiteName, origin: Origin) -> Self {
        Self {
            step: LeavingStep::Barrier,
            left: Left::Unseen(origin),
            site: site.clone(),
            presence: SitePresence::Live,
            child: CommitChild::Presence(SitePresence::Live, site.as_str()).name(),
        }
    }

    fn at(&self, step: LeavingStep) -> Self {
        Self { step, ..self.clone() }
    }

    pub(super) const fn step(&self) -> LeavingStep {
        self.step
    }

    pub(super) fn op(&self) -> Op<'_> {
        let znode = Znode::child(self.child.as_str());
        match self.step {
            LeavingStep::Barrier => Op::Barrier,
            LeavingStep::Look => Op::Exists { znode, watch: Watch::None },
            LeavingStep::Delete(Seen { version, .. }) => {
                Op::Delete(Delete { znode, version: ExpectedVersion::Exactly(version) })
            }
        }
    }

    pub(super) fn answered(
        &self,
        result: &Result<Reply<'_>, Failure>,
        session: Option<SessionId>,
    ) -> Rest<Self> {
        match (self.step, result) {
            (LeavingStep::Barrier, Ok(Reply::BarrierPassed)) => {
                Rest::GoesOn(self.at(LeavingStep::Look))
            }
            (LeavingStep::Look, Ok(Reply::Exists(stat))) if self.is_left(*stat, session) => {
                let seen = Seen::from(*stat);
                let left = Left::Seen(seen);
                Rest::GoesOn(Self { left, ..self.at(LeavingStep::Delete(seen)) })
            }
            (LeavingStep::Look, Ok(Reply::Exists(_)) | Err(Failure::NoNode)) => {
                match (self.left, self.presence) {
                    (Left::Unseen(_), SitePresence::Live) => Rest::GoesOn(self.at_bound()),
                    _ => Rest::Gone,
                }
            }
            // By `BadVersion`: the next participant has written to it since.
            (
                LeavingStep::Delete(_),
                Ok(Reply::Deleted) | Err(Failure::NoNode | Failure::BadVersion),
            ) => Rest::Gone,
            _ => Rest::Refused(self.clone()),
        }
    }

    fn at_bound(&self) -> Self {
        let presence = SitePresence::Bound;
        let child = CommitChild::Presence(presence, self.site.as_str()).name();
        Self { step: LeavingStep::Look, presence, child, ..self.clone() }
    }

    fn is_left(&self, stat: Stat, session: Option<SessionId>) -> bool {
        match self.left {
            Left::Unseen(origin) => {
                session.is_some() && stat.owner == session && origin.is_of(stat)
            }
            Left::Seen(seen) => seen == Seen::from(stat),
        }
    }
}
