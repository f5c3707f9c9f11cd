//! Locks among clients and processes: taken in turn, shared, given up, and lost with a killed holder.

use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::process::Stdio;
use std::sync::Arc;

use election_tokio::Version;
use election_tokio::election::Departure;
use election_tokio::lock::{LockError, LockGuard, LockLost};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    contended_locks_are_held_by_one_at_a_time,
    readers_hold_together_and_writers_alone,
    a_lock_that_is_not_free_is_given_up_in_time,
    a_holder_that_is_killed_makes_way,
    a_holder_that_is_cut_off_has_lost_it_before_the_next_has_it,
    a_lock_that_an_operator_breaks_is_lost;
}

const LOCK: &str = "/locks/lock";

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

async fn children(arena: &Arena) -> Result<usize, TestFailure> {
    match arena.admin.get_children(LOCK).await {
        Ok(children) => Ok(children.iter().count()),
        Err(error) if error.is_no_node() => Ok(0),
        Err(error) => Err(error.into()),
    }
}

async fn is_left_empty(arena: &Arena) -> TestResult {
    let is_empty = async || children(arena).await.is_ok_and(|count| count == 0);
    Ok(eventually_async(SOON, "nothing is left of the lock", is_empty).await?)
}

/// The counts by which a holder finds that another one shares the lock wrongly.
#[derive(Debug, Default)]
struct Ledger {
    writers: AtomicU32,
    readers: AtomicU32,
    greatest: std::sync::Mutex<i64>,
}

impl Ledger {
    async fn write(&self, guard: &LockGuard) {
        assert_eq!(self.writers.fetch_add(1, Ordering::SeqCst), 0, "two writers");
        assert_eq!(self.readers.load(Ordering::SeqCst), 0, "a writer beside readers");
        {
            let mut greatest = self.greatest.lock().expect("none panicked");
            assert!(*greatest < guard.token().get(), "the token has not grown");
            *greatest = guard.token().get();
        }
        assert!(guard.is_valid());
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.writers.fetch_sub(1, Ordering::SeqCst);
    }

    async fn read(&self, guard: &LockGuard) {
        self.readers.fetch_add(1, Ordering::SeqCst);
        assert_eq!(self.writers.load(Ordering::SeqCst), 0, "a reader beside a writer");
        assert!(guard.is_valid());
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Eight contenders of two clients, five times each.
async fn contended_locks_are_held_by_one_at_a_time(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "locks").await?;
    let clients = [arena.client().await?, arena.client().await?];
    let ledger = Arc::new(Ledger::default());
    let mut contenders = JoinSet::new();
    for client in clients.iter().cycle().take(8) {
        let (lock, ledger) = (client.lock(LOCK), Arc::clone(&ledger));
        contenders.spawn(async move {
            for round in 0..5 {
                let guard = lock.lock().await?;
                ledger.write(&guard).await;
                if round % 2 == 0 {
                    assert_eq!(guard.release().await, Ok(Departure::Deleted));
                }
            }
            Ok::<(), LockError>(())
        });
    }
    while let Some(ended) = soon("all contenders have had it", contenders.join_next()).await? {
        ended??;
    }
    is_left_empty(&arena).await
}

async fn readers_hold_together_and_writers_alone(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "locks").await?;
    let clients = [arena.client().await?, arena.client().await?];
    let ledger = Arc::new(Ledger::default());
    let mut contenders = JoinSet::new();
    for (index, client) in clients.iter().cycle().take(8).enumerate() {
        let (client, ledger) = (client.clone(), Arc::clone(&ledger));
        contenders.spawn(async move {
            for round in 0..4 {
                if (index + round) % 3 == 0 {
                    ledger.write(&client.write_lock(LOCK).lock().await?).await;
                } else {
                    ledger.read(&client.read_lock(LOCK).lock().await?).await;
                }
            }
            Ok::<(), LockError>(())
        });
    }
    while let Some(ended) = soon("all contenders have had it", contenders.join_next()).await? {
        ended??;
    }
    is_left_empty(&arena).await?;

