//! A model of an ensemble and of the links to it, for tests: nothing happens but the steps that a
//! test takes, so a test decides every order of events.
//!
//! `hazards` takes its steps one by one, and `properties` at random. Every order of events is explored in the laboratory
//! (`lab`, with `explore`), which shares this model's view of a machine, its names and its budget.

pub mod check;
pub mod client;
pub mod ending;
pub mod handing_over;
mod lag;
pub mod machine;
pub mod server;
pub mod step;
mod take;

use client::Client;
use election_core::Token;
use election_core::election::{Notice, Policy, Role};
use election_core::format::Format;
use election_core::lock::LockOptions;
use ending::{Course, Ending};
use handing_over::HandOver;
use machine::Wish;
use server::{Entry, Name, Request, Server, Znode};
use step::Step;

/// Of [`Step::Execute`]: by a server that lacks nothing.
pub const NEWEST: usize = 0;

/// Of faults: without a limit.
pub const ANY_NUMBER: u8 = u8::MAX;

/// How many faults a run may still contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Connections lost.
    pub losses: u8,
    /// Sessions expired by the ensemble.
    pub expiries: u8,
    /// Reconnects that are handed another session, while the old one still lives.
    pub swaps: u8,
    pub withdrawals: u8,
    pub lapses: u8,
    /// Candidates that an operator deletes.
    pub deletions: u8,
    /// Candidates that an operator writes to.
    pub writes: u8,
    /// Times that an operator deletes the election node and all in it.
    pub wipes: u8,
    /// Candidates that an operator lets no client read any more.
    pub bars: u8,
    /// Watches that are lost while the connection stands, of which the driver tells.
    pub lost_watches: u8,
    /// Looks that no lost event makes necessary.
    pub looks: u8,
    /// Requests that a server has too much to do to look at.
    pub throttles: u8,
    /// Lists and deletions that a server refuses.
    pub refusals: u8,
    /// Processes that hand their session, and their nomination, to another one.
    pub handovers: u8,
    /// Deadlines of contenders for a lock, and leaders that step down.
    pub deadlines: u8,
    /// Foreign writers that go on as readers.
    pub downgrades: u8,
    /// Writers of ours that do.
    pub own_downgrades: u8,
    /// Contenders that are asked to let go.
    pub requests: u8,
    /// Replies and changes of a lost connection that are delivered long after it.
    pub stragglers: u8,
    /// Times that an operator ends the election.
    pub ends: u8,
    /// Operators that are killed while they end it.
    pub killed_operators: u8,
    /// Times that an operator reopens it.
    pub reopens: u8,
    /// Leaders that hand the leadership over to a candidate.
    pub hand_overs: u8,
    /// Writes of leaders that are guarded by their candidates.
    pub guarded: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub server: Server,
    pub clients: Vec<Client>,
    pub budget: Budget,
    /// How many committed changes a server may lack.
    pub max_lag: usize,
    /// Whether sequence numbers come around again, so that more than their order matters.
    pub numbers_matter: bool,
    /// Whether nominations may fail because the server refuses what they need.
    pub may_fail: bool,
    /// Whether contenders of two formats meet, so that locks may be refused.
    pub mixes_formats: bool,
    /// The candidates that an operator deleted, as long as their nominees may not know it.
    pub evicted: Vec<(Name, Token)>,
    /// The first rule that was broken.
    pub fault: Option<String>,
    /// The greatest token of any election so far.
    pub greatest_token: i64,
    /// The same, of those that share with none.
    pub greatest_unshared: i64,
    /// The operator that ends the election.
    pub ending: Ending,
    pub course: Course,
    /// The leadership that is being handed over.
    pub hand_over: Option<HandOver>,
    /// Whether an operator may have deleted candidates for another reason.
    pub has_evicted_otherwise: bool,
}

impl World {
    /// Makes a world of clients that are about to connect, each with one nominee.
    pub fn new(clients: usize, budget: Budget) -> Self {
        Self::with_policy(clients, budget, Policy::default())
    }

    pub fn with_policy(clients: usize, budget: Budget, policy: Policy) -> Self {
        Self::of(&vec![Wish::Leadership(policy); clients], budget)
    }

    /// Makes a world of nominees in a format of another library.
    pub fn in_format(clients: usize, format: Format, budget: Budget) -> Self {
        Self::of(&vec![Wish::LeadershipIn(format); clients], budget)
    }

