//! Locks: waiting, holding, losing and letting go, at every await point.

use core::future::{pending, ready};
use core::time::Duration;

use election_tokio::election::{Departure, ElectionNode};
use election_tokio::error::Place;
use election_tokio::format::Format;
use election_tokio::lock::{
    Lock, LockError, LockFailure, LockFormatError, LockGuard, LockLost, ReleaseError,
};
use election_tokio::session::SessionEnd;
use election_tokio::{Client, CreateMode, TransactionError, Version};
use tokio::time::{Instant, timeout};
use zk_jute::OpCode;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const LOCK: &str = "/deep/lock";
const WRITTEN: &str = "/written";

fn lock(client: &Client) -> Lock {
    client.lock(LOCK)
}

/// Whether it is still waited for after everything has settled.
async fn waits(waiting: &mut (impl Future<Output = Result<LockGuard, LockError>> + Unpin)) -> bool {
    timeout(Duration::from_millis(10), waiting).await.is_err()
}

/// Asserts that nothing of a lock is left while its session lives, and that another contender gets
/// it at once.
async fn is_free(server: &Server, client: &Client, context: &dyn core::fmt::Debug) {
    wait(3).await;
    assert!(server.children(LOCK).is_empty(), "a znode is left: {context:?}");
    let guard = lock(client).try_lock().await.unwrap();
    assert!(guard.expect("it is free").is_valid(), "{context:?}");
    server.cut();
    wait(3).await;
    assert!(server.children(LOCK).is_empty(), "a znode is left: {context:?}");
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    assert_eq!(server.sessions().len(), 1, "{context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_held_by_one_at_a_time_in_the_order_of_asking() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let first = lock(&one).lock().await.unwrap();
    assert!(first.is_valid() && first.valid_until().is_some());
    assert!(first.remaining() > Duration::ZERO);
    assert_eq!(server.children(LOCK), [first.znode().to_string()]);
    assert!(first.znode().text().contains("-__WRIT__"), "{}", first.znode());

    let (handle, same) = (lock(&other), lock(&one));
    let mut second = Box::pin(handle.lock());
    assert!(waits(&mut second).await);
    let mut third = Box::pin(same.lock());
    assert!(waits(&mut third).await, "it is not reentrant");
    assert_eq!(first.release().await, Ok(Departure::Deleted));
    let second = second.await.unwrap();
    assert!(waits(&mut third).await);
    let token = second.token();
    drop(second);
    let third = third.await.unwrap();
    assert!(third.token() > token);
    assert_eq!(third.confirm().await, Ok(()));
    drop(third);
    other.close().await.unwrap();
    is_free(&server, &one, &"all have let go").await;
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_tried_once_or_until_a_deadline() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = lock(&one).try_lock().await.unwrap().expect("it is free");
    assert!(lock(&other).try_lock().await.unwrap().is_none());
    assert_eq!(server.children(LOCK).len(), 1, "the attempt has left nothing");
    let deadline = Instant::now() + Duration::from_secs(2);
    assert!(lock(&other).lock_until(deadline).await.unwrap().is_none());
    assert!(deadline <= Instant::now());
    settle().await;
    assert_eq!(server.children(LOCK).len(), 1);
    drop(guard);
    let deadline = Instant::now() + Duration::from_secs(2);
    assert!(lock(&other).lock_until(deadline).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn readers_hold_together_and_a_writer_alone() {
    let server = Server::new();
    let client = server.client().await;
    let (read, write) = (client.read_lock(LOCK), client.write_lock(LOCK));
    let (first, second) = (read.lock().await.unwrap(), read.lock().await.unwrap());
    assert!(write.try_lock().await.unwrap().is_none());
    let mut writer = Box::pin(write.lock());
    assert!(waits(&mut writer).await);
    let (mut third, mut fourth) = (Box::pin(read.lock()), Box::pin(read.lock()));
    assert!(waits(&mut third).await, "a reader does not overtake a writer");
    assert!(waits(&mut fourth).await);
    drop(first);
    assert!(waits(&mut writer).await, "there is another reader");
    drop(second);
    let writer = writer.await.unwrap();
    assert!(waits(&mut third).await);
    drop(writer);
    let (third, fourth) = (third.await.unwrap(), fourth.await.unwrap());
    assert!(third.is_valid() && fourth.is_valid());
}

/// It waits for a writer that waits for a reader.
#[tokio::test(start_paused = true)]
async fn a_reader_behind_a_writer_that_gives_up_joins_the_readers() {
    let server = Server::new();
    let client = server.client().await;
    let (read, write) = (client.read_lock(LOCK), client.write_lock(LOCK));
    let first = read.lock().await.unwrap();
    let mut writer = Box::pin(write.lock());
    assert!(waits(&mut writer).await);
    let mut second = Box::pin(read.lock());
    assert!(waits(&mut second).await);
    drop(writer);
    assert!(second.await.unwrap().is_valid());
    assert!(first.is_valid());
}

/// With and without a lost connection at that moment.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_anywhere_leaves_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let handle = lock(&client);
            let held = run_until(&server, end, handle.lock()).await.map(drop);
            if is_cut {
                server.cut();
            }
            is_free(&server, &client, &(end, is_cut)).await;
            held.is_some()
        })
        .await;
    }
}

