//! The two-phase commit: sites vote, and all of them learn one decision.
//!
//! The node holds the content. The names of its children alone show the state:
//!
//! ```text
//!  of each site:      invited-S --> joined-S --> commit-S --> (deleted: acknowledged)
//!                          |            |
//!                          '------------'------> abort-S, together with the decision
//!
//!  of the whole:      open-ID --> committed-ID or aborted-ID --> (deleted, with the node)
//! ```
//!
//! Each arrow is one transaction, which any party may send again: it is applied once. The decision
//! deletes `open-ID`, and what a vote depends on checks it. So there is one decision, and no vote
//! after it. The id distinguishes a transaction from the next one at the same path.
//!
//! `course.rs` is the whole protocol: a party lists, does what follows from that in one
//! transaction, and looks again if it was refused or its reply was lost. The rules:
//!
//! - The party that decides creates the decision and deletes `open-`; a vote checks `open-`.
//!   Parties rename children, and never write to them, but for one: a site that finds an ephemeral
//!   znode of its own session writes to it, so that the participant which has made it leaves it
//!   alone.
//! - A site that leaves deletes the ephemeral znode with the token and the version that it has
//!   seen. If a server refuses that, it is owed.
//! - The absence of a child counts only behind a quorum's commit. Its presence counts at once:
//!   neither votes nor decisions are taken back while the transaction stands.
//! - A transaction creates before it deletes, for a server may answer a list while it applies one.
//! - A beginning whose reply was lost is not sent again: the transaction may be over and removed.

mod begin;
mod child;
mod course;
mod leaving;
mod plan;
mod stage;
mod tally;
mod task;
mod told;

pub use begin::{BeginEnd, InvalidSites, TwoPhaseBegin};
pub use child::{CommitChild, CommitState, SitePresence, SiteState};
pub use task::CommitTask;
pub use told::{CommitEnd, CommitFailure, CommitSiteNotice, Decision};

use crate::command::{Command, ExpectedVersion, Op, Output, Payload, Watch, Write, Znode};
use crate::event::{Event, Failure, Reply};
use crate::id::NomineeId;
use crate::line::{Joined, Line};
use crate::owed::{Owed, Removal as _, Rest};
use crate::recipe::{Phase, Recipe};
use crate::seen::Seen;
use crate::ticket::Ticket;
use course::{Next, Sight, Then};
use leaving::{Leaving, Origin};
use plan::is_outdated;
use stage::{Asked, CommitStage, Own, Reported, Request};
use tally::Tally;

/// How often a transaction may be refused, or a list show nothing, in a row, on one connection.
const PATIENCE: u8 = 16;

/// A party of a two-phase commit, with one [task](CommitTask).
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns, until it reports its end. [`withdraw`](Recipe::withdraw) gives up: a request on its way
/// may still be executed.
///
/// If the server refuses to delete the ephemeral znode of a site that leaves, the party ends, and
/// deletes the znode as soon as the server permits that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwoPhaseCommit {
    task: CommitTask,
    id: Option<NomineeId>,
    line: Line<Request>,
    stage: CommitStage,
    /// The watch of the last list or look that left one.
    watch: Option<Ticket>,
    patience: u8,
    own: Own,
}

impl TwoPhaseCommit {
    /// Makes a party that has not been connected yet. The id is that of the transaction that is
    /// meant; `None` means the one at the path.
    pub fn new(task: CommitTask, id: Option<NomineeId>) -> Self {
        let stage = Self::first_stage(&task, id);
        let own = Own { asked: Asked::Never, told: Reported::Nothing };
        Self { task, id, line: Line::new(), stage, watch: None, patience: PATIENCE, own }
    }

    /// Returns its task.
    pub const fn task(&self) -> &CommitTask {
        &self.task
    }

    /// Returns how it ended, if it has.
    pub const fn end(&self) -> Option<CommitEnd> {
        self.stage.end()
    }

