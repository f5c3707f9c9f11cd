//! The nominee's state, for threads that must not wait for the nominee.

use std::sync::{Mutex, MutexGuard, PoisonError};

use election_tokio::Client;
use election_tokio::election::Observation;

use super::part::Part;

pub(super) struct Board {
    pub(super) election: String,
    /// The client, for questions that it answers without waiting.
    client: Client,
    shown: Mutex<BoardState>,
}

/// The last published state of the nominee.
#[derive(Clone)]
pub(super) struct BoardState {
    pub(super) part: Part,
    /// The last observation of the election's leader.
    pub(super) seen: Observation,
}

impl Board {
    pub(super) const fn new(election: String, client: Client) -> Self {
        let shown = Mutex::new(BoardState { part: Part::Outside, seen: Observation::Unknown });
        Self { election, client, shown }
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn show_part(&self, part: Part) {
        self.shown().part = part;
    }

    pub(super) fn show_leader(&self, seen: Observation) {
        self.shown().seen = seen;
    }

    pub(super) fn latest(&self) -> BoardState {
        self.shown().clone()
    }

    /// Locks the state, for as long as copying takes.
    fn shown(&self) -> MutexGuard<'_, BoardState> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
