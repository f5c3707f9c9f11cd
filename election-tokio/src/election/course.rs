//! The course of a nomination, measured for metrics.

use election_core::election::{Nominee, Notice};
use election_core::{
    Command, Create, CreateMode, Delete, Event, Failure, NewZnode, Op, Phase, Recipe as _, Reply,
    Ticket, Znode,
};
use election_session::{GrantChange, Step};
use zk_jute::records::EventType;
use zk_session::Instant;

use super::blocker::BlockChange;
use super::facts::Facts;
use super::leaderless::{Leader, LeaderSight};
use super::status::Role;
use crate::telemetry::{
    AfterSuspension, ElectionFigure, ElectionLabel, Entry, Figure, Journal, SeenBy,
};

/// The news about a lock delay that the course has not reported to the holder yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelayToTell {
    None,
    Begun,
}

/// Follows a nominee, and notes its measurements.
#[derive(Debug)]
pub(super) struct Course {
    leader: LeaderSight,
    /// The measurements under way. A waiting nominee has none, and there are thousands of them.
    pending: Option<Box<Pending>>,
}

/// The measurements that end later.
#[derive(Debug, Default)]
struct Pending {
    /// The moment at which the end of the predecessor was reported, until the nominee has acted on it.
    way_free_since: Option<Instant>,
    suspended_since: Option<Instant>,
    /// The create of a candidate that waits for its reply.
    create: Option<Ticket>,
    /// Candidates that are being deleted.
    deletes: Vec<(Ticket, Box<str>)>,
    /// Figures that were not recorded yet.
    figures: Vec<Figure>,
    /// The end of the lock delay that was reported.
    delay_until: Option<Instant>,
}

impl Pending {
    const fn is_empty(&self) -> bool {
        let Self { way_free_since, suspended_since, create, deletes, figures, delay_until } = self;
        way_free_since.is_none()
            && suspended_since.is_none()
            && create.is_none()
            && deletes.is_empty()
            && figures.is_empty()
            && delay_until.is_none()
    }
}

impl Course {
    pub(super) const fn new(label: ElectionLabel) -> Self {
        Self { leader: LeaderSight::new(label, SeenBy::Nominee), pending: None }
    }

    pub(super) const fn label(&self) -> ElectionLabel {
        self.leader.label()
    }

    fn pending(&mut self) -> &mut Pending {
        self.pending.get_or_insert_default()
    }

    fn tidy(&mut self) {
        self.pending.take_if(|pending| pending.is_empty());
    }

    /// Takes in a command of the nominee.
    pub(super) fn asks(&mut self, command: &Command<'_>) {
        let Command { ticket, op } = command;
        match op {
            Op::Create(Create {
                znode: NewZnode::Child(_),
                mode: CreateMode::EphemeralSequential,
                ..
            }) => self.pending().create = Some(*ticket),
            Op::Delete(Delete { znode: Znode::Child(name), .. }) => {
                self.pending().deletes.push((*ticket, Box::from(&*name.text())));
            }
            _ => {}
        }
    }