    fn first_stage(task: &CommitTask, id: Option<NomineeId>) -> CommitStage {
        match (task, id) {
            (CommitTask::Find | CommitTask::Join(_), _) => CommitStage::Doubting,
            (CommitTask::Learn, Some(id)) => {
                CommitStage::Looking(CommitChild::State(CommitState::Open, id).name())
            }
            _ => CommitStage::Surveying(Sight::MayLag),
        }
    }

    fn begin_again(&mut self) {
        self.watch = None;
        self.patience = PATIENCE;
        self.leave_adoption();
        self.stage = match &mut self.stage {
            CommitStage::Ended(_) | CommitStage::Standing => return,
            CommitStage::Leaving(leaving, end) => CommitStage::Leaving(leaving.anew(), *end),
            CommitStage::Owing(owed, _) => return owed.link_lost(),
            _ => Self::first_stage(&self.task, self.id),
        };
    }

    /// Notes that the session is lost, with all its znodes.
    fn session_lost(&mut self) {
        self.own.asked = Asked::Never;
        match self.stage {
            CommitStage::Leaving(_, end) | CommitStage::Owing(_, end) => {
                self.stage = CommitStage::Ended(end);
            }
            CommitStage::Standing => self.stage = Self::first_stage(&self.task, self.id),
            _ => {}
        }
    }

    fn answered(&mut self, ticket: Ticket, request: Request, result: Result<Reply<'_>, Failure>) {
        let session = self.line.session();
        self.stage = match core::mem::replace(&mut self.stage, CommitStage::Waiting) {
            CommitStage::Leaving(leaving, end) => match leaving.answered(&result, session) {
                Rest::GoesOn(leaving) => CommitStage::Leaving(leaving, end),
                Rest::Gone => CommitStage::Ended(end),
                Rest::Refused(leaving) => {
                    let end = end.or_failed(CommitFailure::of(&result));
                    CommitStage::Owing(Owed::Refused(leaving), end)
                }
            },
            CommitStage::Owing(Owed::Due(leaving), end) => {
                let owed = Owed::after(leaving.answered(&result, session));
                owed.map_or(CommitStage::Ended(end), |owed| CommitStage::Owing(owed, end))
            }
            refused @ CommitStage::Owing(Owed::Refused(_), _) => refused,
            stage => match self.after(stage, ticket, request, result) {
                CommitStage::Ended(end) => self.ending(end),
                next => next,
            },
        };
    }

    /// Returns what follows a stage in which the participant is not leaving.
    fn after(
        &mut self,
        stage: CommitStage,
        ticket: Ticket,
        request: Request,
        result: Result<Reply<'_>, Failure>,
    ) -> CommitStage {
        match (stage, request, result) {
            (CommitStage::Surveying(sight), Request::Survey, Ok(Reply::Children(names))) => {
                if self.survey_watch() != Watch::None {
                    self.watch = Some(ticket);
                }
                let tally = Tally::of(names, self.task.site());
                let next = course::next(&self.task, self.id, &tally, sight);
                if let (None, Some((_, id)), Sight::Current) = (self.id, tally.state, sight) {
                    self.id = Some(id);
                }
                self.follow(next, sight)
            }
            (CommitStage::Surveying(sight), Request::Survey, Err(Failure::NoNode)) => {
                self.follow(course::without_a_node(&self.task, sight), sight)
            }
            (CommitStage::Doubting, Request::Barrier, Ok(Reply::BarrierPassed)) => {
                CommitStage::Surveying(Sight::Current)
            }
            (CommitStage::Acting(_, then), Request::Act, Ok(Reply::Committed(_))) => match then {
                Then::End(end) => CommitStage::Ended(end),
                Then::Survey => CommitStage::Surveying(Sight::Current),
                Then::Joined(id) => self.joined(id),
            },
            (CommitStage::Acting(..), Request::Act, Err(Failure::Aborted { code, .. }))
                if is_outdated(code) && self.patience > 0 =>
            {
                self.patience -= 1;
                CommitStage::Surveying(Sight::Current)
            }
            (CommitStage::Looking(name), Request::Look, Ok(Reply::Exists(stat))) => {
                if let CommitTask::Join(_) = self.task
                    && stat.owner == self.line.session()
                {
                    CommitStage::Adopting(name, Seen::from(stat))
                } else {
                    self.watch = Some(ticket);
                    CommitStage::Waiting
                }
            }
            (CommitStage::Looking(_), Request::Look, Err(Failure::NoNode)) => {
                CommitStage::Surveying(Sight::MayLag)
            }
            (CommitStage::Adopting(..), Request::Adopt, Ok(Reply::Written(stat))) => {
                self.own.asked = Asked::ForItsZnode(Origin::Adopted(Seen::from(stat)));
                match self.id {
                    Some(id) => self.joined(id),
                    None => CommitStage::Doubting,
                }
            }
            (
                CommitStage::Adopting(..),
                Request::Adopt,
                Err(Failure::NoNode | Failure::BadVersion),
            ) if self.patience > 0 => {
                self.patience -= 1;
                CommitStage::Doubting
            }
            (_, _, result) => CommitStage::Ended(CommitEnd::Failed(CommitFailure::of(&result))),
        }
    }

