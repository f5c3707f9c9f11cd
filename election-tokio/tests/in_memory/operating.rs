//! Elections that are operated: leaders evicted, counted, and asked to step down.

use core::time::Duration;

use election_tokio::election::{
    Acknowledgement, ElectionError, EndError, Follow, Leadership, LostReason, Nomination,
    Observation, StepDownRequest, StepDownRequestError,
};
use election_tokio::error::PathError;
use election_tokio::lock::Removal;
use election_tokio::{Client, CreateMode, ErrorCode, ErrorKind, Token, TransactionError, Version};
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const WITHIN: Duration = Duration::from_secs(60);

async fn leader(client: &Client) -> (Nomination, Leadership) {
    let mut nomination = client.election("/election").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    (nomination, leadership)
}

#[tokio::test(start_paused = true)]
async fn the_candidate_with_a_token_is_evicted_and_no_other() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let (mut nomination, leadership) = leader(&client).await;
    let election = other.election("/election");
    assert_eq!(election.evict(Token::new(1)).await, Ok(Removal::Gone));
    assert!(leadership.is_valid());
    let path = format!("/election/{}", leadership.candidate());
    other.set_data(&path, "written", Version::ANY).await.unwrap();
    assert_eq!(election.evict(leadership.token()).await, Ok(Removal::Removed));
    assert_eq!(leadership.lost().await, LostReason::Evicted);
    let next = nomination.elected().await.unwrap();
    assert_eq!(election.evict(leadership.token()).await, Ok(Removal::Gone), "the next one stays");
    assert!(next.is_valid());
}

#[tokio::test(start_paused = true)]
async fn each_leader_has_one_epoch() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election("/election");
    assert_eq!(election.epoch().await, Ok(None));
    let (mut nomination, mut leadership) = leader(&client).await;
    for number in 0..3 {
        let epoch = leadership.epoch().await.unwrap();
        assert_eq!((epoch.number(), epoch.token()), (number, leadership.token()));
        assert_eq!(leadership.epoch().await.unwrap(), epoch, "it has one");
        assert_eq!(election.epoch().await.unwrap(), Some(epoch.clone()));
        let in_epoch = client.transaction().check(epoch.path(), epoch.version());
        in_epoch.clone().commit().await.unwrap();
        let held = nomination.try_elected().unwrap().unwrap();
        leadership.step_down().await.unwrap();
        assert_eq!(held.epoch().await, Ok(epoch), "it had begun");
        leadership = nomination.elected().await.unwrap();
        leadership.epoch().await.unwrap();
        let refused = in_epoch.commit().await.unwrap_err();
        assert_eq!(refused.code(), Some(ErrorCode::BAD_VERSION));
        assert_eq!(held.epoch().await, Err(TransactionError::NotHeld));
    }
}

/// Dropped anywhere, with the connection lost there or not: asked again, it is the same epoch.
#[tokio::test(start_paused = true)]
async fn an_epoch_dropped_anywhere_begins_once() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let (_nomination, leadership) = leader(&client).await;
            let begun = run_until(&server, end, leadership.epoch()).await;
            if is_cut {
                server.cut();
                wait(3).await;
            }
            settle().await;
            assert_eq!(leadership.epoch().await.unwrap().number(), 0, "{end:?}");
            begun.is_some()
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_hears_that_it_is_asked_to_step_down() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let election = other.election("/election");
    let within = Duration::from_secs(30);
    let asked = election.request_step_down("ops", "new disks", within).await;
    assert_eq!(asked, Ok(StepDownRequest::NoLeader));
    let (mut nomination, leadership) = leader(&client).await;
    let watches = server.watches();
    let token = leadership.token();
    let hearing = tokio::spawn(async move {
        let request = leadership.step_down_requested().await;
        (leadership, request)
    });
    settle().await;
    assert_eq!(server.watches(), watches + 1);
    let asked = election.request_step_down("ops\nnot this", "new disks", within).await;
    assert_eq!(asked, Ok(StepDownRequest::Made(token)));
    let (leadership, request) = hearing.await.unwrap();
    let request = request.unwrap();
    assert_eq!((request.by.as_str(), request.reason.as_str()), ("ops", "new disks"));
    let left = request.deadline - tokio::time::Instant::now();
    assert!(left <= within && left > within / 2, "{left:?}");
    let again = leadership.step_down_requested().await.unwrap();
    assert_eq!(again.by, "ops", "one that waits too late hears of it");

    leadership.step_down().await.unwrap();
    let next = nomination.elected().await.unwrap();
    let unheard = tokio::time::timeout(within, next.step_down_requested()).await;
    assert!(unheard.is_err(), "it is not asked: {unheard:?}");
    let asked = election.request_step_down("ops", "again", within).await;
    assert_eq!(asked, Ok(StepDownRequest::Made(next.token())));
    assert_eq!(next.step_down_requested().await.unwrap().reason, "again");
    // Its nomination ends, and with it what it waits for.
    nomination.withdraw().await.unwrap();
    assert_eq!(next.step_down_requested().await.unwrap_err().lost, LostReason::Resigned);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_request_dropped_anywhere_leaves_no_watch() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let (nomination, leadership) = leader(&client).await;
        let within = Duration::from_secs(9);
        client.election("/election").request_step_down("ops", "", within).await.unwrap();
        let heard = run_until(&server, end, leadership.step_down_requested()).await;
        nomination.withdraw().await.unwrap();
        server.cut();
        wait(3).await;
        assert_eq!(server.watches(), 0, "{end:?}");
        assert_eq!(server.requests(OpCode::SET_WATCHES), 0, "{end:?}");
        heard.is_some()
    })
    .await;
}

