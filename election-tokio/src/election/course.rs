//! The course of a nomination in figures, for metrics.

use election_core::{
    Command, Create, CreateMode, Delete, Event, Failure, NewZnode, Nominee, Notice, Op, Phase,
    Recipe as _, Reply, Ticket, Znode,
};
use election_session::{GrantChange, Step};
use zk_jute::records::EventType;
use zk_session::Instant;

use super::blocker::{BlockChange, PresentBlocker};
use super::leaderless::{Leader, LeaderSight, LeaderlessSince};
use super::status::Role;
use crate::telemetry::{
    AfterSuspension, ElectionFigure, ElectionLabel, Entry, Figure, Journal, SeenBy,
};

/// Follows a nominee, and notes what is measured of it.
#[derive(Debug)]
pub(super) struct Course {
    label: ElectionLabel,
    leader: LeaderSight,
    blocker: PresentBlocker,
    /// When the end of the predecessor was told, if nothing has become of that yet.
    way_free_since: Option<Instant>,
    suspended_since: Option<Instant>,
    /// The create of a candidate whose reply is on its way.
    create: Option<Ticket>,
    /// Candidates whose deletion is on its way.
    deletes: Vec<(Ticket, Box<str>)>,
    /// Not noted yet.
    figures: Vec<Figure>,
}

impl Course {
    pub(super) fn new(label: ElectionLabel, now: Instant) -> Self {
        Self {
            label,
            leader: LeaderSight::new(label, SeenBy::Nominee, now),
            blocker: PresentBlocker::default(),
            way_free_since: None,
            suspended_since: None,
            create: None,
            deletes: Vec::new(),
            figures: Vec::new(),
        }
    }

    pub(super) const fn label(&self) -> ElectionLabel {
        self.label
    }

    pub(super) fn leaderless_since(&self) -> LeaderlessSince {
        self.leader.since()
    }

    pub(super) fn blocker(&self) -> PresentBlocker {
        self.blocker.clone()
    }

    /// Takes in what the nominee asks for.
    pub(super) fn asks(&mut self, command: &Command<'_>) {
        let Command { ticket, op } = command;
        match op {
            Op::Create(Create {
                znode: NewZnode::Child(_),
                mode: CreateMode::EphemeralSequential,
                ..
            }) => self.create = Some(*ticket),
            Op::Delete(Delete { znode: Znode::Child(name), .. }) => {
                self.deletes.push((*ticket, Box::from(*name)));
            }
            _ => {}
        }
    }

    /// Takes in what the nominee is about to hear.
    pub(super) fn hears(&mut self, nominee: &Nominee, event: &Event<'_>) {
        match event {
            Event::Reply { ticket, result } => {
                if self.create.take_if(|create| create == ticket).is_some()
                    && let Err(Failure::ConnectionLoss | Failure::Unreadable) = result
                {
                    self.figures.push(Figure::AmbiguousCreate);
                }
                let Some(place) = self.deletes.iter().position(|(asked, _)| asked == ticket) else {
                    return;
                };
                let (_, name) = self.deletes.swap_remove(place);
                let is_own = nominee.candidate().is_some_and(|own| own.as_str() == &*name);
                if let (Ok(Reply::Deleted), Phase::Standing, false) =
                    (result, nominee.phase(), is_own)
                {
                    self.figures.push(Figure::GhostRemoved);
                }
            }
            Event::Disconnected => {
                self.deletes.clear();
                if self.create.take().is_some() {
                    self.figures.push(Figure::AmbiguousCreate);
                }
            }
            _ => {}
        }
    }

    /// Takes in a step that the nominee took at this moment.
    pub(super) fn stepped(&mut self, step: &Step<Notice>, now: Instant, journal: &mut Journal) {
        if step.woken_by.is_some_and(|wake| wake.kind == EventType::NODE_DELETED) {
            self.way_free_since = Some(now);
        }
        match step.notice {
            Some(Notice::Suspended) => self.suspended_since = Some(now),
            Some(Notice::Resumed(_)) => self.suspension_ended(AfterSuspension::Resumed, now),
            Some(Notice::Following | Notice::FollowingUnwatched | Notice::FollowingPersistent) => {
                self.way_free_since = None;
            }
            Some(Notice::Lost(_) | Notice::CandidateLost(_) | Notice::Ended(_)) => {
                self.way_free_since = None;
                self.suspension_ended(AfterSuspension::Lost, now);
            }
            Some(Notice::Obstructed(_) | Notice::ForeignChild | Notice::Elected(_)) | None => {}
        }
        if let Some(GrantChange::Announced { .. }) = step.grant
            && let Some(since) = self.way_free_since.take()
        {
            self.figures.push(Figure::TookOver(now.saturating_since(since)));
        }
        for what in self.figures.drain(..) {
            journal.note(Entry::ElectionFigure(ElectionFigure { label: self.label, what }));
        }
    }

    fn suspension_ended(&mut self, then: AfterSuspension, now: Instant) {
        if let Some(since) = self.suspended_since.take() {
            self.figures.push(Figure::SuspensionEnded(now.saturating_since(since), then));
        }
    }

    /// Takes in what it has noticed at this moment, and its role since.
    pub(super) fn plays(
        &mut self,
        notice: Option<Notice>,
        role: &Role,
        now: Instant,
        journal: &mut Journal,
    ) {
        let change = self.blocker.follow(notice, role);
        self.block_changed(change, journal);
        match role {
            // What blocks the election leads nothing.
            Role::Following { leader, .. } if self.blocker.is(leader) => {
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

    /// The client has ended first.
    pub(super) fn end(&mut self, journal: &mut Journal) {
        let change = self.blocker.end();
        self.block_changed(change, journal);
        self.leader.end(journal);
    }

    fn block_changed(&self, change: Option<BlockChange>, journal: &mut Journal) {
        let what = match change {
            None => return,
            Some(BlockChange::Began) => Figure::BlockedBegan,
            Some(BlockChange::Ended) => Figure::BlockedEnded,
        };
        journal.note(Entry::ElectionFigure(ElectionFigure { label: self.label, what }));
    }
}
