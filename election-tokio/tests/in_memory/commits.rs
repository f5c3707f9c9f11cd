//! Two-phase commits: decided, blocked and recovered.

mod cost;
mod dropped;

use core::fmt::Debug;
use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::commit::{
    CommitCoordinator, CommitError, CommitFailure, CommitParticipant, CommitState, Decision,
    InvalidSites, SiteState, TwoPhaseCommit,
};
use election_tokio::error::Place;
use election_tokio::session::SessionEnd;
use election_tokio::{Client, CreateMode, Version};
use tokio::time::timeout;

use crate::server::{Server, settle, wait};

const TX: &str = "/deep/tx";

fn at(step: &'static str) -> Place {
    Place::new("two-phase commit", TX, step)
}

fn tx(client: &Client) -> TwoPhaseCommit {
    client.two_phase_commit(TX)
}

/// Whether it is still waited for after everything has settled.
async fn waits<T>(waiting: &mut (impl Future<Output = T> + Unpin)) -> bool {
    timeout(Duration::from_millis(10), waiting).await.is_err()
}

/// Waits for what comes, and fails where it does not.
async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(600), awaited).await.expect("it goes on")
}

async fn begun(client: &Client) -> CommitCoordinator {
    tx(client).begin("content", ["a", "b"]).await.unwrap()
}

async fn joined(client: &Client) -> (CommitParticipant, CommitParticipant) {
    (tx(client).join("a").await.unwrap(), tx(client).join("b").await.unwrap())
}

/// Asserts that nothing is left of the transaction.
async fn is_clean(server: &Server, context: &dyn Debug) {
    wait(3).await;
    let has_node = server.exists(TX);
    assert!(!has_node, "{:?}: {context:?}", server.children(TX));
    server.cut();
    wait(3).await;
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

#[tokio::test(start_paused = true)]
async fn all_vote_to_commit_and_all_learn_it() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let coordinator = begun(&one).await;
    let (a, b) = joined(&other).await;
    assert_eq!((a.site(), a.id()), ("a", coordinator.id()));
    assert_eq!(&b.content().await.unwrap()[..], b"content");
    let mut deciding = Box::pin(coordinator.decided());
    assert_eq!(a.vote_commit().await, Ok(None));
    assert_eq!(a.vote_commit().await, Ok(None), "again");
    assert!(waits(&mut deciding).await, "one has not voted");
    let mut learning = Box::pin(a.decision());
    assert!(waits(&mut learning).await);
    assert_eq!(b.vote_commit().await, Ok(None));
    assert_eq!(soon(deciding).await, Ok(Decision::Commit));
    assert_eq!(soon(learning).await, Ok(Decision::Commit));
    assert_eq!(coordinator.abort().await, Ok(Decision::Commit), "too late");
    assert_eq!(a.vote_abort().await, Ok(Decision::Commit), "too late");
    assert_eq!(a.acknowledge().await, Ok(()));
    let mut finishing = Box::pin(coordinator.finish());
    assert!(waits(&mut finishing).await, "one has not acknowledged");
    assert_eq!(b.decision().await, Ok(Decision::Commit));
    assert_eq!(b.acknowledge().await, Ok(()));
    assert_eq!(soon(finishing).await, Ok(()));
    assert_eq!(soon(coordinator.finish()).await, Ok(()), "again");
    is_clean(&server, &"committed").await;
}

