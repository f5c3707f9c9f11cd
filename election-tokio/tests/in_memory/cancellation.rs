//! Futures that are dropped, wherever they are.

use core::error::Error as StdError;
use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;

use election_tokio::acl::Acls;
use election_tokio::error::ConnectionEnd;
use election_tokio::{Client, ConnectError, ConnectFailure, CreateMode, Error, Version};
use zk_jute::OpCode;

use crate::server::{IDLE, Server, settle, wait};

/// More steps, or polls, than any operation here takes.
const MANY: usize = 64;

/// The point at which a future is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DropAfter {
    /// The server has read that many more frames, and no task had anything left to do.
    Steps(usize),
    /// It was polled that many times.
    Polls(usize),
}

/// Runs `future` until it is to be dropped; `None` then.
pub(crate) async fn run_until<F: Future>(
    server: &Server,
    end: DropAfter,
    future: F,
) -> Option<F::Output> {
    let output = match end {
        DropAfter::Steps(steps) => {
            server.read_only_next(steps);
            let future = pin!(future);
            tokio::time::timeout(IDLE, future).await.ok()
        }
        DropAfter::Polls(polls) => {
            let limited = LimitedPolls { future: Box::pin(future), left: polls };
            limited.await
        }
    };
    server.read_freely();
    output
}

struct LimitedPolls<F> {
    future: Pin<Box<F>>,
    left: usize,
}

impl<F: Future> Future for LimitedPolls<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(left) = self.left.checked_sub(1) else {
            return Poll::Ready(None);
        };
        self.left = left;
        match self.future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// Tries every place to drop, by steps and by polls, until `scenario` says that its future has
/// come to its end.
pub(crate) async fn at_every_await_point(mut scenario: impl AsyncFnMut(DropAfter) -> bool) {
    for place in [DropAfter::Steps as fn(usize) -> DropAfter, DropAfter::Polls] {
        let mut ended = false;
        for count in 0..MANY {
            ended = scenario(place(count)).await;
            if ended {
                break;
            }
        }
        assert!(ended, "it is not over after {MANY}: {:?}", place(MANY));
    }
}

/// Drops one operation at each await point; afterwards the client works, and has no watch left.
async fn drop_everywhere(operation: impl AsyncFn(&Client) -> Result<(), Error>) {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        client.create("/there", "data", CreateMode::Persistent).await.unwrap();

        let outcome = run_until(&server, end, operation(&client)).await;
        if let Some(outcome) = &outcome {
            outcome.as_ref().expect("nothing goes wrong with it");
        }

        settle().await;
        let (data, _) = client.get_data("/there").await.unwrap();
        assert!(!data.is_empty(), "{end:?}");
        server.cut();
        wait(2).await;
        assert_eq!(server.requests(OpCode::SET_WATCHES), 0, "a watch is left: {end:?}");
        client.exists("/there").await.unwrap();
        outcome.is_some()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_create_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        client.create("/new", "", CreateMode::Ephemeral).await.map(|_| ())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_delete_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        client.create("/gone", "", CreateMode::Ephemeral).await?;
        client.delete("/gone", Version::ANY).await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_creation_with_parents_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        let (mode, acl) = (CreateMode::Ephemeral, Acls::open());
        client.create_with_parents("/new/parent/znode", "", mode, &acl).await.map(|_| ())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_deletion_of_a_tree_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        for path in ["/tree", "/tree/a", "/tree/a/1", "/tree/b"] {
            client.create(path, "", CreateMode::Persistent).await?;
        }
        client.delete_tree("/tree").await.map(|_| ())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_read_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        client.exists("/there").await?;
        client.get_data("/there").await?;
        client.get_children("/there").await?;
        client.sync("/there").await
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_set_data_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        client.set_data("/there", "more", Version::ANY).await.map(|_| ())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_transaction_leaves_nothing_in_the_client() {
    drop_everywhere(async |client| {
        let transaction = client.transaction().check("/there", Version::ANY);
        let transaction = transaction.create("/new", &b""[..], CreateMode::Persistent);
        transaction.commit().await.expect("it is allowed");
        Ok(())
    })
    .await;
}

/// A watch that is dropped while its request is on its way is forgotten all the same.
#[tokio::test(start_paused = true)]
async fn a_dropped_watching_read_leaves_no_watch() {
    drop_everywhere(async |client| client.get_data_and_watch("/there").await.map(|_| ())).await;
    drop_everywhere(async |client| client.exists_and_watch("/there").await.map(|_| ())).await;
    drop_everywhere(async |client| client.exists_and_watch("/missing").await.map(|_| ())).await;
    drop_everywhere(async |client| client.get_children_and_watch("/there").await.map(|_| ())).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_for_a_watch_leaves_no_watch() {
    drop_everywhere(async |client| {
        let (_, _, watch) = client.get_data_and_watch("/there").await?;
        client.set_data("/there", "more", Version::ANY).await?;
        watch.await.expect("the session lives");
        Ok(())
    })
    .await;
}

/// A watch that was polled, put aside and polled again fires all the same.
#[tokio::test(start_paused = true)]
async fn a_watch_may_be_polled_put_aside_and_polled_again() {
    let server = Server::new();
    let client = server.client().await;
    let (_, mut watch) = client.exists_and_watch("/new").await.unwrap();
    for _ in 0..3 {
        assert!(tokio::time::timeout(IDLE, &mut watch).await.is_err());
    }
    client.create("/new", "", CreateMode::Persistent).await.unwrap();
    let event = watch.await.unwrap();
    assert_eq!(event.kind, election_tokio::watch::EventType::NODE_CREATED);
}

/// A read with a watch takes down no watch of the next session, which numbers its watches anew, if
/// its own session expired before the answer.
#[tokio::test(start_paused = true)]
async fn a_watching_read_dropped_in_the_next_session_leaves_its_watches_alone() {
    let server = Server::new();
    let client = server.client().await;
    server.read_only_next(0);
    let mut late = Box::pin(client.exists_and_watch("/late"));
    assert!(tokio::time::timeout(IDLE, &mut late).await.is_err());
    server.expire();
    server.read_freely();
    wait(2).await;

    let (_, watch) = client.exists_and_watch("/new").await.unwrap();
    drop(late);
    client.create("/new", "", CreateMode::Persistent).await.unwrap();
    let event = tokio::time::timeout(IDLE, watch).await.expect("it fires").unwrap();
    assert_eq!(event.kind, election_tokio::watch::EventType::NODE_CREATED);
}

/// A client that is given up while it connects leaves no connection open and does not go on
/// connecting.
#[tokio::test(start_paused = true)]
async fn a_dropped_connect_leaves_no_connection() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let connected = run_until(&server, end, server.builder().connect()).await;
        let is_over = connected.is_some();
        drop(connected);
        settle().await;
        assert!(server.state().connections() == 0, "{end:?}");
        let accepted = server.state().accepted;
        wait(20).await;
        assert_eq!(server.state().accepted, accepted, "it connects again: {end:?}");
        is_over
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connect_to_nobody_stops_trying() {
    let server = Server::new();
    server.refuse();
    let connecting = server.builder().connect();
    assert!(tokio::time::timeout(IDLE, connecting).await.is_err());
    server.accept();
    wait(20).await;
    assert_eq!(server.state().accepted, 0);
}

/// Once it was polled, `close` closes, whether or not the caller waits for the end of it.
#[tokio::test(start_paused = true)]
async fn a_dropped_close_closes_the_session_all_the_same() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let clone = client.clone();
        client.create("/mine", "", CreateMode::Ephemeral).await.unwrap();
        let closed = run_until(&server, end, client.close()).await;
        settle().await;
        let polled = !matches!(end, DropAfter::Polls(0));
        assert_eq!(server.children("/").is_empty(), polled, "{end:?}");
        assert_eq!(clone.exists("/mine").await.is_err(), polled, "{end:?}");
        drop(clone);
        settle().await;
        assert!(server.children("/").is_empty(), "{end:?}");
        assert!(server.sessions().is_empty(), "{end:?}");
        closed.is_some_and(|closed| closed == Ok(()))
    })
    .await;
}