/// The same for one that finds a holder, and does not wait for it.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_dropped_anywhere_leaves_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let holder = lock(&client).lock().await.unwrap();
            let handle = lock(&client);
            let ended = run_until(&server, end, async {
                assert!(handle.try_lock().await.unwrap().is_none());
            })
            .await;
            if is_cut {
                server.cut();
            }
            wait(3).await;
            assert!(holder.is_valid());
            assert_eq!(server.children(LOCK), [holder.znode().to_string()], "{end:?}");
            drop(holder);
            is_free(&server, &client, &(end, is_cut)).await;
            ended.is_some()
        })
        .await;
    }
}

/// The same for one that waits for its turn.
#[tokio::test(start_paused = true)]
async fn a_place_in_the_queue_that_is_dropped_anywhere_leaves_nothing() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let holder = lock(&client).lock().await.unwrap();
        let handle = lock(&client);
        let waiting = timeout(Duration::from_secs(1), handle.lock());
        let waited = run_until(&server, end, waiting).await;
        assert!(!matches!(waited, Some(Ok(_))), "{end:?}");
        wait(3).await;
        assert!(holder.is_valid());
        assert_eq!(server.children(LOCK), [holder.znode().to_string()], "{end:?}");
        drop(holder);
        is_free(&server, &client, &end).await;
        waited.is_some() || matches!(end, DropAfter::Steps(10))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_release_goes_through() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let guard = lock(&client).lock().await.unwrap();
            let released = run_until(&server, end, guard.release()).await;
            if is_cut {
                server.cut();
            }
            is_free(&server, &client, &(end, is_cut)).await;
            released.is_some_and(|departure| departure.is_ok())
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_told_and_writes_nothing() {
    let server = Server::new();
    let client = server.client().await;
    let guard = lock(&client).lock().await.unwrap();
    let write = |guard: &LockGuard| {
        guard.transaction().create(WRITTEN, "", CreateMode::Persistent).commit()
    };
    assert!(write(&guard).await.is_ok());
    assert_eq!(guard.guard(ready(7)).await, Ok(7));
    server.cut();
    server.expire();
    let ended = timeout(Duration::from_secs(60), guard.guard(pending::<()>())).await;
    assert_eq!(ended.unwrap().unwrap_err().lost, LockLost::SessionExpired);
    assert_eq!(guard.lost().await, LockLost::SessionExpired);
    assert!(!guard.is_valid());
    assert_eq!((guard.valid_until(), guard.remaining()), (None, Duration::ZERO));
    assert_eq!(write(&guard).await.map(drop), Err(TransactionError::NotHeld));
    wait(3).await;
    assert!(server.children(LOCK).is_empty(), "it is not taken again");
    let released = guard.release().await;
    let at = Place::new("lock", LOCK, "release");
    assert_eq!(released, Err(ReleaseError::AlreadyLost { at, lost: LockLost::SessionExpired }));

    let guard = lock(&client).lock().await.unwrap();
    client.delete(&format!("{LOCK}/{}", guard.znode()), Version::ANY).await.unwrap();
    assert_eq!(guard.lost().await, LockLost::Broken);
    assert!(!guard.is_valid());

    let guard = lock(&client).lock().await.unwrap();
    client.close().await.unwrap();
    assert_eq!(guard.lost().await, LockLost::ClientClosed(SessionEnd::Closed));
    assert_eq!(guard.release().await, Ok(Departure::WithSession));
}

