//! Connections that are cut at requests, and nodes that are missing meanwhile.

use core::time::Duration;

use super::{incident, who};
use crate::clock::Time;
use crate::cuts::Cuts;
use crate::incident::{Incident, What, Who};
use crate::plan::Plan;

/// Draws cuts from the beginning on, when no recipe has its node yet, and later; and some nodes that an
/// operator removes meanwhile.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let mut incidents = Vec::new();
    for client in 0..u8::try_from(plan.nominees.len()).unwrap_or(1) {
        if rng.u8(0..4) > 0 {
            let at = Time::from_millis(rng.u64(0..3_000));
            incidents.push(cut(rng, plan, at, Who::Number(client)));
        }
    }
    for _ in 0..rng.u8(0..=3) {
        let at = Time::from_millis(rng.u64(0..plan.calm_at.millis()));
        let client = who(rng, plan);
        incidents.push(cut(rng, plan, at, client));
        if rng.bool() {
            let soon = (at + Duration::from_millis(rng.u64(0..2_000))).min(plan.calm_at);
            let what = if rng.bool() {
                What::RemoveElectionNode(rng.u8(0..plan.elections))
            } else {
                What::RemoveLock(rng.u8(..))
            };
            incidents.push(incident(soon, Duration::ZERO, what, plan));
        }
    }
    incidents
}

fn cut(rng: &mut fastrand::Rng, plan: &Plan, at: Time, client: Who) -> Incident {
    let lasts = Duration::from_millis(rng.u64(5_000..30_000));
    incident(at, lasts, What::CutRequests(client, Cuts::draw(rng)), plan)
}
