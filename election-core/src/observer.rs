//! The observer: shows which candidate leads, or what a mark beside the election node says, without
//! taking part.
//!
//! New candidates have greater numbers, so the lowest one leads until its znode is gone. The
//! observer watches that znode, and not the list of children, which changes with each nominee that
//! joins. When the znode goes, the observer lists once. If no candidate stands, it watches the
//! children, or the election node if that does not exist. So an observer has one watch on the
//! server.
//!
//! A nominee that is the first waits for the end of each sequential child of another format that is
//! ephemeral and another session's. So does the observer, before it reports that the candidate leads;
//! while such a child stands it has a second watch. A nominee goes on to lead, if it led before such a
//! child came, or was sure to be the next one: an observer that comes later cannot know that, and
//! reports it as blocked.
//!
//! Servers may be behind. A session never reads an older state than it has seen, but another
//! session could. So in each session a quorum commits something before the first read, and
//! observations are never older than earlier ones.

mod stage;
mod survey;
mod told;

pub use stage::Subject;
pub use told::{Observed, ObserverEnd, ObserverFailure, Present};

use stage::{Armed, First, ObserverStage, Request, Sign};
use survey::{Foreign, Found, TooLong};

use crate::children::Children;
use crate::command::{Command, Output};
use crate::event::{Change, Event, Failure, Reply, Stat};
use crate::format::Recovery;
use crate::id::{Token, Version};
use crate::line::{Joined, Line};
use crate::name::{CandidateName, ChildName};
use crate::recipe::{Phase, Recipe};
use crate::ticket::Ticket;

/// Observes an election, or a mark beside it. The data that it reads becomes a `D`.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. It leaves nothing on the server but one watch, or two while a candidate is blocked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Observer<D> {
    subject: Subject,
    line: Line<Request>,
    stage: ObserverStage<D>,
    told: LastReport,
}

/// The last report; the same is not reported again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum LastReport {
    Nothing,
    Absent,
    Hidden,
    Present(Token, Version),
    Blocked(Token, Version, Option<ChildName>),
    Ended,
}

impl<D: for<'a> From<&'a [u8]>> Observer<D> {
    /// Makes an observer that has not been connected yet.
    pub const fn new(subject: Subject) -> Self {
        Self {
            subject,
            line: Line::new(),
            stage: ObserverStage::Barrier,
            told: LastReport::Nothing,
        }
    }

    /// Returns what is observed.
    pub const fn subject(&self) -> Subject {
        self.subject
    }

    /// Goes on in another state.
    fn go(&mut self, to: impl FnOnce(ObserverStage<D>, Subject) -> ObserverStage<D>) {
        let stage = core::mem::replace(&mut self.stage, ObserverStage::Hidden);
        self.stage = to(stage, self.subject);
    }

    fn connected(&mut self, joined: Joined) {
        match (&self.stage, joined) {
            (ObserverStage::Ended(_), _) => {}
            (_, Joined::Same) => self.go(ObserverStage::renewed),
            (_, Joined::New | Joined::Other) => self.stage = ObserverStage::Barrier,
        }
    }

