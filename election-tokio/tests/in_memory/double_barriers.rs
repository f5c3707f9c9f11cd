//! Double barriers: entered, left, given up and lost, at every await point.

use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::barrier::{
    BarrierError, BarrierLost, DoubleBarrier, EnterError, Entered, LeaveError, WhenUnderWay,
};
use election_tokio::error::Place;
use election_tokio::session::SessionEnd;
use election_tokio::{Client, CreateMode, Version};
use tokio::time::{Instant, timeout};
use zk_jute::OpCode;

use crate::cancellation::{DropAfter, at_every_await_point, run_until};
use crate::server::{Server, settle, wait};

const BARRIER: &str = "/deep/double";

fn pair(client: &Client) -> DoubleBarrier {
    client.double_barrier(BARRIER, 2)
}

/// Whether it is still waited for after everything has settled.
async fn waits<T>(waiting: &mut (impl Future<Output = T> + Unpin)) -> bool {
    timeout(Duration::from_millis(10), waiting).await.is_err()
}

async fn entered(one: &Client, other: &Client) -> (Entered, Entered) {
    let (one, other) = (pair(one), pair(other));
    let (one, other) = tokio::join!(one.enter(), other.enter());
    (one.unwrap(), other.unwrap())
}

/// Asserts that nothing is left of a round, and that the next one goes as it should.
async fn is_clean(server: &Server, client: &Client, context: &dyn core::fmt::Debug) {
    wait(3).await;
    assert!(server.children(BARRIER).is_empty(), "{:?}: {context:?}", server.children(BARRIER));
    server.cut();
    wait(3).await;
    assert_eq!(server.watches(), 0, "a watch is left: {context:?}");
    let (one, other) = entered(client, client).await;
    let (one, other) = tokio::join!(one.leave(), other.leave());
    assert_eq!((one, other), (Ok(()), Ok(())), "{context:?}");
    settle().await;
    assert!(server.children(BARRIER).is_empty(), "{context:?}");
    let requests = server.requested().len();
    wait(30).await;
    assert_eq!(server.requested().len(), requests, "no rest: {context:?}");
}

#[tokio::test(start_paused = true)]
async fn participants_begin_together_and_end_together() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    for round in 0..3 {
        let (first, second) = (pair(&one), pair(&other));
        let mut entering = Box::pin(first.enter());
        assert!(waits(&mut entering).await, "{round}");
        assert_eq!(server.children(BARRIER).len(), 1);
        let second = second.enter().await.unwrap();
        let first = entering.await.unwrap();
        assert!(first.is_inside() && second.is_inside());
        assert_eq!(server.children(BARRIER).len(), 3, "two entries, and ready");
        assert!(server.children(BARRIER).contains(&first.entry().to_owned()));
        let mut leaving = Box::pin(first.leave());
        assert!(waits(&mut leaving).await, "{round}");
        assert_eq!(second.leave().await, Ok(()));
        assert_eq!(leaving.await, Ok(()));
    }
    is_clean(&server, &one, &"three rounds").await;
}

/// A participant that comes late waits for the next round, or is refused.
#[tokio::test(start_paused = true)]
async fn a_round_that_is_under_way_takes_no_one_in() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let (first, second) = entered(&one, &other).await;
    let refused = pair(&one).when_under_way(WhenUnderWay::GiveUp).enter().await;
    assert!(matches!(refused, Err(EnterError::RoundUnderWay { .. })));
    let handle = pair(&one);
    let mut late = Box::pin(handle.enter());
    assert!(waits(&mut late).await);
    assert_eq!(server.children(BARRIER).len(), 3, "it has no entry");
    drop((first, second));
    assert!(waits(&mut late).await, "it is alone in the next round");
    let other = pair(&other).enter().await.unwrap();
    let (late, other) = (late.await.unwrap().leave(), other.leave());
    assert_eq!(tokio::join!(late, other), (Ok(()), Ok(())));
    is_clean(&server, &one, &"late").await;
}

