//! Drawing what happens in a run.

use core::time::Duration;

use super::clock::Time;
use super::incident::{Ban, Heading, Incident, Others, Place, What, Who, Whom};
use super::links::Impairment;
use super::plan::{Plan, draw_other_timeout};
use super::profile::Profile;

/// Nothing happens before that: the nominees take their places.
const FIRST: u64 = 2_500;

type Draw = fn(&mut fastrand::Rng, &Plan) -> What;

/// What clients suffer and do.
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

/// What a follower of the ensemble suffers.
const OF_A_FOLLOWER: [Draw; 4] = [
    |rng, _| What::ImpairMember(follower(rng), Others::Chief, Heading::Both, Impairment::Held),
    |rng, _| What::ImpairMember(follower(rng), Others::All, Heading::Both, Impairment::Held),
    |rng, _| What::ImpairMember(follower(rng), Others::Chief, heading(rng), Impairment::Held),
    |rng, _| What::ImpairMember(follower(rng), Others::All, heading(rng), Impairment::Slow),
];

/// What the members of the ensemble suffer.
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

/// A schedule for this plan. Each run has but some kinds of incidents, so that some runs have many
/// of one.
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
            incidents.extend(burst(rng, plan, at));
        }
    }
    if plan.profile == Profile::Follower {
        one_follower_at_a_time(rng, plan, &mut incidents);
    }
    incidents.sort_by_key(|incident| incident.at);
    incidents
}

/// The ensemble's leader keeps its quorum throughout: a follower is given time to come back before
/// the next one goes.
fn one_follower_at_a_time(rng: &mut fastrand::Rng, plan: &Plan, incidents: &mut Vec<Incident>) {
    let recovery = plan.tick * (plan.sync_limit + 1) + Duration::from_secs(2);
    let mut at = Time::from_millis(FIRST + rng.u64(0..8_000));
    while at < plan.calm_at {
        let next = if rng.bool() {
            burst(rng, plan, at)
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

/// Several impairments in short sequence between one member and the leader of the ensemble, so
/// that what one of them lets pass meets the next.
fn burst(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let member = Whom::Number(rng.u8(0..plan.servers));
    match (plan.profile, rng.u8(0..4)) {
        (Profile::Quorum, 0) => return fall(rng, plan, at),
        (Profile::Quorum, 1) => return doubt(rng, plan, at),
        (_, 0..=2) => return relay(rng, plan, at, member),
        _ => {}
    }
    let count = rng.u8(2..=5);
    let next = |_| {
        let at = at + plan.timeout * rng.u32(0..1_000) / 1_000;
        let impairment = if rng.u8(0..4) == 0 { Impairment::Slow } else { Impairment::Held };
        let what = What::ImpairMember(member, Others::Chief, heading(rng), impairment);
        incident(at.min(plan.calm_at), lasting(rng), what, plan)
    };
    (0..count).map(next).collect()
}

/// A member hears nothing of the leader for a while, then all at once; but what it answers to that
/// does not arrive any more.
fn relay(rng: &mut fastrand::Rng, plan: &Plan, at: Time, member: Whom) -> Vec<Incident> {
    let impaired = |heading| What::ImpairMember(member, Others::Chief, heading, Impairment::Held);
    let deaf = plan.timeout * rng.u32(20..600) / 1_000;
    let mute = deaf * rng.u32(0..1_000) / 1_000;
    let long = plan.timeout * rng.u32(1_000..2_500) / 1_000;
    vec![
        incident(at, deaf, impaired(Heading::In), plan),
        incident((at + mute).min(plan.calm_at), long, impaired(Heading::Out), plan),
    ]
}

/// The ensemble's leader is deposed unawares, and the client that leads connects anew: to just that
/// one, if it was connected to it, since the others refuse.
fn fall(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let long = plan.timeout * rng.u32(1_000..2_500) / 1_000;
    let lost = (at + plan.timeout * rng.u32(0..1_000) / 1_000).min(plan.calm_at);
    let refusing = plan.timeout * rng.u32(0..1_000) / 1_000;
    vec![
        incident(at, long, What::Depose, plan),
        incident(lost, refusing, What::Refuse(Whom::Follower(0)), plan),
        incident(lost, refusing, What::Refuse(Whom::Follower(1)), plan),
        incident(lost, Duration::ZERO, What::LoseClient(Who::Leader), plan),
    ]
}

/// A client whose nominees have left, and which knows nothing that is new, stands again while the
/// ensemble has a new leader and the old one does not know that. The reply to the create is lost,
/// only the old leader takes the client's next connection, and the user withdraws meanwhile.
fn doubt(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let client = Who::Number(rng.u8(0..u8::try_from(plan.nominees.len()).unwrap_or(1)));
    let soon = rng.choice([10, 50, 400]).unwrap_or(50);
    let mut later = |span: Duration, least, most| {
        (at + span + Duration::from_millis(rng.u64(least..most))).min(plan.calm_at)
    };
    let deposed = later(Duration::ZERO, 50, 1_000);
    let alone = later(deposed.since(at), 200, 2_500);
    let stands = later(alone.since(at), 0, 500);
    let withdraws = later(stands.since(at), 1, soon);
    let election = rng.u8(0..plan.elections);
    let long = plan.timeout * rng.u32(1_000..2_500) / 1_000;
    vec![
        incident(at, Duration::ZERO, What::Withdraw(client), plan),
        incident(deposed, long, What::Depose, plan),
        incident(alone, plan.timeout, What::RefuseButDeposed, plan),
        incident(alone, plan.timeout / 2, What::LoseReplies(client), plan),
        incident(stands, Duration::ZERO, What::Nominate(client, election), plan),
        incident(withdraws, Duration::ZERO, What::Withdraw(client), plan),
    ]
}

/// Nothing lasts beyond the calm.
fn incident(at: Time, lasts: Duration, what: What, plan: &Plan) -> Incident {
    Incident { at, lasts: lasts.min(plan.calm_at.since(at)), what }
}

fn some_of(rng: &mut fastrand::Rng, kinds: &[Draw]) -> Vec<Draw> {
    let share = rng.u8(1..=4);
    kinds.iter().copied().filter(|_| rng.u8(0..4) < share).collect()
}

/// Anything from an instant to several timeouts, short ones as often as long ones.
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
