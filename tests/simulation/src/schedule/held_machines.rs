//! Machines that a hypervisor holds.

use core::time::Duration;

use super::{FIRST, incident, who};
use crate::clock::Time;
use crate::incident::{Heading, Incident, What, Who};
use crate::links::Impairment;
use crate::plan::Plan;

/// Machines are held for a moment, or for longer than a session, and often the network of a machine comes
/// back later than the machine.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let mut incidents = Vec::new();
    for _ in 0..rng.u8(2..=8) {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        let whom = if rng.bool() { Who::Leader } else { who(rng, plan) };
        let lasts = plan.timeout * rng.u32(10..2_500) / 1_000;
        if rng.bool() {
            let late = plan.timeout * rng.u32(0..1_500) / 1_000;
            let cut_off = What::ImpairClient(whom, Heading::Both, Impairment::Held);
            incidents.push(incident(at, lasts + late, cut_off, plan));
        }
        incidents.push(incident(
            at + Duration::from_millis(1),
            lasts,
            What::HoldMachine(whom),
            plan,
        ));
    }
    incidents
}
