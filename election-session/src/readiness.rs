//! When the lease is kept ready.
//!
//! A ready lease is proved within a round trip; any other takes almost half of the timeout. Keeping
//! it ready takes a pair of `sync`s in place of each ping. ZooKeeper's leader has to answer these:
//! too much for thousands of clients that only read. A client that has stood once is none of them.

use core::time::Duration;

use zk_session::Instant;

use crate::settings::KeepReady;

/// How long, at least, a lease stays ready that is not needed; also a number of timeouts at least.
/// It is for a client that is about to stand, or to stand again.
const LEAST: Duration = Duration::from_secs(60);
const TIMEOUTS: u32 = 10;

#[derive(Debug)]
pub(crate) struct Readiness {
    keep: KeepReady,
    need: Need,
    /// When to stop keeping it ready, while no recipe stands.
    idle_at: Option<Instant>,
}

/// The recipes' need of the lease so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    NotYet,
    Shown,
}

impl Readiness {
    pub(crate) const fn new(keep: KeepReady) -> Self {
        Self { keep, need: Need::NotYet, idle_at: None }
    }

    /// Notes that a recipe needs the lease.
    pub(crate) const fn needed(&mut self) {
        self.need = Need::Shown;
    }

    /// Notes that no recipe stands, in a session of this timeout.
    pub(crate) fn not_needed(&mut self, now: Instant, timeout: Duration) {
        self.idle_at = match (self.keep, self.need) {
            (KeepReady::WhileNeeded, _) | (KeepReady::OnceNeeded, Need::NotYet) => {
                Some(now + LEAST.max(timeout * TIMEOUTS))
            }
            (KeepReady::OnceNeeded, Need::Shown) | (KeepReady::Always, _) => None,
        };
    }

    /// Notes that a recipe stands, or that the client is over.
    pub(crate) const fn clear(&mut self) {
        self.idle_at = None;
    }

    pub(crate) const fn next(&self) -> Option<Instant> {
        self.idle_at
    }

    /// Returns whether the lease may lapse from now on; true once.
    pub(crate) fn ends(&mut self, now: Instant) -> bool {
        self.idle_at.take_if(|at| *at <= now).is_some()
    }
}
