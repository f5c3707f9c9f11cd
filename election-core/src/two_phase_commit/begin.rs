//! Begins a transaction: creates its node, a child for each site, and the sign that it is open, all
//! at once.

use thiserror::Error;

use super::child::{ChildName, CommitChild, CommitState};
use super::plan::is_outdated;
use super::tally::Tally;
use super::told::CommitFailure;
use crate::code::NO_NODE;
use crate::command::{
    Command, Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Output, Part,
    Payload, Watch, Znode,
};
use crate::event::{Event, Failure, Reply};
use crate::id::NomineeId;
use crate::line::{Line, Lost};
use crate::recipe::{Phase, Recipe};
use crate::site_name::SiteName;
use crate::ticket::Ticket;

/// How often it may be refused in a row, on one connection.
const PATIENCE: u8 = 16;

/// Begins a transaction for the sites that `S` holds. The user's first [`Payload::Kept`] is the
/// content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwoPhaseBegin<S> {
    sites: S,
    id: NomineeId,
    open: ChildName,
    line: Line<Request>,
    stage: BeginStage,
    attempt: Attempt,
    patience: u8,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BeginEnd {
    /// It is begun, by this party.
    Begun,
    /// Another transaction is at the path.
    Exists {
        /// Its id.
        id: NomineeId,
        /// Its decision, if there is one.
        state: CommitState,
    },
    /// The reply was lost, and there is no transaction: it was not begun, or is over and removed
    /// already.
    Unknown,
    /// It was given up. If the request was sent, it may still be begun.
    Withdrawn,
    /// It failed. It was not begun, unless the reply to an earlier request of it was lost.
    Failed(CommitFailure),
}

/// A transaction needs at least one site, and each site once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("a transaction needs one site at least, and each of them once")]
pub struct InvalidSites;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BeginStage {
    Creating(Over),
    /// It creates the node with its ancestors, because one of them is missing.
    CreatingNode,
    /// The request was executed, or never will be.
    Doubting,
    Surveying,
    Ended(BeginEnd),
}

/// The state of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Over {
    Nothing,
    /// A node without children, which holds no transaction.
    EmptyNode,
}

/// An earlier attempt to begin the transaction, with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Attempt {
    None,
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Request {
    Create,
    CreateNode,
    Barrier,
    Survey,
}

impl<S: AsRef<[SiteName]>> TwoPhaseBegin<S> {
    /// Makes a beginning that has not been connected yet. The id is random, and another one for
    /// each transaction.
    ///
    /// # Errors
    ///
    /// The transaction has no site, or one is named twice.
    pub fn new(id: NomineeId, sites: S) -> Result<Self, InvalidSites> {
        if !is_set(sites.as_ref()) {
            return Err(InvalidSites);
        }
        let open = CommitChild::State(CommitState::Open, id).name();
        let (line, attempt) = (Line::new(), Attempt::None);
        let stage = BeginStage::Creating(Over::Nothing);
        Ok(Self { sites, id, open, line, stage, attempt, patience: PATIENCE })
    }

    /// Returns how it ended, if it has.
    pub const fn end(&self) -> Option<BeginEnd> {
        match self.stage {
            BeginStage::Ended(end) => Some(end),
            _ => None,
        }
    }

    fn link_lost(&mut self, in_flight: Option<Request>) {
        self.patience = PATIENCE;
        if in_flight == Some(Request::Create) {
            self.attempt = Attempt::Lost;
        }
        match (self.stage, self.attempt) {
            (BeginStage::Ended(_), _) => {}
            (_, Attempt::Lost) => self.stage = BeginStage::Doubting,
            (_, Attempt::None) => self.stage = BeginStage::Creating(Over::Nothing),
        }
    }

    fn answered(&mut self, request: Request, result: Result<Reply<'_>, Failure>) {
        self.stage = match (self.stage, request, result) {
            (BeginStage::Ended(_), ..) => return,
            (_, Request::Create, Ok(Reply::Committed(_))) => BeginStage::Ended(BeginEnd::Begun),
            (BeginStage::Creating(over), _, Err(Failure::Aborted { code, .. }))
                if is_outdated(code) && self.patience > 0 =>
            {
                self.patience -= 1;
                match (over, code) {
                    (Over::Nothing, NO_NODE) => BeginStage::CreatingNode,
                    (Over::EmptyNode, NO_NODE) => BeginStage::Creating(Over::Nothing),
                    _ => BeginStage::Surveying,
                }
            }
            (_, Request::CreateNode, Ok(Reply::NodeCreated))
            | (_, Request::Barrier, Ok(Reply::BarrierPassed)) => BeginStage::Surveying,
            (_, Request::Survey, Ok(Reply::Children(mut names))) => {
                let mut count = 0_u32;
                let counted = names.by_ref().inspect(|_| count = count.saturating_add(1));
                let tally = Tally::of(counted, None);
                self.surveyed(&tally, count)
            }
            (_, Request::Survey, Err(Failure::NoNode)) => self.missing(Over::Nothing),
            (_, _, result) => BeginStage::Ended(BeginEnd::Failed(CommitFailure::of(&result))),
        };
    }