/// A connection that comes and goes does not end it; a lease that lapses does.
#[tokio::test(start_paused = true)]
async fn a_lock_outlives_its_connection_and_not_its_lease() {
    let server = Server::new();
    let client = server.client().await;
    let guard = lock(&client).lock().await.unwrap();
    let token = guard.token();
    server.cut();
    wait(2).await;
    assert!(guard.is_valid());
    assert_eq!((guard.token(), server.children(LOCK).len()), (token, 1));
    server.refuse();
    server.cut();
    assert_eq!(guard.lost().await, LockLost::LeaseLapsed);
    assert!(!guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_wait_goes_on_over_lost_connections_and_expired_sessions() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let guard = lock(&one).lock().await.unwrap();
    let handle = lock(&other);
    let mut waiting = Box::pin(handle.lock());
    assert!(waits(&mut waiting).await);
    server.cut();
    wait(2).await;
    assert!(waits(&mut waiting).await);
    server.cut();
    server.expire();
    wait(2).await;
    assert_eq!(guard.lost().await, LockLost::SessionExpired);
    assert!(waiting.await.unwrap().is_valid());
}

#[tokio::test(start_paused = true)]
async fn what_waiting_does_not_repair_is_told() {
    let server = Server::new();
    let client = server.client().await;
    let invalid = client.lock("no/path").lock().await;
    assert!(matches!(invalid, Err(LockError::InvalidPath { .. })), "{invalid:?}");
    let strict = lock(&client).node(ElectionNode::MustExist);
    let refused = strict.lock().await.map(drop);
    assert!(matches!(refused, Err(LockError::Failed { failure: LockFailure::NoNode, .. })));
    let format = Format::leader_election_support();
    let error = LockError::Format(LockFormatError::NotShared(format));
    assert_eq!(client.read_lock(LOCK).format(format).lock().await.map(drop), Err(error));
    let guard = lock(&client).format(Format::kazoo()).data("me").lock().await.unwrap();
    assert!(guard.znode().text().contains("__lock__"));
    let path = format!("{LOCK}/{}", guard.znode());
    assert_eq!(client.get_data(&path).await.unwrap().0, "me");
    let (handle, closing) = (lock(&client).format(Format::kazoo()), client.clone());
    let (waited, closed) = tokio::join!(handle.lock(), closing.close());
    closed.unwrap();
    assert!(matches!(waited, Err(LockError::ClientClosed { end: SessionEnd::Closed, .. })));
    assert_eq!(guard.lost().await, LockLost::ClientClosed(SessionEnd::Closed));
}

/// The requests to a server, by clients that have a session and a lock whose node exists; without
/// those that prove the lease.
#[tokio::test(start_paused = true)]
async fn what_a_lock_costs() {
    const CREATE: OpCode = OpCode::CREATE2;
    const LIST: OpCode = OpCode::GET_CHILDREN;
    const READ: OpCode = OpCode::GET_DATA;
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    lock(&one).lock().await.unwrap().release().await.unwrap();
    let mut before = server.requested().len();
    let mut asked = || {
        let mut asked = server.requested().split_off(before);
        before += asked.len();
        asked.retain(|request| *request != OpCode::MULTI);
        asked
    };
    let guard = lock(&one).lock().await.unwrap();
    assert_eq!(asked(), [CREATE, LIST, READ]);
    assert!(lock(&other).try_lock().await.unwrap().is_none());
    assert_eq!(asked(), [CREATE, LIST, OpCode::DELETE], "it gives up at its first look");
    let handle = lock(&other);
    let mut waiting = Box::pin(handle.lock());
    assert!(waits(&mut waiting).await);
    assert_eq!(asked(), [CREATE, LIST, READ, READ]);
    assert_eq!(server.watches(), 3, "the holder's own, the waiter's own, and between");
    guard.release().await.unwrap();
    let guard = waiting.await.unwrap();
    assert_eq!(asked(), [OpCode::DELETE, LIST], "the one before it may have left a reader");
    drop(guard);
    settle().await;
    assert_eq!(asked(), [OpCode::DELETE]);

    // In a format without readers.
    let lock = |client: &Client| client.lock("/deep/mutex").format(Format::curator_lock());
    let guard = lock(&one).lock().await.unwrap();
    let handle = lock(&other);
    let mut waiting = Box::pin(handle.lock());
    assert!(waits(&mut waiting).await);
    asked();
    guard.release().await.unwrap();
    drop(waiting.await.unwrap());
    settle().await;
    assert_eq!(asked(), [OpCode::DELETE; 2], "the next holder asks for nothing");
}
