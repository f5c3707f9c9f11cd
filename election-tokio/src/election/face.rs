//! The state of a nominee, as the holder of its nomination sees it.

use core::task::Waker;
use std::sync::Arc;

use election_core::election::{Cause, Nominee, Notice};
use election_core::{Command, Event, Phase, Recipe as _, Token};
use election_session::{Grant, GrantChange, RecipeEnd, Step, View};
use zk_jute::{SessionId, Zxid};
use zk_session::lease::LeaseOutlook;
use zk_session::{Instant, SessionEnd};

use super::course::{Course, DelayToTell};
use super::facts::Facts;
use super::settings::NominationSettings;
use super::status::{EndReason, LostReason, Role, Status};
use super::suspension::WhileSuspended;
use crate::broadcast::{Receiver, Sender};
use crate::held::Tenure;
use crate::hub::{Face, Unlocked};
use crate::telemetry::{ElectionEntry, Entry, InElection, RepeatLimit};

/// Shows a nominee's state to the holder of its nomination.
#[derive(Debug)]
pub(super) struct NomineeFace {
    facts: Arc<Facts>,
    status: Sender<Status>,
    course: Course,
    numbers: Numbers,
    /// Limits the lines about a leader's connection that comes and goes, and about leaderships that a
    /// server ends one after another. Most nominees have no such lines.
    doubts: Option<Box<RepeatLimit>>,
}

/// The supply of sequence numbers below the election node, as last reported to the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Plenty,
    /// Few numbers are left, and the holder was warned.
    Few,
}

/// The number of creates left at which the operator is warned: a tenth of all. At a hundred creates
/// a second that is 24 days ahead.
const FEW_NUMBERS: u32 = 210_000_000;

impl NomineeFace {
    /// Makes the face, and the handles through which the holder sees it.
    pub(super) fn new(settings: Arc<NominationSettings>) -> (Self, Arc<Facts>, Receiver<Status>) {
        let status = Sender::new(Status::new());
        let (course, shown) = (Course::new(settings.label), status.subscribe());
        let facts = Arc::new(Facts::new(settings));
        let (numbers, doubts) = (Numbers::Plenty, None);
        let face = Self { facts: Arc::clone(&facts), status, course, numbers, doubts };
        (face, facts, shown)
    }

    fn elected(&self, nominee: &Nominee, token: Token) {
        if let Some(candidate) = nominee.candidate() {
            self.facts.replace_tenure(Some(Arc::new(Tenure::new(token, candidate.clone()))));
        }
    }

    fn end_tenure(&self, reason: LostReason, unlocked: &mut Unlocked) {
        if let Some(tenure) = self.facts.replace_tenure(None)
            && let Some(lasted) = tenure.end(reason, &mut unlocked.wakers)
        {
            let label = self.course.label();
            unlocked.journal.note(Entry::TenureEnded { label, reason, lasted });
        }
    }

    /// Ends a suspended leadership for the user, by the policy to stop at once; it begins anew when
    /// the leadership is resumed. A leadership that the user has not received does neither.
    fn follow_suspension(
        &self,
        nominee: &Nominee,
        notice: Notice,
        view: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        match (self.facts.settings.while_suspended, notice, view.grant) {
            (WhileSuspended::Stop, Notice::Suspended, _) => {
                self.end_tenure(LostReason::Suspended, unlocked);
            }
            (WhileSuspended::Stop, Notice::Resumed(token), Grant::Announced { .. })
                if self.facts.tenure().is_none() =>
            {
                self.elected(nominee, token);
            }
            _ => {}
        }
    }

    /// Warns once, long before no nominee can be elected any more.
    fn few_numbers_left(&mut self, nominee: &Nominee) -> Option<InElection> {
        let remaining = nominee.candidate()?.sequence().remaining();
        if self.numbers == Numbers::Few || remaining >= FEW_NUMBERS {
            return None;
        }
        self.numbers = Numbers::Few;
        Some(InElection::FewNumbersLeft(remaining))
    }

