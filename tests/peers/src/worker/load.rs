//! getData, many in flight and one at a time.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::contender::Contender;
use super::nanos;
use crate::outcome::{Outcome, failed};
use crate::responder::CHILDREN;

/// Requests in flight.
pub(super) const WINDOW: usize = 256;
/// Large requests in flight.
pub(super) const FEW: usize = 8;
/// Tasks that keep a client busy beside one that is measured.
const BUSY: usize = 64;
const PATH: &str = "/election";

/// Makes requests by tasks, each one after another.
pub(super) async fn tasks<C: Contender>(client: &C, count: usize) -> Outcome<Vec<u64>> {
    let start = Instant::now();
    let tasks: Vec<_> = (0..WINDOW)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..count / WINDOW {
                    get(&client).await?;
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(vec![nanos(start.elapsed())])
}

/// Reads 64 KiB by eight tasks, each one after another.
pub(super) async fn large<C: Contender>(client: &C, count: usize) -> Outcome<Vec<u64>> {
    let start = Instant::now();
    let tasks: Vec<_> = (0..FEW)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..count / FEW {
                    match client.get_data("/large").await? {
                        65_536 => {}
                        length => return failed(format!("{length} bytes")),
                    }
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(vec![nanos(start.elapsed())])
}

/// Lists 100,000 names, again and again.
pub(super) async fn list<C: Contender>(client: &C, count: usize) -> Outcome<Vec<u64>> {
    let start = Instant::now();
    for _ in 0..count {
        match client.list(PATH).await? {
            CHILDREN => {}
            names => return failed(format!("{names} names")),
        }
    }
    Ok(vec![nanos(start.elapsed())])
}

/// Makes requests by one task that holds the futures, and makes another one for each that is done.
pub(super) async fn futures<C: Contender>(client: &C, count: usize) -> Outcome<Vec<u64>> {
    let start = Instant::now();
    let mut in_flight: FuturesUnordered<_> = (0..WINDOW).map(|_| get(client)).collect();
    for _ in WINDOW..count {
        in_flight.next().await.transpose()?;
        in_flight.push(get(client));
    }
    while in_flight.next().await.transpose()?.is_some() {}
    Ok(vec![nanos(start.elapsed())])
}

pub(super) async fn one_at_a_time<C: Contender>(client: &C, count: usize) -> Outcome<Vec<u64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        get(client).await?;
        times.push(start.elapsed());
    }
    Ok(vec![nanos(median(times))])
}

/// Makes requests one after another in a task of its own, while others make as many as they can: the
/// median, and what 999 of 1,000 take at most.
pub(super) async fn probe<C: Contender>(client: &C, count: usize) -> Outcome<Vec<u64>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..BUSY)
        .map(|_| {
            let (client, is_over) = (client.clone(), Arc::clone(&is_over));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    get(&client).await?;
                }
                Outcome::Ok(())
            })
        })
        .collect();
    let prober = client.clone();
    let times = tokio::spawn(async move {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            get(&prober).await?;
            times.push(start.elapsed());
        }
        Outcome::Ok(times)
    });
    let times = times.await;
    is_over.store(true, Ordering::Relaxed);
    for task in busy {
        task.await??;
    }
    let mut times = times??;
    times.sort_unstable();
    let at = |per_mille: usize| times.get(times.len() * per_mille / 1000);
    Ok([500, 999].into_iter().filter_map(at).copied().map(nanos).collect())
}

/// Returns the median; zero of none.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

async fn get<C: Contender>(client: &C) -> Outcome<()> {
    match client.get_data(PATH).await? {
        100 => Ok(()),
        length => failed(format!("{length} bytes")),
    }
}
