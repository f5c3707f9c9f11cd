//! Members that are set up otherwise, or do what a server does rarely.

use core::time::Duration;

use zk_embedded::Throttling;
use zk_jute::records::{CreateMode, Ping};
use zk_jute::{ErrorCode, Xid};
use zk_simulation::ensemble::{MemberId, TouchLoss};

use crate::client::ClientId;
use crate::network::{Network, TICK, config};

const STEP: Duration = Duration::from_millis(10);

fn follower_of(network: &Network, leader: MemberId) -> MemberId {
    network.ids().into_iter().find(|id| *id != leader).expect("a follower")
}

/// A client that is heard of once between two heartbeats is lost with that; by default never.
#[test]
fn a_follower_may_lose_the_touch_before_a_swap() {
    for (per_mille, within, lives) in
        [(0, TICK, true), (1000, Duration::ZERO, true), (1000, TICK, false)]
    {
        let mut network = Network::new(3, 1);
        let leader = network.settle();
        let follower = follower_of(&network, leader);
        let client = network.established_for(follower, 3);
        let session = network[client].session().expect("a session");
        let loss = TouchLoss { per_mille, within, ..TouchLoss::default() };
        network.with(follower, |member, _| member.set_touch_loss(loss));
        for _ in 0..12 {
            network.pass(TICK / 2);
            network.ping(client);
        }
        let is_alive = network.member(leader).database().has_session(session);
        assert_eq!(is_alive, lives, "{per_mille} in {within:?}");
    }
}

/// Recorded of Apache's in `server_recordings`.
#[test]
fn a_throttled_member_answers_and_does_nothing() {
    let mut network = Network::new(3, 1);
    let leader = network.settle();
    for member in network.ids() {
        let client = network.established_for(member, 3);
        network.with(member, |member, _| member.set_throttling(Throttling::On));
        for _ in 0..6 {
            network.create(client, "/a", CreateMode::PERSISTENT);
            network.exists(client, "/");
            network.sync(client);
            for _ in 0..3 {
                let reply = network.answer(client);
                assert_eq!((reply.error, &*reply.body), (ErrorCode::THROTTLED_OP, &[][..]));
            }
            network.pass(TICK);
        }
        network.ping(client);
        let reply = network.reply(client).expect("pings are answered as ever");
        assert_eq!((reply.xid, reply.error), (Xid::PING, ErrorCode::OK));
        assert!(network[client].session().is_some(), "what is not done keeps the session alive");
        network.with(member, |member, _| member.set_throttling(Throttling::Off));
        assert!(network.member(leader).database().znode("/a").is_none());
        network.ask(client, &Ping);
    }
}

/// Each member brings timeouts into bounds of its own, and into others once it was started again.
#[test]
fn bounds_of_session_timeouts_differ_by_member_and_change_with_a_restart() {
    let mut network = Network::new(3, 1);
    let leader = network.settle();
    let follower = follower_of(&network, leader);
    let client = network.established_for(leader, 20);
    let session = network[client].session();
    // Until the others have told that the session was created, with its twenty ticks.
    network.pass(TICK);
    network.with(follower, |member, now| {
        member.set_session_timeouts(TICK..=TICK * 4);
        member.restart(now);
    });
    network.settle();
    network.connect(client, follower);
    network.wait(TICK * 5, "the session again", |network| network[client].session());
    assert_eq!(network[client].session(), session);
    // Four ticks count from now on, not twenty.
    network.disconnect(client);
    let session = session.expect("a session");
    network.wait(TICK * 6, "the end", |network| {
        (!network.member(leader).database().has_session(session)).then_some(())
    });
}

/// Creates that overlap count on beyond the end; once all are applied the last number is given out
/// again.
#[test]
fn sequences_recur_at_their_end() {
    let mut config = config(3);
    config.server.first_znodes.add("/election/a", i32::MAX - 1).expect("a path");
    let mut network = Network::of(&config, 1);
    let leader = network.settle();
    for member in network.ids() {
        assert!(network.member(member).database().znode("/election/a").is_some());
    }
    let client = network.established(follower_of(&network, leader));
    let mut next = 0;
    assert_eq!(created(&mut network, client, 1, &mut next), ["2147483646"]);
    let overlapping = ["2147483647", "-2147483648", "-2147483647"];
    assert_eq!(created(&mut network, client, 3, &mut next), overlapping);
    network.pass(STEP);
    for _ in 0..2 {
        assert_eq!(created(&mut network, client, 1, &mut next), ["2147483647"]);
    }
    assert_eq!(created(&mut network, client, 2, &mut next), ["2147483647", "-2147483648"]);
}

/// Creates so many at once, each with another prefix; gives what the leader appended.
fn created(network: &mut Network, client: ClientId, count: u32, next: &mut u32) -> Vec<String> {
    let prefixes: Vec<String> = (0..count)
        .map(|_| {
            *next += 1;
            format!("/election/a/{next}-")
        })
        .collect();
    for prefix in &prefixes {
        network.create(client, prefix, CreateMode::PERSISTENT_SEQUENTIAL);
    }
    let created = prefixes.iter().map(|prefix| {
        let reply = network.answer(client);
        reply.path().strip_prefix(prefix).expect("the prefix").to_owned()
    });
    created.collect()
}
