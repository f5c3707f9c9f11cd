//! Semaphores: waiting for a permit, holding, losing and letting go of it, at every await point.

use core::future::{pending, ready};
use core::num::NonZeroU32;
use core::time::Duration;

use election_tokio::election::{Departure, ElectionNode, NodeKind};
use election_tokio::error::Place;
use election_tokio::lock::{LockError, LockFailure, LockLost, ReleaseError};
use election_tokio::semaphore::{Permit, Semaphore};
use election_tokio::session::SessionEnd;
use election_tokio::{Client, CreateMode, TransactionError, Version};
use tokio::time::{Instant, timeout};
use zk_jute::OpCode;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const SEMAPHORE: &str = "/deep/semaphore";
const LOCKS: &str = "/deep/semaphore/locks";
const LEASES: &str = "/deep/semaphore/leases";
const WRITTEN: &str = "/written";

fn semaphore(client: &Client, permits: u32) -> Semaphore {
    client.semaphore(SEMAPHORE, NonZeroU32::new(permits).unwrap())
}

/// Whether it is still waited for after everything has settled.
async fn waits(waiting: &mut (impl Future<Output = Result<Permit, LockError>> + Unpin)) -> bool {
    timeout(Duration::from_millis(10), waiting).await.is_err()
}

/// Returns the number of contenders that hold or wait for a permit, and of those that hold or wait
/// for the turn.
fn standing(server: &Server) -> (usize, usize) {
    (server.children(LEASES).len(), server.children(LOCKS).len())
}

/// Asserts that nothing of a semaphore is left while its session lives, and that another contender
/// gets a permit at once.
async fn is_free(server: &Server, client: &Client, context: &dyn core::fmt::Debug) {
    wait(3).await;
    assert_eq!(standing(server), (0, 0), "a znode is left: {context:?}");
    let permit = semaphore(client, 1).try_acquire().await.unwrap();
    assert!(permit.expect("it is free").is_valid(), "{context:?}");
    server.cut();
    wait(3).await;
    assert_eq!(standing(server), (0, 0), "a znode is left: {context:?}");
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    assert_eq!(server.sessions().len(), 1, "{context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

#[tokio::test(start_paused = true)]
async fn as_many_hold_as_there_are_permits_in_the_order_of_asking() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let (mine, theirs) = (semaphore(&one, 2), semaphore(&other, 2));
    let first = mine.acquire().await.unwrap();
    let second = theirs.acquire().await.unwrap();
    assert!(first.is_valid() && second.is_valid() && first.valid_until().is_some());
    assert!(first.remaining() > Duration::ZERO && first.token() < second.token());
    assert!(first.znode().text().contains("-lease-"), "{}", first.znode());
    settle().await;
    assert_eq!(standing(&server), (2, 0), "none holds the turn any more");

    let mut third = Box::pin(mine.acquire());
    assert!(waits(&mut third).await);
    let mut fourth = Box::pin(theirs.acquire());
    assert!(waits(&mut fourth).await);
    assert_eq!(standing(&server), (3, 2), "the next one stands already, as Curator's does");
    assert_eq!(second.release().await, Ok(Departure::Deleted));
    let third = third.await.unwrap();
    assert!(first.is_valid() && waits(&mut fourth).await);
    let token = third.token();
    drop(first);
    let fourth = fourth.await.unwrap();
    assert!(third.is_valid() && fourth.token() > token);
    assert_eq!(fourth.confirm().await, Ok(()));
    drop((third, fourth));
    other.close().await.unwrap();
    is_free(&server, &one, &"all have let go").await;
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_tried_for_once_or_until_a_deadline() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let permit = semaphore(&one, 1).try_acquire().await.unwrap().expect("it is free");
    assert!(semaphore(&other, 1).try_acquire().await.unwrap().is_none());
    settle().await;
    assert_eq!(standing(&server), (1, 0), "the attempt has left nothing");
    let deadline = Instant::now() + Duration::from_secs(2);
    assert!(semaphore(&other, 1).acquire_until(deadline).await.unwrap().is_none());
    assert!(deadline <= Instant::now());
    settle().await;
    assert_eq!(standing(&server), (1, 0));
    let another = semaphore(&other, 2).try_acquire().await.unwrap().expect("for two there is room");
    drop((permit, another));
    let deadline = Instant::now() + Duration::from_secs(2);
    assert!(semaphore(&other, 1).acquire_until(deadline).await.unwrap().is_some());
}

/// As Curator counts.
#[tokio::test(start_paused = true)]
async fn whatever_is_among_the_permits_counts() {
    let server = Server::new();
    let client = server.client().await;
    semaphore(&client, 1).acquire().await.unwrap().release().await.unwrap();
    let foreign = format!("{LEASES}/foreign");
    client.create(&foreign, "", CreateMode::Persistent).await.unwrap();
    assert!(semaphore(&client, 1).try_acquire().await.unwrap().is_none());
    let handle = semaphore(&client, 1);
    let mut waiting = Box::pin(handle.acquire());
    assert!(waits(&mut waiting).await);
    client.delete(&foreign, Version::ANY).await.unwrap();
    assert!(waiting.await.unwrap().is_valid());
}

/// Its znode is taken back, and it stands behind the one that came in between: with both of them waiting
/// no permit would be had by either.
#[tokio::test(start_paused = true)]
async fn one_whose_turn_is_taken_by_an_operator_waits_again() {
    let server = Server::new();
    let client = server.client().await;
    let handle = semaphore(&client, 1);
    let holder = handle.acquire().await.unwrap();
    let mut first = Box::pin(handle.acquire());
    assert!(waits(&mut first).await);
    let mut second = Box::pin(handle.acquire());
    assert!(waits(&mut second).await);
    let turn = server.children(LOCKS);
    let oldest = turn.iter().min_by_key(|name| name[name.len() - 10..].to_owned()).unwrap();
    client.delete(&format!("{LOCKS}/{oldest}"), Version::ANY).await.unwrap();
    assert!(waits(&mut first).await && waits(&mut second).await);
    assert_eq!(standing(&server), (2, 2));
    drop(holder);
    let second = second.await.unwrap();
    assert!(waits(&mut first).await);
    drop(second);
    assert!(first.await.unwrap().is_valid());
}

/// With and without a lost connection at that moment.
#[tokio::test(start_paused = true)]
async fn a_wait_for_a_permit_that_is_dropped_anywhere_leaves_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let handle = semaphore(&client, 1);
            let held = run_until(&server, end, handle.acquire()).await.map(drop);
            if is_cut {
                server.cut();
            }
            is_free(&server, &client, &(end, is_cut)).await;
            held.is_some()
        })
        .await;
    }
}

