//! A contender, its link, and what is on its way between it and its server.

use std::collections::VecDeque;

use election_core::semaphore::{Semaphore, SemaphoreOptions};
use election_core::{
    Change, Command, Create, Delete, ExpectedVersion, Failure, Hold, NewZnode, NomineeId, Op,
    Recipe as _, Stat, Ticket, Watch, Znode,
};

use super::tree::Home;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub machine: Semaphore,
    pub is_up: bool,
    /// The session that its driver believes to have.
    pub session: Option<i64>,
    /// How many committed changes its server lacks, or, while the link is down, how many the
    /// session has not seen.
    pub behind: usize,
    pub requests: VecDeque<(Ticket, Request)>,
    pub inbox: VecDeque<Delivery>,
    pub watches: Vec<(Ticket, Watched)>,
    /// Writes of lost connections that may be executed yet, each of a session.
    pub orphans: VecDeque<(i64, Request)>,
    /// Names of its own that an operator has deleted.
    pub evicted: Vec<String>,
    /// It was withdrawn, or its deadline has passed, while it held nothing.
    pub has_given_up: bool,
    pub has_ended: bool,
    pub sessions: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Request {
    Create { home: Home, prefix: String },
    CreateHome(Home),
    CreateNode,
    Barrier,
    List { home: Home, watch: bool },
    Read { home: Home, name: String, watch: bool },
    Delete { home: Home, name: String, version: ExpectedVersion },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    Created(String, Option<Stat>),
    NodeCreated,
    BarrierPassed,
    Children(Vec<String>),
    Read(Stat),
    Deleted,
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    Reply(Ticket, Answer),
    Changed(Ticket, Change),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Watched {
    Znode(Home, String),
    Children(Home),
}

impl Client {
    pub fn new(index: usize, options: SemaphoreOptions) -> Self {
        let index = u8::try_from(index).expect("few clients");
        Self {
            machine: Semaphore::new(NomineeId::from_bytes([index + 1; 16]), options),
            is_up: false,
            session: None,
            behind: 0,
            requests: VecDeque::new(),
            inbox: VecDeque::new(),
            watches: Vec::new(),
            orphans: VecDeque::new(),
            evicted: Vec::new(),
            has_given_up: false,
            has_ended: false,
            sessions: 0,
        }
    }

    pub fn holds(&self) -> bool {
        self.machine.hold() != Hold::None
    }

    /// Takes down the watches that are not awaited.
    pub fn take_down_watches(&mut self) {
        let Self { machine, watches, .. } = self;
        watches.retain(|(ticket, _)| machine.awaits_change(*ticket));
    }

    pub fn lose_link(&mut self) {
        let lost = core::mem::take(&mut self.requests).into_iter().map(|(_, request)| request);
        if let Some(session) = self.session {
            self.orphans.extend(lost.filter(Request::is_write).map(|request| (session, request)));
        }
        self.inbox.clear();
        self.watches.clear();
        self.is_up = false;
    }
}

impl Request {
    pub fn of(command: &Command<'_>) -> Self {
        let watches = |watch: Watch| watch != Watch::None;
        let place = |znode: Znode<'_>| match znode {
            Znode::Grandchild { child, name } => (Home::called(child), name.to_string()),
            other => panic!("{other:?} is no contender"),
        };
        match command.op {
            Op::Create(Create { znode: NewZnode::Grandchild { child, prefix }, .. }) => {
                Self::Create { home: Home::called(child), prefix: prefix.to_string() }
            }
            Op::Create(Create { znode: NewZnode::Named(Znode::Child(child)), .. }) => {
                Self::CreateHome(Home::called(&child.text()))
            }
            Op::CreateNode => Self::CreateNode,
            Op::Barrier => Self::Barrier,
            Op::List { parent: Znode::Child(child), watch } => {
                Self::List { home: Home::called(&child.text()), watch: watches(watch) }
            }
            // The look at a foreign child: only arbitrary replies cause one.
            Op::Read { znode, watch } | Op::Exists { znode, watch } => {
                let (home, name) = place(znode);
                Self::Read { home, name, watch: watches(watch) }
            }
            Op::Delete(Delete { znode, version }) => {
                let (home, name) = place(znode);
                Self::Delete { home, name, version }
            }
            other => panic!("no semaphore asks for {other:?}"),
        }
    }

    pub const fn is_write(&self) -> bool {
        !matches!(self, Self::List { .. } | Self::Read { .. })
    }

    /// Whether a release may give up the request: a read of the own znode.
    pub const fn can_be_abandoned(&self) -> bool {
        matches!(self, Self::Read { .. })
    }
}
