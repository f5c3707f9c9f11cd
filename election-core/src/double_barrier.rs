//! The double barrier: a number of participants begin together, and end together.
//!
//! Each participant has an ephemeral znode, the *entry*, below the barrier's node. Another child,
//! `ready`, exists from the moment at which enough have entered until all of them have left: that
//! is a *round*. The node's version counts the openings and the ends of rounds: each is a
//! transaction that writes to the node, and the transaction that creates an entry checks the
//! version. So no entry is created while a round is under way, no round is ended twice, and `ready`
//! never belongs to an earlier round.
//!
//! - An entry is created by a transaction that checks the version, read before `ready` was looked
//!   for.
//! - A participant that lists enough entries opens the round by one that checks its own entry,
//!   writes to the node and creates `ready`. It lists after its own entry was created, so the last
//!   one finds all.
//! - One passes by an event on `ready` that came after its own entry was known to stand on that
//!   connection, or by a `ready` whose `czxid` is above the entry's.
//! - The last one to leave ends the round by a transaction that writes to the node and deletes
//!   `ready`, and so does a participant that finds `ready` without entries. Both have read the
//!   version while `ready` stood.
//! - One that leaves waits for the end of its own round, which it knows by the `czxid` of `ready`.

mod entering;
mod gathering;
mod leaving;
mod member;
mod op;
mod options;
mod request;
mod stage;
mod told;

use crate::barrier::BarrierGaveUp;
use crate::command::{Command, Output};
use crate::event::{Change, Event};
use crate::id::NomineeId;
use crate::line::{Joined, Line, Lost};
use crate::outcome::Cause;
use crate::owed::Owed;
use crate::recipe::{Phase, Recipe};
use crate::ticket::Ticket;

use member::MemberName;
use request::Request;
use stage::{
    DoubleBarrierStage, Entering, EntryDeletion, Gathering, Leaving, Next, OwnWatch, ReplyResult,
    Step,
};

pub use options::{DoubleBarrierOptions, WhenUnderWay};
pub use told::{DoubleBarrierEnd, DoubleBarrierNotice, DoubleBarrierState};

/// A participant of one round: it enters, is inside once enough have entered, and leaves.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. [`withdraw`](Recipe::withdraw) makes a participant that is inside leave, and ends once
/// all others have left, too, or are gone; before that, it gives up. [`Event::Deadline`] makes a
/// participant that enters give up, and one that leaves stop waiting for the others.
///
/// If the server refuses to delete its entry, it ends, and deletes the entry as soon as the server
/// permits that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DoubleBarrier {
    entry: MemberName,
    options: DoubleBarrierOptions,
    line: Line<Request>,
    stage: DoubleBarrierStage,
}

impl DoubleBarrier {
    /// Makes a participant that has not been connected yet. The id is the name of its entry:
    /// random, and another one for each participant of each round.
    pub fn new(id: NomineeId, options: DoubleBarrierOptions) -> Self {
        let stage = DoubleBarrierStage::Entering(Entering::NEW);
        Self { entry: MemberName::of(id), options, line: Line::new(), stage }
    }

    /// Returns its progress.
    pub const fn state(&self) -> DoubleBarrierState {
        match &self.stage {
            DoubleBarrierStage::Entering(Entering { step: Step::Blocked(_), .. }) => {
                DoubleBarrierState::RoundUnderWay
            }
            DoubleBarrierStage::Entering(_) => DoubleBarrierState::Entering,
            DoubleBarrierStage::Gathering(_) => DoubleBarrierState::Gathering,
            DoubleBarrierStage::Inside(_) => DoubleBarrierState::Inside,
            DoubleBarrierStage::Leaving(_) => DoubleBarrierState::Leaving,
            DoubleBarrierStage::Owing { end, .. } | DoubleBarrierStage::Ended(end) => {
                DoubleBarrierState::Ended(*end)
            }
        }
    }

    /// Returns the name of the entry, even while there is none.
    pub fn entry(&self) -> &str {
        self.entry.as_str()
    }

    fn become_(&mut self, stage: DoubleBarrierStage) {
        self.line.ignore();
        self.stage = stage;
    }

    fn follow(&mut self, next: Next) -> Option<DoubleBarrierNotice> {
        match next {
            Next::Stay(notice) => notice,
            Next::Become(stage, notice) => {
                self.become_(stage);
                match (&self.stage, notice) {
                    (
                        DoubleBarrierStage::Owing { end, .. } | DoubleBarrierStage::Ended(end),
                        None,
                    ) => Some(DoubleBarrierNotice::Ended(*end)),
                    (_, notice) => notice,
                }
            }
        }
    }

