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
use stage::{Asked, Own, Reported, Request, Stage};
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
    stage: Stage,
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

    fn first_stage(task: &CommitTask, id: Option<NomineeId>) -> Stage {
        match (task, id) {
            (CommitTask::Find | CommitTask::Join(_), _) => Stage::Doubting,
            (CommitTask::Learn, Some(id)) => {
                Stage::Looking(CommitChild::State(CommitState::Open, id).name())
            }
            _ => Stage::Surveying(Sight::MayLag),
        }
    }

    fn begin_again(&mut self) {
        self.watch = None;
        self.patience = PATIENCE;
        self.leave_adoption();
        self.stage = match &mut self.stage {
            Stage::Ended(_) | Stage::Standing => return,
            Stage::Leaving(leaving, end) => Stage::Leaving(leaving.anew(), *end),
            Stage::Owing(owed, _) => return owed.link_lost(),
            _ => Self::first_stage(&self.task, self.id),
        };
    }

    /// Notes that the session is lost, with all its znodes.
    fn session_lost(&mut self) {
        self.own.asked = Asked::Never;
        match self.stage {
            Stage::Leaving(_, end) | Stage::Owing(_, end) => self.stage = Stage::Ended(end),
            Stage::Standing => self.stage = Self::first_stage(&self.task, self.id),
            _ => {}
        }
    }

    fn answered(&mut self, ticket: Ticket, request: Request, result: Result<Reply<'_>, Failure>) {
        let session = self.line.session();
        self.stage = match core::mem::replace(&mut self.stage, Stage::Waiting) {
            Stage::Leaving(leaving, end) => match leaving.answered(&result, session) {
                Rest::GoesOn(leaving) => Stage::Leaving(leaving, end),
                Rest::Gone => Stage::Ended(end),
                Rest::Refused(leaving) => {
                    let end = end.or_failed(CommitFailure::of(&result));
                    Stage::Owing(Owed::Refused(leaving), end)
                }
            },
            Stage::Owing(Owed::Due(leaving), end) => {
                let owed = Owed::after(leaving.answered(&result, session));
                owed.map_or(Stage::Ended(end), |owed| Stage::Owing(owed, end))
            }
            refused @ Stage::Owing(Owed::Refused(_), _) => refused,
            stage => match self.after(stage, ticket, request, result) {
                Stage::Ended(end) => self.ending(end),
                next => next,
            },
        };
    }

    /// Returns what follows a stage in which the participant is not leaving.
    fn after(
        &mut self,
        stage: Stage,
        ticket: Ticket,
        request: Request,
        result: Result<Reply<'_>, Failure>,
    ) -> Stage {
        match (stage, request, result) {
            (Stage::Surveying(sight), Request::Survey, Ok(Reply::Children(names))) => {
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
            (Stage::Surveying(sight), Request::Survey, Err(Failure::NoNode)) => {
                self.follow(course::without_a_node(&self.task, sight), sight)
            }
            (Stage::Doubting, Request::Barrier, Ok(Reply::BarrierPassed)) => {
                Stage::Surveying(Sight::Current)
            }
            (Stage::Acting(_, then), Request::Act, Ok(Reply::Committed(_))) => match then {
                Then::End(end) => Stage::Ended(end),
                Then::Survey => Stage::Surveying(Sight::Current),
                Then::Joined(id) => self.joined(id),
            },
            (Stage::Acting(..), Request::Act, Err(Failure::Aborted { code, .. }))
                if is_outdated(code) && self.patience > 0 =>
            {
                self.patience -= 1;
                Stage::Surveying(Sight::Current)
            }
            (Stage::Looking(name), Request::Look, Ok(Reply::Exists(stat))) => {
                if let CommitTask::Join(_) = self.task
                    && stat.owner == self.line.session()
                {
                    Stage::Adopting(name, Seen::from(stat))
                } else {
                    self.watch = Some(ticket);
                    Stage::Waiting
                }
            }
            (Stage::Looking(_), Request::Look, Err(Failure::NoNode)) => {
                Stage::Surveying(Sight::MayLag)
            }
            (Stage::Adopting(..), Request::Adopt, Ok(Reply::Written(stat))) => {
                self.own.asked = Asked::ForItsZnode(Origin::Adopted(Seen::from(stat)));
                match self.id {
                    Some(id) => self.joined(id),
                    None => Stage::Doubting,
                }
            }
            (Stage::Adopting(..), Request::Adopt, Err(Failure::NoNode | Failure::BadVersion))
                if self.patience > 0 =>
            {
                self.patience -= 1;
                Stage::Doubting
            }
            (_, _, result) => Stage::Ended(CommitEnd::Failed(CommitFailure::of(&result))),
        }
    }

    /// Removes what it may have left, and ends then. What it has watched matters no more.
    fn ending(&mut self, end: CommitEnd) -> Stage {
        self.watch = None;
        match (&self.task, self.own.asked) {
            (CommitTask::Join(site), Asked::ForItsZnode(origin)) => {
                Stage::Leaving(Leaving::of(site, origin), end)
            }
            _ => Stage::Ended(end),
        }
    }

    fn follow(&mut self, next: Next, sight: Sight) -> Stage {
        match next {
            Next::End(CommitEnd::Failed(CommitFailure::NotATransaction)) if self.patience > 0 => {
                // A server may be about to apply the rest of the transaction that removes the node.
                self.patience -= 1;
                Stage::Doubting
            }
            Next::End(end) => Stage::Ended(end),
            Next::Doubt => Stage::Doubting,
            Next::Act(plan, then) => {
                if matches!(self.task, CommitTask::Join(_)) {
                    self.own.asked = Asked::ForItsZnode(Origin::Created);
                }
                Stage::Acting(plan, then)
            }
            Next::Look(state, id) => Stage::Looking(CommitChild::State(state, id).name()),
            Next::LookAtOwn(presence) => match self.task.site() {
                // The id is that of the list, which has to be that of a current one.
                Some(site) if sight == Sight::Current => {
                    Stage::Looking(CommitChild::Presence(presence, site.as_str()).name())
                }
                _ => Stage::Doubting,
            },
            Next::Wait => Stage::Waiting,
            Next::Joined(id) => self.joined(id),
        }
    }

    /// Notes that a write to the znode that it has found is left to itself.
    const fn leave_adoption(&mut self) {
        if let Stage::Adopting(_, seen) = self.stage {
            self.own.asked = Asked::ForItsZnode(Origin::Adopted(seen.written()));
        }
    }

    fn joined(&mut self, id: NomineeId) -> Stage {
        self.id = Some(id);
        self.watch = None;
        Stage::Standing
    }

    const fn survey_watch(&self) -> Watch {
        match self.task {
            CommitTask::Decide | CommitTask::Finish => Watch::Other,
            _ => Watch::None,
        }
    }

    fn op(&self) -> Op<'_> {
        match &self.stage {
            Stage::Surveying(_) => Op::List { parent: Znode::Node, watch: self.survey_watch() },
            Stage::Acting(plan, _) => Op::Multi(plan.multi()),
            Stage::Looking(name) => {
                Op::Exists { znode: Znode::child(name.as_str()), watch: Watch::Other }
            }
            Stage::Adopting(name, Seen { version, .. }) => {
                let znode = Znode::child(name.as_str());
                let version = ExpectedVersion::Exactly(*version);
                Op::Write(Write { znode, version, data: Payload::Empty })
            }
            Stage::Leaving(leaving, _)
            | Stage::Owing(Owed::Due(leaving) | Owed::Refused(leaving), _) => leaving.op(),
            _ => Op::Barrier,
        }
    }

    fn output(&mut self, before: Before) -> Output<'_, CommitSiteNotice> {
        let notice = match (&self.stage, before) {
            (Stage::Owing(_, end) | Stage::Ended(end), Before::NotEnded) => {
                Some(CommitSiteNotice::Ended(*end))
            }
            (Stage::Standing, _) if self.own.told == Reported::Nothing => {
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
                if self.stage == Stage::Waiting {
                    self.stage = Stage::Surveying(Sight::MayLag);
                }
            }
            Event::Look => {
                self.line.ask_again();
                match &mut self.stage {
                    Stage::Waiting => self.stage = Stage::Surveying(Sight::MayLag),
                    Stage::Owing(owed, _) => owed.look(),
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
            Stage::Owing(..) | Stage::Ended(_) | Stage::Leaving(..) => {}
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
            Stage::Ended(_) => Phase::Over,
            Stage::Leaving(..) => Phase::Leaving,
            Stage::Owing(..) => Phase::CleaningUp,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        if matches!(self.stage, Stage::Leaving(..) | Stage::Owing(..) | Stage::Ended(_)) {
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