/// Both double barriers of Curator and kazoo let the next round pass by it.
#[tokio::test(start_paused = true)]
async fn what_a_round_left_whose_participants_have_died_lets_no_one_pass() {
    let server = Server::new();
    let client = server.client().await;
    client
        .create_with_parents(&format!("{BARRIER}/ready"), "", CreateMode::Persistent, &Acls::open())
        .await
        .unwrap();
    let handle = pair(&client);
    let mut entering = Box::pin(handle.enter());
    assert!(waits(&mut entering).await);
    assert_eq!(server.children(BARRIER).len(), 1, "ready is gone");
    let other = pair(&client).enter().await.unwrap();
    let (one, other) = (entering.await.unwrap().leave(), other.leave());
    assert_eq!(tokio::join!(one, other), (Ok(()), Ok(())));
    is_clean(&server, &client, &"stale").await;
}

/// A stray child is no participant.
#[tokio::test(start_paused = true)]
async fn only_participants_count() {
    let server = Server::new();
    let client = server.client().await;
    client
        .create_with_parents(&format!("{BARRIER}/stray"), "", CreateMode::Persistent, &Acls::open())
        .await
        .unwrap();
    let handle = pair(&client);
    let mut entering = Box::pin(handle.enter());
    assert!(waits(&mut entering).await);
    let other = pair(&client).enter().await.unwrap();
    let (one, other) = (entering.await.unwrap().leave(), other.leave());
    assert_eq!(tokio::join!(one, other), (Ok(()), Ok(())));
    assert_eq!(server.children(BARRIER), ["stray"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_session_is_told_and_blocks_no_one() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let (first, second) = entered(&one, &other).await;
    one.delete(&format!("{BARRIER}/{}", first.entry()), Version::ANY).await.unwrap();
    assert_eq!(first.lost().await, BarrierLost::Evicted);
    assert!(!first.is_inside() && second.is_inside());
    let at = Place::new("double barrier", BARRIER, "leave");
    let evicted = LeaveError::AlreadyLost { at, lost: BarrierLost::Evicted };
    let text = evicted.to_string();
    assert!(text.starts_with(&format!("double barrier {BARRIER}, leave: ")), "{text}");
    assert_eq!(first.leave().await, Err(evicted));
    assert_eq!(second.leave().await, Ok(()), "it waits for no participant that is gone");

    let (first, second) = entered(&one, &other).await;
    server.cut();
    wait(2).await;
    assert!(first.is_inside(), "a connection that comes and goes is no end");
    server.cut();
    server.expire();
    assert_eq!(first.lost().await, BarrierLost::SessionExpired);
    assert_eq!(second.lost().await, BarrierLost::SessionExpired);
    drop((first, second));
    assert_eq!(server.children(BARRIER), ["ready"], "the next round removes it");
    let (first, second) = entered(&one, &other).await;
    assert_eq!(tokio::join!(first.leave(), second.leave()), (Ok(()), Ok(())));

    let (first, second) = entered(&one, &other).await;
    one.clone().close().await.unwrap();
    assert_eq!(first.lost().await, BarrierLost::ClientClosed(SessionEnd::Closed));
    assert_eq!(second.leave().await, Ok(()));
    let at = Place::new("double barrier", BARRIER, "enter");
    let closed = EnterError::Barrier(BarrierError::ClientClosed { at, end: SessionEnd::Closed });
    assert_eq!(pair(&one).enter().await.map(drop), Err(closed));
    is_clean(&server, &other, &"lost").await;
}

#[tokio::test(start_paused = true)]
async fn an_entering_goes_on_over_lost_connections_and_expired_sessions() {
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    let handle = pair(&one);
    let mut entering = Box::pin(handle.enter());
    assert!(waits(&mut entering).await);
    server.cut();
    wait(2).await;
    server.expire();
    wait(2).await;
    assert!(waits(&mut entering).await);
    assert_eq!(server.children(BARRIER).len(), 1);
    let second = pair(&other).enter().await.unwrap();
    let first = entering.await.unwrap();
    let mut leaving = Box::pin(first.leave());
    assert!(waits(&mut leaving).await);
    server.cut();
    wait(2).await;
    assert!(waits(&mut leaving).await);
    assert_eq!(second.leave().await, Ok(()));
    assert_eq!(leaving.await, Ok(()));
    is_clean(&server, &one, &"expired").await;
}

/// With and without a lost connection at that moment.
#[tokio::test(start_paused = true)]
async fn an_entry_that_is_dropped_anywhere_leaves_nothing() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let handle = client.double_barrier(BARRIER, 1);
            let inside = run_until(&server, end, handle.enter()).await.map(drop);
            if is_cut {
                server.cut();
            }
            is_clean(&server, &client, &(end, is_cut)).await;
            inside.is_some()
        })
        .await;
    }
}