#[tokio::test(start_paused = true)]
async fn one_vote_to_abort_decides_at_once() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let coordinator = begun(&one).await;
    let (a, b) = joined(&other).await;
    let mut deciding = Box::pin(coordinator.decided());
    assert_eq!(a.vote_commit().await, Ok(None));
    let bound = CommitError::Bound { at: at("vote"), site: "a".into() };
    assert_eq!(a.vote_abort().await, Err(bound), "it is bound");
    assert!(waits(&mut deciding).await);
    assert_eq!(b.vote_abort().await, Ok(Decision::Abort));
    assert_eq!(soon(deciding).await, Ok(Decision::Abort));
    let status = coordinator.status().await.unwrap();
    assert_eq!(status.state, CommitState::Aborted);
    assert_eq!(status.sites[1].state, SiteState::VotedAbort);
    assert_eq!(soon(a.decision()).await, Ok(Decision::Abort));
    assert_eq!(a.acknowledge().await, Ok(()));
    drop(b);
    assert_eq!(soon(coordinator.finish()).await, Ok(()), "the other one is not bound");
    is_clean(&server, &"aborted").await;
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_is_blocked_shows_for_whom_it_waits() {
    let server = Server::new();
    let client = server.client().await;
    let coordinator = begun(&client).await;
    let status = tx(&client).status().await.unwrap();
    assert_eq!((status.id, status.state), (coordinator.id(), CommitState::Open));
    assert_eq!(status.not_voted().count(), 2);
    assert_eq!(status.gone().count(), 0, "none has come");
    let (a, b) = joined(&client).await;
    a.vote_commit().await.unwrap();
    let status = coordinator.status().await.unwrap();
    let waited_for: Vec<&str> = status.not_voted().map(|site| site.name.as_str()).collect();
    assert_eq!(waited_for, ["b"]);
    assert!(status.sites.iter().all(|site| site.presence.is_some()));
    drop((a, b));
    settle().await;
    let status = coordinator.status().await.unwrap();
    let gone: Vec<&str> = status.gone().map(|site| site.name.as_str()).collect();
    assert_eq!(gone, ["a", "b"]);
    let [a, b] = &status.sites[..] else { panic!("two sites: {status:?}") };
    assert!(status.since.czxid < b.since.czxid && b.since.czxid < a.since.czxid);
    let line = status.to_string();
    assert!(line.starts_with("open since "), "{line}");
    assert!(line.ends_with("a has voted to commit and is gone, b has not voted and is gone"));
    assert_eq!(soon(coordinator.decided()).await, Ok(Decision::Abort), "b is gone");
    let a = tx(&client).join("a").await.unwrap();
    assert_eq!(a.vote_commit().await, Ok(Some(Decision::Abort)));
    a.acknowledge().await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    is_clean(&server, &"blocked").await;
}

/// Before its vote the transaction is aborted for that; after it the vote stands.
#[tokio::test(start_paused = true)]
async fn a_site_whose_session_ends_is_bound_by_its_vote_alone() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let coordinator = begun(&one).await;
    let (a, b) = joined(&other).await;
    a.vote_commit().await.unwrap();
    server.refuse();
    server.expire();
    wait(3).await;
    server.accept();
    wait(3).await;
    let status = coordinator.status().await.unwrap();
    assert_eq!(status.gone().count(), 0, "both have come back: {status}");
    b.vote_commit().await.unwrap();
    assert_eq!(soon(coordinator.decided()).await, Ok(Decision::Commit));
    drop((a, b));
    let (a, b) = joined(&one).await;
    assert_eq!(soon(a.decision()).await, Ok(Decision::Commit));
    a.acknowledge().await.unwrap();
    b.acknowledge().await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    is_clean(&server, &"voted").await;

    let coordinator = begun(&one).await;
    let (a, b) = joined(&other).await;
    a.vote_commit().await.unwrap();
    let mut deciding = Box::pin(coordinator.decided());
    assert!(waits(&mut deciding).await);
    drop(b);
    assert_eq!(soon(deciding).await, Ok(Decision::Abort));
    a.acknowledge().await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    is_clean(&server, &"not voted").await;
}

#[tokio::test(start_paused = true)]
async fn any_party_takes_over_from_a_coordinator_that_is_gone() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let id = begun(&one).await.id();
    one.close().await.unwrap();
    let (a, b) = joined(&other).await;
    a.vote_commit().await.unwrap();
    b.vote_commit().await.unwrap();
    let mut learning = Box::pin(a.decision());
    assert!(waits(&mut learning).await, "no party decides");
    let coordinator = tx(&other).recover().await.unwrap();
    assert_eq!(coordinator.id(), id);
    assert_eq!(soon(coordinator.decided()).await, Ok(Decision::Commit));
    assert_eq!(soon(learning).await, Ok(Decision::Commit));
    a.acknowledge().await.unwrap();
    b.acknowledge().await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    is_clean(&server, &"recovered").await;
}

#[tokio::test(start_paused = true)]
async fn sites_decide_without_a_coordinator() {
    let server = Server::new();
    let client = server.client().await;
    let coordinator = begun(&client).await;
    let (a, b) = joined(&client).await;
    let vote_and_decide = async |site: &CommitParticipant| {
        site.vote_commit().await.unwrap();
        site.decide().await
    };
    let decided = tokio::join!(vote_and_decide(&a), vote_and_decide(&b));
    assert_eq!(decided, (Ok(Decision::Commit), Ok(Decision::Commit)));
    a.acknowledge().await.unwrap();
    b.acknowledge().await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    is_clean(&server, &"each watches").await;
}

