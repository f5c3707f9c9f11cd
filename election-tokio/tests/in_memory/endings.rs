//! Elections that are ended, reopened and deleted.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::Poll;
use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::election::{
    Departure, ElectionNode, EndError, EndReason, LostReason, NodeKind, OnLoss, Reopening, Role,
    StepDownRequest,
};
use election_tokio::error::Place;
use election_tokio::format::Format;
use election_tokio::{CreateMode, Version};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const ELECTION: &str = "/services/election";
const QUIET: Duration = Duration::from_secs(5);

fn at(step: &'static str) -> Place {
    Place::new("election", ELECTION, step)
}

/// The refusal of an election in a format that cannot be ended.
fn foreign<T>(step: &'static str) -> Result<T, EndError> {
    Err(EndError::ForeignFormat { at: at(step) })
}

#[tokio::test(start_paused = true)]
async fn all_are_told_of_the_end_and_none_stands_until_it_is_reopened() {
    for on_loss in [OnLoss::StandAgain, OnLoss::StandUntilElected, OnLoss::End] {
        let server = Server::new();
        let (client, operator) = (server.client().await, server.client().await);
        let election = operator.election(ELECTION);
        let nominate = || client.election(ELECTION).on_loss(on_loss).nominate().unwrap();
        let mut nominations: Vec<_> = (0..5).map(|_| nominate()).collect();
        let leadership = nominations[0].elected().await.unwrap();
        settle().await;
        assert_eq!(election.is_ended().await, Ok(false));
        assert_eq!(election.end().await, Ok(5));
        assert_eq!(leadership.lost().await, LostReason::Evicted);
        for nomination in &mut nominations {
            assert_eq!(nomination.elected().await.unwrap_err().reason, EndReason::ElectionEnded);
        }
        let late = nominate().elected().await;
        assert_eq!(late.unwrap_err().reason, EndReason::ElectionEnded, "{on_loss:?}");
        settle().await;
        assert_eq!(server.children(ELECTION), ["ended"]);
        assert_eq!(election.is_ended().await, Ok(true));
        assert_eq!(election.end().await, Ok(0), "again");

        assert_eq!(election.reopen().await, Ok(Reopening::Reopened));
        assert_eq!(election.reopen().await, Ok(Reopening::WasOpen));
        let mut again = nominate();
        let next = again.elected().await.unwrap();
        assert!(next.token() > leadership.token());
        assert_eq!(again.withdraw().await, Ok(Departure::Deleted));
    }
}

/// By what is asked of the server: the sign is among the children that a nominee lists anyway.
#[tokio::test(start_paused = true)]
async fn an_election_that_can_be_ended_costs_no_request() {
    let server = Server::new();
    let client = server.client().await;
    let mut first = client.election(ELECTION).nominate().unwrap();
    first.elected().await.unwrap();
    let counts = [OpCode::EXISTS, OpCode::GET_CHILDREN, OpCode::GET_CHILDREN2];
    let before = counts.map(|operation| server.requests(operation));
    let _second = server.client().await.election(ELECTION).nominate().unwrap();
    settle().await;
    let asked: Vec<usize> = counts
        .iter()
        .zip(before)
        .map(|(operation, before)| server.requests(*operation) - before)
        .collect();
    assert_eq!(asked, [0, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_election_that_was_never_held_can_be_ended() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election(ELECTION);
    let strict = election.clone().election_node(ElectionNode::MustExist);
    assert!(
        matches!(strict.end().await, Err(EndError::Request { error, .. }) if error.is_no_node())
    );
    let container = election.clone().election_node(ElectionNode::Create(NodeKind::Container));
    assert_eq!(container.end().await, Ok(0));
    let mut nomination = election.nominate().unwrap();
    let ended = nomination.elected().await.unwrap_err();
    assert_eq!(ended.reason, EndReason::ElectionEnded);
    assert_eq!(
        ended.to_string(),
        format!("election {ELECTION}, stand: the election was ended"),
        "an error names the recipe, its path and the step"
    );
    assert_eq!(election.delete(QUIET).await, Ok(0));
    assert_eq!(server.children("/services"), [""; 0]);
    assert_eq!(election.delete(QUIET).await, Ok(0), "again");
}

#[tokio::test(start_paused = true)]
async fn what_is_deleted_leaves_nothing_and_can_be_held_again() {
    let server = Server::new();
    let (client, operator) = (server.client().await, server.client().await);
    let election = operator.election(ELECTION);
    let mut nominations: Vec<_> =
        (0..3).map(|_| client.election(ELECTION).nominate().unwrap()).collect();
    let leadership = nominations[0].elected().await.unwrap();
    leadership.acknowledge(b"ready").await.unwrap();
    leadership.epoch().await.unwrap();
    let asked = election.request_step_down("ops", "", QUIET).await;
    assert_eq!(asked, Ok(StepDownRequest::Made(leadership.token())));
    assert_eq!(server.children("/services").len(), 4);
    assert_eq!(election.delete(QUIET).await, Ok(3));
    for nomination in &mut nominations {
        assert_eq!(nomination.elected().await.unwrap_err().reason, EndReason::ElectionEnded);
    }
    settle().await;
    assert_eq!(server.children("/services"), [""; 0]);
    let mut next = client.election(ELECTION).nominate().unwrap();
    assert!(next.elected().await.unwrap().token() > leadership.token());
}

/// A child that is not this crate's stays, and the election is ended all the same.
#[tokio::test(start_paused = true)]
async fn a_node_with_another_child_is_not_deleted() {
    let server = Server::new();
    let client = server.client().await;
    let election = client.election(ELECTION);
    election.end().await.unwrap();
    let other = format!("{ELECTION}/notes");
    client.create(&other, "", CreateMode::Persistent).await.unwrap();
    assert_eq!(
        election.delete(QUIET).await,
        Err(EndError::OtherChild { at: at("delete"), child: "notes".into() })
    );
    assert_eq!(election.is_ended().await, Ok(true));
    client.delete(&other, Version::ANY).await.unwrap();
    assert_eq!(election.delete(QUIET).await, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn in_the_formats_of_other_libraries_no_election_is_ended() {
    let server = Server::new();
    let client = server.client().await;
    for format in [Format::kazoo(), Format::go_leaderelection(), Format::zookeeper_write_lock()] {
        let election = client.election(ELECTION).format(format);
        assert_eq!(election.end().await, foreign("end"));
        assert_eq!(election.reopen().await, foreign("reopen"));
        assert_eq!(election.is_ended().await, foreign("is_ended"));
        assert_eq!(election.delete(QUIET).await, foreign("delete"));
    }
    assert_eq!(server.requests(OpCode::CREATE) + server.requests(OpCode::CREATE2), 0);
}

/// An operator that goes anywhere leaves what the next one finishes; with its connection lost there, too.
#[tokio::test(start_paused = true)]
async fn an_end_and_a_deletion_dropped_anywhere_are_finished_by_the_next() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let (client, operator) = (server.client().await, server.client().await);
            let mut nominations: Vec<_> =
                (0..3).map(|_| client.election(ELECTION).nominate().unwrap()).collect();
            settle().await;
            let election = operator.election(ELECTION);
            let done = run_until(&server, end, election.delete(Duration::ZERO)).await;
            if is_cut {
                server.cut();
                wait(3).await;
            }
            settle().await;
            election.end().await.unwrap();
            for nomination in &mut nominations {
                let ended = nomination.elected().await.unwrap_err();
                assert_eq!(ended.reason, EndReason::ElectionEnded, "{end:?}");
            }
            settle().await;
            election.delete(QUIET).await.unwrap();
            assert_eq!(server.children("/services"), [""; 0], "{end:?}");
            done.is_some()
        })
        .await;
    }
}

