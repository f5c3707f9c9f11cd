//! A leadership is announced only while the lease is proved.
//!
//! With the largest margin the lease lasts for a tenth of the timeout after each request that was
//! answered, and pings go out after a third: so most of the time it has lapsed, although the
//! connection is well. A process that was paused is in the same place when it goes on.

use core::time::Duration;

use election_tokio::election::{Leadership, Nomination, OnLoss, Role};
use election_tokio::lease::{LeaseGrade, LeaseMargin, LeaseOutlook};
use election_tokio::{Client, ConnectError, ConnectionState, Version};

use crate::server::{Server, wait};

const ELECTION: &str = "/election";
const TIMEOUT: Duration = Duration::from_secs(30);

/// A leader, and a follower with a lapsed lease.
struct Scene {
    leaders: Client,
    leadership: Leadership,
    _leader: Nomination,
    followers: Client,
    follower: Nomination,
}

impl Scene {
    async fn new(server: &Server) -> Self {
        let leaders = server.builder().session_timeout(TIMEOUT).connect().await.unwrap();
        let election = leaders.election(ELECTION).on_loss(OnLoss::End);
        let mut leader = election.nominate().unwrap();
        let leadership = leader.elected().await.unwrap();
        let builder = server.builder().session_timeout(TIMEOUT).lease_grade(LeaseGrade::Contact);
        let followers = builder.lease_margin(LeaseMargin::percent(90)).connect().await.unwrap();
        let follower = followers.election(ELECTION).nominate().unwrap();
        let in_place =
            follower.updates().wait_for(|s| matches!(s.role, Role::Following { .. })).await;
        assert!(in_place.is_ok());
        tokio::time::sleep(TIMEOUT / 6).await;
        Self { leaders, leadership, _leader: leader, followers, follower }
    }

    /// Makes way for the follower.
    async fn delete_leader(&self) {
        let path = format!("{ELECTION}/{}", self.leadership.candidate());
        self.leaders.delete(&path, Version::ANY).await.unwrap();
        wait(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_promotion_is_announced_when_the_lease_is_proved_and_not_before() {
    let server = Server::new();
    let mut scene = Scene::new(&server).await;
    scene.delete_leader().await;
    let outlook = LeaseOutlook::AwaitsProof;
    assert_eq!(scene.follower.status().role, Role::AwaitingLease { outlook });
    let leadership = scene.follower.elected().await.unwrap();
    assert!(leadership.is_valid(), "a ping has proved the lease");
    assert!(scene.followers.exists("/").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_remaining_time_is_that_to_the_deadline_and_zero_after_it() {
    let server = Server::new();
    let client = server.builder().session_timeout(TIMEOUT).start().unwrap();
    assert_eq!(client.session_id(), None, "no server has granted one yet");
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    assert_eq!(client.session_id(), nomination.status().session);
    let deadline = leadership.valid_until().expect("it has just been proved");
    let remaining = leadership.remaining();
    assert_eq!(deadline - tokio::time::Instant::now(), remaining);
    assert!(remaining > TIMEOUT / 5 && remaining < TIMEOUT, "{remaining:?}");
    server.refuse();
    server.cut();
    tokio::time::sleep(remaining / 2).await;
    assert_eq!(leadership.remaining() + remaining / 2, remaining);
    tokio::time::sleep(remaining).await;
    assert_eq!(leadership.remaining(), Duration::ZERO);
    assert!(!leadership.is_valid());
}

/// The handshake proves the lease, but says nothing about the candidate.
#[tokio::test(start_paused = true)]
async fn a_promotion_is_not_announced_before_the_candidate_is_verified_after_a_reconnect() {
    let server = Server::new();
    let mut scene = Scene::new(&server).await;
    scene.delete_leader().await;
    scene.leaders.clone().close().await.unwrap();
    let candidate = scene.follower.status().candidate.unwrap();
    server.refuse();
    server.cut();
    wait(1).await;
    let path = format!("{ELECTION}/{candidate}");
    server.raw().delete(&path).expect("it stands");
    // The handshake is answered, and nothing else yet.
    server.read_only_next(1);
    server.accept();
    let mut connection = scene.followers.connection_updates();
    connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. })).await.unwrap();
    assert_eq!(scene.follower.status().role, Role::Connecting);
    server.read_freely();
    let leadership = scene.follower.elected().await.unwrap();
    assert_ne!(*leadership.candidate(), candidate);
}

/// No lease of these grades could be kept alive with it: no nominee would ever be elected.
#[tokio::test(start_paused = true)]
async fn a_margin_that_leaves_no_time_for_proofs_is_refused() {
    for grade in [LeaseGrade::Sync, LeaseGrade::Quorum] {
        let builder = Server::new().builder().lease_grade(grade);
        let refused = builder.lease_margin(LeaseMargin::percent(21)).start();
        assert!(matches!(refused, Err(ConnectError::Margin { .. })), "{refused:?}");
        let builder = Server::new().builder().lease_grade(grade);
        assert!(builder.lease_margin(LeaseMargin::percent(20)).start().is_ok());
    }
}

/// Answers that take longer than the bound: no lease would last until the next proof. The status says
/// so, and says it once.
#[tokio::test(start_paused = true)]
async fn who_is_promoted_over_a_slow_link_is_told_what_it_waits_for() {
    let timeout = Duration::from_secs(6);
    let slow = Duration::from_millis(400);
    let server = Server::new();
    server.state().latency = slow;
    let client = server.builder().session_timeout(timeout).connect().await.unwrap();
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let mut status = nomination.updates();
    let awaits = |role: &Role| match role {
        Role::AwaitingLease {
            outlook: LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest },
        } => Some((*round_trip, *timeout, *longest)),
        _ => None,
    };
    let told = status.wait_for(|status| awaits(&status.role).is_some()).await.unwrap();
    let (round_trip, counted, longest) = awaits(&told.role).expect("it awaits the lease");
    assert!((slow..slow * 2).contains(&round_trip), "{round_trip:?}");
    assert_eq!(counted, timeout);
    assert!(longest == timeout / 30, "{longest:?}");

    let elected = tokio::time::timeout(timeout * 20, nomination.elected()).await;
    assert!(elected.is_err(), "no lease would last");
    assert!(!status.has_changed(), "nothing flaps: {:?}", status.latest());

    server.state().latency = longest / 2;
    let leadership = nomination.elected().await.unwrap();
    for _ in 0..200 {
        tokio::time::sleep(timeout / 20).await;
        assert!(leadership.is_valid());
    }
}

/// Just below the bound a leadership lasts; just above there is none.
#[tokio::test(start_paused = true)]
async fn a_leadership_is_announced_where_it_lasts_and_only_there() {
    let timeout = Duration::from_secs(6);
    for part in 20..40 {
        let server = Server::new();
        server.state().latency = timeout / part;
        let client = server.builder().session_timeout(timeout).connect().await.unwrap();
        let election = client.election(ELECTION).on_loss(OnLoss::End);
        let mut nomination = election.nominate().unwrap();
        let elected = tokio::time::timeout(timeout * 5, nomination.elected()).await;
        assert_eq!(elected.is_ok(), part > 30, "a round trip of a {part}th");
        if let Ok(leadership) = elected {
            let lost = tokio::time::timeout(timeout * 50, leadership.unwrap().lost()).await;
            assert!(lost.is_err(), "{lost:?} with a round trip of a {part}th");
        }
    }
}
