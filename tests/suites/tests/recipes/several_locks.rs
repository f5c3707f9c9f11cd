//! Several locks at once, among clients that name them in orders of their own.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;

use election_tokio::lock::{LockLost, LocksError};
use election_tokio::{TransactionError, Version};
use tokio::task::JoinSet;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    contenders_for_some_of_several_locks_are_all_served,
    several_locks_that_are_cut_off_are_lost_before_the_next_has_them,
    a_broken_lock_ends_the_others;
}

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

const LOCKS: usize = 5;

fn path(index: usize) -> String {
    format!("/locks/{index}")
}

/// Each of twelve contenders wants two to four of five locks, in an order of its own, six times.
async fn contenders_for_some_of_several_locks_are_all_served(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "several").await?;
    let held: Arc<[AtomicBool; LOCKS]> = Arc::default();
    let mut contenders = JoinSet::new();
    for contender in 0..12 {
        let client = arena.client().await?;
        let held = Arc::clone(&held);
        contenders.spawn(async move {
            for turn in 0..6 {
                // Steps of 1 to 4 through the five, from anywhere: up, down and around.
                let (first, step) = (contender + turn, 1 + (contender + 3 * turn) % 4);
                let count = 2 + (contender * 7 + turn) % 3;
                let wanted: Vec<usize> = (0..count).map(|at| (first + at * step) % LOCKS).collect();
                let guard = client.locks(wanted.iter().copied().map(path)).lock().await?;
                let mine = || wanted.iter().filter_map(|index| held.get(*index));
                for held in mine() {
                    assert!(!held.swap(true, Ordering::SeqCst), "two hold one of {wanted:?}");
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
                assert!(guard.is_valid());
                mine().for_each(|held| held.store(false, Ordering::SeqCst));
                guard.release().await.expect("it is held");
            }
            Ok::<(), LocksError>(())
        });
    }
    while let Some(ended) = soon("none waits for ever", contenders.join_next()).await? {
        ended??;
    }
    for index in 0..LOCKS {
        assert_eq!(arena.admin.get_children(&path(index)).await?.iter().count(), 0);
    }
    Ok(())
}

async fn several_locks_that_are_cut_off_are_lost_before_the_next_has_them(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "several").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let guard = soon("the locks", cut_off.locks(["/b", "/a"]).lock()).await??;
    let other = arena.client().await?;
    assert!(soon("an answer", other.locks(["/b"]).try_lock()).await??.is_none());
    proxy.refuse();
    proxy.cut();
    let next = soon("the next has them", other.locks(["/a", "/b"]).lock()).await??;
    assert!(!guard.is_valid(), "two valid holders");
    assert_eq!(soon("they are lost", guard.lost()).await?.lost, LockLost::LeaseLapsed);
    for path in ["/a", "/b"] {
        assert!(next.token(path) > guard.token(path));
    }
    let late = guard.transaction().delete("/a", Version::ANY).commit().await;
    assert_eq!(late, Err(TransactionError::NotHeld));
    Ok(())
}

async fn a_broken_lock_ends_the_others(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "several").await?;
    let client = arena.client().await?;
    let guard = soon("the locks", client.locks(["/b", "/a"]).shared(["/c"]).lock()).await??;
    assert_eq!(guard.confirm().await, Ok(()));
    let (_, first) = guard.iter().next().expect("three");
    arena.admin.delete(&format!("/a/{}", first.znode()), Version::ANY).await?;
    let work = guard.guard(core::future::pending::<()>());
    let lost = soon("the work is dropped", work).await?.expect_err("it is broken");
    assert_eq!((lost.at.path(), lost.lost), ("/a", LockLost::Broken));
    let are_free = async || {
        let count = async |path| arena.admin.get_children(path).await.map(|of| of.iter().count());
        matches!((count("/b").await, count("/c").await), (Ok(0), Ok(0)))
    };
    Ok(eventually_async(SOON, "the rest is released", are_free).await?)
}
