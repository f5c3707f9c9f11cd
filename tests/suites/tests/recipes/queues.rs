//! Queues and counters among clients and processes: what is put is taken once, or done at least once.

use core::pin::pin;
use core::time::Duration;
use std::collections::BTreeSet;
use std::process::Stdio;

use election_tokio::CreateMode;
use election_tokio::counter::CompareAndSet;
use election_tokio::queue::{ClaimLost, QueueItem, TakeError};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zk_test_kit::election::{Arena, connect, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    each_item_goes_to_one_taker,
    takers_that_lose_connections_lose_no_item,
    a_taker_that_is_killed_gives_its_item_back,
    a_claim_of_a_session_that_expires_is_lost,
    an_ephemeral_item_is_not_claimed,
    the_lowest_priority_is_taken_first,
    a_counter_counts_every_change;
}

const QUEUE: &str = "/queues/queue";

fn number(item: &QueueItem) -> u32 {
    core::str::from_utf8(&item.data).expect("text").parse().expect("a number")
}

/// Six takers of two clients; items are put by a third while they take.
async fn each_item_goes_to_one_taker(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "queues").await?;
    let clients = [arena.client().await?, arena.client().await?];
    let queue = arena.admin.queue(QUEUE);
    let mut takers = JoinSet::new();
    for client in clients.iter().cycle().take(6) {
        let queue = client.queue(QUEUE);
        takers.spawn(async move {
            let mut taken = Vec::new();
            for _ in 0..20 {
                taken.push(number(&queue.take().await?));
            }
            Ok::<_, TakeError>(taken)
        });
    }
    for chunk in 0..6 {
        queue.put_many((0..10).map(|item| (chunk * 20 + item).to_string())).await?;
        for item in 10..20 {
            queue.put((chunk * 20 + item).to_string()).await?;
        }
    }
    let mut taken = Vec::new();
    while let Some(ended) = soon("all have taken", takers.join_next()).await? {
        taken.extend(ended??);
    }
    taken.sort_unstable();
    assert_eq!(taken, (0..120).collect::<Vec<u32>>());
    assert!(queue.is_empty().await?);
    Ok(())
}

/// A taker reports an unknown outcome, with the item.
async fn takers_that_lose_connections_lose_no_item(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "queues").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let queue = arena.admin.queue(QUEUE);
    queue.put_many((0..60).map(|item| item.to_string())).await?;
    let mut takers = JoinSet::new();
    for _ in 0..3 {
        let queue = arena.client_by(&proxy).await?.queue(QUEUE);
        takers.spawn(async move {
            let mut told = Vec::new();
            loop {
                match queue.try_take().await {
                    Ok(Some(item)) => told.push((number(&item), true)),
                    Err(TakeError::Unknown(item)) => told.push((number(&item), false)),
                    Ok(None) => return Ok(told),
                    Err(error) => return Err(error),
                }
            }
        });
    }
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(7)).await;
        proxy.cut();
    }
    let (mut taken, mut told) = (Vec::new(), BTreeSet::new());
    while let Some(ended) = soon("all have taken", takers.join_next()).await? {
        for (item, is_taken) in ended?? {
            told.insert(item);
            taken.extend(is_taken.then_some(item));
        }
    }
    let count = taken.len();
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), count, "taken twice");
    assert_eq!(told, (0..60).collect::<BTreeSet<u32>>(), "lost");
    Ok(())
}

async fn a_taker_that_is_killed_gives_its_item_back(server: ServerKind) -> TestResult {
    const JOBS: &str = "/examples/queue/jobs";
    let arena = Arena::new(server, "queues").await?;
    let queue = arena.admin.queue(JOBS);
    queue.put("1").await?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_queue"));
    command.args([&arena.servers(), "worker", "600"]).stdin(Stdio::null());
    let mut killed = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let stdout = killed.stdout.take().expect("it is piped");
    let said = soon("it claims", BufReader::new(stdout).lines().next_line()).await??;
    assert_eq!(said.as_deref(), Some("worker claims 1"));
    assert!(queue.try_claim().await?.is_none());
    assert!(queue.try_take().await?.is_none());
    let mut claiming = pin!(queue.claim());
    assert!(timeout(Duration::from_millis(300), &mut claiming).await.is_err());
    killed.kill().await?;
    let claimed = soon("it is given back", claiming).await??;
    assert_eq!(number(claimed.item()), 1);
    claimed.done().await?;
    assert!(arena.admin.get_children(JOBS).await?.iter().next().is_none());
    Ok(())
}

async fn a_claim_of_a_session_that_expires_is_lost(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "queues").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let cut_off = connect(&arena.servers_by(&proxy), Duration::from_secs(6)).await?;
    let queue = arena.admin.queue(QUEUE);
    queue.put("1").await?;
    let claimed = soon("a claim", cut_off.queue(QUEUE).claim()).await??;
    proxy.refuse();
    proxy.cut();
    let again = soon("it is given back", queue.claim()).await??;
    assert_eq!(number(again.item()), 1);
    proxy.accept()?;
    let done = soon("an answer", claimed.done()).await?;
    assert_eq!(done.map_err(|error| error.lost), Err(ClaimLost::Lost));
    again.done().await?;
    assert!(queue.is_empty().await?);
    Ok(())
}

async fn an_ephemeral_item_is_not_claimed(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "queues").await?;
    let (queue, other) = (arena.admin.queue(QUEUE), arena.client().await?);
    other.queue(QUEUE).put_ephemeral("1").await?;
    assert!(queue.try_claim().await?.is_none());
    queue.put("2").await?;
    let claimed = queue.claim().await?;
    assert_eq!(number(claimed.item()), 2);
    claimed.done().await?;
    assert_eq!(number(&queue.take().await?), 1);
    // It has a child of another kind: it is passed over.
    let name = queue.put("3").await?;
    let child = format!("{QUEUE}/{name}/child");
    arena.admin.create(&child, "", CreateMode::Persistent).await?;
    queue.put("4").await?;
    assert_eq!(number(&queue.take().await?), 4);
    assert!(queue.try_take().await?.is_none());
    Ok(())
}

async fn the_lowest_priority_is_taken_first(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "queues").await?;
    let queue = arena.admin.priority_queue(QUEUE);
    queue.put_many(20, ["3", "4"]).await?;
    queue.put(99, "5").await?;
    queue.put(0, "1").await?;
    queue.put(3, "2").await?;
    for expected in 1..=5 {
        assert_eq!(number(&queue.take().await?), expected);
    }
    Ok(())
}

async fn a_counter_counts_every_change(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "counters").await?;
    let counter = arena.admin.counter("/deep/counter");
    let mut adding = JoinSet::new();
    for _ in 0..4 {
        let counter = arena.client().await?.counter("/deep/counter");
        adding.spawn(async move {
            for _ in 0..25 {
                counter.add(1).await.expect("no connection is lost");
            }
        });
    }
    while let Some(ended) = soon("all are added", adding.join_next()).await? {
        ended?;
    }
    assert_eq!(counter.get().await?, 100);
    assert_eq!(counter.compare_and_set(100, 7).await?, CompareAndSet::Set);
    assert_eq!(counter.compare_and_set(100, 8).await?, CompareAndSet::Differs(7));
    assert_eq!(arena.admin.get_data("/deep/counter").await?.0, "7");
    Ok(())
}
