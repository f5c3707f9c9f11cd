//! Queues of two lengths that several takers empty, each with a session of its own.

use core::time::Duration;
use std::fs;
use std::time::Instant;

use election_tokio::Client;
use election_tokio::queue::{QueueFormat, TakeError};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use zk_test_kit::failure::{TestFailure, TestResult};

use crate::participant::Participant;
use crate::{Extent, Peers};

/// Items of one transaction.
const CHUNK: usize = 500;

/// More than it takes to empty a queue.
const LONGEST: Duration = Duration::from_secs(600);

/// Curator's lists the queue for each item: longer ones are not tried.
const MOST_OF_CURATORS: usize = 5_000;

pub(crate) fn measure(
    runtime: &Runtime,
    servers: &str,
    peers: &mut Peers,
    extent: Extent,
) -> TestResult {
    println!("\n| takers | items | ours | kazoo | Curator |\n|---|---|---|---|---|");
    for takers in [1, 4, 16] {
        for items in [extent.shorter, extent.longer] {
            let path = format!("/emptied-{takers}-{items}");
            runtime.block_on(fill(servers, &path, "guide", items))?;
            let ours = runtime.block_on(empty(servers, &path, takers))?;
            let mut columns = vec![per_second(items, ours)];
            for (peer, recipe, format) in
                [(&mut peers.kazoo, "queue", "kazoo"), (&mut peers.curator, "simple", "qn")]
            {
                if recipe == "simple" && items > MOST_OF_CURATORS {
                    columns.push("–".to_owned());
                    continue;
                }
                let path = format!("{path}-{recipe}");
                runtime.block_on(fill(servers, &path, format, items))?;
                columns.push(per_second(items, discard(peer, recipe, &path, takers, items)?));
            }
            println!("| {takers} | {items} | {} |", columns.join(" | "));
        }
    }
    println!("\nthis process at its peak: {} of memory", peak()?);
    Ok(())
}

/// By a client of its own: between its fills it would not be driven.
async fn fill(servers: &str, path: &str, format: &str, items: usize) -> TestResult {
    let client = Client::builder(servers).connect().await?;
    let queue = client.queue(path).format(match format {
        "kazoo" => QueueFormat::kazoo(),
        "qn" => QueueFormat::distributed_queue(),
        _ => QueueFormat::guide(),
    });
    for from in (0..items).step_by(CHUNK) {
        queue.put_many((from..items.min(from + CHUNK)).map(|_| "item")).await?;
    }
    Ok(client.close().await?)
}

/// Returns how long takers need until the queue is empty.
async fn empty(servers: &str, path: &str, takers: usize) -> Result<Duration, TestFailure> {
    let mut clients = Vec::new();
    for _ in 0..takers {
        clients.push(Client::builder(servers).connect().await?);
    }
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for client in &clients {
        let queue = client.queue(path);
        tasks.spawn(async move {
            while queue.try_take().await?.is_some() {}
            Ok::<(), TakeError>(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let took = began.elapsed();
    for client in clients {
        client.close().await?;
    }
    Ok(took)
}

fn discard(
    peer: &mut Participant,
    recipe: &str,
    path: &str,
    takers: usize,
    items: usize,
) -> Result<Duration, TestFailure> {
    let began = Instant::now();
    let mut orders = Vec::new();
    for _ in 0..takers {
        orders.push(peer.begin(&format!("{recipe} discard {path}"))?);
    }
    let mut taken = 0;
    for order in orders {
        taken += peer.end_before(order, began + LONGEST)?.parse::<usize>()?;
    }
    assert_eq!(taken, items);
    Ok(began.elapsed())
}

fn per_second(items: usize, took: Duration) -> String {
    let items = u32::try_from(items).unwrap_or(u32::MAX);
    format!("{:.0}/s", f64::from(items) / took.as_secs_f64())
}

fn peak() -> Result<String, TestFailure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.unwrap_or("unknown").trim().to_owned())
}
