//! A member of a group: an ephemeral znode of its own, which is created again when it is lost.
//!
//! The znode is the member's if its `ephemeralOwner` is the member's session. A quorum commits the
//! refusal of a create because the znode exists, so the next look is not older than the refusal.
//! The same create is sent again after a lost connection; its reply, or that look, shows what
//! happened to the first one.

mod joining;
mod leaving;
mod options;
mod request;
mod stage;
mod standing;
#[cfg(test)]
mod tests;
mod told;

use crate::command::{
    Command, Create, CreateMode, Delete, ExpectedVersion, NewZnode, Op, Output, Payload, Watch,
    Write, Znode,
};
use crate::event::{Change, Event, Failure, Reply};
use crate::line::{Joined, Line, Lost};
use crate::outcome::{Cause, Departure};
use crate::owed::Owed;
use crate::recipe::{Phase, Recipe};
use crate::seen::Seen;
use crate::ticket::Ticket;

use joining::Joiner;
use request::Request;
use stage::{
    DataState, Former, Join, Joining, Leave, Leaving, MemberStage, OwnWatch, Removing, Standing,
    Trace,
};
use standing::After;

pub use options::{MemberOptions, NameOrigin, WhenEvicted, WhenTaken};
pub use told::{MemberEnd, MemberFailure, MemberNotice, MemberState, NameOwner};

/// A member of a group, from joining to its end.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. It leaves by [`withdraw`](Recipe::withdraw). `N` is its name, `D` its data. After
/// [`set_data`](Self::set_data), feed [`Event::Deadline`]; the znode is then written.
///
/// If the server refuses to delete its znode, it ends, and deletes the znode as soon as the server
/// permits that.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member<N, D> {
    name: N,
    data: D,
    options: MemberOptions,
    line: Line<Request>,
    stage: MemberStage,
    shown: DataState,
    former: Former,
}

impl<N, D> Member<N, D> {
    /// Makes a member that has not been connected yet.
    pub const fn new(name: N, data: D, options: MemberOptions) -> Self {
        let (stage, shown, former) =
            (MemberStage::Joining(Joining::NEW), DataState::Due, Former::NONE);
        Self { name, data, options, line: Line::new(), stage, shown, former }
    }

    /// Returns its progress.
    pub const fn state(&self) -> MemberState {
        match self.stage {
            MemberStage::Joining(_) => MemberState::Joining,
            MemberStage::Waiting { owner, .. } => MemberState::Waiting(owner),
            MemberStage::Standing(Standing { token, .. }) => MemberState::Joined(token),
            MemberStage::Leaving(_) => MemberState::Leaving,
            MemberStage::Owing { end, .. } | MemberStage::Ended(end) => MemberState::Ended(end),
        }
    }

    /// Returns its name, even while it has no znode.
    pub const fn name(&self) -> &N {
        &self.name
    }

    /// Returns the data that were set last.
    pub const fn data(&self) -> &D {
        &self.data
    }

    /// Returns whether its znode exists with those data, as far as is known.
    pub const fn shows_data(&self) -> bool {
        matches!((&self.stage, self.shown), (MemberStage::Standing(_), DataState::Written))
    }

    /// Replaces the data, and returns the earlier data. The znode is written with the next event.
    pub const fn set_data(&mut self, data: D) -> D {
        self.shown = DataState::Due;
        core::mem::replace(&mut self.data, data)
    }

    fn become_(&mut self, stage: MemberStage) {
        self.line.ignore();
        self.stage = stage;
    }

