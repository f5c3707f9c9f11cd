//! The course of a nomination, measured for metrics.

use election_core::{
    Command, Create, CreateMode, Delete, Event, Failure, NewZnode, Nominee, Notice, Op, Phase,
    Recipe as _, Reply, Ticket, Znode,
};
use election_session::{GrantChange, Step};
use zk_jute::records::EventType;
use zk_session::Instant;

use super::leaderless::{Leader, LeaderSight, LeaderlessSince};
use super::status::Role;
use crate::telemetry::{
    AfterSuspension, ElectionFigure, ElectionLabel, Entry, Figure, Journal, SeenBy,
};

/// Follows a nominee, and records measurements.
#[derive(Debug)]
pub(super) struct Course {
    label: ElectionLabel,
    leader: LeaderSight,
    /// When the end of the predecessor was reported, if nothing has followed from it yet.
    way_free_since: Option<Instant>,
    suspended_since: Option<Instant>,
    /// The create of a candidate that waits for its reply.
    create: Option<Ticket>,
    /// Candidates that are being deleted.
    deletes: Vec<(Ticket, Box<str>)>,
    /// Figures that were not recorded yet.
    figures: Vec<Figure>,
}

impl Course {
    pub(super) fn new(label: ElectionLabel, now: Instant) -> Self {
        Self {
            label,
            leader: LeaderSight::new(label, SeenBy::Nominee, now),
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

    /// Takes in a command of the nominee.
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

    /// Takes in an event before the nominee gets it.
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

    /// Takes in a step of the nominee at this moment.
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

    /// Takes in the role of the nominee at this moment.
    pub(super) fn plays(&mut self, role: &Role, now: Instant, journal: &mut Journal) {
        match role {
            Role::Following { .. } | Role::Leading { .. } | Role::Suspended { .. } => {
                self.leader.see(Leader::Known, now, journal);
            }
            Role::Leaving | Role::Ended(_) => self.leader.end(journal),
            Role::Connecting | Role::Standing | Role::AwaitingLease { .. } | _ => {
                self.leader.see(Leader::Unknown, now, journal);
            }
        }
    }

    /// Ends the course, because the client has ended first.
    pub(super) fn end(&mut self, journal: &mut Journal) {
        self.leader.end(journal);
    }
}
