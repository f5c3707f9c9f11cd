//! Barriers and double barriers among clients: lifted, entered and left together, and lost with a
//! participant that dies.

use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::sync::Arc;

use election_tokio::CreateMode;
use election_tokio::acl::Acls;
use election_tokio::barrier::{
    BarrierError, BarrierLost, EnterError, Entered, LeaveError, WhenUnderWay,
};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_barrier_holds_back_until_it_is_lifted,
    participants_begin_and_end_together_round_after_round,
    a_participant_that_dies_blocks_no_other,
    what_a_dead_round_has_left_lets_none_pass,
    a_late_participant_waits_or_is_refused,
    a_thousand_waiters_are_woken_by_one_notification_for_each_session,
    a_thousand_participants_begin_by_one_notification_for_each_session;
}

const BARRIER: &str = "/barriers/barrier";
const DOUBLE: &str = "/barriers/double";

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

async fn children(arena: &Arena) -> Result<usize, TestFailure> {
    match arena.admin.get_children(DOUBLE).await {
        Ok(children) => Ok(children.iter().count()),
        Err(error) if error.is_no_node() => Ok(0),
        Err(error) => Err(error.into()),
    }
}

async fn is_left_empty(arena: &Arena) -> TestResult {
    let is_empty = async || children(arena).await.is_ok_and(|count| count == 0);
    Ok(eventually_async(SOON, "nothing is left of the barrier", is_empty).await?)
}

/// Eight waiters of two clients.
async fn a_barrier_holds_back_until_it_is_lifted(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "barriers").await?;
    let clients = [arena.client().await?, arena.client().await?];
    let barrier = arena.admin.barrier(BARRIER);
    for round in 0..3 {
        barrier.set().await?;
        assert!(barrier.is_set().await?);
        let is_lifted = Arc::new(AtomicU32::new(0));
        let mut waiters = JoinSet::new();
        for client in clients.iter().cycle().take(8) {
            let (barrier, is_lifted) = (client.barrier(BARRIER), Arc::clone(&is_lifted));
            waiters.spawn(async move {
                barrier.wait().await?;
                assert_eq!(is_lifted.load(Ordering::SeqCst), 1, "it passes early: {round}");
                Ok::<(), BarrierError>(())
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        is_lifted.store(1, Ordering::SeqCst);
        barrier.lift().await?;
        while let Some(waited) = soon("all go on", waiters.join_next()).await? {
            waited??;
        }
    }
    assert!(!barrier.is_set().await?);
    Ok(())
}

/// Six participants of three clients: none begins a round before all have entered it, and none goes on
/// before all have left it.
async fn participants_begin_and_end_together_round_after_round(server: ServerKind) -> TestResult {
    const COUNT: u32 = 6;
    const ROUNDS: u32 = 5;
    let arena = Arena::new(server, "barriers").await?;
    let clients = [arena.client().await?, arena.client().await?, arena.client().await?];
    let (arrived, done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut participants = JoinSet::new();
    for client in clients.iter().cycle().take(6) {
        let barrier = client.double_barrier(DOUBLE, COUNT);
        let (arrived, done) = (Arc::clone(&arrived), Arc::clone(&done));
        participants.spawn(async move {
            for round in 1..=ROUNDS {
                arrived.fetch_add(1, Ordering::SeqCst);
                let entered = barrier.enter().await.expect("it enters");
                assert!(arrived.load(Ordering::SeqCst) >= round * COUNT, "it begins early");
                done.fetch_add(1, Ordering::SeqCst);
                entered.leave().await.expect("it leaves");
                assert!(done.load(Ordering::SeqCst) >= round * COUNT, "it goes on early");
            }
        });
    }
    while let Some(ended) = soon("all have been through", participants.join_next()).await? {
        ended?;
    }
    is_left_empty(&arena).await
}

/// It is cut off for good: the others leave once its session has expired, and it is told.
async fn a_participant_that_dies_blocks_no_other(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "barriers").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let other = arena.client().await?;
    let (one, two) = (cut_off.double_barrier(DOUBLE, 2), other.double_barrier(DOUBLE, 2));
    let both = async { tokio::try_join!(one.enter(), two.enter()) };
    let (dead, alive) = soon("both are inside", both).await??;
    proxy.refuse();
    proxy.cut();
    soon("the other leaves", alive.leave()).await??;
    is_left_empty(&arena).await?;
    proxy.accept()?;
    assert_eq!(soon("it is told", dead.lost()).await?, BarrierLost::SessionExpired);
    let left = soon("an answer", dead.leave()).await?;
    let reason = match &left {
        Err(LeaveError::AlreadyLost { lost, .. }) => Some(*lost),
        _ => None,
    };
    assert_eq!(reason, Some(BarrierLost::SessionExpired), "{left:?}");
    Ok(())
}

/// `ready`, persistent: both Curator's participants and kazoo's would pass by it.
async fn what_a_dead_round_has_left_lets_none_pass(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "barriers").await?;
    let (ready, acls) = (format!("{DOUBLE}/ready"), Acls::open());
    arena.admin.create_with_parents(&ready, "", CreateMode::Persistent, &acls).await?;
    let client = arena.client().await?;
    let barrier = client.double_barrier(DOUBLE, 2);
    let mut entering = pin!(barrier.enter());
    assert!(timeout(Duration::from_millis(500), &mut entering).await.is_err(), "it passes early");
    let both = async { tokio::try_join!(entering, barrier.enter()) };
    let (one, other) = soon("both are inside", both).await??;
    let left = async { tokio::try_join!(one.leave(), other.leave()) };
    soon("both have left", left).await??;
    is_left_empty(&arena).await
}

async fn a_late_participant_waits_or_is_refused(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "barriers").await?;
    let client = arena.client().await?;
    let barrier = client.double_barrier(DOUBLE, 1);
    let inside = soon("one is enough", barrier.enter()).await??;
    let refusing = barrier.clone().when_under_way(WhenUnderWay::GiveUp);
    let refused = soon("an answer", refusing.enter()).await?;
    assert!(matches!(refused, Err(EnterError::RoundUnderWay { .. })));
    let mut late = pin!(barrier.enter());
    assert!(timeout(Duration::from_millis(300), &mut late).await.is_err());
    soon("it leaves alone", inside.leave()).await??;
    let late = soon("the next round", late).await??;
    drop(late);
    is_left_empty(&arena).await
}