    fn answered(
        &mut self,
        ticket: Ticket,
        request: Request,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<MemberNotice> {
        match self.stage {
            // Whether the servers would take it is not known.
            MemberStage::Joining(_) if is_held_back(request, result) => {
                self.line.hold_back();
                self.shown = DataState::Due;
                Some(MemberNotice::HeldBack)
            }
            MemberStage::Joining(joining) => {
                let session = self.line.session();
                let joiner = Joiner { options: self.options, session, former: self.former };
                let answer = (ticket, request);
                let (stage, notice) = joining.answered(answer, result, joiner, &mut self.shown);
                self.stage = stage;
                match (stage, notice) {
                    (MemberStage::Ended(end), None) => Some(MemberNotice::Ended(end)),
                    (_, notice) => notice,
                }
            }
            MemberStage::Standing(standing) => self.stands(standing, (ticket, request), result),
            MemberStage::Leaving(leaving) => {
                let leaver = (self.options.name, self.line.session());
                self.stage = leaving.answered(request, result, leaver);
                match self.stage {
                    MemberStage::Owing { end, .. } | MemberStage::Ended(end) => {
                        Some(MemberNotice::Ended(end))
                    }
                    _ => None,
                }
            }
            MemberStage::Owing { owed: Owed::Due(removing), end } => {
                let leaver = (self.options.name, self.line.session());
                let owed = Owed::after(removing.answered((request, result), leaver));
                self.stage =
                    owed.map_or(MemberStage::Ended(end), |owed| MemberStage::Owing { owed, end });
                None
            }
            MemberStage::Owing { owed: Owed::Refused(_), .. }
            | MemberStage::Waiting { .. }
            | MemberStage::Ended(_) => None,
        }
    }

    fn stands(
        &mut self,
        standing: Standing,
        answer: (Ticket, Request),
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<MemberNotice> {
        match standing.answered(answer, result, self.line.session(), &mut self.shown) {
            After::Stands(standing, notice) => {
                self.stage = MemberStage::Standing(standing);
                notice
            }
            After::Evicted => self.evicted(),
            After::Fails(failure) => {
                let end = MemberEnd::Failed(failure);
                self.become_(MemberStage::Leaving(Leaving { step: Leave::Look, end }));
                None
            }
        }
    }

    fn evicted(&mut self) -> Option<MemberNotice> {
        self.shown = DataState::Due;
        match self.options.when_evicted {
            WhenEvicted::Rejoin => {
                self.become_(MemberStage::Joining(Joining::NEW));
                Some(MemberNotice::Lost(Cause::Evicted))
            }
            WhenEvicted::End => self.end(MemberEnd::Evicted),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is what its callers tell")]
    fn end(&mut self, end: MemberEnd) -> Option<MemberNotice> {
        self.become_(MemberStage::Ended(end));
        Some(MemberNotice::Ended(end))
    }

    fn changed(&mut self, ticket: Ticket, change: Change) -> Option<MemberNotice> {
        match &mut self.stage {
            MemberStage::Standing(standing) if standing.own.is(ticket) => {
                standing.own = OwnWatch::Due;
                if change == Change::Deleted { self.evicted() } else { None }
            }
            MemberStage::Waiting { watch, .. } if *watch == ticket => {
                let step = if change == Change::Deleted { Join::Create } else { Join::Look };
                self.stage = MemberStage::Joining(Joining { step, ..Joining::NEW });
                None
            }
            _ => None,
        }
    }

    /// Handles a lost link: no watch is set, and a request in flight may or may not have been
    /// executed.
    fn link_lost(&mut self, in_flight: Option<Request>) {
        if self.shown == DataState::Sent {
            self.shown = DataState::Due;
        }
        match &mut self.stage {
            MemberStage::Joining(joining) => {
                joining.rounds = 0;
                if in_flight == Some(Request::Create) {
                    joining.trace = Trace::Possible;
                }
            }
            MemberStage::Waiting { .. } => {
                self.stage = MemberStage::Joining(Joining { step: Join::Look, ..Joining::NEW });
            }
            MemberStage::Standing(standing) => standing.own = OwnWatch::Due,
            MemberStage::Leaving(leaving) => leaving.step = Leave::Barrier,
            MemberStage::Owing { owed, .. } => owed.link_lost(),
            MemberStage::Ended(_) => {}
        }
    }

    /// Handles the end of the session, with its znode.
    fn session_lost(&mut self) -> Option<MemberNotice> {
        self.shown = DataState::Due;
        match self.stage {
            MemberStage::Joining(_) | MemberStage::Waiting { .. } => {
                self.become_(MemberStage::Joining(Joining::NEW));
                None
            }
            MemberStage::Standing(_) => {
                self.become_(MemberStage::Joining(Joining::NEW));
                Some(MemberNotice::Lost(Cause::SessionExpired))
            }
            MemberStage::Leaving(Leaving { end: MemberEnd::Left(_), .. }) => {
                self.end(MemberEnd::Left(Departure::WithSession))
            }
            MemberStage::Leaving(Leaving { end, .. }) => self.end(end),
            MemberStage::Owing { end, .. } => {
                self.become_(MemberStage::Ended(end));
                None
            }
            MemberStage::Ended(_) => None,
        }
    }

    fn look(&mut self) {
        self.line.ask_again();
        if self.line.in_flight().is_none() && self.shown == DataState::Sent {
            self.shown = DataState::Due;
        }
        match &mut self.stage {
            MemberStage::Standing(standing) => standing.own = OwnWatch::Due,
            MemberStage::Waiting { .. } => {
                self.stage = MemberStage::Joining(Joining { step: Join::Look, ..Joining::NEW });
            }
            // The create that is awaited was not looked at.
            MemberStage::Leaving(leaving @ Leaving { step: Leave::AwaitCreate, .. })
                if self.line.in_flight().is_none() =>
            {
                leaving.step = Leave::Barrier;
            }
            MemberStage::Owing { owed, .. } => owed.look(),
            MemberStage::Joining(_) | MemberStage::Leaving(_) | MemberStage::Ended(_) => {}
        }
    }

    fn depart(&mut self) -> Option<MemberNotice> {
        let in_flight = self.line.in_flight().map(|(_, request)| request);
        let (never, deleted) = (Departure::NeverCreated, Departure::Deleted);
        let leaving = match self.stage {
            MemberStage::Joining(_) if in_flight == Some(Request::Create) => {
                // Its reply is awaited.
                let leaving = Leaving::withdrawn(Leave::AwaitCreate, never);
                self.stage = MemberStage::Leaving(leaving);
                return None;
            }
            MemberStage::Joining(joining) if joining.may_stand() => {
                Leaving::withdrawn(Leave::Barrier, never)
            }
            MemberStage::Joining(_) | MemberStage::Waiting { .. } => {
                return self.end(MemberEnd::Left(never));
            }
            // A write in flight, or in doubt, may have changed the znode's version.
            MemberStage::Standing(_)
                if in_flight == Some(Request::Write) || self.is_version_in_doubt() =>
            {
                Leaving::withdrawn(Leave::Barrier, deleted)
            }
            MemberStage::Standing(Standing { token, version, .. }) => {
                Leaving::withdrawn(Leave::Delete(Seen { token, version }), deleted)
            }
            MemberStage::Leaving(_) | MemberStage::Owing { .. } | MemberStage::Ended(_) => {
                return None;
            }
        };
        self.become_(MemberStage::Leaving(leaving));
        None
    }

    /// Returns whether a write may have been executed without its reply. A name that is no other member's needs no
    /// version.
    fn is_version_in_doubt(&self) -> bool {
        self.options.name == NameOrigin::Given && self.shown != DataState::Written
    }

    const fn request(&self) -> Option<Request> {
        match &self.stage {
            MemberStage::Joining(joining) => Some(joining.request()),
            MemberStage::Standing(Standing { own: OwnWatch::Due, .. }) => Some(Request::WatchOwn),
            MemberStage::Standing(_) if matches!(self.shown, DataState::Due) => {
                Some(Request::Write)
            }
            MemberStage::Leaving(Leaving { step, .. }) => match step {
                Leave::AwaitCreate => None,
                Leave::Barrier => Some(Request::Barrier),
                Leave::Look => Some(Request::Look),
                Leave::Delete(_) => Some(Request::Delete),
            },
            MemberStage::Owing { owed: Owed::Due(removing), .. } => Some(removing.request()),
            MemberStage::Owing { owed: Owed::Refused(_), .. }
            | MemberStage::Standing(_)
            | MemberStage::Waiting { .. }
            | MemberStage::Ended(_) => None,
        }
    }
}

/// Returns whether the driver has not sent a create, since connections were lost over requests as long.
const fn is_held_back(request: Request, result: &Result<Reply<'_>, Failure>) -> bool {
    matches!((request, result), (Request::Create, Err(Failure::HeldBack)))
}

impl<N: AsRef<str>, D: AsRef<[u8]>> Member<N, D> {
    fn op(&self, request: Request) -> Op<'_> {
        let znode = Znode::child(self.name.as_ref());
        let data = Payload::Bytes(self.data.as_ref());
        let version = match (&self.stage, self.options.name) {
            (_, NameOrigin::Random) => ExpectedVersion::Any,
            (
                MemberStage::Standing(Standing { version, .. })
                | MemberStage::Leaving(Leaving { step: Leave::Delete(Seen { version, .. }), .. })
                | MemberStage::Owing {
                    owed: Owed::Due(Removing::Delete(Seen { version, .. })), ..
                },
                _,
            ) => ExpectedVersion::Exactly(*version),
            _ => ExpectedVersion::Any,
        };
        match request {
            Request::Create => {
                let (znode, mode) = (NewZnode::Named(znode), CreateMode::Ephemeral);
                Op::Create(Create { znode, mode, data })
            }
            Request::CreateNode => Op::CreateNode,
            Request::Look => {
                let watch = match self.stage {
                    MemberStage::Leaving(_) | MemberStage::Owing { .. } => Watch::None,
                    _ => Watch::Other,
                };
                Op::Exists { znode, watch }
            }
            Request::WatchOwn => Op::Exists { znode, watch: Watch::Own },
            Request::Write => Op::Write(Write { znode, version, data }),
            Request::Barrier => Op::Barrier,
            Request::DeleteGhost | Request::Delete => Op::Delete(Delete { znode, version }),
        }
    }

    fn output(&mut self, notice: Option<MemberNotice>) -> Output<'_, MemberNotice> {
        let command = self.request().and_then(|request| {
            let ticket = self.line.ask(request)?;
            if let Request::Create | Request::Write = request {
                self.shown = DataState::Sent;
            }
            Some(Command { ticket, op: self.op(request) })
        });
        Output { command, notice }
    }
}

impl<N: AsRef<str>, D: AsRef<[u8]>> Recipe for Member<N, D> {
    type Notice = MemberNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, MemberNotice> {
        if let Some(Lost { in_flight }) = self.line.lost_by(&event) {
            self.link_lost(in_flight);
        }
        let notice = match event {
            Event::Connected { session } => {
                let before = self.line.session();
                match self.line.connected(session) {
                    Joined::Other => {
                        self.former.push(before);
                        self.session_lost()
                    }
                    Joined::New | Joined::Same => None,
                }
            }
            Event::SessionExpired => {
                let before = self.line.session();
                if self.line.expired() {
                    self.former.push(before);
                    self.session_lost()
                } else {
                    None
                }
            }
            Event::Reply { ticket, result } => {
                let request = self.line.answered(ticket, &result);
                request.and_then(|request| self.answered(ticket, request, &result))
            }
            Event::Changed { ticket, change } => self.changed(ticket, change),
            Event::Look => {
                self.look();
                None
            }
            Event::Disconnected | Event::Deadline | Event::LeaseLapsed => None,
        };
        self.output(notice)
    }

    /// Leaves: removes its znode, if it exists or may exist.
    fn withdraw(&mut self) -> Output<'_, MemberNotice> {
        let notice = self.depart();
        self.output(notice)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            MemberStage::Joining(_) | MemberStage::Waiting { .. } | MemberStage::Standing(_) => {
                Phase::Standing
            }
            MemberStage::Leaving(_) => Phase::Leaving,
            MemberStage::Owing { .. } => Phase::CleaningUp,
            MemberStage::Ended(_) => Phase::Over,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        let is_in_flight = matches!(
            (self.line.in_flight(), &self.stage),
            (Some((sent, Request::Look | Request::WatchOwn)), stage)
                if sent == ticket && !matches!(stage, MemberStage::Leaving(_) | MemberStage::Owing { .. })
        );
        is_in_flight
            || match self.stage {
                MemberStage::Standing(standing) => standing.own.is(ticket),
                MemberStage::Waiting { watch, .. } => watch == ticket,
                MemberStage::Joining(_)
                | MemberStage::Leaving(_)
                | MemberStage::Owing { .. }
                | MemberStage::Ended(_) => false,
            }
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
