//! What is warned of, by `tracing`: once, and in time.

use core::time::Duration;

use election_tokio::{Client, CreateMode, EndReason, LeaseGrade, NominationError};

use crate::server::{Server, wait};
use crate::spans::Journal;

const ELECTION: &str = "/election";
/// The last number that a server gives to one znode only.
const LAST: i32 = 2_147_483_646;

async fn counted_on(server: &Server, children: i32) -> Client {
    let client = server.builder().lease_grade(LeaseGrade::Contact).connect().await.unwrap();
    client.create(ELECTION, "", CreateMode::Persistent).await.unwrap();
    server.state().tree.count_on(ELECTION, children);
    client
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_sequence_numbers_is_warned_of_long_before() {
    for (children, warnings) in [(LAST - 400_000_000, 0), (LAST - 100_000_000, 1), (LAST, 1)] {
        let (journal, _guard) = Journal::begin();
        let server = Server::new();
        let client = counted_on(&server, children).await;
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

/// Nobody leads by a number that another candidate can have, and nothing is left behind.
#[tokio::test(start_paused = true)]
async fn beyond_the_last_sequence_number_a_nomination_fails() {
    let server = Server::new();
    let client = counted_on(&server, LAST).await;
    let mut last = client.election(ELECTION).nominate().unwrap();
    let leadership = last.elected().await.unwrap();
    for _ in 0..3 {
        let reason = client.election(ELECTION).nominate().unwrap().elected().await.unwrap_err();
        assert_eq!(reason, EndReason::Failed(NominationError::SequenceExhausted));
        assert!(reason.to_string().contains("fresh election node"), "{reason}");
    }
    wait(1).await;
    assert_eq!(server.children(ELECTION), [leadership.candidate().as_str()]);
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
