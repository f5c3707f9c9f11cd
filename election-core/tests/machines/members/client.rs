//! A member with its driver.

use election_core::{
    Change, Event, Failure, Member, MemberNotice, MemberOptions, MemberState, NameOwner, Output,
    Phase, Recipe, Reply, SessionId, Ticket, Token, Watch,
};

use super::server::{Answer, Request};

pub type Machine = Member<&'static str, [u8; 1]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The client has no session yet.
    New,
    Up,
    Down,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub index: u8,
    pub machine: Machine,
    pub link: Link,
    pub session: SessionId,
    pub session_lives: bool,
    /// Sessions before this one that live on.
    pub ghosts: Vec<SessionId>,
    pub applied: usize,
    pub seen: usize,
    pub request: Option<(Ticket, Request)>,
    /// The answer to a write, and what the server has applied when it comes.
    pub due: Option<(usize, Ticket, Answer)>,
    pub watches: Vec<Ticket>,
    /// A write of a lost connection, and its session.
    pub in_doubt: Option<(SessionId, Request)>,
    pub joined: Option<Token>,
    pub fault: Option<String>,
}

impl Client {
    pub fn new(index: u8, options: MemberOptions) -> Self {
        Self {
            index,
            machine: Member::new("x", [index * 10], options),
            link: Link::New,
            session: SessionId::new(i64::from(index) * 1000 + 1000),
            session_lives: true,
            ghosts: Vec::new(),
            applied: 0,
            seen: 0,
            request: None,
            due: None,
            watches: Vec::new(),
            in_doubt: None,
            joined: None,
            fault: None,
        }
    }

    /// Whether it is a session of this client, now or before.
    pub fn has_had(&self, session: SessionId) -> bool {
        session.get() / 1000 == i64::from(self.index) + 1
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    pub fn is_over(&self) -> bool {
        self.machine.phase() == Phase::Over
    }

    pub fn feed(&mut self, event: Event<'_>) {
        let mut machine = self.machine.clone();
        let output = machine.handle_event(event);
        let (asked, notice) = taken(&output);
        self.machine = machine;
        self.take_in(asked, notice);
    }

    pub fn withdraw(&mut self) {
        let mut machine = self.machine.clone();
        let output = machine.withdraw();
        let (asked, notice) = taken(&output);
        self.machine = machine;
        self.take_in(asked, notice);
    }

    pub fn set_data(&mut self) {
        let [byte] = *self.machine.data();
        self.machine.set_data([byte + 1]);
        self.feed(Event::Deadline);
    }

    fn take_in(&mut self, asked: Option<(Ticket, Request)>, notice: Option<MemberNotice>) {
        if let Some(asked) = asked {
            if self.request.is_some() || self.due.is_some() || !self.is_up() {
                self.fault = Some(format!("{asked:?} at the wrong time"));
            }
            self.request = Some(asked);
        }
        self.watches.retain(|ticket| self.machine.awaits_change(*ticket));
        match notice {
            Some(MemberNotice::Joined(token)) => {
                if self.machine.state() != MemberState::Joined(token) {
                    self.fault = Some("joined, but is not".into());
                }
                self.joined = Some(token);
            }
            Some(MemberNotice::Lost(_)) if self.joined.take().is_none() => {
                self.fault = Some("lost what it did not have".into());
            }
            Some(MemberNotice::Taken(NameOwner::Session(owner))) if self.has_had(owner) => {
                self.fault = Some("its own ghost passes for another member".into());
            }
            Some(MemberNotice::Ended(_)) => self.joined = None,
            _ => {}
        }
        if let MemberState::Joined(token) = self.machine.state()
            && self.joined != Some(token)
        {
            self.fault = Some("is joined, and has not told".into());
        }
    }

    pub fn fire(&mut self, change: Change) {
        for ticket in core::mem::take(&mut self.watches) {
            self.feed(Event::Changed { ticket, change });
        }
    }

    pub fn deliver(&mut self, ticket: Ticket, answer: Answer) {
        let result = match answer {
            Answer::Exists(stat) => Ok(Reply::Exists(stat)),
            Answer::BarrierPassed => Ok(Reply::BarrierPassed),
            Answer::NodeCreated => Ok(Reply::NodeCreated),
            // One of the two clients has a server before 3.5.
            Answer::Created(stat) => {
                Ok(Reply::Created { name: "x", stat: (self.index == 0).then_some(stat) })
            }
            Answer::Written(stat) => Ok(Reply::Written(stat)),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Failed(failure) => Err(failure),
        };
        self.feed(Event::Reply { ticket, result });
        if answer == Answer::Failed(Failure::NoAuth)
            && matches!(self.request, Some((_, Request::Delete(_))))
            && self.machine.phase() == Phase::CleaningUp
        {
            self.fault = Some("asks at once for what was refused".into());
        }
    }

    pub fn leave_watch(&mut self, ticket: Ticket, watch: Watch) {
        if watch != Watch::None {
            self.watches.push(ticket);
        }
    }

    pub fn disconnect(&mut self) {
        self.link = Link::Down;
        self.applied = self.seen;
        self.watches.clear();
        self.due = None;
        if let Some((_, request)) = self.request.take()
            && !request.reads()
            && self.session_lives
        {
            self.in_doubt = Some((self.session, request));
        }
        self.feed(Event::Disconnected);
    }

    /// Whether only a look makes it go on.
    pub fn needs_look(&self) -> bool {
        let is_asking = self.request.is_some() || self.due.is_some();
        let owes = self.machine.phase() == Phase::CleaningUp && !is_asking;
        self.machine.waits_for_look() || owes
    }

    pub fn has_refusable(&self) -> bool {
        self.session_lives
            && self.due.is_none()
            && matches!(self.request, Some((_, Request::Create(_) | Request::Delete(_))))
    }

    pub fn throttle(&mut self) {
        let (ticket, _) = self.request.take().expect("a request");
        self.feed(Event::Reply { ticket, result: Err(Failure::Throttled) });
    }
}

fn taken(output: &Output<'_, MemberNotice>) -> (Option<(Ticket, Request)>, Option<MemberNotice>) {
    let asked = output.command.map(|sent| (sent.ticket, Request::of(&sent.op)));
    (asked, output.notice)
}
