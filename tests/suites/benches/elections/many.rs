//! Many elections with three clients each, which share their session among all: bring-up, rest, and
//! the loss of one client.

use core::time::Duration;
use std::fs;
use std::io;
use std::time::Instant;

use election_tokio::Client;
use election_tokio::election::{Nomination, Role};
use zk_test_kit::failure::TestResult;
use zk_test_kit::zookeeper::Server;

use crate::bring_up::{connect, in_place};
use crate::times::millis;

const REST: Duration = Duration::from_secs(10);

pub(crate) async fn table(server: &Server, sizes: &[usize]) -> TestResult {
    println!(
        "elections with three clients each, µs an election; rest: of the processor in {REST:?}"
    );
    println!(
        "{:>9} {:>12} {:>12} {:>12} {:>12} {:>10}",
        "elections", "first", "second", "third", "loss of one", "rest ms"
    );
    for &size in sizes {
        measure(server, size).await?;
    }
    Ok(())
}

async fn measure(server: &Server, size: usize) -> TestResult {
    let each = |time: Duration| millis(time) * 1000.0 / f64::from(u32::try_from(size).unwrap_or(1));
    let mut clients: Vec<(Client, Vec<Nomination>)> = Vec::new();
    let mut bring_up = Vec::new();
    for _ in 0..3 {
        let client = connect(server).await?;
        let start = Instant::now();
        let elections = (0..size).map(|number| client.election(&format!("/many-{size}-{number}")));
        let nominations = elections.map(|election| election.nominate());
        let nominations = nominations.collect::<Result<Vec<_>, _>>()?;
        for nomination in &nominations {
            in_place(nomination).await?;
        }
        bring_up.push(each(start.elapsed()));
        clients.push((client, nominations));
    }
    let before = cpu_time()?;
    tokio::time::sleep(REST).await;
    let rest = cpu_time()?.saturating_sub(before);
    let (first, _lost) = clients.remove(0);
    let start = Instant::now();
    let closed = tokio::spawn(async move { first.close().await });
    if let Some((_, heirs)) = clients.first() {
        for heir in heirs {
            let leads = |role: &Role| matches!(role, Role::Leading { .. });
            heir.updates().wait_for(|status| leads(&status.role)).await?;
        }
    }
    let loss = each(start.elapsed());
    closed.await??;
    let [first, second, third] = <[f64; 3]>::try_from(bring_up).unwrap_or_default();
    println!(
        "{size:>9} {first:>12.1} {second:>12.1} {third:>12.1} {loss:>12.1} {:>10.1}",
        millis(rest)
    );
    for (client, _) in clients {
        client.close().await?;
    }
    Ok(())
}

/// Returns the processor time that this thread has used. Linux.
fn cpu_time() -> io::Result<Duration> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos = schedstat.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.unwrap_or_default()))
}
