//! The operating of elections, and incidents for those that lead.

use core::time::Duration;

use super::{FIRST, incident, lasting, place, who};
use crate::clock::Time;
use crate::incident::{Incident, Place, What, Who};
use crate::operating::GivingUp;
use crate::plan::{Plan, draw_other_timeout};

/// What operators and users do to elections, and what befalls leaders meanwhile.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let mut incidents = Vec::new();
    for _ in 0..rng.u8(4..=16) {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        let election = rng.u8(0..plan.elections);
        let what = match rng.u8(0..20) {
            0..=2 => What::EndElection(election),
            3..=7 => What::HandLeadOver(Place { election, number: rng.u8(0..4) }),
            8 => What::GiveUpLead(election, GivingUp::Resign),
            9 => What::GiveUpLead(election, GivingUp::ResignUncleanly),
            10 | 11 => What::GiveUpLead(election, GivingUp::StepDown),
            12 => What::EraseMark(election),
            13 => What::CrashClient(Who::Leader),
            14 => What::PauseClient(Who::Leader),
            15 => What::LoseClient(who(rng, plan)),
            16 => What::LoseReplies(who(rng, plan)),
            // Clients that are far from the servers get no connection by a shorter one.
            17 if plan.is_far() => What::HandOver(who(rng, plan), plan.timeout),
            17 => What::HandOver(who(rng, plan), draw_other_timeout(rng, plan.tick)),
            18 => What::Evict(place(rng, plan)),
            _ => What::CloseClient(Who::Leader),
        };
        // To be of any consequence, a pause has to outlast a lease.
        let longer =
            if matches!(what, What::PauseClient(_)) { plan.timeout } else { Duration::ZERO };
        incidents.push(incident(at, lasting(rng) + longer, what, plan));
    }
    incidents
}

/// The elections that an operator deletes.
pub(crate) fn draw_of_deletions(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let deletions = (0..rng.u8(2..=6)).map(|_| {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        // Later it is reopened, whatever came of it.
        let lasts = Duration::from_millis(rng.u64(1_000..8_000));
        incident(at, lasts, What::DeleteElection(rng.u8(0..plan.elections)), plan)
    });
    deletions.collect()
}