    /// Takes in an event before the nominee handles it.
    pub(super) fn hears(&mut self, nominee: &Nominee, event: &Event<'_>) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        match event {
            Event::Reply { ticket, result } => {
                if pending.create.take_if(|create| create == ticket).is_some()
                    && let Err(Failure::ConnectionLoss | Failure::Unreadable) = result
                {
                    pending.figures.push(Figure::AmbiguousCreate);
                }
                let Some(place) = pending.deletes.iter().position(|(asked, _)| asked == ticket)
                else {
                    return;
                };
                let (_, name) = pending.deletes.swap_remove(place);
                let is_own = nominee.candidate().is_some_and(|own| *own == *name);
                if let (Ok(Reply::Deleted), Phase::Standing, false) =
                    (result, nominee.phase(), is_own)
                {
                    pending.figures.push(Figure::GhostRemoved);
                }
            }
            Event::Disconnected => {
                pending.deletes.clear();
                if pending.create.take().is_some() {
                    pending.figures.push(Figure::AmbiguousCreate);
                }
            }
            _ => {}
        }
    }

    /// Takes in a step that the nominee has made at this moment.
    pub(super) fn stepped(&mut self, step: &Step<Notice>, now: Instant, journal: &mut Journal) {
        if step.woken_by.is_some_and(|wake| wake.kind == EventType::NODE_DELETED) {
            self.pending().way_free_since = Some(now);
        }
        match step.notice {
            Some(Notice::Suspended) => self.pending().suspended_since = Some(now),
            Some(Notice::Resumed(_)) => self.suspension_ended(AfterSuspension::Resumed, now),
            Some(Notice::Following | Notice::FollowingUnwatched | Notice::FollowingPersistent) => {
                self.way_is_not_free();
            }
            Some(Notice::Lost(_) | Notice::CandidateLost(_) | Notice::Ended(_)) => {
                self.way_is_not_free();
                self.suspension_ended(AfterSuspension::Lost, now);
            }
            Some(Notice::Obstructed(_) | Notice::ForeignChild | Notice::Elected(_)) | None => {}
        }
        if let Some(GrantChange::Announced { .. }) = step.grant
            && let Some(pending) = &mut self.pending
            && let Some(since) = pending.way_free_since.take()
        {
            pending.figures.push(Figure::TookOver(now.saturating_since(since)));
        }
        let label = self.label();
        for what in self.pending.iter_mut().flat_map(|pending| pending.figures.drain(..)) {
            journal.note(Entry::ElectionFigure(ElectionFigure { label, what }));
        }
        self.tidy();
    }

    /// Takes in the end of the lock delay, if there is one. Returns whether to tell the holder of it.
    pub(super) fn delays(&mut self, until: Option<Instant>) -> DelayToTell {
        let before = self.pending.as_ref().and_then(|pending| pending.delay_until);
        if until == before {
            return DelayToTell::None;
        }
        self.pending().delay_until = until;
        self.tidy();
        if until.is_some() { DelayToTell::Begun } else { DelayToTell::None }
    }

    fn way_is_not_free(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.way_free_since = None;
        }
    }

    fn suspension_ended(&mut self, then: AfterSuspension, now: Instant) {
        if let Some(pending) = &mut self.pending
            && let Some(since) = pending.suspended_since.take()
        {
            pending.figures.push(Figure::SuspensionEnded(now.saturating_since(since), then));
        }
    }

    /// Takes in the nominee's notice at this moment, and its role since.
    pub(super) fn plays(
        &mut self,
        notice: Option<Notice>,
        role: &Role,
        (facts, now): (&Facts, Instant),
        journal: &mut Journal,
    ) {
        self.block_changed(facts.follow_blocker(notice, role), journal);
        let now = (&facts.leaderless, now);
        match role {
            // A candidate that blocks the election leads nothing.
            Role::Following { leader, .. } if facts.is_blocked_by(leader) => {
                self.leader.see(Leader::Unknown, now, journal);
            }
            Role::Following { .. } | Role::Leading { .. } | Role::Suspended { .. } => {
                self.leader.see(Leader::Known, now, journal);
            }
            Role::Leaving | Role::Ended(_) => self.leader.end(journal),
            Role::Connecting | Role::Standing | Role::AwaitingLease { .. } | _ => {
                self.leader.see(Leader::Unknown, now, journal);
            }
        }
    }

    /// Ends the measurements, because the client has ended first.
    pub(super) fn end(&mut self, facts: &Facts, journal: &mut Journal) {
        self.block_changed(facts.unblock(), journal);
        self.leader.end(journal);
    }

    fn block_changed(&self, change: Option<BlockChange>, journal: &mut Journal) {
        let what = match change {
            None => return,
            Some(BlockChange::Began) => Figure::BlockedBegan,
            Some(BlockChange::Ended) => Figure::BlockedEnded,
        };
        journal.note(Entry::ElectionFigure(ElectionFigure { label: self.label(), what }));
    }
}
