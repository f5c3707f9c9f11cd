//! How long sessions last, and which members keep them alive.

use core::time::Duration;

use zk_jute::ErrorCode;
use zk_jute::records::CreateMode;
use zk_simulation::ensemble::{MemberId, MemberRole};

use crate::client::ClientId;
use crate::network::{Network, SYNC_LIMIT, TICK};

/// The timeout that every client here is granted: ten ticks.
const TIMEOUT: Duration = Duration::from_secs(1);

const STEP: Duration = Duration::from_millis(10);

fn sessions(network: &Network, member: MemberId) -> usize {
    network.member(member).database().sessions().len()
}

fn follower_of(network: &Network, leader: MemberId) -> MemberId {
    network.ids().into_iter().find(|id| *id != leader).expect("a follower")
}

/// A session ends later than its timeout after it was last heard of, by at most a tick for the
/// rounding, and half a tick until the heartbeat that carries the news.
#[test]
fn idle_sessions_end() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let begin = network.now();
        let clients: Vec<ClientId> =
            network.ids().into_iter().map(|member| network.established(member)).collect();
        network.create(clients[1], "/e", CreateMode::EPHEMERAL);
        network.answer(clients[1]);
        let heard = network.now();
        assert_eq!(sessions(&network, leader), 3);
        network.wait(TIMEOUT * 2, "the first end", |network| {
            (sessions(network, leader) < 3).then_some(())
        });
        assert!(network.now() > begin + TIMEOUT, "{:?} after {begin:?}", network.now());
        network.wait(TIMEOUT * 2, "the end of all, everywhere", |network| {
            let is_over = |member: MemberId| {
                let database = network.member(member).database();
                database.sessions().len() == 0 && database.znode("/e").is_none()
            };
            network.ids().into_iter().all(is_over).then_some(())
        });
        let bound = heard + TIMEOUT + TICK * 3 / 2 + Duration::from_millis(10);
        assert!(network.now() < bound, "{:?}, heard at {heard:?}", network.now());
        assert!(clients.iter().all(|client| network[*client].is_closed()));
    }
}

#[test]
fn pings_keep_sessions_alive_at_every_member() {
    let mut network = Network::with_bad_clocks(3, 1);
    network.settle();
    let clients: Vec<ClientId> =
        network.ids().into_iter().map(|member| network.established(member)).collect();
    for _ in 0..10 {
        network.pass(TICK * 5);
        for client in &clients {
            network.ping(*client);
            assert!(network.reply(*client).is_some(), "each answers by itself, at once");
        }
    }
    assert!(network.ids().into_iter().all(|member| sessions(&network, member) == 3));
}

/// A leader learns from a follower's answers to heartbeats which sessions it has heard, and in no
/// other way: a follower that gets none goes on forwarding, is heard, and its clients' sessions
/// end.
#[test]
fn touches_travel_with_heartbeats_only() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let follower = follower_of(&network, leader);
        let client = network.established_for(follower, 2);
        for _ in 0..200 {
            network.pass(STEP);
            network.sync(client);
        }
        let session = network[client].session().expect("it lives as long as it is told of");
        network.cut_one_way(leader, follower);
        let begin = network.now();
        let mut path = String::new();
        while network.member(leader).database().has_session(session) {
            assert!(network.now() < begin + TICK * 4, "the session goes on");
            path = format!("/{}", network.now().as_millis());
            network.create(client, &path, CreateMode::PERSISTENT);
            network.sync(client);
            network.pass(STEP);
        }
        assert_eq!(network.member(follower).role(), MemberRole::Following(leader));
        let database = network.member(leader).database();
        let before = network.now().as_millis() - 2 * TICK.as_millis();
        let is_late = |at: &str| at.parse::<u128>().is_ok_and(|at| at > before);
        let written = database.znodes().filter(|(path, _)| is_late(&path[1..])).count();
        assert!(written > 5, "the leader heard the client all the time: {path} {written}");
    }
}

