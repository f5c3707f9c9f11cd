//! Barriers: set, waited for and lifted, at every await point.

use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::barrier::{Barrier, BarrierError, BarrierFailure};
use election_tokio::session::SessionEnd;
use election_tokio::{Client, CreateMode, ErrorCode, Version};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::cancellation::{at_every_await_point, run_until};
use crate::lies::Lie;
use crate::server::{Server, settle, wait};

const BARRIER: &str = "/deep/barrier";

fn barrier(client: &Client) -> Barrier {
    client.barrier(BARRIER)
}

/// Whether it is still waited for after everything has settled.
async fn waits<T>(waiting: &mut (impl Future<Output = T> + Unpin)) -> bool {
    timeout(Duration::from_millis(10), waiting).await.is_err()
}

/// Asserts that no watch is left, and that no request follows.
async fn is_quiet(server: &Server, context: &dyn core::fmt::Debug) {
    wait(3).await;
    server.cut();
    wait(3).await;
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

#[tokio::test(start_paused = true)]
async fn a_barrier_holds_back_until_it_is_lifted() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    assert_eq!(barrier(&one).wait().await, Ok(()), "it is not set");
    assert_eq!(barrier(&one).is_set().await, Ok(false));
    for _ in 0..2 {
        barrier(&one).set().await.unwrap();
        assert_eq!(barrier(&other).is_set().await, Ok(true));
    }
    let handle = barrier(&other);
    let mut waiting = [Box::pin(handle.wait()), Box::pin(handle.wait())];
    for waiting in &mut waiting {
        assert!(waits(waiting).await);
    }
    barrier(&one).lift().await.unwrap();
    for waiting in waiting {
        assert_eq!(waiting.await, Ok(()));
    }
    assert_eq!(barrier(&one).is_set().await, Ok(false));
    assert_eq!(barrier(&one).lift().await, Ok(()), "once more");
    is_quiet(&server, &"lifted").await;
}

/// Also if it was lifted, and set again, while the waiter was not connected.
#[tokio::test(start_paused = true)]
async fn a_barrier_that_is_set_again_holds_no_earlier_waiter() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    barrier(&one).set().await.unwrap();
    let handle = barrier(&other);
    let mut waiting = Box::pin(handle.wait());
    assert!(waits(&mut waiting).await);
    server.cut();
    server.raw().delete(BARRIER).unwrap();
    wait(3).await;
    assert_eq!(waiting.await, Ok(()));

    barrier(&one).set().await.unwrap();
    let mut waiting = Box::pin(handle.wait());
    assert!(waits(&mut waiting).await);
    barrier(&one).lift().await.unwrap();
    barrier(&one).set().await.unwrap();
    assert_eq!(waiting.await, Ok(()));
    let mut late = Box::pin(handle.wait());
    assert!(waits(&mut late).await, "it is set");
    one.delete(BARRIER, Version::ANY).await.unwrap();
    assert_eq!(late.await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_wait_at_a_barrier_goes_on_over_lost_connections_and_expired_sessions() {
    let server = Server::new();
    let client = server.client().await;
    barrier(&client).set().await.unwrap();
    let handle = barrier(&client);
    let mut waiting = Box::pin(handle.wait());
    assert!(waits(&mut waiting).await);
    server.cut();
    wait(2).await;
    assert!(waits(&mut waiting).await);
    server.expire();
    wait(2).await;
    assert!(waits(&mut waiting).await);
    assert_eq!(server.watches(), 1);
    barrier(&client).lift().await.unwrap();
    assert_eq!(waiting.await, Ok(()));
}

/// With and without a lost connection at that moment.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_anywhere_leaves_no_watch() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            client
                .create_with_parents(BARRIER, "", CreateMode::Persistent, &Acls::open())
                .await
                .unwrap();
            let handle = barrier(&client);
            let waiting = timeout(Duration::from_secs(1), handle.wait());
            let waited = run_until(&server, end, waiting).await;
            assert!(!matches!(waited, Some(Ok(_))), "{end:?}");
            if is_cut {
                server.cut();
            }
            is_quiet(&server, &(end, is_cut)).await;
            assert_eq!(barrier(&client).is_set().await, Ok(true));
            waited.is_some() || matches!(end, crate::cancellation::DropAfter::Steps(6))
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_anywhere_is_done_or_not() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let handle = barrier(&client);
        let set = run_until(&server, end, handle.set()).await;
        settle().await;
        barrier(&client).set().await.unwrap();
        let lifted = run_until(&server, end, handle.lift()).await;
        settle().await;
        barrier(&client).lift().await.unwrap();
        assert_eq!(barrier(&client).is_set().await, Ok(false));
        is_quiet(&server, &end).await;
        set.is_some() && lifted.is_some()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_asking_again_does_not_repair_is_told() {
    let server = Server::new();
    let client = server.client().await;
    let invalid = client.barrier("no/path").set().await;
    assert!(matches!(invalid, Err(BarrierError::InvalidPath { .. })), "{invalid:?}");
    barrier(&client).set().await.unwrap();
    server.lie_about(OpCode::EXISTS, Lie::Code(ErrorCode::NO_AUTH));
    let refused = barrier(&client).wait().await;
    assert!(matches!(
        refused,
        Err(BarrierError::Failed { failure: BarrierFailure::Rejected(-102), .. })
    ));
    client.create(&format!("{BARRIER}/child"), "", CreateMode::Persistent).await.unwrap();
    let refused = barrier(&client).lift().await;
    assert!(matches!(refused, Err(BarrierError::Failed { failure: BarrierFailure::NotEmpty, .. })));
    let (handle, closing) = (barrier(&client), client.clone());
    let (waited, closed) = tokio::join!(handle.wait(), closing.close());
    closed.unwrap();
    assert!(matches!(waited, Err(BarrierError::ClientClosed { end: SessionEnd::Closed, .. })));
}

/// Clients that have a session send these requests.
#[tokio::test(start_paused = true)]
async fn what_a_barrier_costs() {
    const CHECK: OpCode = OpCode::MULTI;
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    one.create("/deep", "", CreateMode::Persistent).await.unwrap();
    let mut before = server.requested().len();
    let mut asked = || {
        let asked = server.requested().split_off(before);
        before += asked.len();
        asked
    };
    barrier(&one).set().await.unwrap();
    assert_eq!(asked(), [OpCode::CREATE2]);
    barrier(&one).is_set().await.unwrap();
    assert_eq!(asked(), [CHECK]);
    let handle = barrier(&other);
    let mut waiting = Box::pin(handle.wait());
    assert!(waits(&mut waiting).await);
    assert_eq!(asked(), [CHECK, OpCode::EXISTS]);
    barrier(&one).lift().await.unwrap();
    assert_eq!(asked(), [CHECK, OpCode::EXISTS, OpCode::DELETE]);
    assert_eq!(waiting.await, Ok(()));
    settle().await;
    assert_eq!(asked(), [], "a waiter that goes on asks for nothing");
    handle.wait().await.unwrap();
    assert_eq!(asked(), [CHECK]);
    barrier(&one).lift().await.unwrap();
    assert_eq!(asked(), [CHECK]);
}