/// The same for one that finds all permits taken: one that gives up, and one that waits.
#[tokio::test(start_paused = true)]
async fn a_wait_for_a_taken_permit_that_is_dropped_anywhere_leaves_nothing() {
    for is_tried in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let holder = semaphore(&client, 1).acquire().await.unwrap();
            settle().await;
            let handle = semaphore(&client, 1);
            let waited = run_until(&server, end, async {
                let limit = Duration::from_secs(1);
                if is_tried {
                    handle.try_acquire().await.unwrap()
                } else {
                    timeout(limit, handle.acquire()).await.ok().map(Result::unwrap)
                }
            })
            .await;
            assert!(!matches!(waited, Some(Some(_))), "{end:?}");
            wait(3).await;
            assert!(holder.is_valid());
            assert_eq!(server.children(LEASES), [holder.znode().to_string()], "{end:?}");
            drop(holder);
            is_free(&server, &client, &(end, is_tried)).await;
            waited.is_some() || matches!(end, DropAfter::Steps(20))
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_release_of_a_permit_goes_through() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let permit = semaphore(&client, 1).acquire().await.unwrap();
            let released = run_until(&server, end, permit.release()).await;
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
async fn a_permit_that_is_lost_is_told_and_writes_nothing() {
    let server = Server::new();
    let client = server.client().await;
    let permit = semaphore(&client, 2).acquire().await.unwrap();
    let write =
        |permit: &Permit| permit.transaction().create(WRITTEN, "", CreateMode::Persistent).commit();
    assert!(write(&permit).await.is_ok(), "the check finds the znode below its parent");
    assert_eq!(permit.guard(ready(7)).await, Ok(7));
    server.cut();
    server.expire();
    let ended = timeout(Duration::from_secs(60), permit.guard(pending::<()>())).await;
    assert_eq!(ended.unwrap().unwrap_err().lost, LockLost::SessionExpired);
    assert_eq!(permit.lost().await, LockLost::SessionExpired);
    assert!(!permit.is_valid());
    assert_eq!((permit.valid_until(), permit.remaining()), (None, Duration::ZERO));
    assert_eq!(write(&permit).await.map(drop), Err(TransactionError::NotHeld));
    wait(3).await;
    assert_eq!(standing(&server), (0, 0), "it is not taken again");
    let released = permit.release().await;
    let at = Place::new("semaphore", SEMAPHORE, "release");
    assert_eq!(released, Err(ReleaseError::AlreadyLost { at, lost: LockLost::SessionExpired }));

    let permit = semaphore(&client, 1).acquire().await.unwrap();
    settle().await;
    client.delete(&format!("{LEASES}/{}", permit.znode()), Version::ANY).await.unwrap();
    assert_eq!(permit.lost().await, LockLost::Broken);
    assert!(!permit.is_valid());

    let permit = semaphore(&client, 1).acquire().await.unwrap();
    client.close().await.unwrap();
    assert_eq!(permit.lost().await, LockLost::ClientClosed(SessionEnd::Closed));
    assert_eq!(permit.release().await, Ok(Departure::WithSession));
}

/// A connection that comes and goes does not end it; a lease that lapses does.
#[tokio::test(start_paused = true)]
async fn a_permit_outlives_its_connection_and_not_its_lease() {
    let server = Server::new();
    let client = server.client().await;
    let permit = semaphore(&client, 1).acquire().await.unwrap();
    let token = permit.token();
    server.cut();
    wait(2).await;
    assert!(permit.is_valid());
    assert_eq!((permit.token(), standing(&server)), (token, (1, 0)));
    server.refuse();
    server.cut();
    assert_eq!(permit.lost().await, LockLost::LeaseLapsed);
    assert!(!permit.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_permit_goes_on_over_lost_connections_and_expired_sessions() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let permit = semaphore(&one, 1).acquire().await.unwrap();
    let handle = semaphore(&other, 1);
    let mut waiting = Box::pin(handle.acquire());
    assert!(waits(&mut waiting).await);
    server.cut();
    wait(2).await;
    assert!(waits(&mut waiting).await);
    server.cut();
    server.expire();
    wait(2).await;
    assert_eq!(permit.lost().await, LockLost::SessionExpired);
    assert!(waiting.await.unwrap().is_valid());
}

#[tokio::test(start_paused = true)]
async fn what_waiting_for_a_permit_does_not_repair_is_told() {
    let server = Server::new();
    let client = server.client().await;
    let invalid = client.semaphore("no/path", NonZeroU32::MIN).acquire().await;
    assert!(matches!(invalid, Err(LockError::InvalidPath { .. })), "{invalid:?}");
    let strict = semaphore(&client, 1).node(ElectionNode::MustExist);
    let refused = strict.acquire().await.map(drop);
    assert!(matches!(refused, Err(LockError::Failed { failure: LockFailure::NoNode, .. })));
    let reaped = semaphore(&client, 1).node(ElectionNode::Create(NodeKind::Container)).data("me");
    let permit = reaped.acquire().await.unwrap();
    let path = format!("{LEASES}/{}", permit.znode());
    assert_eq!(client.get_data(&path).await.unwrap().0, "me");
    let containers = server.requests(OpCode::CREATE_CONTAINER);
    assert_eq!(containers, 4, "the node, two below it, and one before the node was there");
    assert!(strict.try_acquire().await.unwrap().is_none(), "it exists now");
    let (handle, closing) = (semaphore(&client, 1), client.clone());
    let (waited, closed) = tokio::join!(handle.acquire(), closing.close());
    closed.unwrap();
    assert!(matches!(waited, Err(LockError::ClientClosed { end: SessionEnd::Closed, .. })));
}

/// The requests to a server, by clients that have a session and a semaphore whose nodes exist; without those that
/// prove the lease.
#[tokio::test(start_paused = true)]
async fn what_a_permit_costs() {
    const CREATE: OpCode = OpCode::CREATE2;
    const LIST: OpCode = OpCode::GET_CHILDREN;
    const WATCH: OpCode = OpCode::GET_CHILDREN2;
    const READ: OpCode = OpCode::GET_DATA;
    const DELETE: OpCode = OpCode::DELETE;
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    semaphore(&one, 1).acquire().await.unwrap().release().await.unwrap();
    settle().await;
    let mut before = server.requested().len();
    let mut asked = || {
        let mut asked = server.requested().split_off(before);
        before += asked.len();
        asked.retain(|request| *request != OpCode::MULTI);
        asked
    };
    let permit = semaphore(&one, 1).acquire().await.unwrap();
    settle().await;
    assert_eq!(asked(), [CREATE, LIST, CREATE, LIST, DELETE, READ], "four, and it is held");
    assert_eq!(server.watches(), 1, "the permit's own");
    assert!(semaphore(&other, 1).try_acquire().await.unwrap().is_none());
    settle().await;
    assert_eq!(asked(), [CREATE, LIST, CREATE, LIST, DELETE, DELETE]);
    let handle = semaphore(&other, 1);
    let mut waiting = Box::pin(handle.acquire());
    assert!(waits(&mut waiting).await);
    assert_eq!(asked(), [CREATE, LIST, CREATE, LIST, WATCH, READ]);
    assert_eq!(server.watches(), 3, "the permit's own, the turn's own, and the list");
    permit.release().await.unwrap();
    let permit = waiting.await.unwrap();
    settle().await;
    assert_eq!(asked(), [DELETE, LIST, DELETE, READ], "one list for a hand-over");
    drop(permit);
    settle().await;
    assert_eq!(asked(), [DELETE]);
}