    /// Removes what it may have left, and ends then. What it has watched matters no more.
    fn ending(&mut self, end: CommitEnd) -> CommitStage {
        self.watch = None;
        match (&self.task, self.own.asked) {
            (CommitTask::Join(site), Asked::ForItsZnode(origin)) => {
                CommitStage::Leaving(Leaving::of(site, origin), end)
            }
            _ => CommitStage::Ended(end),
        }
    }

    fn follow(&mut self, next: Next, sight: Sight) -> CommitStage {
        match next {
            Next::End(CommitEnd::Failed(CommitFailure::NotATransaction)) if self.patience > 0 => {
                // A server may be about to apply the rest of the transaction that removes the node.
                self.patience -= 1;
                CommitStage::Doubting
            }
            Next::End(end) => CommitStage::Ended(end),
            Next::Doubt => CommitStage::Doubting,
            Next::Act(plan, then) => {
                if matches!(self.task, CommitTask::Join(_)) {
                    self.own.asked = Asked::ForItsZnode(Origin::Created);
                }
                CommitStage::Acting(plan, then)
            }
            Next::Look(state, id) => CommitStage::Looking(CommitChild::State(state, id).name()),
            Next::LookAtOwn(presence) => match self.task.site() {
                // The id is that of the list, which has to be that of a current one.
                Some(site) if sight == Sight::Current => {
                    CommitStage::Looking(CommitChild::Presence(presence, site.as_str()).name())
                }
                _ => CommitStage::Doubting,
            },
            Next::Wait => CommitStage::Waiting,
            Next::Joined(id) => self.joined(id),
        }
    }

    /// Notes that a write to the znode that it has found is left to itself.
    const fn leave_adoption(&mut self) {
        if let CommitStage::Adopting(_, seen) = self.stage {
            self.own.asked = Asked::ForItsZnode(Origin::Adopted(seen.written()));
        }
    }

    fn joined(&mut self, id: NomineeId) -> CommitStage {
        self.id = Some(id);
        self.watch = None;
        CommitStage::Standing
    }

    const fn survey_watch(&self) -> Watch {
        match self.task {
            CommitTask::Decide | CommitTask::Finish => Watch::Other,
            _ => Watch::None,
        }
    }

