//! The barrier: a node at which clients wait for its end; and the double barrier.
//!
//! The barrier is set while its node exists. Servers may be behind, so a read may show a barrier
//! that was lifted, or none where one was set. A transaction that only checks the node shows the
//! truth of one moment, and brings the client's server up to it. A waiter makes one first, and then
//! looks with a watch. From there on the watch alone tells, and the node's `czxid` distinguishes a
//! barrier that was set again from the one that was seen.

mod told;

pub use crate::double_barrier::{
    DoubleBarrier, DoubleBarrierEnd, DoubleBarrierNotice, DoubleBarrierOptions, DoubleBarrierState,
    WhenUnderWay,
};
pub use told::{BarrierEnd, BarrierFailure, BarrierGaveUp, BarrierState};

use crate::code::NO_NODE;
use crate::command::{
    Check, Command, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Output, Part,
    Payload, Watch, Znode,
};
use crate::event::{Change, Event, Failure, Reply};
use crate::id::Token;
use crate::line::{Joined, Line};
use crate::recipe::{Phase, Recipe};
use crate::ticket::Ticket;

/// One operation on a barrier: it sets it, lifts it, waits for its end, or asks whether it is set.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns, until it reports its end. It leaves nothing on the server but the barrier itself, if it
/// has set that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Barrier {
    task: BarrierTask,
    line: Line<Request>,
    stage: BarrierStage,
    /// The node of the barrier that was seen first, or that is to be deleted.
    seen: Option<Token>,
}

/// The operation on a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierTask {
    /// Set it. At the end the barrier was set at some moment since the beginning.
    Set,
    /// Lift it. At the end the barrier was not set at some moment since the beginning.
    Lift,
    /// Wait until it is not set, until [`Event::Deadline`] at most.
    Wait,
    /// Ask whether it is set.
    Ask,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BarrierStage {
    Creating,
    /// It creates the node with its ancestors, because one of them is missing.
    CreatingNode,
    /// It makes a transaction: the truth of one moment. No later read of this session is older.
    Checking,
    Looking,
    Watching(Ticket),
    Deleting,
    Ended(BarrierEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Create,
    CreateNode,
    Check,
    Look,
    Delete,
}

impl Barrier {
    /// Makes an operation that has not been connected yet.
    pub const fn new(task: BarrierTask) -> Self {
        Self { task, line: Line::new(), stage: Self::first_stage(task), seen: None }
    }

    /// Returns the operation.
    pub const fn task(&self) -> BarrierTask {
        self.task
    }

    /// Returns how it ended, if it has.
    pub const fn end(&self) -> Option<BarrierEnd> {
        match self.stage {
            BarrierStage::Ended(end) => Some(end),
            _ => None,
        }
    }

    const fn first_stage(task: BarrierTask) -> BarrierStage {
        match task {
            BarrierTask::Set => BarrierStage::Creating,
            BarrierTask::Lift | BarrierTask::Wait | BarrierTask::Ask => BarrierStage::Checking,
        }
    }

    fn connected(&mut self, joined: Joined) {
        self.stage = match (self.stage, joined) {
            (BarrierStage::Ended(_), _) => return,
            // Each server that this session comes to has applied what the session has seen.
            (BarrierStage::Looking | BarrierStage::Watching(_), Joined::Same) => {
                BarrierStage::Looking
            }
            _ => Self::first_stage(self.task),
        };
    }

    fn answered(&mut self, ticket: Ticket, request: Request, result: &Result<Reply<'_>, Failure>) {
        self.stage = match (request, result) {
            (Request::Create, Ok(Reply::Created { .. }) | Err(Failure::NodeExists))
            | (Request::CreateNode, Ok(Reply::NodeCreated) | Err(Failure::NodeExists)) => {
                BarrierStage::Ended(BarrierEnd::Set)
            }
            (Request::Create, Err(Failure::NoNode)) => BarrierStage::CreatingNode,
            (Request::Check, Ok(Reply::Committed(_))) => match self.task {
                BarrierTask::Ask => BarrierStage::Ended(BarrierEnd::Is(BarrierState::Set)),
                _ => BarrierStage::Looking,
            },
            (Request::Check, Err(Failure::Aborted { code: NO_NODE, .. }))
            | (Request::Look, Err(Failure::NoNode))
            | (Request::Delete, Ok(Reply::Deleted) | Err(Failure::NoNode)) => self.lifted(),
            (Request::Look, Ok(Reply::Exists(stat))) => self.looked(ticket, stat.token),
            (_, Err(failure)) => {
                BarrierStage::Ended(BarrierEnd::Failed(BarrierFailure::of(*failure)))
            }
            (_, Ok(_)) => BarrierStage::Ended(BarrierEnd::Failed(BarrierFailure::UnexpectedReply)),
        };
    }

    /// Notes that it is not set, or was not at some moment.
    const fn lifted(&self) -> BarrierStage {
        BarrierStage::Ended(match self.task {
            BarrierTask::Wait => BarrierEnd::Passed,
            BarrierTask::Ask => BarrierEnd::Is(BarrierState::Lifted),
            BarrierTask::Set | BarrierTask::Lift => BarrierEnd::Lifted,
        })
    }

    fn looked(&mut self, ticket: Ticket, token: Token) -> BarrierStage {
        match (self.seen, self.task) {
            // It was set again since. For a waiter this means that it was lifted; a client that
            // lifts must not send its delete again, to another client's barrier.
            (Some(seen), _) if seen != token => self.lifted(),
            (_, BarrierTask::Wait) => {
                self.seen = Some(token);
                BarrierStage::Watching(ticket)
            }
            _ => {
                self.seen = Some(token);
                BarrierStage::Deleting
            }
        }
    }

    fn changed(&mut self, change: Change) {
        self.stage = match change {
            // The server had applied everything that was committed when the waiter began.
            Change::Deleted => self.lifted(),
            Change::Created | Change::Data | Change::Children | Change::Lost => {
                BarrierStage::Looking
            }
        };
    }

    fn give_up(&mut self, reason: BarrierGaveUp) {
        if !matches!(self.stage, BarrierStage::Ended(_)) {
            self.stage = BarrierStage::Ended(BarrierEnd::GaveUp(reason));
        }
    }

    const fn op(&self) -> Option<(Request, Op<'static>)> {
        let (znode, version) = (Znode::Node, ExpectedVersion::Any);
        Some(match self.stage {
            BarrierStage::Creating => {
                let (znode, mode) = (NewZnode::Named(znode), CreateMode::Persistent);
                let create = Create { znode, mode, data: Payload::Empty };
                (Request::Create, Op::Create(create))
            }
            BarrierStage::CreatingNode => (Request::CreateNode, Op::CreateNode),
            BarrierStage::Checking => {
                let check = Part::Check(Check { znode, version });
                (Request::Check, Op::Multi(Multi::one(check)))
            }
            BarrierStage::Looking => {
                let watch = match self.task {
                    BarrierTask::Wait => Watch::Other,
                    _ => Watch::None,
                };
                (Request::Look, Op::Exists { znode, watch })
            }
            BarrierStage::Deleting => (Request::Delete, Op::Delete(Delete { znode, version })),
            BarrierStage::Watching(_) | BarrierStage::Ended(_) => return None,
        })
    }

    /// Returns the output. `before` is the end that was reported before the event.
    fn output(&mut self, before: Option<BarrierEnd>) -> Output<'_, BarrierEnd> {
        let end = self.end();
        let notice = if before.is_none() { end } else { None };
        let command = self.op().and_then(|(request, op)| {
            let ticket = self.line.ask(request)?;
            Some(Command { ticket, op })
        });
        Output { command, notice }
    }
}

