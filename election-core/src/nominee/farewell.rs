//! The deletion of the nominee's own znode, when it leaves.
//!
//! In formats whose names recur, the znode with the nominee's name may be another's by now: the
//! election node was deleted and made again. So the nominee makes a barrier, looks whether its
//! session owns the znode, and only then deletes it, by its version. No condition of a server tells
//! two znodes of one name apart, so one hazard is left: the node is made again, and the name given
//! out, while the deletion is on its way.

use super::home::Home;
use super::mark::delete_with_mark;
use super::request::Request;
use super::stage::{Afterwards, Cleanup, Entering, Entry, Farewell, Find, Leaving, NomineeStage};
use super::{Contest, Nominee, is_owned, mismatch};
use crate::command::{ExpectedVersion, Op, Watch};
use crate::event::{Failure, Reply};
use crate::id::{SessionId, Version};
use crate::name::CandidateName;
use crate::outcome::{Departure, Notice};

impl Contest {
    /// Returns the first step of a nominee that leaves.
    const fn farewell(self) -> Farewell {
        if self.has_ids() { Farewell::Delete(ExpectedVersion::Any) } else { Farewell::Barrier }
    }
}

impl Leaving {
    pub(super) fn demand(&self, home: Home) -> (Request, Op<'_>) {
        let Self { own, farewell, mark, .. } = self;
        match (*farewell, *mark) {
            (Farewell::Barrier, _) => (Request::BarrierBeforeFarewell, Op::Barrier),
            (Farewell::Look, _) => (Request::LookAtOwn, home.exists(own.into(), Watch::None)),
            (Farewell::Delete(expected), Some(mark)) => {
                (Request::DeleteOwnAndMark, delete_with_mark(home, (own, expected), mark))
            }
            (Farewell::Delete(expected), None) => {
                (Request::DeleteOwn, home.delete(own.into(), expected))
            }
        }
    }
}

impl Nominee {
    pub(super) const fn leaving(&self, own: CandidateName, afterwards: Afterwards) -> NomineeStage {
        self.leaving_with(own, afterwards, None)
    }

    pub(super) const fn leaving_with(
        &self,
        own: CandidateName,
        afterwards: Afterwards,
        mark: Option<Version>,
    ) -> NomineeStage {
        let farewell = self.contest.farewell();
        NomineeStage::Leaving(Leaving { own, afterwards, farewell, mark })
    }

    pub(super) fn barrier_before_farewell_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (&mut self.stage, result) {
            (NomineeStage::Leaving(leaving), Ok(Reply::BarrierPassed)) => {
                leaving.farewell = Farewell::Look;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn own_looked_at(
        &mut self,
        session: SessionId,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let NomineeStage::Leaving(leaving) = &mut self.stage else {
            return None;
        };
        match result {
            Ok(Reply::Exists(stat)) if is_owned(stat, session) => {
                leaving.farewell = Farewell::Delete(ExpectedVersion::Exactly(stat.version));
                None
            }
            // Another's has the name. So has one that a server forbids to look at: no access list
            // keeps a session from looking at its own.
            Ok(Reply::Exists(_)) | Err(Failure::NoNode | Failure::NoAuth) => {
                let afterwards = leaving.afterwards;
                self.departed(afterwards, Departure::Deleted)
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn own_deletion_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let NomineeStage::Leaving(leaving) = &mut self.stage else {
            return Some(self.fail(mismatch(result)));
        };
        match result {
            Ok(Reply::Deleted) | Err(Failure::NoNode) => {
                let afterwards = leaving.afterwards;
                self.departed(afterwards, Departure::Deleted)
            }
            // Its data was written since the look.
            Err(Failure::BadVersion) if !self.contest.has_ids() => {
                self.look_again_before_deletion();
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Makes the nominee look again before it deletes a znode by a name that recurs: time has passed
    /// since it looked.
    pub(super) fn look_again_before_deletion(&mut self) {
        if self.contest.has_ids() {
            return;
        }
        match &mut self.stage {
            NomineeStage::Leaving(leaving) => leaving.farewell = Farewell::Barrier,
            NomineeStage::Entering(Entering { step: step @ Entry::Suspect(_), .. }) => {
                *step = Entry::Barrier;
            }
            NomineeStage::Ended(ended) => {
                ended.cleanup = core::mem::take(&mut ended.cleanup).where_names_recur();
            }
            NomineeStage::Entering(_)
            | NomineeStage::Standing(_)
            | NomineeStage::Leading(_)
            | NomineeStage::Evicted(_) => {}
        }
    }

    /// Returns the cleanup that deletes no znode by a name that recurs, before it was looked at.
    pub(super) fn with_a_look(&self, cleanup: Cleanup) -> Cleanup {
        if self.contest.has_ids() { cleanup } else { cleanup.where_names_recur() }
    }
}

impl Cleanup {
    fn where_names_recur(self) -> Self {
        match self {
            Self::Delete(_) | Self::DeleteFound(_) => Self::Find(Find::Barrier),
            other => other,
        }
    }
}
