//! The state of a contender, as its holder sees it.

use core::marker::PhantomData;
use std::sync::Arc;

use election_core::lock::{LockEnd, LockFailure, LockNotice};
use election_session::{GrantChange, GrantEnd, RecipeEnd, Site, Step, View};
use tokio::time::Instant;
use zk_session::SessionEnd;

use super::contending::{Contending, Refusal};
use crate::broadcast::{Receiver, Sender};
use crate::clock::Clock;
use crate::error::lost::LockLost;
use crate::held::Tenure;
use crate::hub::{Face, Unlocked};
use crate::telemetry::{Entry, LockEntry, OnLock, RepeatLimit};

/// Shows a contender to the caller that waits, and then holds.
#[derive(Debug)]
pub(super) struct LockFace<C> {
    contender: PhantomData<fn() -> C>,
    clock: Clock,
    site: Arc<Site>,
    began: Instant,
    shown: Sender<ShownContender>,
    /// Of what a connection that comes and goes makes a holder say. Most have nothing to say.
    doubts: Option<Box<RepeatLimit>>,
}

/// The progress of a contender.
#[derive(Clone, Debug)]
pub(super) enum ShownContender {
    Contending,
    Held(Arc<Tenure<LockLost>>),
    /// Held as before, by a writer that was to become a reader.
    NotDowngraded(Arc<Tenure<LockLost>>, LockFailure),
    Ended(LockEnd),
    /// It was refused, for a contender of another format.
    Refused(Box<Refusal>),
    ClientEnded(SessionEnd),
}

impl ShownContender {
    const fn tenure(&self) -> Option<&Arc<Tenure<LockLost>>> {
        match self {
            Self::Held(tenure) | Self::NotDowngraded(tenure, _) => Some(tenure),
            Self::Contending | Self::Ended(_) | Self::Refused(_) | Self::ClientEnded(_) => None,
        }
    }
}

impl<C: Contending> LockFace<C> {
    /// Makes the face, and the end through which the caller sees it.
    pub(super) fn new(clock: Clock, site: Arc<Site>) -> (Self, Receiver<ShownContender>) {
        let shown = Sender::new(ShownContender::Contending);
        let seen = shown.subscribe();
        let (began, doubts) = (Instant::now(), None);
        (Self { contender: PhantomData, clock, site, began, shown, doubts }, seen)
    }

    fn entry(&self, contender: &C, what: OnLock) -> Entry {
        Entry::Lock(Box::new(LockEntry {
            site: Arc::clone(&self.site),
            id: contender.id(),
            znode: contender.znode().cloned(),
            behind: contender.behind().cloned(),
            kind: contender.kind(),
            foreign: contender.foreign_child().map(Box::from),
            what,
        }))
    }

    fn end_tenure(&self, contender: &C, reason: LockLost, unlocked: &mut Unlocked) {
        if let Some(tenure) = self.tenure()
            && let Some(held) = tenure.end(reason, &mut unlocked.wakers)
        {
            unlocked.journal.note(self.entry(contender, OnLock::Lost { reason, held }));
        }
    }

    fn tenure(&self) -> Option<Arc<Tenure<LockLost>>> {
        self.shown.read(|shown| shown.tenure().cloned())
    }

    /// Makes the writer a reader, which holds by another znode from here on.
    fn downgraded(&self, contender: &C, unlocked: &mut Unlocked) {
        if let (Some(before), Some(znode)) = (self.tenure(), contender.znode()) {
            let tenure = Arc::new(Tenure::new(before.token, znode.clone()));
            self.shown.set(ShownContender::Held(tenure), &mut unlocked.wakers);
            before.end(LockLost::Released, &mut unlocked.wakers);
        }
    }

    fn end(&self, shown: ShownContender, unlocked: &mut Unlocked) {
        self.shown.set(shown, &mut unlocked.wakers);
        self.shown.end(&mut unlocked.wakers);
    }
}

impl<C: Contending> Face for LockFace<C> {
    type Recipe = C;

    fn stepped(
        &mut self,
        contender: &C,
        step: Step<LockNotice>,
        view: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        let now = self.clock.now();
        if let Some(notice) = step.notice {
            let entry = self.entry(contender, OnLock::Noticed(notice));
            match notice {
                LockNotice::Suspended | LockNotice::Resumed(_) | LockNotice::Obstructed(_) => {
                    let doubts = self.doubts.get_or_insert_with(|| RepeatLimit::new(now).into());
                    doubts.note(now, entry, &mut unlocked.journal);
                }
                _ => unlocked.journal.note(entry),
            }
        }
        self.doubts.take_if(|doubts| {
            doubts.catch_up(now, &mut unlocked.journal);
            doubts.is_over(now)
        });
        match step.grant {
            Some(GrantChange::Announced { token, .. }) => {
                if let Some(znode) = contender.znode() {
                    let tenure = Arc::new(Tenure::new(token, znode.clone()));
                    let waited = self.began.elapsed();
                    self.shown.set(ShownContender::Held(tenure), &mut unlocked.wakers);
                    unlocked.journal.note(self.entry(contender, OnLock::Held { token, waited }));
                }
            }
            Some(GrantChange::Ended { by, .. }) => {
                self.end_tenure(contender, lost(by, step.notice), unlocked);
            }
            Some(GrantChange::AwaitsLease(outlook)) => {
                unlocked.journal.note(self.entry(contender, OnLock::AwaitsLease(outlook)));
            }
            None => {}
        }
        match step.notice {
            Some(LockNotice::Downgraded) => self.downgraded(contender, unlocked),
            Some(LockNotice::NotDowngraded(failure)) => {
                if let Some(tenure) = self.tenure() {
                    let shown = ShownContender::NotDowngraded(tenure, failure);
                    self.shown.set(shown, &mut unlocked.wakers);
                }
            }
            _ => {}
        }
        if let Some(tenure) = self.tenure() {
            tenure.ask(contender.is_revoke_requested(), &mut unlocked.wakers);
        }
        if let Some(RecipeEnd::HostEnded(_)) = view.end {
            return;
        }
        if let Some(end) = contender.end() {
            let refusal =
                contender.refusal().map(|refusal| ShownContender::Refused(Box::new(refusal)));
            self.end(refusal.unwrap_or(ShownContender::Ended(end)), unlocked);
        }
    }

    fn client_ended(&mut self, contender: &C, end: SessionEnd, unlocked: &mut Unlocked) {
        self.end_tenure(contender, LockLost::ClientClosed(end), unlocked);
        self.end(ShownContender::ClientEnded(end), unlocked);
    }
}

/// Returns why the lock is not held any more.
const fn lost(by: GrantEnd, notice: Option<LockNotice>) -> LockLost {
    match (by, notice) {
        (GrantEnd::Host(end), _) => LockLost::ClientClosed(end),
        (
            GrantEnd::Recipe,
            Some(LockNotice::Lost(cause) | LockNotice::Ended(LockEnd::Lost(cause))),
        ) => LockLost::of_cause(cause),
        (GrantEnd::Recipe, Some(LockNotice::Ended(LockEnd::Failed(failure)))) => {
            LockLost::Failed(failure)
        }
        (GrantEnd::Recipe, _) => LockLost::Released,
    }
}
