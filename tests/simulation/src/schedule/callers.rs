//! Callers' actions on their clients: other lists of servers, ends at awkward moments.

use core::time::Duration;

use super::{FIRST, incident, lasting, who};
use crate::clock::Time;
use crate::ending::{Ending, Moment};
use crate::ensemble::ReadOnlyMode;
use crate::incident::{Heading, Incident, Others, What, Who, Whom};
use crate::links::Impairment;
use crate::plan::Plan;
use crate::server_list::ServerList;

/// Draws the acts of callers. Some runs have lists, some have ends, and few have both.
pub(crate) fn draw(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let mut incidents = Vec::new();
    if rng.u8(0..4) == 0 {
        for _ in 0..rng.u8(1..=6) {
            incidents.extend(lists(rng, plan));
        }
    }
    if rng.u8(0..4) == 0 {
        for _ in 0..rng.u8(1..=4) {
            incidents.extend(end(rng, plan));
        }
    }
    if plan.read_only == ReadOnlyMode::On {
        for _ in 0..rng.u8(1..=3) {
            incidents.extend(solitude(rng, plan));
        }
    }
    incidents
}

/// Draws one list, or several in short sequence, perhaps while the client connects.
fn lists(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let client = who(rng, plan);
    let (mut at, mut all) = beginning(rng, plan, client);
    for _ in 0..rng.choice([1, 1, 2, 4]).unwrap_or(1) {
        let list = list(rng, plan);
        all.push(incident(at, lasting(rng), What::ListServers(client, list), plan));
        at = soon(rng, plan, at);
    }
    all
}

/// Draws a part of the ensemble, or all of it; with addresses at which no server listens, or
/// nothing but those. In a run with clients far from the servers, no list is longer than the
/// ensemble: each attempt has its share of the timeout.
fn list(rng: &mut fastrand::Rng, plan: &Plan) -> ServerList {
    let all = u8::MAX >> (8 - plan.servers);
    let members = if rng.u8(0..3) == 0 { all } else { rng.u8(0..=all) };
    let listed: u8 = (0..plan.servers).map(|member| members >> member & 1).sum();
    let room = if plan.latency > Duration::ZERO { plan.servers - listed } else { 2 };
    let nowhere = if listed == 0 { 1 } else { rng.u8(0..=room) };
    ServerList { members, first: rng.u8(0..plan.servers), nowhere }
}

/// Draws this: a member is cut off, and serves reads once it has given its leader up; a client that
/// knows that one alone, or few others, begins anew.
fn solitude(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
    let member = rng.u8(0..plan.servers);
    let cut_off =
        What::ImpairMember(Whom::Number(member), Others::All, Heading::Both, Impairment::Held);
    let alone = plan.tick * (plan.sync_limit + 2);
    let long = alone + plan.timeout * rng.u32(500..2_000) / 1_000;
    let client = Who::Number(rng.u8(0..u8::try_from(plan.nominees.len()).unwrap_or(1)));
    let others = rng.u8(..) & rng.u8(..) & (u8::MAX >> (8 - plan.servers));
    let list = ServerList { members: 1 << member | others, first: 0, nowhere: 0 };
    let begins = (at + alone * rng.u32(800..1_200) / 1_000).min(plan.calm_at);
    let listed = long.saturating_sub(begins.since(at)) * rng.u32(200..1_200) / 1_000;
    let end = What::EndClient(client, Ending::Abandon, Moment::Now);
    vec![
        incident(at, long, cut_off, plan),
        incident(begins, listed, What::ListServers(client, list), plan),
        incident(begins, lasting(rng) / 8, end, plan),
    ]
}

/// Draws one end, perhaps while the client connects.
fn end(rng: &mut fastrand::Rng, plan: &Plan) -> Vec<Incident> {
    let client = who(rng, plan);
    let (at, mut all) = beginning(rng, plan, client);
    let ending = rng.choice(Ending::ALL).unwrap_or(Ending::Abandon);
    let moment = if rng.bool() { Moment::OnArrival } else { Moment::Now };
    all.push(incident(at, lasting(rng), What::EndClient(client, ending, moment), plan));
    all
}

/// Draws the first incident, and the moment for the rest: the client's connection is lost, it hands
/// its session over, or nothing is the matter.
fn beginning(rng: &mut fastrand::Rng, plan: &Plan, client: Who) -> (Time, Vec<Incident>) {
    let at = Time::from_millis(rng.u64(FIRST..plan.calm_at.millis()));
    let before = match rng.u8(0..4) {
        0 | 1 => incident(at, Duration::ZERO, What::LoseClient(client), plan),
        2 => incident(at, lasting(rng) / 8, What::HandOver(client, plan.timeout), plan),
        _ => return (at, Vec::new()),
    };
    let begins = soon(rng, plan, at + before.lasts);
    (begins, vec![before])
}

/// Draws a moment in which a client connects, or is about to.
fn soon(rng: &mut fastrand::Rng, plan: &Plan, at: Time) -> Time {
    let longest = 1_u64 << rng.u8(0..=10);
    (at + Duration::from_millis(rng.u64(0..=longest))).min(plan.calm_at)
}
