//! When the lease is kept ready.
//!
//! A lease that is ready is proved within a round trip; one that is not, takes almost half of the
//! timeout. To keep it so takes a pair of `sync`s in place of each ping, which ZooKeeper's leader
//! answers: too much for the thousands of clients that only read.

use core::time::Duration;

use zk_session::Instant;

use crate::settings::KeepReady;

/// A lease that is not needed stays ready for so long, and for so many timeouts at least: that of a
/// client that is about to stand, or to stand again.
const LEAST: Duration = Duration::from_secs(60);
const TIMEOUTS: u32 = 10;

#[derive(Debug)]
pub(crate) struct Readiness {
    keep: KeepReady,
    /// When the lease need not be ready any more, while no recipe stands.
    idle_at: Option<Instant>,
}

impl Readiness {
    pub(crate) const fn new(keep: KeepReady) -> Self {
        Self { keep, idle_at: None }
    }

    /// No recipe stands, in a session of this timeout.
    pub(crate) fn not_needed(&mut self, now: Instant, timeout: Duration) {
        self.idle_at = match self.keep {
            KeepReady::WhileNeeded => Some(now + LEAST.max(timeout * TIMEOUTS)),
            KeepReady::Always => None,
        };
    }

    /// A recipe stands, or the client is over.
    pub(crate) const fn clear(&mut self) {
        self.idle_at = None;
    }

    pub(crate) const fn next(&self) -> Option<Instant> {
        self.idle_at
    }

    /// Whether the lease may lapse from now on; true once.
    pub(crate) fn ends(&mut self, now: Instant) -> bool {
        self.idle_at.take_if(|at| *at <= now).is_some()
    }
}
