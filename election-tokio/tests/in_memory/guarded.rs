//! Guarded writes look at the leadership where they are submitted, however long they waited.

use core::pin::pin;
use core::task::{Context, Poll, Waker};

use election_tokio::election::OnLoss;
use election_tokio::lease::LeaseGrade;
use election_tokio::session::{Limits, WhileDisconnected};
use election_tokio::{Client, CreateMode, ErrorKind, TransactionError};
use zk_jute::OpCode;
use zk_jute::records::CreateMode as WireMode;

use crate::server::{Server, settle, wait};

const ELECTION: &str = "/election";
const WRITTEN: &str = "/written";

/// Returns a client with one call at a time, and without heartbeats, which are transactions, too.
async fn client(server: &Server) -> Client {
    let limits = Limits { max_in_flight: 1, ..Limits::default() };
    let builder = server.builder().limits(limits).lease_grade(LeaseGrade::Contact);
    builder.connect().await.expect("a session")
}

/// A guarded write waits for room, and the leadership ends meanwhile. A candidate of the same name
/// is there when there is room: the check alone would let the write pass.
#[tokio::test(start_paused = true)]
async fn a_guarded_write_that_waited_for_room_is_not_sent_after_the_leadership() {
    let server = Server::new();
    let (client, other) = (client(&server).await, server.client().await);
    let mut nomination = client.election(ELECTION).on_loss(OnLoss::End).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    let candidate = format!("{ELECTION}/{}", leadership.candidate());

    server.read_only_next(0);
    let mut cx = Context::from_waker(Waker::noop());
    let mut read = pin!(client.exists("/"));
    assert!(read.as_mut().poll(&mut cx).is_pending());
    let write = leadership.transaction().create(WRITTEN, "", CreateMode::Persistent);
    let mut write = pin!(write.commit());
    assert!(write.as_mut().poll(&mut cx).is_pending(), "it waits for room");
    drop(nomination);
    assert!(!leadership.is_valid());

    server.read_only_next(2);
    wait(1).await;
    assert_eq!(server.children(ELECTION), [""; 0], "the candidate has gone");
    server.raw().create(&candidate, WireMode::PERSISTENT).expect("there is none");
    server.read_freely();
    read.await.unwrap();
    assert_eq!(write.await, Err(TransactionError::NotHeld));
    settle().await;
    assert_eq!(server.requests(OpCode::MULTI), 0, "nothing was sent");
    assert_eq!(other.exists(WRITTEN).await, Ok(None));
    assert_eq!(client.exists(WRITTEN).await, Ok(None), "the room is free");
}

/// A client that queues requests for the next connection does not keep a guarded write: when that connection comes, the
/// leadership may be over, and the candidate still there.
#[tokio::test(start_paused = true)]
async fn a_guarded_write_is_not_kept_for_the_next_connection() {
    let server = Server::new();
    let builder = server.builder().while_disconnected(WhileDisconnected::Queue);
    let client = builder.connect().await.expect("a session");
    let mut nomination = client.election(ELECTION).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();

    server.refuse();
    server.cut();
    settle().await;
    assert!(leadership.is_valid(), "it is suspended");
    let write = leadership.transaction().create(WRITTEN, "", CreateMode::Persistent).commit();
    let write = pin!(write).poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(Err(TransactionError::Request(error))) = write else {
        panic!("{write:?}");
    };
    assert_eq!(error.kind(), ErrorKind::NotConnected);
    drop(nomination);
    server.accept();
    assert_eq!(client.exists(WRITTEN).await, Ok(None), "a read was kept, and the write was not");
}