    fn op(&self) -> Op<'_> {
        match &self.stage {
            CommitStage::Surveying(_) => {
                Op::List { parent: Znode::Node, watch: self.survey_watch() }
            }
            CommitStage::Acting(plan, _) => Op::Multi(plan.multi()),
            CommitStage::Looking(name) => {
                Op::Exists { znode: Znode::child(name.as_str()), watch: Watch::Other }
            }
            CommitStage::Adopting(name, Seen { version, .. }) => {
                let znode = Znode::child(name.as_str());
                let version = ExpectedVersion::Exactly(*version);
                Op::Write(Write { znode, version, data: Payload::Empty })
            }
            CommitStage::Leaving(leaving, _)
            | CommitStage::Owing(Owed::Due(leaving) | Owed::Refused(leaving), _) => leaving.op(),
            _ => Op::Barrier,
        }
    }

    fn output(&mut self, before: Before) -> Output<'_, CommitSiteNotice> {
        let notice = match (&self.stage, before) {
            (CommitStage::Owing(_, end) | CommitStage::Ended(end), Before::NotEnded) => {
                Some(CommitSiteNotice::Ended(*end))
            }
            (CommitStage::Standing, _) if self.own.told == Reported::Nothing => {
                self.own.told = Reported::Joined;
                self.id.map(CommitSiteNotice::Joined)
            }
            _ => None,
        };
        let command = self.stage.request().and_then(|request| {
            let ticket = self.line.ask(request)?;
            Some(Command { ticket, op: self.op() })
        });
        Output { command, notice }
    }

    const fn before(&self) -> Before {
        match self.stage.end() {
            Some(_) => Before::Ended,
            None => Before::NotEnded,
        }
    }
}

/// The state before an event.
#[derive(Clone, Copy, Debug)]
enum Before {
    NotEnded,
    Ended,
}

impl Recipe for TwoPhaseCommit {
    type Notice = CommitSiteNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, CommitSiteNotice> {
        let before = self.before();
        if self.line.lost_by(&event).is_some() {
            self.begin_again();
        }
        match event {
            Event::Connected { session } => {
                if self.line.connected(session) == Joined::Other {
                    self.session_lost();
                }
                self.begin_again();
            }
            Event::SessionExpired => {
                self.line.expired();
                self.session_lost();
            }
            Event::Reply { ticket, result } => {
                if let Some(request) = self.line.answered(ticket, &result) {
                    self.answered(ticket, request, result);
                }
            }
            Event::Changed { ticket, .. } if self.watch == Some(ticket) => {
                self.watch = None;
                if self.stage == CommitStage::Waiting {
                    self.stage = CommitStage::Surveying(Sight::MayLag);
                }
            }
            Event::Look => {
                self.line.ask_again();
                match &mut self.stage {
                    CommitStage::Waiting => self.stage = CommitStage::Surveying(Sight::MayLag),
                    CommitStage::Owing(owed, _) => owed.look(),
                    _ => {}
                }
            }
            Event::Disconnected | Event::Changed { .. } | Event::LeaseLapsed | Event::Deadline => {}
        }
        self.output(before)
    }

    /// Gives up. A site that has joined deletes its ephemeral znode. If it has not voted, it counts
    /// as gone.
    fn withdraw(&mut self) -> Output<'_, CommitSiteNotice> {
        let before = self.before();
        match self.stage {
            CommitStage::Owing(..) | CommitStage::Ended(_) | CommitStage::Leaving(..) => {}
            _ => {
                self.line.ignore();
                self.leave_adoption();
                self.stage = self.ending(CommitEnd::Withdrawn);
            }
        }
        self.output(before)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            CommitStage::Ended(_) => Phase::Over,
            CommitStage::Leaving(..) => Phase::Leaving,
            CommitStage::Owing(..) => Phase::CleaningUp,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        if matches!(
            self.stage,
            CommitStage::Leaving(..) | CommitStage::Owing(..) | CommitStage::Ended(_)
        ) {
            return false;
        }
        let is_in_flight = match self.line.in_flight() {
            Some((sent, Request::Look)) => sent == ticket,
            Some((sent, Request::Survey)) => sent == ticket && self.survey_watch() != Watch::None,
            _ => false,
        };
        is_in_flight || self.watch == Some(ticket)
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
