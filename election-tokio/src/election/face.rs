//! The state of a nominee, as the holder of its nomination sees it.

use core::task::Waker;
use std::sync::Arc;

use election_core::{Command, Event, Nominee, Notice, Phase, Recipe as _, Token};
use election_session::{Grant, GrantChange, RecipeEnd, Site, Step, View};
use zk_jute::{SessionId, Zxid};
use zk_session::LeaseOutlook;

use super::course::Course;
use super::leaderless::LeaderlessSince;
use super::position::LastPosition;
use super::status::{EndReason, LostReason, Role, Status};
use super::suspension::WhileSuspended;
use crate::broadcast::{Receiver, Sender};
use crate::clock::Clock;
use crate::held::{PresentTenure, Tenure};
use crate::hub::{Face, Unlocked};
use crate::telemetry::{ElectionEntry, ElectionLabel, Entry, InElection, RepeatLimit};

/// Shows a nominee's state to the holder of its nomination.
#[derive(Debug)]
pub(super) struct NomineeFace {
    clock: Clock,
    site: Arc<Site>,
    status: Sender<Status>,
    tenure: PresentTenure<LostReason>,
    position: LastPosition,
    course: Course,
    while_suspended: WhileSuspended,
    delay_until: Option<zk_session::Instant>,
    numbers: Numbers,
    /// Limits the warnings of a leader with a connection that comes and goes.
    doubts: RepeatLimit,
}

/// The state that the holder sees.
pub(super) struct Shown {
    pub(super) status: Receiver<Status>,
    pub(super) tenure: PresentTenure<LostReason>,
    pub(super) position: LastPosition,
    pub(super) leaderless: LeaderlessSince,
}

/// How many sequence numbers are left below the election node, as the holder was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Plenty,
    /// The holder was warned.
    Few,
}

/// The number of creates left at which the operator is warned: a tenth of all. At a hundred creates
/// a second that is 24 days ahead.
const FEW_NUMBERS: u32 = 210_000_000;

impl NomineeFace {
    pub(super) fn new(
        clock: Clock,
        site: Arc<Site>,
        label: ElectionLabel,
        while_suspended: WhileSuspended,
    ) -> (Self, Shown) {
        let status = Sender::new(Status::new());
        let (tenure, position) = (PresentTenure::default(), LastPosition::default());
        let now = clock.now();
        let course = Course::new(label, now);
        let shown = Shown {
            status: status.subscribe(),
            tenure: tenure.clone(),
            position: position.clone(),
            leaderless: course.leaderless_since(),
        };
        let (numbers, doubts) = (Numbers::Plenty, RepeatLimit::new(now));
        let face = Self {
            clock,
            site,
            status,
            tenure,
            position,
            course,
            while_suspended,
            delay_until: None,
            numbers,
            doubts,
        };
        (face, shown)
    }

    fn elected(&self, nominee: &Nominee, token: Token) {
        if let Some(candidate) = nominee.candidate() {
            self.tenure.replace(Some(Arc::new(Tenure::new(token, candidate.clone()))));
        }
    }

    fn end_tenure(&self, reason: LostReason, unlocked: &mut Unlocked) {
        if let Some(tenure) = self.tenure.replace(None)
            && let Some(lasted) = tenure.end(reason, &mut unlocked.wakers)
        {
            let label = self.course.label();
            unlocked.journal.note(Entry::TenureEnded { label, reason, lasted });
        }
    }

    /// Ends a suspended leadership for the user, by the policy to stop at once; it begins anew when
    /// the leadership is resumed. A leadership that the user was not told of does neither.
    fn follow_suspension(
        &self,
        nominee: &Nominee,
        notice: Notice,
        view: View<'_>,
        unlocked: &mut Unlocked,
    ) {
        match (self.while_suspended, notice, view.grant) {
            (WhileSuspended::Stop, Notice::Suspended, _) => {
                self.end_tenure(LostReason::Suspended, unlocked);
            }
            (WhileSuspended::Stop, Notice::Resumed(token), Grant::Announced { .. })
                if self.tenure.get().is_none() =>
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
            site: Arc::clone(&self.site),
            label: self.course.label(),
            nominee: nominee.id(),
            candidate: nominee.candidate().cloned(),
            predecessor: match nominee.role() {
                election_core::Role::Following { predecessor, .. } => Some(predecessor.clone()),
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
        self.position.follow(nominee);
        let at = (view.session, step.zxid);
        let now = self.clock.now();
        if let Some(notice) = step.notice {
            self.follow_suspension(nominee, notice, view, unlocked);
            let entry = self.entry(nominee, at, InElection::Noticed(notice));
            match notice {
                Notice::Suspended
                | Notice::Resumed(_)
                | Notice::Obstructed(_)
                | Notice::ForeignChild => {
                    self.doubts.note(now, entry, &mut unlocked.journal);
                }
                _ => unlocked.journal.note(entry),
            }
        }
        self.doubts.catch_up(now, &mut unlocked.journal);
        let mut tell = |what| unlocked.journal.note(self.entry(nominee, at, what));
        match step.grant {
            Some(GrantChange::Announced { token, .. }) => {
                tell(InElection::Elected(token));
                self.elected(nominee, token);
            }
            Some(GrantChange::AwaitsLease(outlook @ LeaseOutlook::RoundTripTooLong { .. })) => {
                tell(InElection::LeaseOutOfReach(outlook));
            }
            Some(GrantChange::AwaitsLease(_) | GrantChange::Ended { .. }) | None => {}
        }
        if view.delay_until.is_some() && view.delay_until != self.delay_until {
            tell(InElection::AwaitingLockDelay);
        }
        self.delay_until = view.delay_until;
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
        let status = status.map_instant(|deadline| self.clock.to_tokio(deadline));
        self.course.plays(&status.role, now, &mut unlocked.journal);
        self.show(status, &mut unlocked.wakers);
        if let Phase::CleaningUp | Phase::Over = nominee.phase() {
            self.status.end(&mut unlocked.wakers);
        }
    }

    fn over(&mut self, nominee: &Nominee, end: RecipeEnd, unlocked: &mut Unlocked) {
        self.course.end(&mut unlocked.journal);
        let RecipeEnd::HostEnded(end) = end else {
            return;
        };
        if let Phase::CleaningUp | Phase::Over = nominee.phase() {
            return;
        }
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