impl Recipe for Barrier {
    /// It reports its end, once.
    type Notice = BarrierEnd;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, BarrierEnd> {
        let before = self.end();
        self.line.lost_by(&event);
        match event {
            Event::Connected { session } => {
                let joined = self.line.connected(session);
                self.connected(joined);
            }
            Event::SessionExpired => {
                self.line.expired();
            }
            Event::Reply { ticket, result } => {
                if let Some(request) = self.line.answered(ticket, &result)
                    && before.is_none()
                {
                    self.answered(ticket, request, &result);
                }
            }
            Event::Changed { ticket, change } if self.stage == BarrierStage::Watching(ticket) => {
                self.changed(change);
            }
            Event::Look => {
                self.line.ask_again();
                if let BarrierStage::Watching(_) = self.stage {
                    self.stage = BarrierStage::Looking;
                }
            }
            Event::Deadline => self.give_up(BarrierGaveUp::TimedOut),
            Event::Disconnected | Event::LeaseLapsed | Event::Changed { .. } => {}
        }
        self.output(before)
    }

    /// Gives up. If the request was sent, the barrier may still be set or lifted.
    fn withdraw(&mut self) -> Output<'_, BarrierEnd> {
        let before = self.end();
        self.give_up(BarrierGaveUp::Withdrawn);
        self.output(before)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            BarrierStage::Ended(_) => Phase::Over,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match self.stage {
            BarrierStage::Watching(watch) => watch == ticket,
            BarrierStage::Looking => self.line.in_flight().is_some_and(|(sent, _)| sent == ticket),
            _ => false,
        }
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
