//! What clients of a run do with many things: they keep a tree in a cache, write to it, and share slots.

use core::time::Duration;

use election_session::TrackerWatches;

use super::plan::Plan;

/// How clients do that, in runs in which they do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Many {
    /// How often each client writes to the tree, and to each slot that it holds.
    pub(super) every: Duration,
}

impl Many {
    pub(super) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Self {
        Self { every: plan.latency * 8 + Duration::from_millis(rng.u64(100..1_200)) }
    }
}

/// Draws the watches by which a cache hears of changes: those of servers since 3.6, or the ones before.
pub(super) fn draw_watches(rng: &mut fastrand::Rng) -> TrackerWatches {
    if rng.u8(..3) == 0 { TrackerWatches::OneShot } else { TrackerWatches::Persistent }
}