/// Told once, whatever became of its connection meanwhile.
#[tokio::test(start_paused = true)]
async fn a_nominee_that_was_away_is_told_of_the_end() {
    let server = Server::new();
    let client = server.client().await;
    let mut nominations: Vec<_> =
        (0..3).map(|_| client.election(ELECTION).nominate().unwrap()).collect();
    let leadership = nominations[0].elected().await.unwrap();
    settle().await;
    server.cut();
    let operator = server.client().await;
    operator.election(ELECTION).end().await.unwrap();
    wait(3).await;
    assert_eq!(leadership.lost().await, LostReason::Evicted);
    for nomination in &mut nominations {
        assert_eq!(nomination.elected().await.unwrap_err().reason, EndReason::ElectionEnded);
    }
    settle().await;
    assert_eq!(server.children(ELECTION), ["ended"]);
}

/// Polls a future that many times, unless it is over before; what it has asked for goes on.
async fn poll_up_to<F: Future>(future: &mut Pin<Box<F>>, mut polls: usize) -> Option<F::Output> {
    poll_fn(|cx| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

/// The next election begins wherever the operator is by then, as soon as the first one is gone.
#[tokio::test(start_paused = true)]
async fn a_deletion_takes_nothing_of_the_next_election() {
    const DELAY: Duration = Duration::from_secs(20);
    let mut begun_in_between = 0;
    for polls in 0..64 {
        let server = Server::new();
        let (client, operator) = (server.client().await, server.client().await);
        let election = client.election(ELECTION).lock_delay(DELAY);
        let mut first = election.nominate().unwrap();
        let leadership = first.elected().await.unwrap();
        leadership.epoch().await.unwrap();
        let ended = operator.election(ELECTION);
        let mut deletion = Box::pin(ended.delete(Duration::ZERO));
        let done = poll_up_to(&mut deletion, polls).await;
        settle().await;
        if !matches!(first.status().role, Role::Ended(_)) {
            continue;
        }
        let mut next = election.nominate().unwrap();
        let Ok(Ok(leadership)) = timeout(2 * DELAY, next.elected()).await else {
            continue;
        };
        let epoch = leadership.epoch().await.unwrap();
        let marks = || async {
            let mut stats = Vec::new();
            for mark in [".epoch", ".lock-delay"] {
                let stat = client.exists(&format!("{ELECTION}{mark}")).await.unwrap();
                stats.push(stat.map(|stat| (stat.czxid, stat.version)));
            }
            stats
        };
        let before = marks().await;
        if done.is_none() {
            begun_in_between += 1;
            deletion.await.unwrap();
        }
        settle().await;
        assert_eq!(marks().await, before, "after {polls} polls");
        assert_eq!(leadership.epoch().await, Ok(epoch), "after {polls} polls");
        leadership.confirm().await.unwrap();
        if done.is_some() {
            break;
        }
    }
    assert!(begun_in_between > 0);
}

/// Without a node the marks go all the same, and no later election's with them.
#[tokio::test(start_paused = true)]
async fn marks_without_an_election_are_deleted() {
    let server = Server::new();
    let client = server.client().await;
    client
        .create_with_parents("/services", "", CreateMode::Persistent, &Acls::open())
        .await
        .unwrap();
    for mark in [".epoch", ".lock-delay"] {
        client.create(&format!("{ELECTION}{mark}"), "", CreateMode::Persistent).await.unwrap();
    }
    assert_eq!(client.election(ELECTION).delete(QUIET).await, Ok(0));
    assert_eq!(server.children("/services"), [""; 0]);
}
