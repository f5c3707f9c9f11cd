//! How a leader finds the candidate behind it, and what it takes for its end.

use super::Nominee;
use super::contest::Contest;
use super::stage::{Leading, NomineeStage};
use super::waking::Waking;
use crate::access::Access;
use crate::children::Children;
use crate::event::{Failure, Reply};
use crate::name::CandidateName;
use crate::outcome::Notice;
use crate::policy::WhenPromoted;

impl Contest {
    /// Returns whether to wake the candidate with this name, which is the one behind the leader.
    pub(super) fn waking(self, next: Option<&str>) -> Waking {
        let next = next.filter(|name| self.format.is_wakeable(name));
        let next = next.and_then(|name| self.format.parse(name).ok());
        next.map_or(Waking::Over, Waking::Due)
    }

    /// Returns whether a child stands in the order of the candidates.
    pub(super) fn is_in_order(self, name: &str) -> bool {
        self.format.rival(Access::Exclusive, name).is_some()
    }
}

impl Nominee {
    /// Returns whether it wakes others, and is woken.
    pub(super) fn is_wakeable(&self) -> bool {
        self.contest.end_mark().is_some() && self.id.is_wakeable()
    }

    pub(super) fn may_wake(&self) -> bool {
        self.is_wakeable() && self.when_promoted == WhenPromoted::WakesNext
    }

    pub(super) fn next_listed(&mut self, result: Result<Reply<'_>, Failure>) -> Option<Notice> {
        let contest = self.contest;
        if let NomineeStage::Leading(Leading { own, waking, .. }) = &mut self.stage {
            *waking = match result {
                Ok(Reply::Children(children)) => contest.next_of(own, children),
                _ => Waking::Over,
            };
        }
        None
    }

    pub(super) fn next_woken(&mut self) -> Option<Notice> {
        if let NomineeStage::Leading(Leading { waking, .. }) = &mut self.stage {
            *waking = Waking::Over;
        }
        None
    }
}

impl Contest {
    fn next_of(self, own: &CandidateName, children: Children<'_>) -> Waking {
        let is_in_order = |name: &str| self.is_in_order(name);
        self.waking(children.nearest_behind(own.sequence(), is_in_order))
    }
}
