//! Incidents for clients that keep a tree.

use super::{FIRST, incident, lasting, who};
use crate::clock::Time;
use crate::incident::{Incident, What};
use crate::plan::Plan;

/// Draws incidents of clients: connections that end are gaps in what their watches tell.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let incidents = (0..rng.u8(2..=10)).map(|_| {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        let what = match rng.u8(0..8) {
            0 | 1 => What::HandOver(who(rng, plan), plan.timeout),
            2 => What::PauseClient(who(rng, plan)),
            3 => What::CrashClient(who(rng, plan)),
            4 => What::CloseClient(who(rng, plan)),
            _ => What::LoseClient(who(rng, plan)),
        };
        incident(at, lasting(rng), what, plan)
    });
    incidents.collect()
}
