//! A client: its machines, which share a session, and the link between it and its server.

use std::collections::{BTreeMap, VecDeque};

use election_core::{Phase, Recipe as _, SessionId, Ticket};

use super::server::{Access, Answer, Change, Position, Request, Server};
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
    pub machines: BTreeMap<Actor, M::Machine>,
    pub link: Link,
    pub session: SessionId,
    pub session_lives: bool,
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
    pub late: Vec<(Actor, Ticket, Answer<M::Name>)>,
    /// A watch was dropped, and nothing tells of it but a look.
    pub is_deaf: bool,
    /// A watch was dropped that no look sets again: each change needs a look.
    pub needs_looks: bool,
    /// A znode that it may not read, and wants to watch: its end is told to nobody.
    pub hidden: Option<M::Name>,
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
            machines: machine.map(|machine| (0, machine)).into_iter().collect(),
            link: Link::New,
            session: SessionId::new((i64::from(index) + 1) * SESSIONS),
            session_lives: true,
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
            hidden: None,
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
        &self.machines[&0]
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

    /// Whether only a look makes it go on, at a server that has applied all. One that owes a deletion asks in vain
    /// while it may not delete.
    pub fn needs_look(&self, server: &Server<M::Name>) -> bool {
        let stays =
            |name: &M::Name| server.tip.get(name).is_some_and(|it| it.access == Access::Barred);
        let has_missed = self.is_deaf || self.hidden.as_ref().is_some_and(|name| !stays(name));
        if has_missed && self.is_idle() && self.applied == server.tip_position() {
            return true;
        }
        let waits = |(actor, machine): (&Actor, &M::Machine)| {
            let owes = machine.phase() == Phase::CleaningUp && !self.is_asking(*actor);
            machine.waits_for_look() || owes && !M::asks_in_vain(self.rights)
        };
        self.machines.iter().any(waits)
    }

    /// Takes down the watches that nothing awaits, as the driver.
    pub fn drop_watches(&mut self) {
        let machines = &self.machines;
        let is_awaited = |watch: &Watcher<_>| {
            machines.get(&watch.actor).is_some_and(|one| one.awaits_change(watch.ticket))
        };
        self.watches.retain(is_awaited);
    }

    /// Breaks the connection: requests without an answer are lost, but the server may still execute writes. The
    /// next server is as far as the session has seen: half a transaction counts as none.
    pub fn lose_link(&mut self) {
        self.link = Link::Down;
        self.applied = Position::after(self.seen);
        self.watches.clear();
        (self.is_deaf, self.needs_looks, self.hidden) = (false, false, None);
        self.late.extend(self.due.take().map(|due| (due.actor, due.ticket, due.answer)));
        let lives = self.session_lives;
        let writes = self.requests.drain(..).map(|sent| sent.request);
        self.in_doubt.extend(writes.filter(|request| lives && !request.reads()));
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
