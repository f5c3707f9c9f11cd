//! What is shown of a nominee to threads that must not wait for it.

use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use election_tokio::{Client, Observation};

use super::part::Part;

/// How often the runtime of the nominee shows that it turns.
pub(super) const BEAT: Duration = Duration::from_millis(250);

/// For how long it may stand still before it counts as stuck.
const STILL: Duration = Duration::from_secs(5);

pub(super) struct Board {
    pub(super) election: String,
    client: Client,
    started: Instant,
    /// The last beat, in milliseconds since the start.
    beat: AtomicU64,
    shown: Mutex<Shown>,
}

/// What the nominee has shown last.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) part: Part,
    /// Of whoever leads.
    pub(super) seen: Observation,
}

impl Board {
    pub(super) fn new(election: String, client: Client) -> Self {
        let shown = Mutex::new(Shown { part: Part::Outside, seen: Observation::Unknown });
        Self { election, client, started: Instant::now(), beat: AtomicU64::new(0), shown }
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

    pub(super) fn latest(&self) -> Shown {
        self.shown().clone()
    }

    /// The runtime turns.
    pub(super) fn beat(&self) {
        self.beat.store(self.age(), Ordering::Relaxed);
    }

    /// For how long the runtime has stood still, if that is too long. Takes no lock.
    pub(super) fn stuck_for(&self) -> Option<Duration> {
        let still = self.age().saturating_sub(self.beat.load(Ordering::Relaxed));
        let still = Duration::from_millis(still);
        (still >= STILL).then_some(still)
    }

    fn age(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// It is held for as long as copying takes.
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