/// The same for one that waits for others, which go on waiting.
#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_anywhere_strands_no_one() {
    at_every_await_point(async |end| {
        let server = Server::new();
        let client = server.client().await;
        let three = client.double_barrier(BARRIER, 3);
        let mut waiting = Box::pin(three.enter());
        assert!(waits(&mut waiting).await);
        let handle = client.double_barrier(BARRIER, 3);
        let deadline = Instant::now() + Duration::from_secs(1);
        let given_up = run_until(&server, end, handle.enter_until(deadline)).await;
        assert!(!matches!(given_up, Some(Ok(Some(_)))), "{end:?}");
        wait(3).await;
        assert!(waits(&mut waiting).await);
        assert_eq!(server.children(BARRIER).len(), 1, "{end:?}");
        let others = (three.enter(), three.enter());
        let (first, second, third) = tokio::join!(waiting, others.0, others.1);
        let (first, second) = (first.unwrap().leave(), second.unwrap().leave());
        let left = tokio::join!(first, second, third.unwrap().leave());
        assert_eq!(left, (Ok(()), Ok(()), Ok(())), "{end:?}");
        is_clean(&server, &client, &end).await;
        given_up.is_some() || matches!(end, DropAfter::Steps(10))
    })
    .await;
}

/// It goes all the same, and the others go on.
#[tokio::test(start_paused = true)]
async fn a_leaving_that_is_dropped_anywhere_goes_through() {
    for is_cut in [false, true] {
        at_every_await_point(async |end| {
            let server = Server::new();
            let client = server.client().await;
            let (first, second) = entered(&client, &client).await;
            let leaving = timeout(Duration::from_secs(1), first.leave());
            let left = run_until(&server, end, leaving).await;
            assert!(!matches!(left, Some(Ok(_))), "the other one is inside: {end:?}");
            if is_cut {
                server.cut();
            }
            wait(3).await;
            assert_eq!(server.children(BARRIER).len(), 2, "the other one, and ready: {end:?}");
            assert_eq!(second.leave().await, Ok(()), "{end:?}");
            is_clean(&server, &client, &(end, is_cut)).await;
            left.is_some() || matches!(end, DropAfter::Steps(10))
        })
        .await;
    }
}

/// Clients that have a session send these requests where the barrier's node exists.
#[tokio::test(start_paused = true)]
async fn what_a_double_barrier_costs() {
    const LOOK: OpCode = OpCode::EXISTS;
    const LIST: OpCode = OpCode::GET_CHILDREN;
    let server = Server::new();
    let (one, other) = (server.client().await, server.client().await);
    one.create_with_parents(BARRIER, "", CreateMode::Persistent, &Acls::open()).await.unwrap();
    let mut before = server.requested().len();
    let mut asked = || {
        let asked = server.requested().split_off(before);
        before += asked.len();
        asked
    };
    let handle = pair(&one);
    let mut entering = Box::pin(handle.enter());
    assert!(waits(&mut entering).await);
    assert_eq!(asked(), [LOOK, LOOK, OpCode::MULTI, LOOK, LIST]);
    assert_eq!(server.watches(), 2, "on ready, and on its entry");
    let second = pair(&other).enter().await.unwrap();
    let first = entering.await.unwrap();
    settle().await;
    let opening = [LOOK, LOOK, OpCode::MULTI, LOOK, LIST, OpCode::MULTI];
    assert_eq!(asked()[..opening.len()], opening);

    let (first, second) =
        if first.entry() < second.entry() { (first, second) } else { (second, first) };
    settle().await;
    asked();
    let mut lowest = Box::pin(first.leave());
    assert!(waits(&mut lowest).await);
    let of_requests = |asked: Vec<OpCode>| -> Vec<OpCode> {
        asked.into_iter().filter(|sent| *sent != OpCode::REMOVE_WATCHES).collect()
    };
    assert_eq!(of_requests(asked()), [LOOK, LIST, LOOK]);
    assert_eq!(second.leave().await, Ok(()));
    assert_eq!(lowest.await, Ok(()));
    settle().await;
    let mut both = of_requests(asked());
    both.sort_unstable();
    let mut expected = vec![LOOK, LIST, OpCode::DELETE, LOOK, LIST, LOOK, OpCode::MULTI];
    expected.sort_unstable();
    assert_eq!(both, expected);
}
