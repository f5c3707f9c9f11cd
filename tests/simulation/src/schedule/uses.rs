//! Incidents for clients that use barriers, queues and the counter.

use super::{FIRST, incident, lasting, who};
use crate::clock::Time;
use crate::incident::{Incident, What};
use crate::plan::Plan;

/// Draws the acts of an operator on the double barrier, and the incidents of clients.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let most = rng.choice([0, 3, 8]).unwrap_or(0);
    let incidents = (0..rng.u8(0..=most)).map(|_| {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        let what = match rng.u8(0..8) {
            0 => What::DeleteEntry(rng.u8(..)),
            1 => What::HandOver(who(rng, plan), plan.timeout),
            2 => What::PauseClient(who(rng, plan)),
            3 => What::CrashClient(who(rng, plan)),
            4 | 5 => What::LoseReplies(who(rng, plan)),
            _ => What::LoseClient(who(rng, plan)),
        };
        incident(at, lasting(rng), what, plan)
    });
    incidents.collect()
}
