//! The observer: shows which candidate leads, or what a mark beside the election node says, without
//! taking part.
//!
//! New candidates have greater numbers, so the lowest one leads until its znode is gone. The
//! observer watches that znode, and not the list of children, which changes with each nominee that
//! joins. When the znode goes, the observer lists once. If no candidate stands, it watches the
//! children, or the election node if that does not exist. So an observer has one watch on the
//! server.
//!
//! Servers may be behind. A session never reads an older state than it has seen, but another
//! session could. So in each session a quorum commits something before the first read, and
//! observations are never older than earlier ones.

mod stage;
mod told;

pub use stage::Subject;
pub use told::{Observed, ObserverEnd, ObserverFailure, Present};

use stage::{Armed, Request, Sign, Stage};

use crate::access::Access;
use crate::children::{Children, Order};
use crate::command::{Command, Output};
use crate::event::{Change, Event, Failure, Reply};
use crate::format::{Format, Recovery};
use crate::id::{Token, Version};
use crate::line::{Joined, Line};
use crate::name::{CandidateName, Sequence};
use crate::recipe::{Phase, Recipe};
use crate::ticket::Ticket;

/// Observes an election, or a mark beside it. The data that it reads becomes a `D`.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. It leaves nothing on the server but one watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Observer<D> {
    subject: Subject,
    line: Line<Request>,
    stage: Stage<D>,
    told: Told,
}

/// The last report; the same is not reported again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Told {
    Nothing,
    Absent,
    Hidden,
    Present(Token, Version),
    Ended,
}

impl<D: for<'a> From<&'a [u8]>> Observer<D> {
    /// Makes an observer that has not been connected yet.
    pub const fn new(subject: Subject) -> Self {
        Self { subject, line: Line::new(), stage: Stage::Barrier, told: Told::Nothing }
    }

    /// Returns what is observed.
    pub const fn subject(&self) -> Subject {
        self.subject
    }

    /// Goes on in another state.
    fn go(&mut self, to: impl FnOnce(Stage<D>, Subject) -> Stage<D>) {
        let stage = core::mem::replace(&mut self.stage, Stage::Hidden);
        self.stage = to(stage, self.subject);
    }

    fn connected(&mut self, joined: Joined) {
        match (&self.stage, joined) {
            (Stage::Ended(_), _) => {}
            (_, Joined::Same) => self.go(Stage::renewed),
            (_, Joined::New | Joined::Other) => self.stage = Stage::Barrier,
        }
    }

    fn changed(&mut self, change: Change) {
        self.go(|stage, subject| match (stage, change) {
            (Stage::Watching(..) | Stage::Confirming(..), Change::Deleted)
            // The election node goes, or is there.
            | (Stage::Awaiting(..), _) => subject.first(),
            (stage, _) => stage.renewed(subject),
        });
    }

    fn answered(
        &mut self,
        (ticket, request): (Ticket, Request),
        result: Result<Reply<'_>, Failure>,
    ) -> Option<Observed<D>> {
        match (request, result) {
            (Request::Barrier, Ok(Reply::BarrierPassed))
            | (Request::AwaitZnode, Ok(Reply::Exists(_))) => {
                self.stage = self.subject.first();
                None
            }
            (Request::Find | Request::Confirm | Request::AwaitChild, Ok(Reply::Children(list))) => {
                self.listed(request, ticket, list)
            }
            (Request::Read, Ok(Reply::Read { stat, data })) => {
                let (token, version, owner) = (stat.token, stat.version, stat.owner);
                let data = D::from(data);
                self.read(ticket, Present { candidate: None, token, version, owner, data })
            }
            (Request::AwaitZnode, Err(Failure::NoNode)) => {
                self.stage = Stage::Awaiting(Sign::Znode, Armed::With(ticket));
                self.tell(Told::Absent, Observed::Absent)
            }
            (Request::Read, Err(Failure::NoNode)) => match self.subject {
                Subject::Leader(_) => {
                    self.stage = Stage::Finding;
                    None
                }
                Subject::Mark(_) => self.without_znode(),
            },
            (Request::Find | Request::Confirm | Request::AwaitChild, Err(Failure::NoNode)) => {
                self.without_znode()
            }
            (_, Err(Failure::NoAuth)) => self.hidden(),
            (_, Err(failure)) => self.fail(ObserverFailure::of(failure)),
            (_, Ok(_)) => self.fail(ObserverFailure::UnexpectedReply),
        }
    }

    fn without_znode(&mut self) -> Option<Observed<D>> {
        self.stage = Stage::Awaiting(Sign::Znode, Armed::NotYet);
        self.tell(Told::Absent, Observed::Absent)
    }

    fn hidden(&mut self) -> Option<Observed<D>> {
        self.stage = Stage::Hidden;
        self.tell(Told::Hidden, Observed::Hidden)
    }

    fn listed(
        &mut self,
        request: Request,
        ticket: Ticket,
        list: Children<'_>,
    ) -> Option<Observed<D>> {
        let Subject::Leader(format) = self.subject else {
            return self.fail(ObserverFailure::UnexpectedReply);
        };
        match lowest(format, list) {
            None => {
                let armed = match request {
                    Request::AwaitChild => Armed::With(ticket),
                    _ => Armed::NotYet,
                };
                self.stage = Stage::Awaiting(Sign::Child, armed);
                self.tell(Told::Absent, Observed::Absent)
            }
            Some(Err(TooLong)) => self.hidden(),
            Some(Ok(name)) => match core::mem::replace(&mut self.stage, Stage::Hidden) {
                Stage::Confirming(present, ticket) if present.candidate.as_ref() == Some(&name) => {
                    self.see(name, present, ticket)
                }
                _ => {
                    self.stage = Stage::ReadingFound(name);
                    None
                }
            },
        }
    }

