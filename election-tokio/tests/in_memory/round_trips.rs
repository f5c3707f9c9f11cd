//! How many round trips a caller waits for, in virtual time.

use core::time::Duration;
use std::sync::{Arc, OnceLock};

use election_tokio::election::Departure;
use election_tokio::lease::{HeartbeatPace, KeepReady, LeaseGrade};
use election_tokio::slots::SlotGuard;
use election_tokio::{Client, CreateMode};
use tokio::time::Instant;

use crate::server::{Server, wait};

const LOCK: &str = "/lock";
const ROUND_TRIP: Duration = Duration::from_millis(10);
const TIMEOUT: Duration = Duration::from_secs(12);

/// Sessions of this age; a third of the timeout is the time between two pings.
const AGES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(700),
    Duration::from_millis(3_900),
    Duration::from_millis(5_100),
    Duration::from_secs(30),
    Duration::from_secs(1_000),
];

/// Returns the round trips from asking for a free lock until it is held, and from its release until
/// that is confirmed.
async fn lock_and_unlock(server: &Server, client: &Client) -> (f64, f64) {
    let trips = |since: Instant| since.elapsed().div_duration_f64(ROUND_TRIP);
    let asked = Instant::now();
    let guard = client.lock(LOCK).lock().await.unwrap();
    let acquiring = trips(asked);
    assert!(guard.is_valid());
    let released = Instant::now();
    assert_eq!(guard.release().await, Ok(Departure::Deleted));
    assert_eq!(server.children(LOCK).len(), 0);
    (acquiring, trips(released))
}

async fn client(server: &Server, grade: LeaseGrade, keep: KeepReady) -> Client {
    let builder = server.builder().session_timeout(TIMEOUT).lease_grade(grade).keep_ready(keep);
    let client = builder.heartbeat_pace(HeartbeatPace::Thirds).connect().await.unwrap();
    client.create(LOCK, "", CreateMode::Persistent).await.unwrap();
    server.state().latency = ROUND_TRIP;
    client
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_taken_and_let_go_in_three_round_trips_under_contact() {
    for age in AGES {
        let server = Server::new();
        let client = client(&server, LeaseGrade::Contact, KeepReady::WhileNeeded).await;
        tokio::time::sleep(age).await;
        for turn in ["first", "second"] {
            let (acquiring, releasing) = lock_and_unlock(&server, &client).await;
            assert!(acquiring < 2.5, "{acquiring} round trips, {turn} time, {age:?} old");
            assert!(releasing < 1.5, "{releasing} round trips, {turn} time, {age:?} old");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_taken_and_let_go_in_three_round_trips_under_quorum() {
    for age in AGES {
        let server = Server::new();
        let client = client(&server, LeaseGrade::Quorum, KeepReady::Always).await;
        tokio::time::sleep(age).await;
        for turn in ["first", "second"] {
            let (acquiring, releasing) = lock_and_unlock(&server, &client).await;
            assert!(acquiring < 2.5, "{acquiring} round trips, {turn} time, {age:?} old");
            assert!(releasing < 1.5, "{releasing} round trips, {turn} time, {age:?} old");
        }
    }
}

/// The create is refused, the znodes above are made all at once, and the create is sent again.
#[tokio::test(start_paused = true)]
async fn a_lock_at_a_path_that_is_missing_takes_two_round_trips_more() {
    let server = Server::new();
    let client = client(&server, LeaseGrade::Quorum, KeepReady::Always).await;
    for path in ["/shallow", "/one/two/three/four/five/deep"] {
        let asked = Instant::now();
        let guard = client.lock(path).lock().await.unwrap();
        let acquiring = asked.elapsed().div_duration_f64(ROUND_TRIP);
        assert!(acquiring < 4.5, "{acquiring} round trips at {path}");
        guard.release().await.unwrap();
    }
}

/// The next member stands behind the holder already: it hears of the release, lists once, and holds the slot.
#[tokio::test(start_paused = true)]
async fn a_slot_that_moves_is_held_a_round_trip_after_its_release_is_heard_of() {
    const SLOTS: &str = "/slots";
    let server = Server::new();
    let (given_up, gained) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
    let client = client(&server, LeaseGrade::Quorum, KeepReady::Always).await;
    let slots = client.slots(SLOTS, 2);
    let at = Arc::clone(&given_up);
    tokio::spawn(async move {
        let work = |guard: Arc<SlotGuard>| {
            let at = Arc::clone(&at);
            async move {
                guard.give_up_requested().await;
                at.set(Instant::now()).expect("one slot moves");
            }
        };
        slots.run("first", core::future::pending::<()>(), work).await.expect("it goes on");
    });
    wait(10).await;
    let builder = server.builder().session_timeout(TIMEOUT).keep_ready(KeepReady::Always);
    let other = builder.connect().await.unwrap();
    let slots = other.slots(SLOTS, 2);
    let at = Arc::clone(&gained);
    tokio::spawn(async move {
        let work = |guard: Arc<SlotGuard>| {
            at.set(Instant::now()).expect("one slot moves");
            async move { guard.give_up_requested().await }
        };
        slots.run("second", core::future::pending::<()>(), work).await.expect("it goes on");
    });
    wait(10).await;
    let (given_up, gained) = (*given_up.get().expect("given up"), *gained.get().expect("gained"));
    let trips = gained.duration_since(given_up).div_duration_f64(ROUND_TRIP);
    assert!((1.0..2.5).contains(&trips), "{trips}, of which the release and its event take one");
}
