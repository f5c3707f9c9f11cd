//! A client: its machines, which share a session, and the link between it and its server.

use std::collections::{BTreeSet, VecDeque};

use election_core::{Change as Event, Phase, Recipe as _, SessionId, Ticket};

use super::actors::Actors;
use super::server::{Answer, Change, Effect, Position, Request, Server, Znode};
use super::{Model, Right};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// The next session is the first one, or the one before has expired.
    New,
    Up,
    Down,
    /// The process was killed, and does not start again.
    Dead,
}

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rights {
    All,
    NotTo(Right),
    /// All again, or all but for one request.
    Restored,
}

/// The number of a machine of a client.
pub type Actor = u8;

#[derive(Clone, Debug)]
pub struct Sent<N> {
    pub actor: Actor,
    pub ticket: Ticket,
    pub request: Request<N>,
}

#[derive(Clone, Debug)]
pub struct Due<N> {
    /// What the server has applied when it comes.
    pub position: usize,
    pub actor: Actor,
    pub ticket: Ticket,
    pub answer: Answer<N>,
}

/// What a server has sent on a connection that is lost.
#[derive(Clone, Debug)]
pub enum Late<N> {
    Answer(Actor, Ticket, Answer<N>),
    Changed(Actor, Ticket, Event),
}

#[derive(Clone, Copy, Debug)]
pub struct Watcher<N> {
    pub actor: Actor,
    pub ticket: Ticket,
    pub name: N,
    pub of_children: bool,
}

#[derive(Clone, Debug)]
pub struct Client<M: Model> {
    pub index: u8,
    pub role: M::Role,
    pub notes: M::Notes,
    pub machines: Actors<M::Machine>,
    pub link: Link,
    pub session: SessionId,
    pub session_lives: bool,
    /// How many commits a server has applied that closes the connection of the session, which has expired.
    pub closed_after: Option<usize>,
    pub rights: Rights,
    /// What its server has applied, and the last commit that the session has seen.
    pub applied: Position,
    pub seen: usize,
    pub requests: VecDeque<Sent<M::Name>>,
    pub due: Option<Due<M::Name>>,
    pub watches: Vec<Watcher<M::Name>>,
    /// Writes of the lost connection.
    pub in_doubt: VecDeque<Request<M::Name>>,
    /// Answers of the lost connection.
    pub late: Vec<Late<M::Name>>,
    /// A watch was dropped, and nothing tells of it but a look.
    pub is_deaf: bool,
    /// A watch was dropped that no look sets again: each change needs a look.
    pub needs_looks: bool,
    /// Znodes that it may not read, and wants to watch: their end is told to nobody.
    pub hidden: BTreeSet<M::Name>,
}

impl<N: Copy + Ord> Watcher<N> {
    /// Returns what it reports of an event of a znode.
    pub fn fired_by<M: Model<Name = N>>(&self, (name, change): (N, Event)) -> Option<Event> {
        match (self.of_children, change) {
            (false, _) => (self.name == name).then_some(change),
            (true, Event::Data) => None,
            (true, Event::Deleted) if self.name == name => Some(change),
            (true, _) => (M::parent(name) == Some(self.name)).then_some(Event::Children),
        }
    }
}

/// A session that outlives its process, or that a server errs about.
#[derive(Clone, Debug)]
pub struct Ghost<N> {
    pub author: u8,
    pub session: SessionId,
    pub writes: VecDeque<Request<N>>,
}

const SESSIONS: i64 = 1000;

impl<M: Model> Client<M> {
    pub fn new(index: u8, role: M::Role, notes: M::Notes, machine: Option<M::Machine>) -> Self {
        Self {
            index,
            role,
            notes,
            machines: Actors::of(machine),
            link: Link::New,
            session: SessionId::new((i64::from(index) + 1) * SESSIONS),
            session_lives: true,
            closed_after: None,
            rights: Rights::All,
            applied: Position::default(),
            seen: 0,
            requests: VecDeque::new(),
            due: None,
            watches: Vec::new(),
            in_doubt: VecDeque::new(),
            late: Vec::new(),
            is_deaf: false,
            needs_looks: false,
            hidden: BTreeSet::new(),
        }
    }

