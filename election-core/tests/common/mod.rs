//! A model of a server and of the links to it, for tests: nothing happens but the steps that a
//! test takes, so a test decides every order of events.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses a part of it"
)]

pub mod check;
pub mod client;
pub mod server;
pub mod step;

use client::Client;
use election_core::{Policy, Sequence};
use server::Server;

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
            clients: (0..clients)
                .map(|index| Client::new(index, policy))
                .collect(),
            budget,
            fault: None,
            greatest_token: 0,
        }
    }

    /// The same world, with the server's counter at `next`.
    pub fn counting_from(mut self, next: i32) -> Self {
        self.server.next = Sequence::new(next);
        self
    }
}
