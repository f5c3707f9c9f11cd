//! Draws the events of a run.

use core::time::Duration;

use super::clock::Time;
use super::incident::{Ban, Heading, Incident, Others, Place, What, Who, Whom};
use super::links::Impairment;
use super::plan::{Plan, draw_other_timeout};
use super::profile::Profile;

mod bursts;
mod callers;
mod cuts;
mod held_machines;
mod keepers;
mod locks;
mod many;
mod operating;
mod uses;

pub(super) use self::callers::draw as draw_of_callers;
pub(super) use self::cuts::draw as draw_of_cuts;
pub(super) use self::held_machines::draw as draw_of_held_machines;
pub(super) use self::keepers::draw as draw_of_keepers;
pub(super) use self::locks::draw as draw_of_locks;
pub(super) use self::many::draw as draw_of_many;
pub(super) use self::operating::{draw as draw_of_operating, draw_of_deletions};
pub(super) use self::uses::draw as draw_of_uses;

/// Nothing happens before that: the nominees take their places.
const FIRST: u64 = 2_500;

type Draw = fn(&mut fastrand::Rng, &Plan) -> What;

/// The incidents and the acts of clients.
const OF_CLIENTS: [Draw; 20] = [
    |rng, plan| What::LoseClient(who(rng, plan)),
    |rng, plan| What::ImpairClient(who(rng, plan), heading(rng), Impairment::Held),
    |rng, plan| What::ImpairClient(who(rng, plan), Heading::In, Impairment::Held),
    |rng, plan| What::ImpairClient(who(rng, plan), Heading::Out, Impairment::Held),
    |rng, plan| What::ImpairClient(who(rng, plan), heading(rng), Impairment::Slow),
    |rng, plan| What::LoseReplies(who(rng, plan)),
    |rng, plan| What::CrashClient(who(rng, plan)),
    |rng, plan| What::PauseClient(who(rng, plan)),
    |rng, plan| What::Withdraw(who(rng, plan)),
    |rng, plan| What::CloseClient(who(rng, plan)),
    |rng, plan| What::Nominate(who(rng, plan), rng.u8(0..plan.elections)),
    |rng, plan| What::HandOver(who(rng, plan), draw_other_timeout(rng, plan.tick)),
    |rng, plan| What::Refuse(Whom::Number(rng.u8(0..plan.servers))),
    |rng, plan| What::Evict(place(rng, plan)),
    |rng, plan| What::WriteCandidate(place(rng, plan)),
    |rng, plan| What::Hide(place(rng, plan)),
    |rng, plan| {
        let ban = if rng.bool() { Ban::List } else { Ban::Create };
        What::Forbid(rng.u8(0..plan.elections), ban)
    },
    |rng, plan| What::RemoveElectionNode(rng.u8(0..plan.elections)),
    |rng, plan| What::Throttle(if rng.bool() { Whom::Serving } else { whom(rng, plan) }),
    |rng, _| What::CreateStranger(rng.u8(..)),
];

/// The incidents of a follower of the ensemble.
const OF_A_FOLLOWER: [Draw; 4] = [
    |rng, _| What::ImpairMember(follower(rng), Others::Chief, Heading::Both, Impairment::Held),
    |rng, _| What::ImpairMember(follower(rng), Others::All, Heading::Both, Impairment::Held),
    |rng, _| What::ImpairMember(follower(rng), Others::Chief, heading(rng), Impairment::Held),
    |rng, _| What::ImpairMember(follower(rng), Others::All, heading(rng), Impairment::Slow),
];

/// The incidents of the ensemble's members.
const OF_MEMBERS: [Draw; 10] = [
    |rng, plan| What::ImpairMember(whom(rng, plan), Others::All, heading(rng), Impairment::Held),
    |rng, plan| What::ImpairMember(whom(rng, plan), Others::Chief, heading(rng), Impairment::Held),
    |rng, plan| {
        let other = Others::Number(rng.u8(0..plan.servers));
        What::ImpairMember(whom(rng, plan), other, heading(rng), Impairment::Held)
    },
    |rng, plan| What::ImpairMember(whom(rng, plan), Others::All, heading(rng), Impairment::Slow),
    |rng, plan| What::LosePeers(whom(rng, plan), Others::All),
    |_, _| What::Depose,
    |rng, plan| What::RaiseBounds(plan.tick * rng.u32(3..12)),
    |rng, plan| What::CrashMember(whom(rng, plan)),
    |_, _| What::CrashAll,
    |rng, plan| What::PauseMember(whom(rng, plan)),
];