    /// Whether it is a session of this client, now or before.
    pub fn has_had(&self, session: SessionId) -> bool {
        session.get() / SESSIONS == i64::from(self.index) + 1
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    /// Its only machine.
    pub fn machine(&self) -> &M::Machine {
        self.machines.get(0).expect("it has one")
    }

    pub fn is_over(&self) -> bool {
        self.link == Link::Dead || self.machines.values().all(|one| one.phase() == Phase::Over)
    }

    pub fn asked(&self, actor: Actor) -> usize {
        let sent = self.requests.iter().filter(|sent| sent.actor == actor).count();
        sent + self.due.iter().filter(|due| due.actor == actor).count()
    }

    pub fn is_asking(&self, actor: Actor) -> bool {
        self.asked(actor) > 0
    }

    /// Whether nothing that it has asked for is on its way.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.due.is_none()
    }

    /// Whether nothing will happen to it any more, and what it has ended with does not matter.
    pub fn is_done(&self) -> bool {
        M::ENDS_FOR_GOOD && self.is_over() && self.is_idle() && self.late.is_empty()
    }

    /// Whether it does not matter how far its server is.
    pub fn has_no_server(&self) -> bool {
        let will_have_another =
            self.link == Link::New || self.link == Link::Down && !self.session_lives;
        self.is_done() || M::SESSIONS_ARE_GLOBAL && will_have_another
    }

    /// Whether only a look makes it go on, where its server has nothing more for it. One that owes a deletion asks in
    /// vain while it may not delete.
    pub fn needs_look(&self, server: &Server<M::Name>) -> bool {
        let stays = |name: &M::Name| server.tip.get(name).is_some_and(Znode::is_barred);
        let has_missed = self.is_deaf || !self.hidden.iter().all(stays);
        if has_missed && self.is_idle() && self.next_heard(server).is_none() {
            return true;
        }
        let waits = |(actor, machine): &(Actor, M::Machine)| {
            let owes = machine.phase() == Phase::CleaningUp && !self.is_asking(*actor);
            machine.waits_for_look() || owes && !M::asks_in_vain(self.rights)
        };
        self.machines.iter().any(waits)
    }

    /// Returns how many commits its server will have applied with the next one that it hears of.
    pub fn next_heard(&self, server: &Server<M::Name>) -> Option<usize> {
        if !M::APPLIES_WHAT_MATTERS {
            let next = self.applied.commits + 1;
            return (self.is_up() && self.applied != server.tip_position()).then_some(next);
        }
        let is_due = |after: usize| {
            self.due.as_ref().is_some_and(|due| due.position <= after)
                || self.closed_after == Some(after)
        };
        let fires = |at: usize| {
            let mut events = server.log[at].iter().filter_map(Effect::event);
            events
                .any(|event| self.watches.iter().any(|watch| watch.fired_by::<M>(event).is_some()))
        };
        let later = || self.applied.commits..server.end();
        later().find(|at| is_due(at + 1) || fires(*at)).filter(|_| self.is_up()).map(|at| at + 1)
    }

    /// Takes down the watches that nothing awaits, as the driver, and returns them.
    pub fn drop_watches(&mut self) -> Vec<Watcher<M::Name>> {
        let machines = &self.machines;
        let is_awaited = |watch: &Watcher<_>| {
            machines.get(watch.actor).is_some_and(|one| one.awaits_change(watch.ticket))
        };
        self.watches.extract_if(.., |watch| !is_awaited(watch)).collect()
    }

    /// Breaks the connection: requests without an answer are lost, but the server may still execute writes. The
    /// next server is as far as the session has seen: half a transaction counts as none.
    pub fn lose_link(&mut self) {
        self.link = Link::Down;
        self.closed_after = None;
        self.applied = Position::after(self.seen);
        self.watches.clear();
        (self.is_deaf, self.needs_looks) = (false, false);
        self.hidden.clear();
        let due = self.due.take();
        self.late.extend(due.map(|due| Late::Answer(due.actor, due.ticket, due.answer)));
        let lives = self.session_lives;
        let writes = self.requests.drain(..).map(|sent| sent.request);
        for request in writes.filter(|request| lives && !request.reads()) {
            // A barrier changes nothing, and a change that is asked for twice is made once.
            let is_vain = request == Request::Barrier || self.in_doubt.contains(&request);
            if !(M::ENDS_FOR_GOOD && is_vain) {
                self.in_doubt.push_back(request);
            }
        }
    }

    /// The part that this client may not have done.
    pub fn forbidden_part(&self, request: &Request<M::Name>) -> Option<usize> {
        let Rights::NotTo(right) = self.rights else { return None };
        if matches!(request, Request::List(..)) && right == Right::List {
            return Some(0);
        }
        let needs = |change: &Change<M::Name>| match change {
            Change::Check(..) => false,
            Change::Create(..) => right == Right::Create,
            Change::Write(..) => right == Right::Write,
            Change::Delete(..) => right == Right::Delete,
        };
        request.changes().iter().position(needs)
    }
}
