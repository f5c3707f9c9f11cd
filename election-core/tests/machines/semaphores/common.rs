//! A model of an ensemble, the links to it, and contenders for a semaphore.
//!
//! A server has applied a part of what was committed: it answers reads from there, never from before what
//! a session has seen; a write goes to the end, and is answered once the server has applied it.

pub mod check;
pub mod client;
mod feed;
pub mod step;
mod take;
pub mod tree;

use core::hash::{BuildHasher, BuildHasherDefault};
use core::num::NonZeroU32;
use std::hash::DefaultHasher;

use client::Client;
use election_core::lock::WhenBusy;
use election_core::semaphore::SemaphoreOptions;
use tree::{Home, Tree, Znode};

/// How much may still go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    pub losses: u8,
    pub expiries: u8,
    pub swaps: u8,
    pub lapses: u8,
    pub withdrawals: u8,
    pub deadlines: u8,
    pub looks: u8,
    pub throttles: u8,
    pub deletions: u8,
    pub reaps: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub clients: Vec<Client>,
    pub permits: u32,
    /// The contenders that do not wait.
    pub impatient: Vec<usize>,
    pub budget: Budget,
    /// The last one is what the ensemble has committed.
    pub versions: Vec<Tree>,
    /// How many changes a server may lack.
    pub max_lag: usize,
    pub sessions: Vec<i64>,
    pub created: i64,
    pub knows_create2: bool,
    pub foreign_at_first: usize,
    /// Of all that were acquired.
    pub tokens: Vec<i64>,
    /// The first rule that was broken.
    pub fault: Option<String>,
}

impl World {
    /// Contenders that are about to connect.
    pub fn new(clients: usize, permits: u32, budget: Budget) -> Self {
        let none = Self {
            clients: Vec::new(),
            permits,
            impatient: Vec::new(),
            budget,
            versions: vec![Tree::PREPARED],
            max_lag: 1,
            sessions: Vec::new(),
            created: 0,
            knows_create2: true,
            foreign_at_first: 0,
            tokens: Vec::new(),
            fault: None,
        };
        none.joined_by(clients)
    }

    /// Returns the same world, where the last contender does not wait.
    pub fn with_one_that_tries(mut self) -> Self {
        let index = self.clients.len() - 1;
        self.clients[index] = Client::new(index, self.options(WhenBusy::GiveUp));
        self.impatient.push(index);
        self
    }

    /// Adds more contenders that are about to connect.
    pub fn joined_by(mut self, number: usize) -> Self {
        let options = self.options(WhenBusy::Wait);
        for _ in 0..number {
            self.clients.push(Client::new(self.clients.len(), options));
        }
        self
    }

    pub fn joined_by_one_that_tries(self) -> Self {
        self.joined_by(1).with_one_that_tries()
    }

    fn options(&self, when_busy: WhenBusy) -> SemaphoreOptions {
        let permits = NonZeroU32::new(self.permits).expect("a permit");
        SemaphoreOptions { when_busy, ..SemaphoreOptions::new(permits) }
    }

    /// Returns the same world, where no node exists.
    pub fn bare(mut self) -> Self {
        self.versions = vec![Tree::EMPTY];
        self
    }

    /// Adds a persistent znode among the permits that no contender has made.
    pub fn with_foreign_child(mut self) -> Self {
        let znode = Znode { home: Home::Leases, name: "foreign".to_owned(), owner: None, czxid: 0 };
        self.newest_mut().znodes.push(znode);
        self.foreign_at_first = 1;
        self
    }

    /// Gives the world servers before 3.5: their replies to a create tell its name only.
    pub fn without_create2(mut self) -> Self {
        self.knows_create2 = false;
        self
    }

    pub fn lagging(mut self, max_lag: usize) -> Self {
        self.max_lag = max_lag;
        self
    }

    /// Takes all calm steps, one contender after the other, and gives the world these faults.
    pub fn settled(mut self, budget: Budget) -> Self {
        self.budget = Budget::default();
        for _ in 0..1_000 {
            let Some(step) = self.steps().first().copied() else {
                break;
            };
            self.take(step);
        }
        self.check().and_then(|()| self.check_rest()).expect("every rule holds");
        self.budget = budget;
        self
    }

    pub fn newest(&self) -> &Tree {
        self.versions.last().expect("there is always one")
    }

    pub fn newest_mut(&mut self) -> &mut Tree {
        self.versions.last_mut().expect("there is always one")
    }

    pub fn seen_by(&self, index: usize) -> &Tree {
        &self.versions[self.versions.len() - 1 - self.clients[index].behind]
    }

    pub fn fingerprint(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self)
    }
}
