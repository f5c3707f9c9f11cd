//! A client: its machine, and the link between it and the server.

use election_core::{
    Applied, Barrier, BarrierEnd, BarrierTask, Change, Children, DoubleBarrier, DoubleBarrierEnd,
    DoubleBarrierNotice, DoubleBarrierOptions, DoubleBarrierState, Event, Failure, Output, Phase,
    Recipe, Reply, SessionId, Ticket, Token,
};

use super::server::{Answer, Change as Written, Name, Request, id};

const NO_AUTH: i32 = -102;

/// What a client does with the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    Task(BarrierTask),
    Enter(DoubleBarrierOptions),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    Barrier(Barrier),
    Double(DoubleBarrier),
}

/// The notices of a machine so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Told {
    Single(BarrierEnd),
    Double(DoubleBarrierNotice),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The next session is the first one, or the one before has expired.
    New,
    Up,
    Down,
    /// The process is dead.
    Dead,
}

/// What a client may do at the barrier's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rights {
    All,
    NotToWrite,
    NotToList,
    NotToDelete,
    /// All again.
    Restored,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub index: u8,
    pub turn: u8,
    pub turns_left: u8,
    pub wish: Wish,
    pub machine: Machine,
    pub link: Link,
    pub session: SessionId,
    pub session_lives: bool,
    /// The last commit that its server has applied, and the last one that the session has seen.
    pub applied: usize,
    pub seen: usize,
    pub request: Option<(Ticket, Request)>,
    /// The answer to a write, and what the server has applied when it comes.
    pub due: Option<(usize, Ticket, Answer)>,
    pub watches: Vec<(Ticket, Name)>,
    /// A write of the lost connection.
    pub in_doubt: Option<Request>,
    /// Of the barrier that a waiter has seen first.
    pub waits_for: Option<Token>,
    pub rights: Rights,
}

impl Client {
    pub fn new(index: u8, wish: Wish, turns: u8) -> Self {
        Self {
            index,
            turn: 0,
            turns_left: turns - 1,
            wish,
            machine: machine(index, 0, wish),
            link: Link::New,
            session: SessionId::new(i64::from(index) * 1000 + 1000),
            session_lives: true,
            applied: 0,
            seen: 0,
            request: None,
            due: None,
            watches: Vec::new(),
            in_doubt: None,
            waits_for: None,
            rights: Rights::All,
        }
    }