    fn changed(&mut self, change: Change) {
        self.go(|stage, subject| match (stage, change) {
            (ObserverStage::Watching(..) | ObserverStage::Confirming(..), Change::Deleted)
            // Either znode has changed; or the election node goes, or is there.
            | (ObserverStage::Inspecting(..) | ObserverStage::Blocked { .. } | ObserverStage::Awaiting(..), _) => {
                subject.first()
            }
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
            (Request::Inspect, Ok(Reply::Exists(stat))) => self.inspected(ticket, &stat),
            (Request::Inspect, Err(Failure::NoNode)) => self.list_again(),
            // A server that forbids to look at it leaves no watch.
            (Request::Inspect, Err(Failure::NoAuth)) => self.blocked(Armed::NotYet),
            (Request::AwaitZnode, Err(Failure::NoNode)) => {
                self.stage = ObserverStage::Awaiting(Sign::Znode, Armed::With(ticket));
                self.tell(LastReport::Absent, Observed::Absent)
            }
            (Request::Read, Err(Failure::NoNode)) => match self.subject {
                Subject::Leader(_) => {
                    self.stage = ObserverStage::Finding;
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
        self.stage = ObserverStage::Awaiting(Sign::Znode, Armed::NotYet);
        self.tell(LastReport::Absent, Observed::Absent)
    }

    fn hidden(&mut self) -> Option<Observed<D>> {
        self.stage = ObserverStage::Hidden;
        self.tell(LastReport::Hidden, Observed::Hidden)
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
        let passed = match &self.stage {
            ObserverStage::Confirming(First { passed: Some(passed), .. }) => Some(passed.as_str()),
            _ => None,
        };
        match Found::in_list(format, list, passed) {
            None => {
                let armed = match request {
                    Request::AwaitChild => Armed::With(ticket),
                    _ => Armed::NotYet,
                };
                self.stage = ObserverStage::Awaiting(Sign::Child, armed);
                self.tell(LastReport::Absent, Observed::Absent)
            }
            Some(Err(TooLong)) => self.hidden(),
            Some(Ok(Found { first: name, foreign })) => {
                match core::mem::replace(&mut self.stage, ObserverStage::Hidden) {
                    ObserverStage::Confirming(first) if first.name == name => {
                        self.weigh(first, foreign)
                    }
                    // What was passed over for one candidate may block another one.
                    ObserverStage::Confirming(First { passed: Some(_), .. }) => {
                        self.stage = self.subject.first();
                        None
                    }
                    _ => {
                        self.stage = ObserverStage::ReadingFound(name, foreign);
                        None
                    }
                }
            }
        }
    }

    /// Decides whether the first candidate leads, by the foreign child that was listed.
    fn weigh(&mut self, first: First<D>, foreign: Foreign) -> Option<Observed<D>> {
        match foreign {
            Foreign::None => self.see(first.name, first.present, first.ticket),
            Foreign::Child(foreign) => {
                self.stage = ObserverStage::Inspecting(first, foreign);
                None
            }
            Foreign::LongName => self.obstructed(first, None, Armed::NotYet),
        }
    }

    /// Takes in the owner of a foreign child, by the rule of nominees.
    fn inspected(&mut self, ticket: Ticket, stat: &Stat) -> Option<Observed<D>> {
        match &self.stage {
            ObserverStage::Inspecting(first, _)
                if stat.owner.is_some() && stat.owner != first.present.owner =>
            {
                self.blocked(Armed::With(ticket))
            }
            _ => self.pass_over(),
        }
    }

    /// Goes on after the end of the foreign child. Another one may have come meanwhile, before it by
    /// name.
    fn list_again(&mut self) -> Option<Observed<D>> {
        self.go(|stage, subject| match stage {
            ObserverStage::Inspecting(first, _) => ObserverStage::Confirming(first),
            _ => subject.first(),
        });
        None
    }

    /// Goes on behind the foreign child that was looked at.
    fn pass_over(&mut self) -> Option<Observed<D>> {
        self.go(|stage, subject| match stage {
            ObserverStage::Inspecting(first, foreign) => {
                ObserverStage::Confirming(First { passed: Some(foreign), ..first })
            }
            _ => subject.first(),
        });
        None
    }

    fn blocked(&mut self, armed: Armed) -> Option<Observed<D>> {
        if let ObserverStage::Inspecting(first, foreign) =
            core::mem::replace(&mut self.stage, ObserverStage::Hidden)
        {
            return self.obstructed(first, Some(foreign), armed);
        }
        self.stage = self.subject.first();
        None
    }

    fn obstructed(
        &mut self,
        first: First<D>,
        by: Option<ChildName>,
        armed: Armed,
    ) -> Option<Observed<D>> {
        let First { name, present, ticket, .. } = first;
        self.stage = ObserverStage::Blocked { candidate: ticket, foreign: armed };
        let told = LastReport::Blocked(present.token, present.version, by.clone());
        let first = Present { candidate: Some(name), ..present };
        self.tell(told, Observed::Blocked { first, by })
    }

    /// Takes in a read that has left a watch.
    fn read(&mut self, ticket: Ticket, present: Present<D>) -> Option<Observed<D>> {
        let token = present.token;
        match core::mem::replace(&mut self.stage, ObserverStage::Hidden) {
            ObserverStage::ReadingMark => {
                self.stage = ObserverStage::WatchingMark(ticket);
                self.tell(LastReport::Present(token, present.version), Observed::Present(present))
            }
            ObserverStage::ReadingFound(name, foreign) => {
                let first = First { name, present, ticket, passed: None };
                match self.subject {
                    Subject::Leader(format) if format.recovery() != Recovery::Id => {
                        self.stage = ObserverStage::Confirming(first);
                        None
                    }
                    _ => self.weigh(first, foreign),
                }
            }
            ObserverStage::Rereading(name, known) if known == token => {
                self.see(name, present, ticket)
            }
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
        self.stage = ObserverStage::Watching(name.clone(), token, ticket);
        let present = Present { candidate: Some(name), ..present };
        self.tell(LastReport::Present(token, version), Observed::Present(present))
    }

    fn fail(&mut self, failure: ObserverFailure) -> Option<Observed<D>> {
        self.end(ObserverEnd::Failed(failure))
    }

    fn end(&mut self, end: ObserverEnd) -> Option<Observed<D>> {
        if let ObserverStage::Ended(_) = self.stage {
            return None;
        }
        self.stage = ObserverStage::Ended(end);
        self.tell(LastReport::Ended, Observed::Ended(end))
    }

    fn tell(&mut self, told: LastReport, observed: Observed<D>) -> Option<Observed<D>> {
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

impl<D: for<'a> From<&'a [u8]>> Recipe for Observer<D> {
    type Notice = Observed<D>;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Observed<D>> {
        let is_over = matches!(self.stage, ObserverStage::Ended(_));
        let mut notice = None;
        if !is_over {
            self.line.lost_by(&event);
        }
        match event {
            _ if is_over => {}
            Event::Connected { session } => {
                let joined = self.line.connected(session);
                self.connected(joined);
            }
            Event::SessionExpired => {
                self.line.expired();
            }
            Event::Reply { ticket, result } => {
                if let Some(request) = self.line.answered(ticket, &result) {
                    notice = self.answered((ticket, request), result);
                }
            }
            Event::Changed { ticket, change } if self.stage.watches(ticket) => {
                self.changed(change);
            }
            Event::Look => {
                self.line.ask_again();
                if self.line.in_flight().is_none() {
                    self.go(ObserverStage::renewed);
                }
            }
            Event::Disconnected | Event::LeaseLapsed | Event::Deadline | Event::Changed { .. } => {}
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
            ObserverStage::Ended(_) => Phase::Over,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        let is_read =
            |(sent, request): (Ticket, Request)| sent == ticket && request.leaves_a_watch();
        !matches!(self.stage, ObserverStage::Ended(_))
            && (self.stage.watches(ticket) || self.line.in_flight().is_some_and(is_read))
    }

    fn waits_for_look(&self) -> bool {
        self.line.waits_for_look()
    }
}
