//! Heartbeats check one candidate for all elections of a client: what befalls that one is no matter of
//! the others.

use core::time::Duration;

use election_tokio::election::{Leadership, LostReason, Nomination, OnLoss, Role};
use election_tokio::{Client, ErrorCode, Version};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::lies::Lie;
use crate::server::{Server, wait};

const TIMEOUT: Duration = Duration::from_secs(6);
const ELECTIONS: [&str; 3] = ["/one", "/two", "/three"];

/// A client that leads in several elections.
struct Scene {
    server: Server,
    _client: Client,
    leaders: Vec<(Nomination, Leadership)>,
}

impl Scene {
    async fn new() -> Self {
        let server = Server::new();
        let client = server.builder().session_timeout(TIMEOUT).connect().await.unwrap();
        let mut leaders = Vec::new();
        for election in ELECTIONS {
            let election = client.election(election).on_loss(OnLoss::End);
            let mut nomination = election.nominate().unwrap();
            let leadership = nomination.elected().await.unwrap();
            leaders.push((nomination, leadership));
        }
        tokio::time::sleep(TIMEOUT * 3).await;
        Self { server, _client: client, leaders }
    }

    fn path(&self, election: usize) -> String {
        format!("{}/{}", ELECTIONS[election], self.leaders[election].1.candidate())
    }

    /// Deletes the candidate, and tells no client.
    fn evict_silently(&self, election: usize) {
        self.server.delete_silently(&self.path(election));
    }

    /// Asserts that the leaders from this one on lead on, for longer than a lease lasts.
    async fn the_others_lead_on(&self, first: usize) {
        for _ in 0..100 {
            tokio::time::sleep(TIMEOUT / 20).await;
            for (nomination, leadership) in &self.leaders[first..] {
                assert!(leadership.is_valid(), "{:?}", nomination.status());
            }
        }
    }
}

/// At every phase of the heartbeats.
#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_gone_costs_no_other_election_its_leader() {
    for phase in 0..10 {
        let scene = Scene::new().await;
        tokio::time::sleep(TIMEOUT * phase / 30).await;
        scene.evict_silently(0);
        scene.evict_silently(1);
        let lost = timeout(TIMEOUT * 2, scene.leaders[0].1.lost()).await;
        scene.the_others_lead_on(2).await;
        assert_eq!(lost, Ok(LostReason::Evicted), "it has looked");
        assert_eq!(scene.leaders[1].1.lost().await, LostReason::Evicted);
    }
}

/// The same for a candidate with a nominee that is told.
#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_deleted_costs_no_other_election_its_leader() {
    for phase in 0..10 {
        let scene = Scene::new().await;
        let other = scene.server.client().await;
        tokio::time::sleep(TIMEOUT * phase / 30).await;
        other.delete(&scene.path(0), Version::ANY).await.unwrap();
        scene.the_others_lead_on(1).await;
        assert_eq!(scene.leaders[0].1.lost().await, LostReason::Evicted);
    }
}

/// The refusal evicts no leader, and does not go on and on.
#[tokio::test(start_paused = true)]
async fn a_server_that_has_too_much_to_do_for_a_moment_costs_nobody_the_lead() {
    let scene = Scene::new().await;
    for _ in 0..2 {
        scene.server.lie_about(OpCode::MULTI, Lie::Code(ErrorCode::THROTTLED_OP));
    }
    scene.the_others_lead_on(0).await;
}

/// At once, whatever the candidate of the first one turns out to be.
#[tokio::test(start_paused = true)]
async fn after_a_refusal_another_candidate_is_checked_at_once() {
    let scene = Scene::new().await;
    let heartbeats = || scene.server.requests(OpCode::MULTI);
    let before = heartbeats();
    scene.server.lie_about(OpCode::MULTI, Lie::Code(ErrorCode::NO_AUTH));
    while heartbeats() == before {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(TIMEOUT / 100).await;
    assert_eq!(heartbeats() - before, 2);
}

/// All are tried once; then the next one waits for its time.
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_all_heartbeats_is_not_stormed_with_them() {
    let scene = Scene::new().await;
    for _ in 0..1000 {
        scene.server.lie_about(OpCode::MULTI, Lie::Code(ErrorCode::THROTTLED_OP));
    }
    let before = scene.server.requests(OpCode::MULTI);
    tokio::time::sleep(TIMEOUT / 2).await;
    let refused = scene.server.requests(OpCode::MULTI) - before;
    assert!((2..=12).contains(&refused), "{refused} heartbeats in half a timeout");
    wait(60).await;
    for (nomination, leadership) in &scene.leaders {
        assert_eq!(leadership.lost().await, LostReason::LeaseLapsed);
        assert!(matches!(nomination.status().role, Role::Ended(_) | Role::Leaving));
    }
}
