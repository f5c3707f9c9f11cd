//! Incidents for locks.

use super::{FIRST, incident, lasting, who};
use crate::clock::Time;
use crate::incident::{Incident, What};
use crate::plan::Plan;

/// Draws the acts of an operator on locks, and the incidents of clients that hold one.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let most = rng.choice([0, 2, 8]).unwrap_or(0);
    let incidents = (0..rng.u8(0..=most)).map(|_| {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        let what = match rng.u8(0..9) {
            0..=2 => What::BreakLock(rng.u8(..), rng.u8(0..3)),
            3 => What::WriteContender(rng.u8(..), rng.u8(0..3)),
            4 => What::RemoveLock(rng.u8(..)),
            5 => What::HandOver(who(rng, plan), plan.timeout),
            6 => What::PauseClient(who(rng, plan)),
            7 => What::LoseReplies(who(rng, plan)),
            _ => What::LoseClient(who(rng, plan)),
        };
        incident(at, lasting(rng), what, plan)
    });
    incidents.collect()
}
