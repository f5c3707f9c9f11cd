//! Bursts: sequences of incidents around one member or one client, so that an effect of one incident
//! meets the next.

use core::time::Duration;

use super::{heading, incident, lasting};
use crate::clock::Time;
use crate::incident::{Heading, Incident, Others, What, Who, Whom};
use crate::links::Impairment;
use crate::plan::Plan;
use crate::profile::Profile;

/// Draws several impairments in short sequence between one member and the leader of the ensemble,
/// so that a message that passes one of them meets the next.
pub(super) fn of_members(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let member = Whom::Number(rng.u8(0..plan.servers));
    match (plan.profile, rng.u8(0..5)) {
        (Profile::Quorum, 0) => return fall(rng, plan, at),
        (Profile::Quorum, 1) => return doubt(rng, plan, at),
        (_, 0..=2) => return relay(rng, plan, at, member),
        (_, 3) => return succession(rng, plan, at),
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

/// Draws this: a member hears nothing of the leader for a while, then all at once; but its answers
/// do not arrive any more.
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

/// Draws this: the ensemble's leader is deposed unawares, and the client that leads connects anew:
/// to just that one, if it was connected to it, since the others refuse.
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

/// Draws this: a client without nominees, which knows nothing that is new, stands again while the
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

/// Draws this: the client that leads leaves, perhaps the next one too, and the follower that serves the one after it
/// is cut off from its leader once that one's lease is proved, or just before.
fn succession(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let leaves = What::Withdraw(Who::Leader);
    let served = Whom::Follower(rng.u8(0..4));
    let heading = if rng.bool() { Heading::Both } else { Heading::Out };
    let cut_off = What::ImpairMember(served, Others::Chief, heading, Impairment::Held);
    let again = at + plan.timeout * rng.u32(20..150) / 1_000;
    let proved = again + plan.tick * rng.u32(20..500) / 1_000;
    let long = plan.timeout * rng.u32(1_000..2_500) / 1_000;
    let mut all = vec![
        incident(at, Duration::ZERO, leaves, plan),
        incident(proved.min(plan.calm_at), long, cut_off, plan),
    ];
    if rng.bool() {
        all.push(incident(again.min(plan.calm_at), Duration::ZERO, leaves, plan));
    }
    all
}

/// Draws incidents that happen in short sequence to one client.
pub(super) fn of_a_client(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    match (plan.profile, rng.u8(0..3)) {
        (Profile::Quorum, 0) => inheritance(rng, plan, at),
        (_, 1) => echo(rng, plan, at),
        _ => awakening(rng, plan, at),
    }
}

/// Draws this: the answers to the client that leads arrive late, all at once; then it is cut off.
fn echo(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let impaired = |heading| What::ImpairClient(Who::Leader, heading, Impairment::Held);
    let deaf = plan.timeout * rng.u32(100..700) / 1_000;
    let mute = deaf * rng.u32(500..1_100) / 1_000;
    let long = plan.timeout * rng.u32(1_000..2_000) / 1_000;
    vec![
        incident(at, deaf, impaired(Heading::In), plan),
        incident((at + mute).min(plan.calm_at), long, impaired(Heading::Out), plan),
    ]
}

/// Draws this: a client is silent until its session is about to expire, and the one that leads
/// leaves meanwhile. It comes back, perhaps to lead, and for a moment: then nothing reaches it any
/// more.
fn awakening(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let client = Who::Number(rng.u8(0..u8::try_from(plan.nominees.len()).unwrap_or(1)));
    let impaired = |heading| What::ImpairClient(client, heading, Impairment::Held);
    let silent = plan.timeout * 2 / 3 + (plan.timeout / 3 + plan.tick) * rng.u32(0..1_000) / 1_000;
    let silence = if rng.bool() { What::PauseClient(client) } else { impaired(Heading::Both) };
    let leaves = at + silent * rng.u32(0..1_000) / 1_000;
    let back = (at + silent).min(plan.calm_at);
    let gone = back + Duration::from_millis(rng.u64(20..1_000));
    let again = if rng.bool() { What::PauseClient(client) } else { impaired(Heading::In) };
    vec![
        incident(at, silent, silence, plan),
        incident(leaves.min(plan.calm_at), Duration::ZERO, What::Withdraw(Who::Leader), plan),
        incident(gone.min(plan.calm_at), plan.timeout, again, plan),
    ]
}

/// Draws this: the session of the client that leads passes through two more processes, which are
/// granted longer timeouts than at its creation. Then the client is cut off, and ZooKeeper's leader
/// crashes.
fn inheritance(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Vec<Incident> {
    let handed_over = What::HandOver(Who::Leader, plan.tick * rng.u32(6..16));
    let mut later = |from: Time, least, most| {
        (from + Duration::from_millis(rng.u64(least..most))).min(plan.calm_at)
    };
    let again = later(at, 1_000, 4_000);
    let cut_off = later(again, 1_000, 5_000);
    let crashes = later(cut_off, 0, 1_000);
    let silence = What::ImpairClient(Who::Leader, Heading::Both, Impairment::Held);
    let long = plan.timeout * 3;
    vec![
        incident(at, lasting(rng) / 8, handed_over, plan),
        incident(again, lasting(rng) / 8, handed_over, plan),
        incident(cut_off, long, silence, plan),
        incident(crashes, plan.timeout, What::CrashMember(Whom::Chief), plan),
    ]
}
