//! More requests than there is room for.

use core::future::Future as _;
use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use election_tokio::session::{Limits, OnExpiry, WhileDisconnected};
use election_tokio::{Client, CreateMode, ErrorKind, Version};
use tokio::task::JoinSet;

use crate::server::{Server, settle, wait};

const ROOM: usize = 4;

async fn narrow_client(server: &Server) -> Client {
    let limits = Limits { max_in_flight: ROOM, ..Limits::default() };
    server.builder().limits(limits).connect().await.unwrap()
}

#[derive(Debug, Default)]
struct CountedWakes(AtomicUsize);

impl Wake for CountedWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn more_requests_than_there_is_room_for_all_complete() {
    let server = Server::new();
    let client = narrow_client(&server).await;
    client.create("/znode", "", CreateMode::Persistent).await.unwrap();
    let mut reads = JoinSet::new();
    for _ in 0..1000 {
        let client = client.clone();
        reads.spawn(async move { client.get_data("/znode").await.map(|_| ()) });
    }
    assert_eq!(reads.join_all().await, vec![Ok(()); 1000]);
}

/// Bounds that leave no room at all leave room for one.
#[tokio::test(start_paused = true)]
async fn bounds_of_zero_let_one_request_through_at_a_time() {
    let server = Server::new();
    let limits = Limits { max_in_flight: 0, max_queued_bytes: 0, ..Limits::default() };
    let client = server.builder().limits(limits).connect().await.unwrap();
    let mut reads = JoinSet::new();
    for _ in 0..10 {
        let client = client.clone();
        reads.spawn(async move { client.exists("/znode").await });
    }
    assert_eq!(reads.join_all().await, vec![Ok(None); 10]);
}

/// On one thread, that is: those that wait are woken in their order.
#[tokio::test(start_paused = true)]
async fn requests_that_wait_for_room_are_sent_in_their_order() {
    let server = Server::new();
    let client = narrow_client(&server).await;
    client.create("/znode", "", CreateMode::Persistent).await.unwrap();
    let mut writes = JoinSet::new();
    for number in 0..100_i32 {
        let client = client.clone();
        writes.spawn(async move {
            let version = Version::new(number);
            client.set_data("/znode", "", version).await.map(|_| ())
        });
    }
    assert_eq!(writes.join_all().await, vec![Ok(()); 100]);
}

/// A future that is polled again and again while there is no room is woken once, not as often as
/// it was polled.
#[tokio::test(start_paused = true)]
async fn a_request_waits_for_room_in_one_place_however_often_it_is_polled() {
    let server = Server::new();
    let client = narrow_client(&server).await;
    server.read_only_next(0);
    let mut filling = JoinSet::new();
    for _ in 0..ROOM {
        let client = client.clone();
        filling.spawn(async move { client.exists("/znode").await });
    }
    settle().await;
    let counted = Arc::new(CountedWakes::default());
    let waker = Waker::from(Arc::clone(&counted));
    let mut waiting = pin!(client.exists("/znode"));
    for _ in 0..1000 {
        let polled = waiting.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    server.read_freely();
    filling.join_all().await;
    assert_eq!(counted.0.load(Ordering::Relaxed), 1);
    waiting.await.unwrap();
}

/// A call that is dropped while it waits for room does not take the room of the next.
#[tokio::test(start_paused = true)]
async fn a_dropped_request_passes_its_turn_on() {
    let server = Server::new();
    let client = narrow_client(&server).await;
    server.read_only_next(0);
    let spawn = || {
        let client = client.clone();
        tokio::spawn(async move { client.exists("/znode").await })
    };
    let first: Vec<_> = (0..ROOM).map(|_| spawn()).collect();
    settle().await;
    let (dropped, last) = (spawn(), spawn());
    settle().await;
    dropped.abort();
    settle().await;
    server.read_freely();
    for read in first.into_iter().chain([last]) {
        read.await.unwrap().unwrap();
    }
}

/// Dropped calls keep their place in flight until they are answered, and no longer.
#[tokio::test(start_paused = true)]
async fn dropped_requests_do_not_use_up_the_room() {
    let server = Server::new();
    let client = narrow_client(&server).await;
    for _ in 0..100 {
        let read = client.exists("/znode");
        assert!(tokio::time::timeout(Duration::ZERO, read).await.is_err());
    }
    for _ in 0..10 {
        client.exists("/znode").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_connection_requests_are_refused_or_wait_as_was_asked_for() {
    let server = Server::new();
    let refusing = server.client().await;
    let queueing =
        server.builder().while_disconnected(WhileDisconnected::Queue).connect().await.unwrap();
    server.refuse();
    server.cut();
    settle().await;
    let error = refusing.exists("/znode").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotConnected);
    assert!(!error.may_have_happened());
    let waiting = {
        let client = queueing.clone();
        tokio::spawn(async move { client.exists("/znode").await })
    };
    wait(1).await;
    assert!(!waiting.is_finished());
    server.accept();
    assert_eq!(waiting.await.unwrap(), Ok(None));
}

/// The queue of requests that wait for a connection is bounded too, and they fail when the session
/// is declared dead.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_connection_is_bounded_and_ends_with_the_session() {
    let server = Server::new();
    let limits = Limits { max_in_flight: ROOM, ..Limits::default() };
    let client = server
        .builder()
        .limits(limits)
        .while_disconnected(WhileDisconnected::Queue)
        .on_expiry(OnExpiry::Close)
        .connect()
        .await
        .unwrap();
    server.refuse();
    server.cut();
    settle().await;
    let mut reads = JoinSet::new();
    for _ in 0..3 * ROOM {
        let client = client.clone();
        reads.spawn(async move { client.exists("/znode").await.map_err(|error| error.kind()) });
    }
    wait(30).await;
    for outcome in reads.join_all().await {
        let kind = outcome.unwrap_err();
        assert!(matches!(kind, ErrorKind::NotConnected | ErrorKind::Closed), "{kind:?}");
    }
}

/// A waker that holds on to the client when it is dropped does not lock the client up.
#[tokio::test(start_paused = true)]
async fn wakers_are_dropped_outside_of_the_lock() {
    struct Holder(Client);
    impl Wake for Holder {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Holder {
        fn drop(&mut self) {
            drop(self.0.connection_updates());
        }
    }
    let server = Server::new();
    let client = server.client().await;
    let waker = || Waker::from(Arc::new(Holder(client.clone())));
    let (_, mut watch) = client.exists_and_watch("/other").await.unwrap();
    {
        let mut read = pin!(client.exists("/znode"));
        for _ in 0..3 {
            let polled = read.as_mut().poll(&mut Context::from_waker(&waker()));
            assert!(polled.is_pending());
            let polled = pin!(&mut watch).poll(&mut Context::from_waker(&waker()));
            assert!(polled.is_pending());
        }
    }
    drop(watch);
    settle().await;
    client.exists("/znode").await.unwrap();
}
