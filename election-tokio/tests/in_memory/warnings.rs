//! Warnings by `tracing`: each comes once, and in time.

use core::time::Duration;

use election_tokio::election::{EndReason, NominationError};
use election_tokio::health::NomineeHealth;
use election_tokio::lease::LeaseGrade;
use election_tokio::{Client, CreateMode};

use crate::server::{Server, settle, wait};
use crate::spans::Journal;

const ELECTION: &str = "/election";
/// The last number that a server gives to one znode only.
const LAST: i32 = 2_147_483_646;

async fn counted_on(children: i32) -> (Server, Client) {
    let server = Server::counted_on(ELECTION, children);
    let client = server.builder().lease_grade(LeaseGrade::Contact).connect().await.unwrap();
    (server, client)
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_sequence_numbers_is_warned_of_long_before() {
    for (children, warnings) in [(LAST - 400_000_000, 0), (LAST - 100_000_000, 1), (LAST, 1)] {
        let (journal, _guard) = Journal::begin();
        let (server, client) = counted_on(children).await;
        let mut nomination = client.election(ELECTION).nominate().unwrap();
        nomination.elected().await.unwrap();
        // It stands again, with another candidate.
        server.expire();
        wait(5).await;
        let _ = nomination.elected().await;
        let warned = journal.of("event sequence numbers run out");
        assert_eq!(warned.len(), warnings, "{children}: {warned:?}");
        assert!(warned.iter().all(|line| line.contains("remaining=")), "{warned:?}");
    }
}

/// No nominee leads by a number that another candidate can have, and none leaves a znode behind.
#[tokio::test(start_paused = true)]
async fn beyond_the_last_sequence_number_a_nomination_fails() {
    let (server, client) = counted_on(LAST).await;
    let mut last = client.election(ELECTION).nominate().unwrap();
    let leadership = last.elected().await.unwrap();
    for _ in 0..3 {
        let ended = client.election(ELECTION).nominate().unwrap().elected().await.unwrap_err();
        assert_eq!(ended.reason, EndReason::Failed(NominationError::SequenceExhausted));
        assert!(ended.to_string().contains("fresh election node"), "{ended}");
    }
    wait(1).await;
    assert_eq!(server.children(ELECTION), [leadership.candidate().to_string()]);
    assert!(leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_link_that_is_too_slow_is_warned_of_once() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    server.state().latency = Duration::from_millis(500);
    let builder = server.builder().session_timeout(Duration::from_secs(6));
    let client = builder.connect().await.unwrap();
    let _nomination = client.election(ELECTION).nominate().unwrap();
    wait(200).await;
    let warned = journal.of("event promoted, but not elected");
    let [line] = warned.as_slice() else { panic!("{warned:?}") };
    for word in ["round_trip=500", "timeout=6s", "longest=2"] {
        assert!(line.contains(word), "{word}: {line}");
    }
}

/// A server that ends one session after another has a leader say so now and then, and not each time.
#[tokio::test(start_paused = true)]
async fn leaderships_that_end_one_after_another_are_told_at_a_pace() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let client = server.client().await;
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    for _ in 0..100 {
        let leadership = nomination.elected().await.unwrap();
        server.expire();
        server.cut();
        leadership.lost().await;
    }
    let told = journal.of("event leadership lost").len() + journal.of("event elected").len();
    assert!((20..60).contains(&told), "{told} lines");
}

/// A server that lets no connection last has a client say so now and then, and not each time.
#[tokio::test(start_paused = true)]
async fn connections_that_come_and_go_are_told_at_a_pace_and_the_last_of_it_in_any_case() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let client = server.client().await;
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    nomination.elected().await.unwrap();
    for _ in 0..200 {
        server.cut();
        settle().await;
        client.connection_updates().wait_for(is_connected).await.unwrap();
    }
    let told = |journal: &Journal| {
        ["event connection lost", "event connected", "event suspended", "event resumed"]
            .map(|beginning| journal.of(beginning).len())
    };
    let lines: usize = told(&journal).iter().sum();
    assert!((30..150).contains(&lines), "{:?}", told(&journal));
    assert!(!journal.of("event too many lines of a kind: left out count=").is_empty());

    wait(100).await;
    let before = told(&journal);
    server.refuse();
    server.cut();
    wait(1).await;
    let after = told(&journal);
    assert_eq!([after[0], after[2]], [before[0] + 1, before[2] + 1], "{before:?} {after:?}");
}

fn is_connected(state: &election_tokio::ConnectionState) -> bool {
    matches!(state, election_tokio::ConnectionState::Connected { .. })
}

