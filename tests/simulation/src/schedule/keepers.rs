//! The ends of sessions that no client can foresee, on servers that are not ZooKeeper's.

use core::time::Duration;

use zk_embedded::Shutdown;

use super::{FIRST, incident, lasting, who, whom};
use crate::clock::Time;
use crate::incident::{Incident, What, Who};
use crate::plan::Plan;

pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let mut incidents = Vec::new();
    let ends = plan.like.is_some_and(|like| like.deviations().shutdown == Shutdown::SessionsEnd);
    for _ in 0..rng.u8(3..=10) {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        let what = match rng.u8(0..6) {
            0 | 1 if ends => What::ShutDown(whom(rng, plan)),
            0 => What::EndSession(Who::Leader),
            1 | 2 => What::EndSession(who(rng, plan)),
            3 => What::LoseClient(Who::Leader),
            4 => What::PauseClient(Who::Leader),
            _ => What::StepWallClock(plan.timeout * rng.u32(50..1_200) / 1_000),
        };
        let longer =
            if matches!(what, What::PauseClient(_)) { plan.timeout } else { Duration::ZERO };
        incidents.push(incident(at, lasting(rng) + longer, what, plan));
    }
    incidents
}
