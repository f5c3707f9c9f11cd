//! Contending for locks, and for permits.

use core::num::NonZeroU32;

use election_core::format::Access;
use election_core::lock::{GaveUp, Lock, LockEnd, LockNotice, LockOptions, WhenBusy};
use election_core::semaphore::{Semaphore, SemaphoreOptions};
use election_core::{NomineeId, Phase};
use zk_session::Instant;

use super::observed::{Observed, Seen};
use super::queued::Queued;
use super::standing::Standing;
use super::users::{Stand, Terms};
use super::{Client, site};
use crate::checker::Entry;
use crate::locks::Claim;
use crate::queue::{Kind, PERMITS};

impl Client {
    /// Contends for a lock.
    pub(crate) fn contend(&mut self, now: Instant, id: NomineeId, claim: Claim) {
        if self.is_closed() {
            return;
        }
        if claim.queue.kind() == Kind::Semaphore {
            let permits = u32::try_from(PERMITS).ok().and_then(NonZeroU32::new);
            let options = SemaphoreOptions::new(permits.unwrap_or(NonZeroU32::MIN));
            let options = SemaphoreOptions { when_busy: claim.when_busy, ..options };
            let semaphore = Standing::Semaphore(Semaphore::new(id, options));
            return self.contend_as(now, (id, claim), semaphore);
        }
        let options = match (claim.queue.kind(), claim.access) {
            (Kind::SharedLock, Access::Exclusive) => LockOptions::write(),
            (Kind::SharedLock, Access::Shared) => LockOptions::read(),
            _ => LockOptions::exclusive(),
        };
        let options = LockOptions { when_busy: claim.when_busy, ..options };
        let lock = Lock::new(id, options).expect("the format has ids, and what is wanted");
        self.contend_as(now, (id, claim), Standing::Lock(lock));
    }

    fn contend_as(&mut self, now: Instant, (id, claim): (NomineeId, Claim), contender: Standing) {
        let key = self.host.stand(now, contender, site(claim.queue));
        let deadline = claim.deadline.map(|within| now + within);
        self.host.set_deadline(key, deadline);
        let stand = Stand { id, queue: claim.queue, terms: Terms::Lock { claim, deadline } };
        self.seen.insert(key, Seen::new(stand));
        self.told.push(Observed::Entry(Entry::Stood(key)));
    }

    /// Releases a lock, or gives up waiting for it, if the contender has not done so itself.
    pub(crate) fn let_go(&mut self, now: Instant, contender: NomineeId) {
        let found = self.queued().find(|(_, queued)| queued.id == contender);
        let Some((key, Phase::Standing)) = found.map(|(key, queued)| (key, queued.phase)) else {
            return;
        };
        self.withdraw(now, key);
    }

    /// Returns a contender that waits though its deadline was over at this moment.
    pub(crate) fn overdue(&self, moment: Instant) -> Option<NomineeId> {
        let is_overdue = |queued: Queued<'_>, seen: &Seen| {
            let is_over = match seen.stand.terms {
                Terms::Lock { deadline, .. } => deadline.is_some_and(|deadline| deadline < moment),
                Terms::Nominee(..) => false,
            };
            is_over && queued.phase == Phase::Standing && !queued.holds()
        };
        let mut queued = self.queued();
        let overdue = queued
            .find(|(key, queued)| self.seen.get(key).is_some_and(|it| is_overdue(*queued, it)));
        overdue.map(|(_, queued)| queued.id)
    }

    /// Returns a contender that waits, and is to give up in time.
    pub(crate) fn impatient(&self) -> Option<NomineeId> {
        let has_deadline =
            |seen: &Seen| matches!(seen.stand.terms, Terms::Lock { deadline: Some(_), .. });
        let mut queued = self.queued();
        let impatient = queued.find(|(key, queued)| {
            queued.phase == Phase::Standing
                && !queued.holds()
                && self.seen.get(key).is_some_and(has_deadline)
        });
        impatient.map(|(_, queued)| queued.id)
    }

    /// Returns the contenders for locks that may have znodes.
    pub(crate) fn contenders(&self) -> impl Iterator<Item = NomineeId> {
        let queued = self.queued().map(|(_, queued)| queued.id);
        queued.filter(|id| crate::checker::queue_of(*id).kind() != Kind::Election)
    }
}

impl Seen {
    /// Returns whether a contender reports something that it was not told to do.
    pub(super) fn out_of_terms(&self, now: Instant, notice: LockNotice) -> Option<&'static str> {
        let Terms::Lock { claim, deadline } = self.stand.terms else {
            return None;
        };
        match notice {
            LockNotice::Waiting
            | LockNotice::WaitingUnwatched
            | LockNotice::WaitingForPersistent
                if claim.when_busy == WhenBusy::GiveUp =>
            {
                Some("waits, and was not to")
            }
            LockNotice::Ended(LockEnd::NotAcquired(GaveUp::Busy, _))
                if claim.when_busy == WhenBusy::Wait =>
            {
                Some("was to wait")
            }
            LockNotice::Ended(LockEnd::NotAcquired(GaveUp::TimedOut, _))
                if deadline.is_none_or(|deadline| now < deadline) =>
            {
                Some("its deadline lies ahead")
            }
            LockNotice::Ended(
                LockEnd::NotAcquired(GaveUp::Withdrawn, _) | LockEnd::Released(_),
            ) if !self.was_withdrawn => Some("was not withdrawn"),
            _ => None,
        }
    }
}