    /// Handles a list that came after a quorum's commit.
    fn surveyed(&mut self, tally: &Tally, count: u32) -> BeginStage {
        match tally.state {
            Some((_, id)) if id == self.id => BeginStage::Ended(BeginEnd::Begun),
            Some((state, id)) => BeginStage::Ended(BeginEnd::Exists { id, state }),
            None if count == 0 => self.missing(Over::EmptyNode),
            None if self.patience > 0 => {
                // A server may be about to apply the rest of the transaction that removes the node.
                self.patience -= 1;
                BeginStage::Doubting
            }
            None => BeginStage::Ended(BeginEnd::Failed(CommitFailure::NotATransaction)),
        }
    }

    const fn missing(&self, over: Over) -> BeginStage {
        match self.attempt {
            Attempt::None => BeginStage::Creating(over),
            Attempt::Lost => BeginStage::Ended(BeginEnd::Unknown),
        }
    }

    fn multi(&self, over: Over) -> Multi<'_> {
        let create = |znode, data| {
            let (znode, mode) = (NewZnode::Named(znode), CreateMode::Persistent);
            Part::Create(Create { znode, mode, data })
        };
        let node = create(Znode::Node, Payload::Kept(0));
        let parts = match over {
            Over::Nothing => Multi::one(node),
            Over::EmptyNode => {
                let version = ExpectedVersion::Any;
                Multi::of([Part::Delete(Delete { znode: Znode::Node, version }), node])
            }
        };
        // It is open once all sites are invited: a list in between shows no transaction.
        let open = create(Znode::child(self.open.as_str()), Payload::Empty);
        parts.inviting(self.sites.as_ref(), open)
    }

    fn output(&mut self, before: Option<BeginEnd>) -> Output<'_, BeginEnd> {
        let end = self.end();
        let notice = if before.is_none() { end } else { None };
        let request = match self.stage {
            BeginStage::Creating(_) => Some(Request::Create),
            BeginStage::CreatingNode => Some(Request::CreateNode),
            BeginStage::Doubting => Some(Request::Barrier),
            BeginStage::Surveying => Some(Request::Survey),
            BeginStage::Ended(_) => None,
        };
        let command = request.and_then(|request| {
            let ticket = self.line.ask(request)?;
            let op = match self.stage {
                BeginStage::Creating(over) => Op::Multi(self.multi(over)),
                BeginStage::CreatingNode => Op::CreateNode,
                BeginStage::Surveying => Op::List { parent: Znode::Node, watch: Watch::None },
                BeginStage::Doubting | BeginStage::Ended(_) => Op::Barrier,
            };
            Some(Command { ticket, op })
        });
        Output { command, notice }
    }
}

/// Returns whether there is at least one site, and each of them once.
fn is_set(sites: &[SiteName]) -> bool {
    let mut before = sites.iter().enumerate();
    !sites.is_empty()
        && before.all(|(place, site)| !sites.iter().take(place).any(|other| other == site))
}

impl<S: AsRef<[SiteName]>> Recipe for TwoPhaseBegin<S> {
    /// It reports its end, once.
    type Notice = BeginEnd;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, BeginEnd> {
        let before = self.end();
        if let Some(Lost { in_flight }) = self.line.lost_by(&event) {
            self.link_lost(in_flight);
        }
        match event {
            Event::Connected { session } => {
                self.line.connected(session);
            }
            Event::SessionExpired => {
                self.link_lost(self.line.in_flight().map(|(_, request)| request));
                self.line.expired();
            }
            Event::Reply { ticket, result } => {
                if let Some(request) = self.line.answered(ticket, &result) {
                    self.answered(request, result);
                }
            }
            Event::Look => self.line.ask_again(),
            Event::Disconnected | Event::Changed { .. } | Event::LeaseLapsed | Event::Deadline => {}
        }
        self.output(before)
    }

    fn withdraw(&mut self) -> Output<'_, BeginEnd> {
        let before = self.end();
        if before.is_none() {
            self.stage = BeginStage::Ended(BeginEnd::Withdrawn);
        }
        self.output(before)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            BeginStage::Ended(_) => Phase::Over,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, _: Ticket) -> bool {
        false
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
