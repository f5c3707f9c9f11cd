//! Semaphores among clients and processes: as many hold as there are permits, and a killed one makes way.

use core::num::NonZeroU32;
use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::process::Stdio;
use std::sync::Arc;

use election_tokio::election::Departure;
use election_tokio::lock::{LockError, LockLost};
use election_tokio::semaphore::Semaphore;
use election_tokio::{Client, Version};
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
    no_more_hold_than_there_are_permits,
    a_permit_that_is_not_free_is_given_up_in_time,
    a_holder_of_a_permit_that_is_killed_makes_way,
    a_permit_is_lost_before_the_next_contender_has_it,
    what_an_operator_deletes_is_made_up_for;
}

const SEMAPHORE: &str = "/semaphores/semaphore";

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

/// A wait that is not to end.
const WHILE: Duration = Duration::from_millis(300);

fn semaphore(client: &Client, permits: u32) -> Semaphore {
    client.semaphore(SEMAPHORE, NonZeroU32::new(permits).expect("a permit"))
}

async fn children(arena: &Arena, home: &str) -> Result<Vec<String>, TestFailure> {
    let names = match arena.admin.get_children(&format!("{SEMAPHORE}/{home}")).await {
        Ok(children) => children.iter().map(str::to_owned).collect(),
        Err(error) if error.is_no_node() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(names)
}

/// So many permits, and so many that hold or wait for the turn.
async fn comes_to(arena: &Arena, permits: usize, turns: usize) -> TestResult {
    let is_so = async || {
        children(arena, "leases").await.is_ok_and(|names| names.len() == permits)
            && children(arena, "locks").await.is_ok_and(|names| names.len() == turns)
    };
    Ok(eventually_async(SOON, "the znodes are those of the ones that stand", is_so).await?)
}

/// Eight contenders of two clients for three permits, five times each.
async fn no_more_hold_than_there_are_permits(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "semaphores").await?;
    let clients = [arena.client().await?, arena.client().await?];
    let (holders, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut contenders = JoinSet::new();
    for client in clients.iter().cycle().take(8) {
        let semaphore = semaphore(client, 3);
        let (holders, most) = (Arc::clone(&holders), Arc::clone(&most));
        contenders.spawn(async move {
            for round in 0..5 {
                let permit = semaphore.acquire().await?;
                let held = holders.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(held, Ordering::SeqCst);
                assert!(permit.is_valid());
                // However slowly permits are handed out, all three are out at once some time.
                while most.load(Ordering::SeqCst) < 3 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
                holders.fetch_sub(1, Ordering::SeqCst);
                if round % 2 == 0 {
                    assert_eq!(permit.release().await, Ok(Departure::Deleted));
                }
            }
            Ok::<(), LockError>(())
        });
    }
    while let Some(ended) = soon("all contenders have had one", contenders.join_next()).await? {
        ended??;
    }
    assert_eq!(most.load(Ordering::SeqCst), 3, "holders at once");
    comes_to(&arena, 0, 0).await
}

async fn a_permit_that_is_not_free_is_given_up_in_time(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "semaphores").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let permit = soon("a permit", semaphore(&one, 1).acquire()).await??;
    let semaphore = semaphore(&other, 1);
    assert!(soon("an answer", semaphore.try_acquire()).await??.is_none());
    comes_to(&arena, 1, 0).await?;
    let deadline = Instant::now() + WHILE;
    assert!(soon("an answer", semaphore.acquire_until(deadline)).await??.is_none());
    comes_to(&arena, 1, 0).await?;

    let mut waiting = Box::pin(semaphore.acquire());
    assert!(timeout(WHILE, &mut waiting).await.is_err());
    comes_to(&arena, 2, 1).await?;
    drop(waiting);
    comes_to(&arena, 1, 0).await?;
    assert_eq!(permit.release().await, Ok(Departure::Deleted));
    assert!(soon("an answer", semaphore.try_acquire()).await??.is_some());
    comes_to(&arena, 0, 0).await
}

/// Starts a process that holds one of two permits, and waits until it says so.
async fn holder(arena: &Arena, name: &str) -> Result<Child, TestFailure> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_semaphore"));
    command.args([&arena.servers(), name, "2", "600"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let stdout = child.stdout.take().expect("it is piped");
    let said = soon("it holds one", BufReader::new(stdout).lines().next_line()).await??;
    assert!(said.is_some_and(|said| said.starts_with(&format!("{name} holds a permit"))));
    Ok(child)
}

/// Killed without a word: the next contender has a permit once the session has expired.
async fn a_holder_of_a_permit_that_is_killed_makes_way(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "semaphores").await?;
    let (mut killed, _other) = (holder(&arena, "first").await?, holder(&arena, "second").await?);
    let client = arena.client().await?;
    let two = NonZeroU32::new(2).expect("two");
    let semaphore = client.semaphore("/examples/semaphore", two);
    assert!(soon("an answer", semaphore.try_acquire()).await??.is_none());
    let mut waiting = pin!(semaphore.acquire());
    assert!(timeout(WHILE, &mut waiting).await.is_err());
    killed.kill().await?;
    let permit = soon("the next contender has it", waiting).await??;
    assert!(permit.is_valid());
    assert_eq!(permit.release().await, Ok(Departure::Deleted));
    Ok(())
}

async fn a_permit_is_lost_before_the_next_contender_has_it(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "semaphores").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), SHORT).await?;
    let permit = soon("a permit", semaphore(&cut_off, 1).acquire()).await??;
    let other = arena.client().await?;
    let semaphore = semaphore(&other, 1);
    let mut waiting = pin!(semaphore.acquire());
    assert!(timeout(WHILE, &mut waiting).await.is_err());
    proxy.refuse();
    proxy.cut();
    let next = soon("the next contender has it", waiting).await??;
    assert!(!permit.is_valid(), "two valid holders of one permit");
    assert_eq!(soon("it is lost", permit.lost()).await?, LockLost::LeaseLapsed);
    assert!(next.token() > permit.token());
    let late = permit.transaction().delete(SEMAPHORE, Version::ANY).commit().await;
    assert!(late.is_err(), "{late:?}");
    Ok(())
}

/// The znode of a turn, of a permit that is waited for, and of one that is held.
async fn what_an_operator_deletes_is_made_up_for(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "semaphores").await?;
    let (one, other) = (arena.client().await?, arena.client().await?);
    let permit = soon("a permit", semaphore(&one, 1).acquire()).await??;
    comes_to(&arena, 1, 0).await?;
    let semaphore = semaphore(&other, 1);
    let mut waiting = pin!(semaphore.acquire());
    assert!(timeout(WHILE, &mut waiting).await.is_err());
    comes_to(&arena, 2, 1).await?;
    for home in ["locks", "leases"] {
        let names = children(&arena, home).await?;
        let theirs = names.iter().find(|name| *permit.znode() != ***name);
        let theirs = theirs.expect("the znode of the one that waits");
        arena.admin.delete(&format!("{SEMAPHORE}/{home}/{theirs}"), Version::ANY).await?;
        assert!(timeout(WHILE, &mut waiting).await.is_err());
        comes_to(&arena, 2, 1).await?;
        assert!(!children(&arena, home).await?.contains(theirs));
    }
    let held = format!("{SEMAPHORE}/leases/{}", permit.znode());
    arena.admin.delete(&held, Version::ANY).await?;
    assert_eq!(soon("it is lost", permit.lost()).await?, LockLost::Broken);
    assert!(soon("the next contender has it", waiting).await??.is_valid());
    comes_to(&arena, 0, 0).await
}