/// Draws a schedule for this plan. Each run has but some kinds of incidents, so that some runs have
/// many of one.
pub(super) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let mut kinds = some_of(rng, &OF_CLIENTS);
    if plan.profile == Profile::Quorum && plan.servers > 1 {
        kinds.extend(some_of(rng, &OF_MEMBERS));
        kinds.extend(some_of(rng, &OF_A_FOLLOWER));
    }
    let mut incidents = Vec::new();
    for _ in 0..rng.u8(2..=18) {
        if let Some(kind) = rng.choice(&kinds) {
            let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
            let what = kind(rng, plan);
            // To be of any consequence, it has to outlast a session.
            let longer = if what == What::Depose { plan.timeout } else { Duration::ZERO };
            let lasts = match what {
                What::Throttle(_) if rng.bool() => Duration::from_millis(rng.u64(1..=100)),
                _ => lasting(rng) + longer,
            };
            incidents.push(incident(at, lasts, what, plan));
        }
    }
    if plan.profile == Profile::Quorum && plan.servers > 1 {
        for _ in 0..rng.u8(0..=2) {
            let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
            incidents.extend(bursts::of_members(rng, plan, at));
        }
    }
    if rng.bool() {
        let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
        incidents.extend(bursts::of_a_client(rng, plan, at));
    }
    if plan.profile == Profile::Follower {
        one_follower_at_a_time(rng, plan, &mut incidents);
    }
    incidents.sort_by_key(|incident| incident.at);
    incidents
}

/// Draws faults of one follower at a time. The ensemble's leader keeps its quorum throughout: a
/// follower is given time to come back before the next one goes.
fn one_follower_at_a_time(rng: &mut fastrand::Rng, plan: &Plan, incidents: &mut Vec<Incident>) {
    let recovery = plan.tick * (plan.sync_limit + 1) + Duration::from_secs(2);
    let mut at = Time::from_millis(FIRST + rng.u64(0..8_000));
    while at < plan.calm_at {
        let next = if rng.bool() {
            bursts::of_members(rng, plan, at)
        } else {
            let lasts = lasting(rng) + Duration::from_secs(rng.u64(0..8));
            let kind = rng.choice(OF_A_FOLLOWER);
            kind.map(|kind| incident(at, lasts, kind(rng, plan), plan)).into_iter().collect()
        };
        let over = next.iter().map(|incident| incident.at + incident.lasts).max().unwrap_or(at);
        incidents.extend(next);
        at = over + recovery + Duration::from_millis(rng.u64(0..4_000));
    }
}

/// Makes an incident, which does not last beyond the calm.
fn incident(at: Time, lasts: Duration, what: What, plan: &Plan) -> Incident {
    Incident { at, lasts: lasts.min(plan.calm_at.since(at)), what }
}

/// Draws broken answers, of numbers of their own.
pub(super) fn draw_broken_answers(plan: &Plan) -> Vec<Incident> {
    let mut rng = fastrand::Rng::with_seed(plan.seed ^ 0x000b_4ea6_0ff0);
    (0..rng.u8(1..=3))
        .map(|_| {
            let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
            let lasts = Duration::from_millis(rng.u64(1_000..20_000));
            incident(at, lasts, What::BreakOff(who(&mut rng, plan)), plan)
        })
        .collect()
}

fn some_of(rng: &mut fastrand::Rng, kinds: &[Draw]) -> Vec<Draw> {
    let share = rng.u8(1..=4);
    kinds.iter().copied().filter(|_| rng.u8(0..4) < share).collect()
}

/// Draws a length from an instant to several timeouts, short ones as often as long ones.
fn lasting(rng: &mut fastrand::Rng) -> Duration {
    let longest = 50_u64 << rng.u8(0..=8);
    Duration::from_millis(rng.u64(longest / 2..=longest))
}

fn who(rng: &mut fastrand::Rng, plan: &Plan) -> Who {
    match rng.u8(0..4) {
        0 => Who::Leader,
        1 => Who::Follower,
        _ => Who::Number(rng.u8(0..u8::try_from(plan.nominees.len()).unwrap_or(1))),
    }
}

fn place(rng: &mut fastrand::Rng, plan: &Plan) -> Place {
    Place { election: rng.u8(0..plan.elections), number: rng.u8(0..4) }
}

fn whom(rng: &mut fastrand::Rng, plan: &Plan) -> Whom {
    match rng.u8(0..4) {
        0 | 1 => Whom::Chief,
        2 => follower(rng),
        _ => Whom::Number(rng.u8(0..plan.servers)),
    }
}

fn follower(rng: &mut fastrand::Rng) -> Whom {
    Whom::Follower(rng.u8(0..4))
}

fn heading(rng: &mut fastrand::Rng) -> Heading {
    match rng.u8(0..3) {
        0 => Heading::In,
        1 => Heading::Out,
        _ => Heading::Both,
    }
}