/// Why a lease cannot rest on pings: the follower that answers them may be cut off.
#[test]
fn a_follower_that_is_cut_off_answers_pings_while_the_session_ends() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let follower = follower_of(&network, leader);
        let client = network.established_for(follower, 2);
        let session = network[client].session().expect("a session");
        network.isolate(follower);
        let begin = network.now();
        let mut answered_late = 0;
        while !network[client].is_closed() {
            assert!(network.now() < begin + TICK * (SYNC_LIMIT + 1), "the follower stays");
            network.pass(STEP);
            network.ping(client);
            let is_over = !network.member(leader).database().has_session(session);
            if network.reply(client).is_some() && is_over {
                answered_late += 1;
            }
        }
        // The session ends within two ticks and a half and one for the rounding, the follower
        // gives up five after the last heartbeat, which may be half a tick old.
        assert!(answered_late > 5, "{answered_late} pings answered after the end");
        assert!(network.now() > begin + TICK * (SYNC_LIMIT - 1));
        assert!(network.member(follower).database().has_session(session), "it does not know");
    }
}

/// The ground of the lease: a new leader gives every session its whole timeout again.
#[test]
fn a_new_leader_restarts_the_clocks() {
    for seed in 0..50 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let client = network.established(leader);
        let session = network[client].session().expect("a session");
        network.pass(TICK * 8);
        network.crash(leader);
        let new = network.wait(TICK * 3, "another leader", Network::leader);
        let begin = network.now();
        assert_ne!(new, leader);
        network.wait(TICK * 20, "the end", |network| {
            (!network.member(new).database().has_session(session)).then_some(())
        });
        let lasted = network.now().saturating_sub(begin);
        assert!(lasted >= TIMEOUT && lasted <= TIMEOUT + TICK + STEP, "{lasted:?}");
    }
}

/// A session goes on at another member, and is refused there once it is over.
#[test]
fn a_session_moves_to_another_member() {
    let mut network = Network::new(3, 1);
    let leader = network.settle();
    let client = network.established(leader);
    let session = network[client].session();
    network.create(client, "/e", CreateMode::EPHEMERAL);
    network.answer(client);
    network.pass(STEP);
    for member in network.ids() {
        network.connect(client, member);
        network.wait(TICK, "the session again", |network| network[client].session());
        assert_eq!(network[client].session(), session);
        network.exists(client, "/e");
        assert_eq!(network.answer(client).error, ErrorCode::OK);
    }
    network.disconnect(client);
    network.pass(TIMEOUT * 2);
    network.connect(client, leader);
    network.pass(TICK);
    assert!(network[client].is_closed());
    assert_eq!(network[client].refusals, 1);
}

/// No client is shown an older state than the one that it has seen.
#[test]
fn a_member_that_lags_refuses_who_has_seen_more() {
    let mut network = Network::new(3, 1);
    let leader = network.settle();
    let follower = follower_of(&network, leader);
    let client = network.established(leader);
    network.delay(leader, follower, 30..=30);
    network.create(client, "/a", CreateMode::PERSISTENT);
    network.answer(client);
    network.connect(client, follower);
    assert!(network[client].is_closed());
    network.pass(STEP * 4);
    network.connect(client, follower);
    network.pass(STEP * 4);
    assert!(network[client].session().is_some());
    assert_eq!(network[client].refusals, 0);
}

/// A process that starts again knows nothing of its clients of before.
#[test]
fn a_restart_frees_the_connections() {
    let mut network = Network::new(1, 1);
    let only = network.settle();
    let address = "192.0.2.1:4000".parse().expect("an address");
    for _ in 0..2 {
        let opened = network.with(only, |member, now| {
            let opened = core::iter::from_fn(|| member.open(now, address).ok()).take(100);
            opened.collect::<Vec<_>>()
        });
        assert_eq!(opened.len(), 60, "as many as one address may have");
        network.with(only, |member, now| {
            member.restart(now);
            assert_eq!(member.poll_ready(), None);
        });
    }
}