    /// Contenders for one lock.
    pub fn locks(options: &[LockOptions], budget: Budget) -> Self {
        let wishes: Vec<Wish> = options.iter().copied().map(Wish::Lock).collect();
        Self::of(&wishes, budget)
    }

    fn of(wishes: &[Wish], budget: Budget) -> Self {
        let format = |wish: &Wish| wish.kind().format();
        let mixes_formats = wishes.windows(2).any(|two| format(&two[0]) != format(&two[1]));
        let wishes = wishes.iter().enumerate();
        Self {
            mixes_formats,
            server: Server::new(),
            clients: wishes.map(|(index, wish)| Client::new(index, *wish)).collect(),
            budget,
            max_lag: 100,
            numbers_matter: budget.wipes > 0,
            may_fail: budget.bars + budget.refusals > 0,
            evicted: Vec::new(),
            fault: None,
            greatest_token: 0,
            greatest_unshared: 0,
            ending: Ending::None,
            course: Course::Open,
            hand_over: None,
            has_evicted_otherwise: budget.deletions + budget.wipes + budget.reopens > 0,
        }
    }

    /// Makes a world of connected clients at rest, with a record of each notice; the clients stand
    /// in their order.
    pub fn settled(clients: usize, policy: Policy) -> Self {
        Self::with_policy(clients, Budget::default(), policy).settle_in_order()
    }

    fn settle_in_order(mut self) -> Self {
        for index in 0..self.clients.len() {
            self.clients[index].log = Some(Vec::new());
            self.take(Step::Connect(index));
            self.requests_until_rest(index);
        }
        self.check().expect("every rule holds");
        self
    }

    /// Gives the world faults to come, and drops its record.
    pub fn facing(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self.numbers_matter |= budget.wipes > 0;
        self.may_fail |= budget.bars + budget.refusals > 0;
        self.has_evicted_otherwise |= budget.deletions + budget.wipes + budget.reopens > 0;
        for client in &mut self.clients {
            client.log = None;
        }
        self
    }

    /// Takes steps until the request before the server's eyes is one that `is_next`.
    pub fn run_until(&mut self, client: usize, is_next: impl Fn(&Request) -> bool) {
        for _ in 0..100 {
            if self.clients[client].requests.front().is_some_and(|(_, request)| is_next(request)) {
                return;
            }
            let step = self.next_of(client).expect("something is on its way");
            self.take(step);
        }
        panic!("the request never comes");
    }

    fn next_of(&self, index: usize) -> Option<Step> {
        let client = &self.clients[index];
        if self.has_news(index) {
            Some(Step::Hear(index))
        } else if client.is_up() && !client.requests.is_empty() {
            Some(Step::Execute(index, NEWEST))
        } else {
            None
        }
    }

    pub fn role(&self, client: usize) -> Role<'_> {
        self.clients[client].nominee.role()
    }

    pub fn token(&self, client: usize) -> Token {
        match self.role(client) {
            Role::Leading { token } | Role::Suspended { token } => token,
            role => panic!("{client} does not lead: {role:?}"),
        }
    }

    pub fn candidate(&self, client: usize) -> Name {
        self.clients[client].candidate().expect("a candidate")
    }

    /// Returns the client's notices since the last call.
    pub fn notices(&mut self, client: usize) -> Vec<Notice> {
        self.clients[client].log.replace(Vec::new()).unwrap_or_default()
    }

    /// Returns the requests that the client sends until it comes to rest.
    pub fn requests_until_rest(&mut self, client: usize) -> Vec<Request> {
        let mut requests = Vec::new();
        while let Some(step) = self.next_of(client) {
            assert!(requests.len() < 100, "never comes to rest: {requests:?}");
            if let (Step::Execute(..), Some((_, request))) =
                (step, self.clients[client].requests.front())
            {
                requests.push(*request);
            }
            self.take(step);
        }
        assert_eq!(self.fault, None, "a broken rule");
        requests
    }

    /// Adds a znode to the world that no client created.
    pub fn with_znode(mut self, znode: Znode) -> Self {
        self.server.zxid = self.server.zxid.max(znode.token.get());
        let is_foreign = |client: &Client| client.kind().format() != znode.name.kind.format();
        self.mixes_formats |= self.clients.iter().any(is_foreign);
        self.server.commit(Entry::Created(znode));
        self
    }

    /// Sets the server's counter to `next`.
    pub fn counting_from(mut self, next: i32) -> Self {
        self.server.next = next;
        self.numbers_matter = true;
        self.may_fail = true;
        self
    }
}
