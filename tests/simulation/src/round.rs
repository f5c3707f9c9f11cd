//! Rounds: the simulation's part of the recipe that none of the published crates knows.

use core::time::Duration;
use std::collections::BTreeMap;

/// One round, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Round(pub(super) u32);

/// How rounds are played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounds {
    pub(super) every: Duration,
}

/// The names of players, by client.
pub(super) const NAMES: [&str; 6] = ["anna", "bert", "carl", "dora", "emil", "fritz"];

/// The clients that have won rounds.
#[derive(Debug, Default)]
pub(super) struct Winners(BTreeMap<Round, usize>);

impl Round {
    /// Returns the path of its node.
    pub(super) fn node(self) -> String {
        format!("/round-{}", self.0)
    }

    /// Returns the path of the sign that lets it begin.
    pub(super) fn sign(self) -> String {
        format!("/round-{}.go", self.0)
    }

    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl Winners {
    /// Takes in that a player has won, and hands out another client that has.
    pub(super) fn won(&mut self, round: Round, client: usize) -> Option<usize> {
        let first = *self.0.entry(round).or_insert(client);
        (first != client).then_some(first)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}
