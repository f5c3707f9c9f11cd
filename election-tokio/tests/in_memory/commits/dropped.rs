//! Every call of a two-phase commit, dropped at every await point.

use core::fmt::Debug;

use election_tokio::Client;
use election_tokio::commit::{CommitCoordinator, CommitError, CommitParticipant, Decision};

use super::{TX, begun, is_clean, joined, soon, tx};
use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, wait};

/// Brings the transaction to its end, whatever was dropped: the sites come by their names, vote,
/// and learn the decision.
async fn goes_through(server: &Server, client: &Client, context: &dyn Debug) -> Option<Decision> {
    wait(3).await;
    let coordinator = match tx(client).recover().await {
        Ok(coordinator) => coordinator,
        Err(CommitError::NotFound { .. }) => {
            is_clean(server, context).await;
            return None;
        }
        Err(error) => panic!("{error}: {context:?}"),
    };
    let decided = {
        let mut sites = Vec::new();
        for site in ["a", "b"] {
            match tx(client).join(site).await {
                Ok(participant) => {
                    participant.vote_commit().await.unwrap();
                    sites.push(participant);
                }
                Err(CommitError::NoSuchSite { .. }) => {}
                Err(error) => panic!("{error}: {context:?}"),
            }
        }
        let decided = soon(coordinator.decided()).await.unwrap();
        for participant in sites {
            assert_eq!(soon(participant.decision()).await, Ok(decided), "{context:?}");
            participant.acknowledge().await.unwrap();
        }
        decided
    };
    assert_eq!(soon(coordinator.finish()).await, Ok(()), "{context:?}");
    is_clean(server, context).await;
    Some(decided)
}

/// Drops the call everywhere, with and without a lost connection at that moment.
async fn dropped_everywhere(
    call: impl AsyncFn(&Client, &CommitCoordinator, &CommitParticipant) -> bool,
    expected: &[Decision],
) {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let coordinator = begun(&client).await;
            let (a, b) = joined(&client).await;
            b.vote_commit().await.unwrap();
            let done = run_until(&server, end, call(&client, &coordinator, &a)).await;
            assert_ne!(done, Some(false), "{end:?}");
            if is_cut {
                server.cut();
            }
            wait(1).await;
            let context = (end, is_cut);
            let is_decided = server.children(TX).iter().any(|name| name.starts_with("aborted"));
            let others = async {
                if !is_decided {
                    a.vote_commit().await.unwrap();
                }
            };
            others.await;
            drop((a, b));
            let decided = goes_through(&server, &client, &context).await;
            assert!(decided.is_some_and(|decided| expected.contains(&decided)), "{context:?}");
            done.is_some()
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_vote_that_is_dropped_anywhere_is_cast_or_not() {
    dropped_everywhere(async |_, _, a| a.vote_commit().await.is_ok(), &[Decision::Commit]).await;
    let both = [Decision::Commit, Decision::Abort];
    dropped_everywhere(async |_, _, a| a.vote_abort().await.is_ok(), &both).await;
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_is_dropped_anywhere_is_made_once() {
    let decide = async |_: &Client, coordinator: &CommitCoordinator, a: &CommitParticipant| {
        let (voted, decided) = tokio::join!(a.vote_commit(), coordinator.decided());
        voted.is_ok() && decided == Ok(Decision::Commit)
    };
    dropped_everywhere(decide, &[Decision::Commit]).await;
    let learn = async |_: &Client, coordinator: &CommitCoordinator, a: &CommitParticipant| {
        let (aborted, decided) = tokio::join!(coordinator.abort(), a.decision());
        aborted == Ok(Decision::Abort) && decided == aborted
    };
    dropped_everywhere(learn, &[Decision::Commit, Decision::Abort]).await;
}

#[tokio::test(start_paused = true)]
async fn a_beginning_that_is_dropped_anywhere_is_whole_or_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let handle = tx(&client);
            let begun = run_until(&server, end, handle.begin("content", ["a", "b"])).await;
            if is_cut {
                server.cut();
            }
            wait(3).await;
            let is_open = server.children(TX).len() == 3;
            assert!(is_open || server.children(TX).is_empty(), "{:?}", server.children(TX));
            if !is_open {
                drop(handle.begin("content", ["a", "b"]).await.unwrap());
            }
            let decided = goes_through(&server, &client, &(end, is_cut)).await;
            assert_eq!(decided, Some(Decision::Commit));
            begun.is_some()
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_joining_that_is_dropped_anywhere_leaves_no_one_there() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let coordinator = begun(&client).await;
            let handle = tx(&client);
            let a = run_until(&server, end, handle.join("a")).await.map(drop);
            if is_cut {
                server.cut();
            }
            wait(3).await;
            let is_there = server.children(TX).iter().any(|name| name.starts_with("live-"));
            assert!(!is_there, "{end:?}: {:?}", server.children(TX));
            coordinator.abort().await.unwrap();
            assert_eq!(soon(coordinator.finish()).await, Ok(()));
            is_clean(&server, &(end, is_cut)).await;
            a.is_some()
        })
        .await;
    }
}

/// A dropped end keeps the votes and the removals that it has made; another call goes on.
#[tokio::test(start_paused = true)]
async fn an_end_that_is_dropped_anywhere_goes_on_with_another_call() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let coordinator = begun(&client).await;
            let (a, b) = joined(&client).await;
            a.vote_commit().await.unwrap();
            b.vote_commit().await.unwrap();
            assert_eq!(soon(coordinator.decided()).await, Ok(Decision::Commit));
            let ended = run_until(&server, end, async {
                a.acknowledge().await.unwrap();
                b.acknowledge().await.unwrap();
                soon(coordinator.finish()).await.unwrap();
            })
            .await;
            if is_cut {
                server.cut();
            }
            let decided = goes_through(&server, &client, &(end, is_cut)).await;
            assert_ne!(decided, Some(Decision::Abort), "{end:?}");
            ended.is_some()
        })
        .await;
    }
}
