//! The cell by which threads see the lease: one writes it under the hub's lock, all read it without.
//!
//! `tests/threads.rs` compiles this file with the atomics of `loom`, and explores what threads may see.

use core::time::Duration;

use zk_session::Instant;

use super::atomics::{AtomicU64, Ordering};

/// A copy of the lease's deadline, so that reading it takes no lock: in microseconds after the
/// clock's origin; 0 if there is none.
#[derive(Debug)]
pub(crate) struct LeaseCell(AtomicU64);

impl LeaseCell {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Copies the deadline of the session's lease. What the writer did before, such as to note that a
    /// leadership is lost, is seen by each reader of this copy.
    pub(crate) fn copy(&self, deadline: Option<Instant>) {
        self.0.store(deadline.map_or(0, whole_micros), Ordering::Release);
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            micros => Some(Instant::since_origin(Duration::from_micros(micros))),
        }
    }

    /// Returns whether the deadline lies ahead.
    pub(crate) fn lasts_at(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|deadline| now < deadline)
    }

    /// Returns whether a holding is valid at `now`, which was read before. It asks `is_lost` last: a
    /// session that lost the holding may prove its lease anew, and that deadline is not the
    /// holding's.
    pub(crate) fn covers(&self, now: Instant, is_lost: impl FnOnce() -> bool) -> bool {
        self.lasts_at(now) && !is_lost()
    }
}

/// Rounds down: the copy never promises more than the session.
fn whole_micros(deadline: Instant) -> u64 {
    let elapsed = deadline.elapsed();
    let micros = u64::from(elapsed.subsec_micros());
    elapsed.as_secs().saturating_mul(1_000_000).saturating_add(micros)
}