    fn answered(
        &mut self,
        ticket: Ticket,
        request: Request,
        result: ReplyResult<'_, '_>,
    ) -> Option<DoubleBarrierNotice> {
        let Self { entry, options, line, stage } = self;
        let next = match stage {
            DoubleBarrierStage::Entering(entering) => {
                let owner = line.session();
                entering.answered((ticket, request), result, (entry, *options, owner))
            }
            DoubleBarrierStage::Gathering(gathering) => {
                let owner = line.session();
                gathering.answered((ticket, request), result, (entry, *options, owner))
            }
            DoubleBarrierStage::Inside(own) => {
                gathering::own_answered(ticket, result, line.session(), own)
            }
            DoubleBarrierStage::Leaving(leaving) => {
                leaving.answered((ticket, request), result, entry)
            }
            DoubleBarrierStage::Owing { end, .. } => {
                let (end, owed) = (*end, Owed::after(EntryDeletion::answered(result)));
                *stage = owed.map_or(DoubleBarrierStage::Ended(end), |owed| {
                    DoubleBarrierStage::Owing { owed, end }
                });
                Next::Stay(None)
            }
            DoubleBarrierStage::Ended(_) => Next::Stay(None),
        };
        self.follow(next)
    }

    fn changed(&mut self, ticket: Ticket, change: Change) -> Option<DoubleBarrierNotice> {
        let next = match &mut self.stage {
            DoubleBarrierStage::Entering(entering) => entering.changed(ticket, change),
            DoubleBarrierStage::Gathering(gathering) => gathering.changed(ticket, change),
            DoubleBarrierStage::Inside(own) => gathering::own_changed(ticket, change, own),
            DoubleBarrierStage::Leaving(leaving) => leaving.changed(ticket, change),
            DoubleBarrierStage::Owing { .. } | DoubleBarrierStage::Ended(_) => Next::Stay(None),
        };
        self.follow(next)
    }

    fn connected(&mut self, joined: Joined) -> Option<DoubleBarrierNotice> {
        match joined {
            Joined::Other => self.session_lost(),
            Joined::New | Joined::Same => None,
        }
    }

    /// Handles a lost link: no watch is set, and a request in flight may or may not have been
    /// executed.
    fn link_lost(&mut self, in_flight: Option<Request>) {
        match &mut self.stage {
            DoubleBarrierStage::Entering(entering) => entering.link_lost(in_flight),
            DoubleBarrierStage::Gathering(gathering) => *gathering = Gathering::NEW,
            DoubleBarrierStage::Inside(own) => *own = OwnWatch::Due,
            DoubleBarrierStage::Leaving(leaving) => leaving.look_again(),
            DoubleBarrierStage::Owing { owed, .. } => owed.link_lost(),
            DoubleBarrierStage::Ended(_) => {}
        }
    }

    /// Handles a lost session: the entry is gone with it.
    fn session_lost(&mut self) -> Option<DoubleBarrierNotice> {
        let lost = DoubleBarrierEnd::Lost(Cause::SessionExpired);
        let next = match &mut self.stage {
            DoubleBarrierStage::Entering(entering) => {
                *entering = Entering::AGAIN;
                Next::Stay(None)
            }
            DoubleBarrierStage::Gathering(_) => {
                let notice = DoubleBarrierNotice::EntryLost(Cause::SessionExpired);
                Next::Become(DoubleBarrierStage::Entering(Entering::AGAIN), Some(notice))
            }
            DoubleBarrierStage::Inside(_) => Next::Become(DoubleBarrierStage::Ended(lost), None),
            DoubleBarrierStage::Leaving(leaving) => leaving.session_lost(),
            DoubleBarrierStage::Owing { end, .. } => {
                let over = DoubleBarrierStage::Ended(*end);
                self.become_(over);
                return None;
            }
            DoubleBarrierStage::Ended(_) => Next::Stay(None),
        };
        self.follow(next)
    }

    fn look(&mut self) {
        self.line.ask_again();
        match &mut self.stage {
            DoubleBarrierStage::Entering(entering) => entering.look(),
            DoubleBarrierStage::Gathering(gathering) => gathering.look(),
            DoubleBarrierStage::Inside(own) => *own = OwnWatch::Due,
            DoubleBarrierStage::Leaving(leaving) => leaving.look_again(),
            DoubleBarrierStage::Owing { owed, .. } => owed.look(),
            DoubleBarrierStage::Ended(_) => {}
        }
    }

