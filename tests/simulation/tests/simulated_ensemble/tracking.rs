//! How the leader's tracker ends sessions, and what their clients hear meanwhile: as recorded of
//! Apache ZooKeeper in `server_recordings`, or as its source says where it cannot be staged.

use core::time::Duration;

use zk_embedded::ExpiryPace;
use zk_jute::records::{CheckVersionRequest, CreateMode, MultiOp, MultiRequest};
use zk_jute::{ErrorCode, SessionId, Version, Xid};
use zk_simulation::ensemble::{MemberId, MemberRole};

use crate::client::ClientId;
use crate::network::{Network, SYNC_LIMIT, TICK};

const STEP: Duration = Duration::from_millis(10);

/// Returns a leader, a follower, and a client of it with a session of so many ticks.
fn with_client(seed: u64, ticks: u32) -> (Network, [MemberId; 2], ClientId, SessionId) {
    let mut network = Network::new(3, seed);
    let leader = network.settle();
    let follower = network.ids().into_iter().find(|id| *id != leader).expect("a follower");
    let client = network.established_for(follower, ticks);
    let session = network[client].session().expect("a session");
    (network, [leader, follower], client, session)
}

fn set_pace(network: &mut Network, leader: MemberId, pace: ExpiryPace) {
    network.with(leader, |member, _| member.set_expiry_pace(pace));
}

fn is_over(network: &Network, member: MemberId, session: SessionId) -> bool {
    !network.member(member).database().has_session(session)
}

fn check_in_multi(network: &mut Network, client: ClientId) -> Xid {
    let check = MultiOp::Check(CheckVersionRequest { path: "/", version: Version::ANY });
    network.ask(client, &MultiRequest::new(&[check]))
}

/// Until its end is proposed, writes are refused inside and outside of a transaction, and the
/// follower answers everything else, also `sync`.
#[test]
fn a_follower_serves_a_session_that_the_leader_has_found_closing() {
    for seed in 0..20 {
        let (mut network, [leader, follower], client, session) = with_client(seed, 2);
        let pace = ExpiryPace { to_closing: Duration::ZERO, to_proposal: TICK * 3 };
        set_pace(&mut network, leader, pace);
        // Due in (2, 3] ticks after the last heartbeat that told of it, which came within a half.
        network.pass(TICK * 4);
        check_in_multi(&mut network, client);
        let multi = network.answer(client);
        assert_eq!((multi.error, &*multi.body), (ErrorCode::OK, &EXPIRED_IN_MULTI[..]));
        network.create(client, "/b", CreateMode::PERSISTENT);
        let created = network.answer(client);
        assert_eq!((created.error, &*created.body), (ErrorCode::SESSION_EXPIRED, &[][..]));
        assert!(created.zxid > multi.zxid);
        network.sync(client);
        assert_eq!(network.answer(client).error, ErrorCode::OK);
        network.exists(client, "/");
        assert_eq!(network.answer(client).error, ErrorCode::OK);
        assert!(!is_over(&network, leader, session));
        network.wait(TICK * 3, "the end", |network| network[client].is_closed().then_some(()));
        assert!(is_over(&network, follower, session));
        assert_eq!(network.reply(client), None);
    }
}

/// One result, an error; and the end of the list: as recorded.
const EXPIRED_IN_MULTI: [u8; 22] = [
    0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff, 0x90, 0xff, 0xff, 0xff,
    0x90, // -1, false, -112, -112
    0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff, // -1, true, -1
];

/// Touched, checked by the leader, written for, and closed all the same.
#[test]
fn a_session_whose_bucket_was_polled_writes_and_ends() {
    for seed in 0..20 {
        let (mut network, [leader, _], client, session) = with_client(seed, 2);
        let pace = ExpiryPace { to_closing: TICK * 3, to_proposal: Duration::ZERO };
        set_pace(&mut network, leader, pace);
        network.pass(TICK * 4);
        let begin = network.now();
        let mut written = 0;
        while !network[client].is_closed() {
            assert!(network.now() < begin + TICK * 4, "touches keep it alive");
            network.create(client, &format!("/{written}"), CreateMode::PERSISTENT);
            network.sync(client);
            network.pass(STEP);
            while let Some(reply) = network.reply(client) {
                if reply.error == ErrorCode::OK && reply.body.len() > 5 {
                    written += 1;
                }
            }
        }
        assert!(written > 3, "{written} writes in the window");
        assert!(is_over(&network, leader, session));
    }
}