    /// Takes in a read that has left a watch.
    fn read(&mut self, ticket: Ticket, present: Present<D>) -> Option<Observed<D>> {
        let token = present.token;
        match core::mem::replace(&mut self.stage, Stage::Hidden) {
            Stage::ReadingMark => {
                self.stage = Stage::WatchingMark(ticket);
                self.tell(Told::Present(token, present.version), Observed::Present(present))
            }
            Stage::ReadingFound(name) => match self.subject {
                Subject::Leader(format) if format.recovery() != Recovery::Id => {
                    let candidate = Some(name);
                    self.stage = Stage::Confirming(Present { candidate, ..present }, ticket);
                    None
                }
                _ => self.see(name, present, ticket),
            },
            Stage::Rereading(name, known) if known == token => self.see(name, present, ticket),
            // Another candidate of the same name, in another election node: others may be before it.
            _ => {
                self.stage = self.subject.first();
                None
            }
        }
    }

    fn see(
        &mut self,
        name: CandidateName,
        present: Present<D>,
        ticket: Ticket,
    ) -> Option<Observed<D>> {
        let (token, version) = (present.token, present.version);
        self.stage = Stage::Watching(name.clone(), token, ticket);
        let present = Present { candidate: Some(name), ..present };
        self.tell(Told::Present(token, version), Observed::Present(present))
    }

    fn fail(&mut self, failure: ObserverFailure) -> Option<Observed<D>> {
        self.end(ObserverEnd::Failed(failure))
    }

    fn end(&mut self, end: ObserverEnd) -> Option<Observed<D>> {
        if let Stage::Ended(_) = self.stage {
            return None;
        }
        self.stage = Stage::Ended(end);
        self.tell(Told::Ended, Observed::Ended(end))
    }

    fn tell(&mut self, told: Told, observed: Observed<D>) -> Option<Observed<D>> {
        let is_news = self.told != told;
        self.told = told;
        is_news.then_some(observed)
    }

    fn output(&mut self, notice: Option<Observed<D>>) -> Output<'_, Observed<D>> {
        let demand = self.stage.demand(self.subject);
        let command = demand.and_then(|(request, op)| {
            let ticket = self.line.ask(request)?;
            Some(Command { ticket, op })
        });
        Output { command, notice }
    }
}

/// The candidate's name is too long to be kept.
struct TooLong;

/// Returns the candidate that leads by this list.
fn lowest(format: Format, list: Children<'_>) -> Option<Result<CandidateName, TooLong>> {
    let number = |name: &str| format.rival(Access::Exclusive, name);
    let kept = |name: &str| format.parse(name).map_err(|_| TooLong);
    if let Some(index) = list.index() {
        let in_order =
            (0..index.len(Order::BySequence)).map(|at| index.name(Order::BySequence, at));
        return in_order.flatten().find(|name| number(name).is_some()).map(kept);
    }
    let mut least: Option<(Sequence, &str)> = None;
    for name in list {
        if let Some(sequence) = number(name)
            && least.is_none_or(|least| (sequence, name) < least)
        {
            least = Some((sequence, name));
        }
    }
    least.map(|(_, name)| kept(name))
}

impl<D: for<'a> From<&'a [u8]>> Recipe for Observer<D> {
    type Notice = Observed<D>;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Observed<D>> {
        let is_over = matches!(self.stage, Stage::Ended(_));
        let mut notice = None;
        match event {
            _ if is_over => {}
            Event::Connected { session } => {
                let joined = self.line.connected(session);
                self.connected(joined);
            }
            Event::Disconnected => {
                self.line.lost();
            }
            Event::Reply { ticket, result: Err(Failure::ConnectionLoss) } => {
                if self.line.is_in_flight(ticket) {
                    self.line.lost();
                }
            }
            Event::SessionExpired => {
                self.line.expired();
            }
            Event::Reply { ticket, result } => {
                if let Some(request) = self.line.answered(ticket, &result) {
                    notice = self.answered((ticket, request), result);
                }
            }
            Event::Changed { ticket, change } if self.stage.watch() == Some(ticket) => {
                self.changed(change);
            }
            Event::Look => {
                self.line.ask_again();
                if self.line.in_flight().is_none() {
                    self.go(Stage::renewed);
                }
            }
            Event::LeaseLapsed | Event::Deadline | Event::Changed { .. } => {}
        }
        self.output(notice)
    }

    /// Ends the observation; its watch is removed.
    fn withdraw(&mut self) -> Output<'_, Observed<D>> {
        let notice = self.end(ObserverEnd::Withdrawn);
        self.output(notice)
    }

    fn phase(&self) -> Phase {
        match self.stage {
            Stage::Ended(_) => Phase::Over,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        let is_read =
            |(sent, request): (Ticket, Request)| sent == ticket && request.leaves_a_watch();
        !matches!(self.stage, Stage::Ended(_))
            && (self.stage.watch() == Some(ticket) || self.line.in_flight().is_some_and(is_read))
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