    fn depart(&mut self, reason: BarrierGaveUp) -> Option<DoubleBarrierNotice> {
        let gave_up = DoubleBarrierEnd::GaveUp(reason);
        let creating = matches!(self.line.in_flight(), Some((_, Request::CreateEntry)));
        let next = match (&mut self.stage, reason) {
            (DoubleBarrierStage::Entering(entering), _) if !creating && entering.has_no_entry() => {
                Next::Become(DoubleBarrierStage::Ended(gave_up), None)
            }
            (DoubleBarrierStage::Entering(_) | DoubleBarrierStage::Gathering(_), _) => {
                Next::Become(DoubleBarrierStage::Leaving(Leaving::giving_up(gave_up)), None)
            }
            (DoubleBarrierStage::Inside(_), BarrierGaveUp::Withdrawn) => {
                Next::Become(DoubleBarrierStage::Leaving(Leaving::NEW), None)
            }
            (DoubleBarrierStage::Leaving(leaving), BarrierGaveUp::TimedOut) => {
                leaving.stop_waiting()
            }
            _ => Next::Stay(None),
        };
        self.follow(next)
    }

    fn request(&self) -> Option<Request> {
        match &self.stage {
            DoubleBarrierStage::Entering(entering) => entering.request(),
            DoubleBarrierStage::Gathering(gathering) => gathering.request(),
            DoubleBarrierStage::Inside(OwnWatch::Due) => Some(Request::WatchEntry),
            DoubleBarrierStage::Inside(OwnWatch::Armed { .. }) | DoubleBarrierStage::Ended(_) => {
                None
            }
            DoubleBarrierStage::Leaving(leaving) => leaving.request(),
            DoubleBarrierStage::Owing { owed, .. } => {
                owed.due().map(|EntryDeletion| Request::DeleteEntry)
            }
        }
    }

    fn output(&mut self, notice: Option<DoubleBarrierNotice>) -> Output<'_, DoubleBarrierNotice> {
        let command = self.request().and_then(|request| {
            let ticket = self.line.ask(request)?;
            Some(Command { ticket, op: self.op(request) })
        });
        Output { command, notice }
    }
}

impl Recipe for DoubleBarrier {
    type Notice = DoubleBarrierNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, DoubleBarrierNotice> {
        if let Some(Lost { in_flight }) = self.line.lost_by(&event) {
            self.link_lost(in_flight);
        }
        let notice = match event {
            Event::Connected { session } => {
                let joined = self.line.connected(session);
                self.connected(joined)
            }
            Event::SessionExpired => {
                if self.line.expired() {
                    self.session_lost()
                } else {
                    None
                }
            }
            Event::Reply { ticket, mut result } => {
                let request = self.line.answered(ticket, &result);
                request.and_then(|request| self.answered(ticket, request, &mut result))
            }
            Event::Changed { ticket, change } => self.changed(ticket, change),
            Event::Look => {
                self.look();
                None
            }
            Event::Deadline => self.depart(BarrierGaveUp::TimedOut),
            Event::Disconnected | Event::LeaseLapsed => None,
        };
        self.output(notice)
    }

    /// Leaves, if it is inside; otherwise gives up, and leaves nothing behind.
    fn withdraw(&mut self) -> Output<'_, DoubleBarrierNotice> {
        let notice = self.depart(BarrierGaveUp::Withdrawn);
        self.output(notice)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            DoubleBarrierStage::Entering(_)
            | DoubleBarrierStage::Gathering(_)
            | DoubleBarrierStage::Inside(_) => Phase::Standing,
            DoubleBarrierStage::Leaving(_) => Phase::Leaving,
            DoubleBarrierStage::Owing { .. } => Phase::CleaningUp,
            DoubleBarrierStage::Ended(_) => Phase::Over,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        let is_in_flight = matches!(
            self.line.in_flight(),
            Some((sent, Request::LookAtReady | Request::WatchEntry | Request::WatchMember))
                if sent == ticket
        );
        is_in_flight
            || match &self.stage {
                DoubleBarrierStage::Entering(entering) => entering.awaits_change(ticket),
                DoubleBarrierStage::Gathering(gathering) => gathering.awaits_change(ticket),
                DoubleBarrierStage::Inside(own) => own.is(ticket),
                DoubleBarrierStage::Leaving(leaving) => leaving.awaits_change(ticket),
                DoubleBarrierStage::Owing { .. } | DoubleBarrierStage::Ended(_) => false,
            }
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