/// Any participant that may create znodes can forge it.
#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_not_ephemeral_is_warned_of_by_its_name() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let client = server.client().await;
    client.create(ELECTION, "", CreateMode::Persistent).await.unwrap();
    let forged = "forged-latch-0000000000";
    client.create(&format!("{ELECTION}/{forged}"), "", CreateMode::Persistent).await.unwrap();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    wait(5).await;
    let warned = journal.of("event blocked: the candidate ahead is not ephemeral");
    let [line] = warned.as_slice() else { panic!("{warned:?}") };
    assert!(line.contains(forged), "{line}");
    let candidates = client.election(ELECTION).candidates().await.unwrap();
    assert_eq!(candidates.iter().filter(|one| !one.is_ephemeral()).count(), 1);
    client.delete(&format!("{ELECTION}/{forged}"), election_tokio::Version::ANY).await.unwrap();
    nomination.elected().await.unwrap();
}

/// A candidate ahead of it does so, and no nominee takes over from that.
#[tokio::test(start_paused = true)]
async fn a_nominee_that_is_blocked_says_so_by_its_health() {
    let server = Server::new();
    let client = server.client().await;
    let mut first = client.election(ELECTION).nominate().unwrap();
    let leadership = first.elected().await.unwrap();
    let forged = format!("{ELECTION}/forged-latch-");
    let forged = client.create(&forged, "", CreateMode::PersistentSequential).await.unwrap();
    let second = client.election(ELECTION).nominate().unwrap();
    wait(60).await;
    let health = second.health();
    let name = forged.path.rsplit('/').next().unwrap();
    let says = format!("blocked by {name}, which is not ephemeral");
    assert!(health.to_string().starts_with(&says), "{health}");
    assert!(health.is_live() && health.is_ready(), "the first one leads: {health}");
    leadership.resign().await.unwrap();
    // Its next look, and a session timeout.
    wait(100).await;
    let health = second.health();
    assert!(health.to_string().contains(&says), "{health}");
    assert!(health.is_live() && !health.is_ready(), "none leads: {health}");
    server.refuse();
    server.cut();
    wait(1).await;
    assert!(matches!(second.health().nominee, NomineeHealth::Leaderless { .. }));
    server.accept();
    wait(100).await;
    assert!(matches!(second.health().nominee, NomineeHealth::Blocked { .. }), "it is told again");
    client.delete(&forged.path, election_tokio::Version::ANY).await.unwrap();
    wait(5).await;
    assert!(matches!(second.health().nominee, NomineeHealth::Leading { .. }), "{health}");
}

/// A client that starts before its servers, or is told of others, says why nothing goes on.
#[tokio::test(start_paused = true)]
async fn servers_that_stay_out_of_reach_are_warned_of_and_then_rarely() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    server.refuse();
    let builder = server.builder().session_timeout(Duration::from_secs(10));
    let client = builder.start().unwrap();
    let warned = || journal.of("event without a server for longer than the session timeout");
    wait(9).await;
    assert_eq!(warned().len(), 0, "servers may be restarted meanwhile");
    wait(11).await;
    let [line] = warned().try_into().unwrap();
    assert!(line.contains("failure=") && line.contains("lasted=1"), "{line}");
    assert!(client.health().to_string().contains("; last failure: "), "{}", client.health());
    wait(500).await;
    assert_eq!(warned().len(), 1);
    wait(200).await;
    assert_eq!(warned().len(), 2);

    server.accept();
    wait(60).await;
    assert_eq!(client.health().to_string(), "connected");
    server.refuse();
    server.cut();
    wait(60).await;
    assert_eq!(warned().len(), 3, "another outage");
    assert!(client.health().to_string().contains("; last failure: "), "{}", client.health());
}

/// The client has no znode that it could have left behind.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_had_a_session_warns_of_no_end() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    server.refuse();
    drop(server.builder().start().unwrap());
    wait(5).await;
    assert_eq!(journal.of("event session ended"), [""; 0]);
    assert_eq!(journal.of("event ended before a server granted a session").len(), 1);
}

/// It can neither be followed nor be passed over.
#[tokio::test(start_paused = true)]
async fn a_candidate_whose_name_is_too_long_is_warned_of_and_waited_for() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let client = server.client().await;
    client.create(ELECTION, "", CreateMode::Persistent).await.unwrap();
    let path = format!("{ELECTION}/{}-latch-0000000000", "x".repeat(100));
    client.create(&path, "", CreateMode::Persistent).await.unwrap();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    wait(5).await;
    let warned = journal.of("event blocked: a znode is in the way that no nominee makes");
    let [line] = warned.as_slice() else { panic!("{warned:?}") };
    assert!(line.contains("ends in 0000000000 has a name longer than 64 bytes"), "{line}");
    client.delete(&path, election_tokio::Version::ANY).await.unwrap();
    nomination.elected().await.unwrap();
}
