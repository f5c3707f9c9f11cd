//! The followers of a leader, and the progress of each.

use std::collections::BTreeMap;

use zk_embedded::Instant;
use zk_jute::Zxid;

use super::super::MemberId;
use super::super::message::Link;

#[derive(Debug, Default)]
pub(super) struct Learners(BTreeMap<MemberId, Learner>);

#[derive(Debug)]
struct Learner {
    link: Link,
    heard_at: Instant,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has promised the epoch, and knows the log to be committed up to this.
    Joined(Zxid),
    /// It was sent the leader's log, and is sent everything that comes after.
    Synchronizing,
    /// It has logged the leader's log up to this.
    Acknowledged(Zxid),
}

impl Learners {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = MemberId> {
        self.0.keys().copied()
    }

    pub(super) fn join(&mut self, now: Instant, id: MemberId, link: Link, committed: Zxid) {
        let progress = Progress::Joined(committed);
        self.0.insert(id, Learner { link, heard_at: now, progress });
    }

    pub(super) fn remove(&mut self, id: MemberId) {
        self.0.remove(&id);
    }

    /// Notes that a message came on this link; `false` if the learner has another, or none.
    pub(super) fn hear(&mut self, now: Instant, id: MemberId, link: Link) -> bool {
        let learner = self.0.get_mut(&id).filter(|learner| learner.link == link);
        learner.map(|learner| learner.heard_at = now).is_some()
    }

    /// Takes the learners that have to be sent the leader's log now.
    pub(super) fn take_joined(&mut self) -> Vec<(MemberId, Link, Zxid)> {
        let joined = self.0.iter_mut().filter_map(|(id, learner)| {
            let Progress::Joined(committed) = learner.progress else {
                return None;
            };
            learner.progress = Progress::Synchronizing;
            Some((*id, learner.link, committed))
        });
        joined.collect()
    }

    /// Notes how far a learner has logged; tells how far it was before.
    pub(super) fn acknowledge(&mut self, id: MemberId, zxid: Zxid) -> Option<Progress> {
        let learner = self.0.get_mut(&id)?;
        Some(core::mem::replace(&mut learner.progress, Progress::Acknowledged(zxid)))
    }

    /// Returns the number of learners that have logged the leader's log, as it was when they
    /// joined.
    pub(super) fn synchronized(&self) -> usize {
        self.acknowledgements().count()
    }

    /// Whether `quorum` members, with the leader, have logged what is up to `zxid`.
    pub(super) fn have_logged(&self, zxid: Zxid, quorum: usize) -> bool {
        1 + self.acknowledgements().filter(|logged| *logged >= zxid).count() >= quorum
    }

    /// Returns the link of a learner.
    pub(super) fn link(&self, id: MemberId) -> Option<Link> {
        self.0.get(&id).map(|learner| learner.link)
    }

    /// Returns the learners that hear of every decision.
    pub(super) fn informed(&self) -> impl Iterator<Item = (MemberId, Link)> {
        let informed = self.0.iter().filter(|(_, learner)| match learner.progress {
            Progress::Joined(_) => false,
            Progress::Synchronizing | Progress::Acknowledged(_) => true,
        });
        informed.map(|(id, learner)| (*id, learner.link))
    }

    /// Returns the learners that have the leader's log, and that heartbeats keep.
    pub(super) fn followers(&self) -> impl Iterator<Item = (MemberId, Link)> {
        let followers = self.0.iter().filter(|(_, learner)| match learner.progress {
            Progress::Joined(_) | Progress::Synchronizing => false,
            Progress::Acknowledged(_) => true,
        });
        followers.map(|(id, learner)| (*id, learner.link))
    }

    /// Removes the learners that were silent for too long: followers for `sync_limit`, others for
    /// `init_limit`.
    pub(super) fn take_silent(
        &mut self,
        now: Instant,
        sync_limit: core::time::Duration,
        init_limit: core::time::Duration,
    ) -> Vec<MemberId> {
        let is_silent = |learner: &Learner| {
            let limit = match learner.progress {
                Progress::Joined(_) | Progress::Synchronizing => init_limit,
                Progress::Acknowledged(_) => sync_limit,
            };
            learner.heard_at + limit <= now
        };
        let silent = self.0.iter().filter(|(_, learner)| is_silent(learner));
        let silent: Vec<MemberId> = silent.map(|(id, _)| *id).collect();
        self.0.retain(|_, learner| !is_silent(learner));
        silent
    }

    fn acknowledgements(&self) -> impl Iterator<Item = Zxid> {
        self.0.values().filter_map(|learner| match learner.progress {
            Progress::Joined(_) | Progress::Synchronizing => None,
            Progress::Acknowledged(zxid) => Some(zxid),
        })
    }
}