/// The next transaction at the path is another one.
#[tokio::test(start_paused = true)]
async fn a_party_of_an_earlier_transaction_takes_no_part_in_the_next() {
    let server = Server::new();
    let client = server.client().await;
    let coordinator = begun(&client).await;
    let (a, b) = joined(&client).await;
    coordinator.abort().await.unwrap();
    assert_eq!(b.vote_commit().await, Ok(Some(Decision::Abort)));
    b.acknowledge().await.unwrap();
    let path = server.children(TX).into_iter().find(|name| name.starts_with("live-a")).unwrap();
    client.delete(&format!("{TX}/{path}"), Version::ANY).await.unwrap();
    soon(coordinator.finish()).await.unwrap();
    assert_eq!(
        soon(a.decision()).await,
        Err(CommitError::NotFound { at: at("learn the decision") })
    );
    let next = begun(&client).await;
    let replaced = |step| CommitError::Replaced { at: at(step) };
    assert!(replaced("vote").is_not_found());
    assert_eq!(a.vote_commit().await, Err(replaced("vote")));
    assert_eq!(coordinator.abort().await, Err(replaced("abort")));
    assert_eq!(coordinator.status().await, Err(replaced("status")));
    assert_eq!(soon(coordinator.finish()).await, Ok(()), "of the earlier one nothing is left");
    assert_eq!(next.status().await.unwrap().state, CommitState::Open);
    drop(a);
    next.abort().await.unwrap();
    next.finish().await.unwrap();
    is_clean(&server, &"next").await;
}

#[tokio::test(start_paused = true)]
async fn a_node_without_children_is_replaced_with_its_data() {
    let server = Server::new();
    let client = server.client().await;
    let acls = Acls::open();
    client.create_with_parents(TX, "seven", CreateMode::Persistent, &acls).await.unwrap();
    let (_, before) = client.get_data(TX).await.unwrap();
    let coordinator = begun(&client).await;
    let (content, after) = client.get_data(TX).await.unwrap();
    assert!(content != "seven" && after.czxid > before.czxid, "{content:?}");
    coordinator.abort().await.unwrap();
    coordinator.finish().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_two_phase_commit_has_an_error_of_its_own() {
    let server = Server::new();
    let client = server.client().await;
    let none = [] as [&str; 0];
    let failed = |step, failure| CommitError::Failed { at: at(step), failure };
    let bad_path = client.two_phase_commit("no/slash").recover().await.unwrap_err();
    assert!(matches!(bad_path, CommitError::InvalidPath { .. }), "{bad_path}");
    let bad_site = tx(&client).begin("", ["a/b"]).await.unwrap_err();
    assert!(matches!(bad_site, CommitError::InvalidSite { .. }), "{bad_site}");
    let no_sites = tx(&client).begin("", none).await.unwrap_err();
    let invalid = CommitError::InvalidSites { at: at("begin"), error: InvalidSites };
    assert_eq!(no_sites, invalid);
    let twice = tx(&client).begin("", ["a", "b", "a"]).await.unwrap_err();
    assert_eq!(twice, invalid);
    assert_eq!(tx(&client).status().await.unwrap_err(), CommitError::NotFound { at: at("status") });
    let missing = tx(&client).join("a").await.unwrap_err();
    assert_eq!(missing, CommitError::NotFound { at: at("join") });
    let text = missing.to_string();
    assert!(text.starts_with(&format!("two-phase commit {TX}, join: there is no")), "{text}");

    client
        .create_with_parents(&format!("{TX}/stray"), "", CreateMode::Persistent, &Acls::open())
        .await
        .unwrap();
    let foreign = tx(&client).begin("", ["a"]).await.unwrap_err();
    assert_eq!(foreign, failed("begin", CommitFailure::NotATransaction));
    client.delete(&format!("{TX}/stray"), Version::ANY).await.unwrap();
    let coordinator = begun(&client).await;
    let exists = tx(&client).begin("", ["a"]).await.unwrap_err();
    let (id, state) = (coordinator.id(), CommitState::Open);
    assert_eq!(exists, CommitError::Exists { at: at("begin"), id, state });
    let stranger = tx(&client).join("c").await.unwrap_err();
    assert_eq!(stranger, CommitError::NoSuchSite { at: at("join"), site: "c".into() });
    let undecided = |step| CommitError::Undecided { at: at(step) };
    assert_eq!(soon(coordinator.finish()).await, Err(undecided("finish")));
    let a = tx(&client).join("a").await.unwrap();
    assert_eq!(a.acknowledge().await, Err(undecided("acknowledge")));
    assert_eq!(coordinator.abort().await, Ok(Decision::Abort));
    client.create(&format!("{TX}/stray"), "", CreateMode::Persistent).await.unwrap();
    assert_eq!(
        soon(coordinator.finish()).await,
        Err(failed("finish", CommitFailure::ForeignChildren))
    );
    client.delete(&format!("{TX}/stray"), Version::ANY).await.unwrap();
    assert_eq!(soon(coordinator.finish()).await, Ok(()));
    is_clean(&server, &"errors").await;
    client.clone().close().await.unwrap();
    let closed = CommitError::ClientClosed { at: at("decide"), end: SessionEnd::Closed };
    assert_eq!(soon(coordinator.decided()).await, Err(closed));
}