    fn tell_of_grant(
        &mut self,
        nominee: &Nominee,
        (at, now): ((Option<SessionId>, Zxid), Instant),
        grant: Option<GrantChange>,
        unlocked: &mut Unlocked,
    ) {
        match grant {
            Some(GrantChange::Announced { token, .. }) => {
                let entry = self.entry(nominee, at, InElection::Elected(token));
                match &mut self.doubts {
                    Some(doubts) => drop(doubts.note(now, entry, &mut unlocked.journal)),
                    None => unlocked.journal.note(entry),
                }
                self.elected(nominee, token);
            }
            Some(GrantChange::AwaitsLease(
                outlook @ (LeaseOutlook::RoundTripTooLong { .. } | LeaseOutlook::NoLease { .. }),
            )) => {
                let what = InElection::LeaseOutOfReach(outlook);
                unlocked.journal.note(self.entry(nominee, at, what));
            }
            Some(GrantChange::AwaitsLease(_) | GrantChange::Ended { .. }) | None => {}
        }
    }

    fn show(&self, status: Status, wakers: &mut Vec<Waker>) {
        let before = self.status.read(Clone::clone);
        self.status.show(status.after(&before), wakers);
    }

    fn entry(
        &self,
        nominee: &Nominee,
        (session, zxid): (Option<SessionId>, Zxid),
        what: InElection,
    ) -> Entry {
        Entry::Election(Box::new(ElectionEntry {
            site: Arc::clone(&self.facts.settings.site),
            label: self.course.label(),
            nominee: nominee.id(),
            candidate: nominee.candidate().cloned(),
            predecessor: match nominee.role() {
                election_core::election::Role::Following { predecessor, .. } => {
                    Some(predecessor.clone())
                }
                _ => None,
            },
            foreign: nominee.foreign_child().map(Box::from),
            session,
            zxid,
            what,
        }))
    }
}

impl Face for NomineeFace {
    type Recipe = Nominee;

    fn hears(&mut self, nominee: &Nominee, event: &Event<'_>) {
        self.course.hears(nominee, event);
    }

    fn asks(&mut self, command: &Command<'_>) {
        self.course.asks(command);
    }

    fn stepped(
        &mut self,
        nominee: &Nominee,
        step: Step<Notice>,
        view: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        self.facts.follow(nominee);
        let at = (view.session, step.zxid);
        let now = self.facts.settings.clock.now();
        if let Some(notice) = step.notice {
            self.follow_suspension(nominee, notice, view, unlocked);
            let entry = self.entry(nominee, at, InElection::Noticed(notice));
            match notice {
                // The caller's own doing.
                Notice::Lost(Cause::SteppedDown) => unlocked.journal.note(entry),
                Notice::Suspended
                | Notice::Resumed(_)
                | Notice::Obstructed(_)
                | Notice::ForeignChild
                | Notice::Lost(_)
                | Notice::CandidateLost(_) => {
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
        let delay = self.course.delays(view.delay_until);
        self.tell_of_grant(nominee, (at, now), step.grant, unlocked);
        if delay == DelayToTell::Begun {
            let what = InElection::AwaitingLockDelay;
            unlocked.journal.note(self.entry(nominee, at, what));
        }
        if let Some(reason) = step.lost_reason() {
            self.end_tenure(reason, unlocked);
        }
        self.course.stepped(&step, now, &mut unlocked.journal);
        if let Some(few) = self.few_numbers_left(nominee) {
            unlocked.journal.note(self.entry(nominee, at, few));
        }
        if let Some(RecipeEnd::HostEnded(_)) = view.end {
            return;
        }
        let status = election_session::Status::of(nominee, view);
        let status = status.map_instant(|deadline| self.facts.settings.clock.to_tokio(deadline));
        let seen = (&*self.facts, now);
        self.course.plays(step.notice, &status.role, seen, &mut unlocked.journal);
        self.show(status, &mut unlocked.wakers);
        if let Phase::CleaningUp | Phase::Over = nominee.phase() {
            self.status.end(&mut unlocked.wakers);
        }
    }

    fn over(&mut self, _: &Nominee, _: RecipeEnd, unlocked: &mut Unlocked) {
        self.course.end(&self.facts, &mut unlocked.journal);
    }

    fn client_ended(&mut self, nominee: &Nominee, end: SessionEnd, unlocked: &mut Unlocked) {
        let Status { session, .. } = self.status.read(Clone::clone);
        let what = InElection::ClientEnded(end);
        unlocked.journal.note(self.entry(nominee, (session, Zxid::ZERO), what));
        let mut status = Status::new();
        status.role = Role::Ended(EndReason::ClientClosed(end));
        status.candidate = nominee.candidate().cloned();
        status.session = session;
        self.show(status, &mut unlocked.wakers);
        self.status.end(&mut unlocked.wakers);
    }
}