/// The ephemeral znodes of a dropped client go at once, after what was submitted before.
#[tokio::test(start_paused = true)]
async fn the_last_clone_closes_the_session() {
    let server = Server::new();
    let client = server.client().await;
    let clone = client.clone();
    client.create("/mine", "", CreateMode::Ephemeral).await.unwrap();
    drop(client);
    settle().await;
    assert_eq!(server.children("/"), ["mine"]);
    drop(clone);
    settle().await;
    assert!(server.children("/").is_empty());
    assert!(server.state().connections() == 0);
}

/// A watch holds on to its client: it can fire as long as a task waits for it.
#[tokio::test(start_paused = true)]
async fn a_watch_keeps_the_session_until_it_is_dropped() {
    let server = Server::new();
    let client = server.client().await;
    let (_, watch) = client.exists_and_watch("/new").await.unwrap();
    drop(client);
    settle().await;
    assert_eq!(server.sessions().len(), 1);
    drop(watch);
    settle().await;
    assert!(server.sessions().is_empty());
}

/// The deadline holds, and the error names the last attempt.
#[tokio::test(start_paused = true)]
async fn connect_ends_at_its_deadline_and_names_the_last_failure() {
    let server = Server::new();
    server.refuse();
    let started = tokio::time::Instant::now();
    let after = Duration::from_millis(1500);
    let error = server.builder().connect_timeout(after).connect().await.unwrap_err();
    assert_eq!(started.elapsed(), after);
    let text = error.to_string();
    assert!(text.contains("1.5s") && text.contains("in-memory:2181: nobody home"), "{text}");
    let io_error = sources(&error).find_map(|source| source.downcast_ref::<io::Error>());
    assert_eq!(io_error.map(io::Error::kind), Some(io::ErrorKind::ConnectionRefused));
    let ConnectError::NoServer { last_failure, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(last_failure.unwrap().to_string(), "in-memory:2181: nobody home");
}

/// Returns the reasons of the last attempt. The error itself has them in its text, and not once more as sources.
fn sources(error: &ConnectError) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    assert!(error.source().is_none(), "{error}");
    let ConnectError::NoServer { last_failure: Some(failure), .. } = error else {
        panic!("{error:?}");
    };
    assert!(failure.source().is_none(), "{failure}");
    let (ConnectFailure::Server { reason, .. } | ConnectFailure::NoneKnown { reason }) = &**failure
    else {
        panic!("{failure}");
    };
    let reason: &(dyn StdError + 'static) = &**reason;
    core::iter::successors(Some(reason), |error| (*error).source())
}

#[test]
fn a_client_that_is_started_outside_of_a_runtime_says_so() {
    let refused = Server::new().builder().start();
    assert!(matches!(refused, Err(ConnectError::NoRuntime)), "{refused:?}");
}

/// An attempt that the transport does not end keeps its reason by its type, too.
#[tokio::test(start_paused = true)]
async fn a_server_that_stays_silent_is_named_with_what_the_session_says() {
    let server = Server::new();
    server.read_only_next(0);
    let error = server.builder().connect().await.unwrap_err();
    let end = sources(&error).find_map(|source| source.downcast_ref::<ConnectionEnd>());
    assert_eq!(end, Some(&ConnectionEnd::TimedOut), "{error}");
}