    pub fn entry(&self) -> Name {
        Name::Entry(self.index, self.turn)
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    pub fn state(&self) -> Option<DoubleBarrierState> {
        match &self.machine {
            Machine::Double(double) if self.link != Link::Dead => Some(double.state()),
            _ => None,
        }
    }

    pub fn is_over(&self) -> bool {
        self.link == Link::Dead || self.phase() == Phase::Over
    }

    /// Whether it has told its end, and may owe a deletion.
    pub fn has_ended(&self) -> bool {
        self.is_over() || self.phase() == Phase::CleaningUp
    }

    /// Whether only a look makes it go on. One that owes a deletion asks in vain while it may not
    /// delete.
    pub fn needs_look(&self) -> bool {
        let is_asking = self.request.is_some() || self.due.is_some();
        let owes = self.phase() == Phase::CleaningUp && !is_asking;
        let waits = match &self.machine {
            Machine::Barrier(barrier) => barrier.waits_for_look(),
            Machine::Double(double) => double.waits_for_look(),
        };
        waits || owes && self.rights != Rights::NotToDelete
    }

    pub fn phase(&self) -> Phase {
        match &self.machine {
            Machine::Barrier(barrier) => barrier.phase(),
            Machine::Double(double) => double.phase(),
        }
    }

    /// Begins to use the barrier once more.
    pub fn begin_again(&mut self) {
        self.turns_left -= 1;
        self.turn += 1;
        self.machine = machine(self.index, self.turn, self.wish);
        self.request = None;
    }

    pub fn feed(&mut self, event: Event<'_>) -> Result<Option<Told>, String> {
        self.take(|machine, then| match machine {
            Machine::Barrier(barrier) => then(barrier.handle_event(event).map(Told::Single)),
            Machine::Double(double) => then(double.handle_event(event).map(Told::Double)),
        })
    }

    pub fn withdraw(&mut self) -> Result<Option<Told>, String> {
        self.take(|machine, then| match machine {
            Machine::Barrier(barrier) => then(barrier.withdraw().map(Told::Single)),
            Machine::Double(double) => then(double.withdraw().map(Told::Double)),
        })
    }

    fn take(
        &mut self,
        act: impl FnOnce(&mut Machine, &mut dyn FnMut(Output<'_, Told>)),
    ) -> Result<Option<Told>, String> {
        let (mut asked, mut told) = (None, None);
        let session = self.session;
        act(&mut self.machine, &mut |output| {
            told = output.notice;
            asked = output.command.map(|sent| (sent.ticket, Request::of(&sent.op, session)));
        });
        if let Some(asked) = asked {
            if let Some(other) = &self.request {
                return Err(format!("{asked:?} while {other:?} is in flight"));
            }
            if self.due.is_some() {
                return Err(format!("{asked:?} while an answer is on its way"));
            }
            if !self.is_up() {
                return Err(format!("{asked:?} without a link"));
            }
            self.request = Some(asked);
        }
        self.drop_watches();
        Ok(told)
    }

    /// Takes down the watches that nothing awaits, as the driver.
    pub fn drop_watches(&mut self) {
        let Self { machine, watches, .. } = self;
        watches.retain(|(ticket, _)| match machine {
            Machine::Barrier(barrier) => barrier.awaits_change(*ticket),
            Machine::Double(double) => double.awaits_change(*ticket),
        });
    }

    pub fn fire(&mut self, name: Name, change: Change) -> Vec<Result<Option<Told>, String>> {
        let fired: Vec<Ticket> =
            self.watches.iter().filter(|watch| watch.1 == name).map(|watch| watch.0).collect();
        self.watches.retain(|watch| watch.1 != name);
        fired.into_iter().map(|ticket| self.feed(Event::Changed { ticket, change })).collect()
    }

    pub fn deliver(&mut self, ticket: Ticket, answer: &Answer) -> Result<Option<Told>, String> {
        let mut texts: Vec<String> = Vec::new();
        if let Answer::Children(children) = answer {
            texts.extend(children.iter().filter_map(|name| name.text()));
            texts.extend(["stray", "10000000-stray"].map(str::to_owned));
        }
        let mut names = texts.iter().map(String::as_str);
        let mut parts = core::iter::empty::<Applied<'_>>();
        let result = match answer {
            Answer::Exists(stat) => Ok(Reply::Exists(*stat)),
            Answer::Children(_) => Ok(Reply::Children(Children::listed(&mut names))),
            Answer::BarrierPassed => Ok(Reply::BarrierPassed),
            Answer::NodeCreated => Ok(Reply::NodeCreated),
            Answer::Created => Ok(Reply::Created { name: "barrier", stat: None }),
            Answer::Deleted => Ok(Reply::Deleted),
            Answer::Committed => Ok(Reply::Committed(&mut parts)),
            Answer::Failed(failure) => Err(*failure),
        };
        self.feed(Event::Reply { ticket, result })
    }

    pub fn disconnect(&mut self) -> Result<Option<Told>, String> {
        self.link = Link::Down;
        self.applied = self.seen;
        self.watches.clear();
        self.due = None;
        if let Some((_, request)) = self.request.take()
            && !request.reads()
            && self.session_lives
        {
            self.in_doubt = Some(request);
        }
        self.feed(Event::Disconnected)
    }

    /// The refusal of a request that the client may not make.
    pub fn refusal(&self, request: &Request) -> Option<Failure> {
        match (self.rights, request) {
            (Rights::NotToList, Request::List)
            | (Rights::NotToDelete, Request::Write(Written::Delete(_))) => Some(Failure::NoAuth),
            (rights, Request::Multi(changes)) => {
                let is_refused = |part: &Written| match rights {
                    Rights::NotToWrite => matches!(part, Written::Write(Name::Node, _)),
                    Rights::NotToDelete => matches!(part, Written::Delete(_)),
                    Rights::All | Rights::NotToList | Rights::Restored => false,
                };
                let part = changes.iter().position(is_refused)?;
                Some(Failure::Aborted { part, code: NO_AUTH })
            }
            _ => None,
        }
    }

    pub fn failed(&self) -> bool {
        match &self.machine {
            Machine::Barrier(barrier) => matches!(barrier.end(), Some(BarrierEnd::Failed(_))),
            Machine::Double(double) => {
                matches!(double.state(), DoubleBarrierState::Ended(DoubleBarrierEnd::Failed(_)))
            }
        }
    }
}

/// An output with another notice.
trait Map<'a, N> {
    fn map<M>(self, map: impl FnOnce(N) -> M) -> Output<'a, M>;
}

impl<'a, N> Map<'a, N> for Output<'a, N> {
    fn map<M>(self, map: impl FnOnce(N) -> M) -> Output<'a, M> {
        Output { command: self.command, notice: self.notice.map(map) }
    }
}

fn machine(index: u8, turn: u8, wish: Wish) -> Machine {
    match wish {
        Wish::Task(task) => Machine::Barrier(Barrier::new(task)),
        Wish::Enter(options) => Machine::Double(DoubleBarrier::new(id(index, turn), options)),
    }
}