    let [one, other] = clients;
    let first = soon("a reader", one.read_lock(LOCK).lock()).await??;
    let second = soon("another reader", other.read_lock(LOCK).lock()).await??;
    assert!(first.is_valid() && second.is_valid());
    let writer = soon("a writer tries", one.write_lock(LOCK).try_lock()).await??;
    assert!(writer.is_none());
    drop((first, second));
    is_left_empty(&arena).await
}

async fn a_lock_that_is_not_free_is_given_up_in_time(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "locks").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let guard = soon("the lock", one.lock(LOCK).lock()).await??;
    assert!(soon("an answer", other.lock(LOCK).try_lock()).await??.is_none());
    assert_eq!(children(&arena).await?, 1, "the attempt has left nothing");
    let deadline = Instant::now() + Duration::from_millis(300);
    let lock = other.lock(LOCK);
    assert!(soon("an answer", lock.lock_until(deadline)).await??.is_none());
    let is_alone = async || children(&arena).await.is_ok_and(|count| count == 1);
    // The place is there before it is given up.
    other.sync("/").await?;
    eventually_async(SOON, "the place is given up", is_alone).await?;

    let mut waiting = Box::pin(lock.lock());
    assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    drop(waiting);
    other.sync("/").await?;
    eventually_async(SOON, "the place is given up", is_alone).await?;
    assert_eq!(guard.release().await, Ok(Departure::Deleted));
    assert!(soon("an answer", lock.try_lock()).await??.is_some());
    is_left_empty(&arena).await
}

/// Starts a process that holds the lock, and waits until it says so.
async fn holder(arena: &Arena, name: &str) -> Result<Child, TestFailure> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lock"));
    command.args([&arena.servers(), name, "600"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let stdout = child.stdout.take().expect("it is piped");
    let said = soon("it holds the lock", BufReader::new(stdout).lines().next_line()).await??;
    assert!(said.is_some_and(|said| said.starts_with(&format!("{name} holds the lock"))));
    Ok(child)
}

/// Killed without a word: the next contender has the lock once the session has expired.
async fn a_holder_that_is_killed_makes_way(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "locks").await?;
    let mut killed = holder(&arena, "first").await?;
    let client = arena.client().await?;
    let lock = client.lock("/examples/lock/lock");
    assert!(soon("an answer", lock.try_lock()).await??.is_none());
    let mut waiting = pin!(lock.lock());
    assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    killed.kill().await?;
    let guard = soon("the next contender has it", waiting).await??;
    assert!(guard.is_valid());
    assert_eq!(guard.release().await, Ok(Departure::Deleted));
    Ok(())
}

async fn a_holder_that_is_cut_off_has_lost_it_before_the_next_has_it(
    server: ServerKind,
) -> TestResult {
    let arena = Arena::new(server, "locks").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let guard = soon("the lock", cut_off.lock(LOCK).lock()).await??;
    let other = arena.client().await?;
    let lock = other.lock(LOCK);
    let mut waiting = pin!(lock.lock());
    assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    proxy.refuse();
    proxy.cut();
    let next = soon("the next contender has it", waiting).await??;
    assert!(!guard.is_valid(), "two valid holders");
    assert_eq!(soon("it is lost", guard.lost()).await?, LockLost::LeaseLapsed);
    assert!(next.token() > guard.token());
    let late = guard.transaction().delete(LOCK, Version::ANY).commit().await;
    assert!(late.is_err(), "{late:?}");
    Ok(())
}

async fn a_lock_that_an_operator_breaks_is_lost(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "locks").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let guard = soon("the lock", one.lock(LOCK).lock()).await??;
    let lock = other.lock(LOCK);
    let mut waiting = pin!(lock.lock());
    assert!(timeout(Duration::from_millis(300), &mut waiting).await.is_err());
    arena.admin.delete(&format!("{LOCK}/{}", guard.znode()), Version::ANY).await?;
    assert_eq!(soon("it is lost", guard.lost()).await?, LockLost::Broken);
    assert!(soon("the next contender has it", waiting).await??.is_valid());
    is_left_empty(&arena).await
}
