//! A model of a server and of the links to it, for tests: nothing happens but the steps that a
//! test takes, so a test decides every order of events.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part of it")]
#![allow(
    clippy::indexing_slicing,
    clippy::match_same_arms,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a model for tests: it fails by panicking, and its rules are listed one by one"
)]

pub mod check;
pub mod client;
pub mod server;
pub mod step;

use client::Client;
use election_core::{Notice, Policy, Role, Sequence, Token};
use server::{Name, Request, Server};
use step::Step;

/// How many faults a run may still contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Connections lost.
    pub losses: u8,
    /// Sessions expired while their client is disconnected.
    pub expiries: u8,
    /// Reconnects that are handed another session, while the old one still lives (C-15).
    pub swaps: u8,
    pub withdrawals: u8,
    pub lapses: u8,
    /// Candidates that an operator deletes.
    pub deletions: u8,
    /// Candidates that an operator writes to.
    pub writes: u8,
    /// Times that an operator deletes the election node and all in it.
    pub wipes: u8,
    /// Replies and changes of a lost connection that are delivered long after it.
    pub stragglers: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub server: Server,
    pub clients: Vec<Client>,
    pub budget: Budget,
    /// The first rule that was broken.
    pub fault: Option<String>,
    /// The greatest token that anybody was elected with.
    pub greatest_token: i64,
}

impl World {
    /// Clients that are about to connect, each with one nominee.
    pub fn new(clients: usize, budget: Budget) -> Self {
        Self::with_policy(clients, budget, Policy::default())
    }

    pub fn with_policy(clients: usize, budget: Budget, policy: Policy) -> Self {
        Self {
            server: Server::new(),
            clients: (0..clients).map(|index| Client::new(index, policy)).collect(),
            budget,
            fault: None,
            greatest_token: 0,
        }
    }

    /// Connected and at rest, with a record of each notice; the clients stand in their order.
    pub fn settled(clients: usize, policy: Policy) -> Self {
        let mut world = Self::with_policy(clients, Budget::default(), policy);
        for index in 0..clients {
            world.clients[index].log = Some(Vec::new());
            world.take(Step::Connect(index));
            world.requests_until_rest(index);
        }
        world.check().expect("every rule holds");
        world
    }

    /// The same world, with faults to come and without its record.
    pub fn facing(mut self, budget: Budget) -> Self {
        self.budget = budget;
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
        if !client.is_up() {
            None
        } else if !client.requests.is_empty() {
            Some(Step::Execute(index))
        } else if !client.deliveries.is_empty() {
            Some(Step::Deliver(index))
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

    /// What the client was told since the last call.
    pub fn notices(&mut self, client: usize) -> Vec<Notice> {
        self.clients[client].log.replace(Vec::new()).unwrap_or_default()
    }

    /// Which requests the client sends until it comes to rest.
    pub fn requests_until_rest(&mut self, client: usize) -> Vec<Request> {
        let mut requests = Vec::new();
        while let Some(step) = self.next_of(client) {
            assert!(requests.len() < 100, "never comes to rest: {requests:?}");
            if let (Step::Execute(_), Some((_, request))) =
                (step, self.clients[client].requests.front())
            {
                requests.push(*request);
            }
            self.take(step);
        }
        requests
    }

    /// The same world, with the server's counter at `next`.
    pub fn counting_from(mut self, next: i32) -> Self {
        self.server.next = Sequence::new(next);
        self
    }
}