/// Of a hundred sessions: to each the server says it once, and nothing is asked.
async fn a_thousand_waiters_are_woken_by_one_notification_for_each_session(
    server: ServerKind,
) -> TestResult {
    const SESSIONS: u64 = 100;
    let arena = Arena::new(server, "barriers").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let barrier = arena.admin.barrier(BARRIER);
    barrier.set().await?;
    let mut waiters = JoinSet::new();
    let mut clients = Vec::new();
    for _ in 0..SESSIONS {
        clients.push(arena.client_by(&proxy).await?);
    }
    for client in &clients {
        for _ in 0..10 {
            let barrier = client.barrier(BARRIER);
            waiters.spawn(async move { barrier.wait().await });
        }
    }
    let looks = || proxy.counters().replies(Opcode::EXISTS);
    eventually_async(SOON, "all wait", async || looks() == 10 * SESSIONS).await?;
    let before = proxy.counters();
    barrier.lift().await?;
    while let Some(waited) = soon("all go on", waiters.join_next()).await? {
        waited??;
    }
    let after = proxy.counters();
    assert_eq!(after.notifications() - before.notifications(), SESSIONS);
    assert_eq!(after.requests_but_upkeep(), before.requests_but_upkeep(), "none asks again");
    Ok(())
}

/// Of fifty sessions: 999 wait, and the last one opens the round.
async fn a_thousand_participants_begin_by_one_notification_for_each_session(
    server: ServerKind,
) -> TestResult {
    const SESSIONS: u64 = 50;
    const COUNT: u32 = 1_000;
    let arena = Arena::new(server, "barriers").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let mut clients = Vec::new();
    for _ in 0..SESSIONS {
        clients.push(arena.client_by(&proxy).await?);
    }
    let mut participants = JoinSet::new();
    for client in clients.iter().cycle().take(999) {
        let barrier = client.double_barrier(DOUBLE, COUNT);
        participants.spawn(async move { barrier.enter().await });
    }
    let all_stand = async || children(&arena).await.is_ok_and(|count| count == 999);
    eventually_async(SOON, "999 stand", all_stand).await?;
    // One that stands has four more questions, one after the other; each `sync` comes after the answer to one
    // at least.
    for _ in 0..5 {
        for client in &clients {
            client.sync("/").await?;
        }
    }
    let before = proxy.counters();
    let last =
        soon("it opens the round", arena.admin.double_barrier(DOUBLE, COUNT).enter()).await??;
    let mut inside = vec![last];
    while let Some(entered) = soon("all begin", participants.join_next()).await? {
        inside.push(entered??);
    }
    let after = proxy.counters();
    assert_eq!(after.notifications() - before.notifications(), SESSIONS);
    assert_eq!(after.requests_but_upkeep(), before.requests_but_upkeep(), "none asks again");
    let mut leaving: JoinSet<_> = inside.into_iter().map(Entered::leave).collect();
    while let Some(left) = soon("all leave", leaving.join_next()).await? {
        left??;
    }
    is_left_empty(&arena).await
}