/// A leader that is cut off goes on ending sessions. It leaves its own clients without an answer in
/// those, refuses no client's requests, and closes no connection before it steps down.
#[test]
fn a_deposed_leader_falls_silent_to_sessions_that_it_has_found_closing() {
    for seed in 0..20 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let silent = network.established_for(leader, 2);
        let lively = network.established_for(leader, 2);
        network.isolate(leader);
        for _ in 0..8 {
            network.pass(TICK * 2 / 5);
            network.ping(lively);
            assert!(network.reply(lively).is_some());
        }
        assert_eq!(network.member(leader).role(), MemberRole::Leading);
        network.ping(silent);
        network.exists(silent, "/");
        network.sync(silent);
        network.create(silent, "/a", CreateMode::PERSISTENT);
        assert_eq!(network.reply(silent), None);
        network.pass(STEP);
        assert_eq!(network.reply(silent), None);
        assert!(!network[silent].is_closed(), "dropped requests cost no connection");
        network.wait(TICK * SYNC_LIMIT, "it steps down", |network| {
            network[silent].is_closed().then_some(())
        });
        assert_eq!(network.reply(silent), None);
    }
}

/// The timeout of a session's creation is in the log; a timeout that was granted later is not.
#[test]
fn a_new_leader_counts_with_the_timeout_of_the_creation() {
    for (created, resumed) in [(2, 15), (15, 2)] {
        let (mut network, [leader, follower], client, session) = with_client(1, created);
        network.clients[client.0].ask_for(i32::try_from(TICK.as_millis()).unwrap_or(0) * resumed);
        network.connect(client, follower);
        network.wait(TICK, "the session again", |network| network[client].session());
        network.crash(leader);
        let new = network.wait(TICK * 20, "another leader", Network::leader);
        let begin = network.now();
        network.wait(TICK * 20, "the end", |network| is_over(network, new, session).then_some(()));
        let lasted = network.now().saturating_sub(begin);
        let timeout = TICK * created;
        assert!(lasted + STEP > timeout && lasted <= timeout + TICK + STEP, "{lasted:?}");
    }
}

/// An entry in a touch table carries the timeout that the session had there. It counts when it
/// arrives, also if the session has gone on elsewhere with a longer one.
#[test]
fn a_stale_touch_makes_a_session_end_earlier() {
    for seed in 0..20 {
        let (mut network, [leader, follower], client, session) = with_client(seed, 2);
        let other = network
            .ids()
            .into_iter()
            .find(|id| *id != leader && *id != follower)
            .expect("another follower");
        network.pass(TICK);
        // The follower's answers to heartbeats take longer from now on.
        network.delay(follower, leader, 150..=150);
        network.ping(client);
        network.clients[client.0].ask_for(i32::try_from(TICK.as_millis()).unwrap_or(0) * 15);
        network.connect(client, other);
        network.wait(TICK, "the session again", |network| network[client].session());
        let begin = network.now();
        network
            .wait(TICK * 20, "the end", |network| is_over(network, leader, session).then_some(()));
        let lasted = network.now().saturating_sub(begin);
        assert!(lasted < TICK * 6, "{lasted:?}, with 15 ticks at its server");
    }
}

/// Recorded of Apache's in `server_recordings`: what is proposed and not committed holds back the
/// `sync` of a learner's client, and that of the session that asked for it, and no other.
#[test]
fn a_leader_answers_sync_while_its_quorum_is_silent() {
    for seed in 0..20 {
        let mut network = Network::new(3, seed);
        let leader = network.settle();
        let [writer, reader] = [network.established(leader), network.established(leader)];
        network.isolate(leader);
        network.create(writer, "/late", CreateMode::PERSISTENT);
        network.sync(writer);
        network.sync(reader);
        let synced = network.reply(reader).expect("at once");
        assert_eq!(synced.error, ErrorCode::OK);
        network.pass(STEP);
        assert_eq!(network.reply(writer), None);
    }
}