/// A leader's next acknowledgement replaces its last one.
#[tokio::test(start_paused = true)]
async fn observers_see_what_a_leader_says_last() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let (_nomination, leadership) = leader(&client).await;
    let mut observer =
        other.election("/election").observe(Follow::LeaderAndAcknowledgement).unwrap();
    for said in ["at 10.0.0.1", "at 10.0.0.2"] {
        leadership.acknowledge(said.as_bytes()).await.unwrap();
        let given = Acknowledgement::Given(said.into());
        let is_given = |seen: &Observation| {
            seen.leader().is_some_and(|leader| leader.acknowledgement == given)
        };
        observer.wait_for(is_given).await.unwrap();
    }
}

/// Each that would keep something beside the election node.
#[tokio::test(start_paused = true)]
async fn an_election_at_the_chroot_itself_is_refused() {
    let server = Server::new();
    let root = server.client().await;
    root.create("/app", "", CreateMode::Persistent).await.unwrap();
    let client =
        Client::builder("in-memory/app").connector(server.clone()).connect().await.unwrap();
    let election = client.election("/");
    let refused = || ElectionError::InvalidPath { path: "/".to_owned(), error: PathError::Chroot };
    assert_eq!(election.nominate().map(drop), Err(refused()));
    assert_eq!(election.observe(Follow::Leader).map(drop), Err(refused()));
    let asked = election.request_step_down("ops", "", WITHIN).await;
    assert_eq!(asked, Err(StepDownRequestError::Leader(refused().into())));
    let of_epoch = election.epoch().await.unwrap_err();
    assert_eq!(of_epoch.kind(), ErrorKind::InvalidPath(PathError::Chroot));
    let EndError::Request { error: deleted, .. } = election.delete(WITHIN).await.unwrap_err()
    else {
        panic!()
    };
    assert_eq!(deleted.kind(), ErrorKind::InvalidPath(PathError::Chroot));
    settle().await;
    assert_eq!(server.children("/app"), Vec::<String>::new());
    assert!(server.children("/").iter().all(|name| name == "app" || name == "zookeeper"));
}

/// There the marks are children of the election node, which all clients find.
#[tokio::test(start_paused = true)]
async fn an_election_at_the_root_of_the_server_has_its_marks() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    let mut nomination =
        client.election("/").lock_delay(Duration::from_secs(1)).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    leadership.acknowledge(b"ready").await.unwrap();
    let epoch = leadership.epoch().await.unwrap();
    let others = other.election("/");
    assert_eq!(others.epoch().await.unwrap(), Some(epoch));
    let mut observer = others.observe(Follow::LeaderAndAcknowledgement).unwrap();
    let is_ready = |seen: &Observation| {
        let said = seen.leader().map(|leader| &leader.acknowledgement);
        matches!(said, Some(Acknowledgement::Given(_)))
    };
    observer.wait_for(is_ready).await.unwrap();
    others.request_step_down("ops", "", WITHIN).await.unwrap();
    assert_eq!(leadership.step_down_requested().await.unwrap().by, "ops");
    for mark in ["/.acknowledged", "/.epoch", "/.lock-delay", "/.step-down"] {
        assert!(server.exists(mark), "{mark}");
    }
}
