//! The lease of the grade `Quorum`, which is the default: proved by heartbeats of the leader and of the
//! next one, and kept ready by all others.

use core::future::{Future as _, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

use election_tokio::election::{LostReason, Nomination, OnLoss, Role};
use election_tokio::lease::{HeartbeatPace, KeepReady, LeaseGrade, LeaseOutlook};
use election_tokio::{Client, ErrorCode, TransactionError, Version};
use zk_jute::OpCode;

use crate::lies::Lie;
use crate::server::{Server, wait};

const ELECTION: &str = "/election";
const TIMEOUT: Duration = Duration::from_secs(30);
/// The age of a client that has stood for nothing and lets its lease lapse.
const IDLE_AFTER: Duration = Duration::from_secs(300);

async fn client(server: &Server) -> Client {
    server.builder().session_timeout(TIMEOUT).connect().await.expect("a session")
}

async fn follower(client: &Client) -> Nomination {
    let follower = client.election(ELECTION).nominate().expect("a nomination");
    let in_place = follower.updates().wait_for(|s| matches!(s.role, Role::Following { .. })).await;
    assert!(in_place.is_ok());
    follower
}

/// A new session has its lease from the handshake: nothing delays the first leader.
#[tokio::test(start_paused = true)]
async fn a_new_session_is_elected_at_once() {
    let server = Server::new();
    let client = client(&server).await;
    let before = tokio::time::Instant::now();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    assert!(before.elapsed() < TIMEOUT / 100);
    assert!(leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_leader_stays_valid_for_as_long_as_its_heartbeats_are_answered() {
    let server = Server::new();
    let client = client(&server).await;
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    for _ in 0..600 {
        tokio::time::sleep(TIMEOUT / 20).await;
        assert!(leadership.is_valid());
    }
    assert!(leadership.confirm().await.is_ok());
    drop(nomination);
}

/// A process that was paused asks before its driver has run.
#[tokio::test(start_paused = true)]
async fn a_leadership_is_not_valid_past_its_lease_before_its_driver_has_run() {
    let server = Server::new();
    let client = client(&server).await;
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    assert!(leadership.is_valid());
    let mut pause = pin!(tokio::time::advance(TIMEOUT * 2));
    // The clock is set by the first poll, and nothing else runs before the second.
    poll_fn(|cx| Poll::Ready(pause.as_mut().poll(cx).is_pending())).await;
    assert!(!leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_not_valid_past_its_lease_before_its_driver_has_run() {
    let server = Server::new();
    let client = client(&server).await;
    let guard = client.lock("/lock").lock().await.unwrap();
    assert!(guard.is_valid());
    let mut pause = pin!(tokio::time::advance(TIMEOUT * 2));
    poll_fn(|cx| Poll::Ready(pause.as_mut().poll(cx).is_pending())).await;
    assert!(!guard.is_valid());
}

/// Pings go on being answered; they are no proof. The leader stops by its own clock.
#[tokio::test(start_paused = true)]
async fn a_leader_whose_heartbeats_are_refused_loses_the_lease() {
    let server = Server::new();
    let client = client(&server).await;
    let election = client.election(ELECTION).on_loss(OnLoss::End);
    let mut nomination = election.nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    for _ in 0..10 {
        server.lie_about(OpCode::MULTI, Lie::Code(ErrorCode::NO_AUTH));
    }
    assert_eq!(leadership.lost().await, LostReason::LeaseLapsed);
    assert!(!leadership.is_valid());
    assert!(matches!(client.exists(ELECTION).await, Ok(Some(_))), "the connection is well");
}

/// How long a leadership outlives its last proof, from the first to the last moment at which proofs
/// can end. docs/lease.md names these times.
#[tokio::test(start_paused = true)]
async fn a_leadership_outlives_the_end_of_proofs_for_a_known_time() {
    for (grade, shortest, longest) in [
        (LeaseGrade::Quorum, 0.23, 0.57),
        (LeaseGrade::Sync, 0.23, 0.57),
        (LeaseGrade::Contact, 0.56, 0.91),
    ] {
        for phase in 0..20 {
            let server = Server::new();
            let builder = server.builder().session_timeout(TIMEOUT).lease_grade(grade);
            let client = builder.connect().await.unwrap();
            let mut nomination = client.election(ELECTION).on_loss(OnLoss::End).nominate().unwrap();
            let leadership = nomination.elected().await.unwrap();
            tokio::time::sleep(TIMEOUT * 2 + TIMEOUT * phase / 60).await;
            server.read_only_next(0);
            let silence = tokio::time::Instant::now();
            leadership.lost().await;
            let outlived = silence.elapsed().as_secs_f64() / TIMEOUT.as_secs_f64();
            assert!((shortest..longest).contains(&outlived), "{grade:?}: {outlived}");
        }
    }
}

/// The heir's lease is proved ahead: it can act with the event that promotes it.
#[tokio::test(start_paused = true)]
async fn an_heir_takes_over_at_once() {
    let server = Server::new();
    let (first, second) = (client(&server).await, client(&server).await);
    let leader = first.election(ELECTION).nominate().unwrap();
    wait(1).await;
    let mut heir = follower(&second).await;
    tokio::time::sleep(TIMEOUT * 3).await;
    let before = tokio::time::Instant::now();
    leader.withdraw().await.unwrap();
    let leadership = heir.elected().await.unwrap();
    assert!(before.elapsed() < TIMEOUT / 100);
    assert!(leadership.is_valid());
}

/// A follower is told nothing of a change further ahead. Its lease is ready all the same.
#[tokio::test(start_paused = true)]
async fn a_follower_takes_over_at_once_wherever_it_stood() {
    let server = Server::new();
    let mut queue = Vec::new();
    for ahead in 0..6 {
        // A look would tell that there are fewer ahead by then.
        let builder = server.builder().session_timeout(TIMEOUT);
        let client = builder.look_interval(TIMEOUT * 1000).connect().await.unwrap();
        let nomination = match ahead {
            0 => client.election(ELECTION).nominate().unwrap(),
            _ => follower(&client).await,
        };
        wait(1).await;
        queue.push((client, nomination));
    }
    tokio::time::sleep(TIMEOUT * 3).await;
    let mut clients = Vec::new();
    for (ahead, (client, mut nomination)) in queue.into_iter().enumerate() {
        let before = tokio::time::Instant::now();
        let leadership = nomination.elected().await.unwrap();
        assert!(leadership.is_valid());
        let taken = before.elapsed();
        assert!(taken < TIMEOUT / 100, "{taken:?} with {ahead} ahead");
        tokio::time::sleep(TIMEOUT * 3).await;
        assert!(leadership.is_valid());
        leadership.resign().await.unwrap();
        clients.push(client);
    }
}

/// A session that is older than its timeout nominates: the lease was kept ready.
#[tokio::test(start_paused = true)]
async fn an_old_session_is_elected_at_once() {
    for age in 0..30 {
        let server = Server::new();
        let client = client(&server).await;
        tokio::time::sleep(TIMEOUT * age / 6).await;
        let before = tokio::time::Instant::now();
        let mut nomination = client.election(ELECTION).nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        assert!(leadership.is_valid());
        let taken = before.elapsed();
        assert!(taken < TIMEOUT / 100, "{taken:?} at {age} sixths");
    }
}

/// The wait of a nomination that leads at once, by the age of its client, which may have stood before: after a lapse two
/// heartbeats, a third of the timeout apart, prove the lease, and one more settles it.
#[tokio::test(start_paused = true)]
async fn a_first_nomination_waits_for_its_lease_where_the_client_is_old_and_has_not_stood() {
    const READY: Duration = Duration::from_millis(10);
    let lapsed = TIMEOUT / 3 + TIMEOUT / 12;
    for age in [0, 1, 2, 5, 9, 11, 12, 13, 20, 100] {
        for keep_ready in [KeepReady::OnceNeeded, KeepReady::WhileNeeded, KeepReady::Always] {
            for has_stood in [false, true] {
                let server = Server::new();
                let builder = server.builder().session_timeout(TIMEOUT).keep_ready(keep_ready);
                let client = builder.connect().await.unwrap();
                if has_stood {
                    let mut earlier = client.election("/earlier").nominate().unwrap();
                    earlier.elected().await.unwrap();
                    earlier.withdraw().await.unwrap();
                }
                tokio::time::sleep(TIMEOUT * age).await;
                let before = tokio::time::Instant::now();
                let mut nomination = client.election(ELECTION).nominate().unwrap();
                tokio::time::sleep(READY).await;
                let status = nomination.status().role;
                let leadership = nomination.elected().await.unwrap();
                assert!(leadership.is_valid());
                let is_ready = match keep_ready {
                    KeepReady::Always => true,
                    KeepReady::OnceNeeded if has_stood => true,
                    KeepReady::OnceNeeded | KeepReady::WhileNeeded => TIMEOUT * age < IDLE_AFTER,
                };
                let taken = before.elapsed();
                let context = (age, keep_ready, has_stood, taken, &status);
                if is_ready {
                    assert!(taken <= READY * 2, "{context:?}");
                } else {
                    let outlook = LeaseOutlook::AwaitsProof;
                    assert_eq!(status, Role::AwaitingLease { outlook }, "{context:?}");
                    assert!(lapsed <= taken && taken < lapsed + READY, "{context:?}");
                }
            }
        }
    }
}

/// Twice as many heartbeats.
#[tokio::test(start_paused = true)]
async fn heartbeats_of_pace_sixths_come_twice_as_often() {
    let server = Server::new();
    let builder = server.builder().session_timeout(TIMEOUT).heartbeat_pace(HeartbeatPace::Sixths);
    let client = builder.connect().await.unwrap();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let before = server.requests(OpCode::MULTI);
    tokio::time::sleep(TIMEOUT * 10).await;
    let heartbeats = server.requests(OpCode::MULTI) - before;
    assert!((58..=61).contains(&heartbeats), "{heartbeats}");
    assert!(leadership.is_valid());
}

/// A lease that is about to end is no ground to be elected on: it would lapse at once, although
/// nothing is wrong.
#[tokio::test(start_paused = true)]
async fn a_lease_that_ends_before_the_next_proof_elects_nobody_yet() {
    let server = Server::new();
    let client = client(&server).await;
    tokio::time::sleep(TIMEOUT * 8 / 10).await;
    let mut nomination = client.election(ELECTION).on_loss(OnLoss::End).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    tokio::time::sleep(TIMEOUT * 3).await;
    assert!(leadership.is_valid());
}

#[tokio::test(start_paused = true)]
async fn with_the_grade_contact_an_old_session_is_elected_at_once() {
    let server = Server::new();
    let builder = server.builder().session_timeout(TIMEOUT).lease_grade(LeaseGrade::Contact);
    let client = builder.connect().await.unwrap();
    tokio::time::sleep(TIMEOUT * 3).await;
    let before = tokio::time::Instant::now();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    nomination.elected().await.unwrap();
    assert!(before.elapsed() < TIMEOUT / 100);
    assert_eq!(server.requests(OpCode::MULTI), 0);
}

/// A follower that is not the next one costs no commit, and one heartbeat serves all elections of a
/// session.
#[tokio::test(start_paused = true)]
async fn only_the_leader_and_the_next_one_commit() {
    let server = Server::new();
    let first = client(&server).await;
    let mut leader = first.election(ELECTION).nominate().unwrap();
    let mut elsewhere = first.election("/elsewhere").nominate().unwrap();
    let _leaderships = (leader.elected().await.unwrap(), elsewhere.elected().await.unwrap());
    let mut followers = Vec::new();
    for _ in 0..6 {
        let client = client(&server).await;
        followers.push((follower(&client).await, client));
    }
    tokio::time::sleep(TIMEOUT).await;
    let in_ten_timeouts = async || {
        let before = server.requests(OpCode::MULTI);
        tokio::time::sleep(TIMEOUT * 10).await;
        server.requests(OpCode::MULTI) - before
    };
    let heartbeats = in_ten_timeouts().await;
    let sessions = 2;
    assert!((28 * sessions..=31 * sessions).contains(&heartbeats), "{heartbeats} of {sessions}");

    // The one that remains goes on.
    leader.withdraw().await.unwrap();
    for (follower, _) in followers {
        follower.withdraw().await.unwrap();
    }
    let heartbeats = in_ten_timeouts().await;
    assert!((28..=32).contains(&heartbeats), "{heartbeats} of one session");
    elsewhere.withdraw().await.unwrap();
    assert_eq!(in_ten_timeouts().await, 0, "nobody needs the lease");
}

#[tokio::test(start_paused = true)]
async fn confirming_fails_once_the_candidate_is_gone() {
    let server = Server::new();
    let (first, second) = (client(&server).await, client(&server).await);
    let election = first.election(ELECTION).on_loss(OnLoss::End);
    let mut nomination = election.nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    assert_eq!(leadership.confirm().await, Ok(()));
    let path = format!("{ELECTION}/{}", leadership.candidate());
    second.delete(&path, Version::ANY).await.unwrap();
    assert_eq!(leadership.confirm().await, Err(TransactionError::NotHeld));
}
