//! How long it takes from a resignation to the next leader, on a real server.
//!
//! All candidates stand on one session. Measured from the call of `resign` until the next nominee
//! holds its `Leadership`; beside it, in turns, a plain `delete` and a plain `children`, each until
//! its answer: what the server takes for them.
//!
//! Every newcomer saw a queue when it listed, so each successor lists once more.

use core::error::Error;
use core::time::Duration;
use std::time::Instant;

use election_tokio::election::{Nomination, Role};
use election_tokio::{Client, CreateMode, Version};

use crate::measure::{cpu_time, micros, quantile};

/// Prints the table, for three sizes of an election.
#[expect(clippy::print_stdout, reason = "it is what the program is for")]
pub(crate) async fn table(servers: &str, rounds: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}",
        "candidates", "bring-up s", "its cpu s", "p50 ms", "p99 ms", "delete p50", "children p50"
    );
    for candidates in [2, 100, 1000] {
        measure_with(servers, candidates, rounds).await?;
    }
    Ok(())
}

/// Measures take-overs. The nominee that resigned stands again, so that the number stays.
#[expect(clippy::print_stdout, reason = "it is what the program is for")]
async fn measure_with(
    servers: &str,
    candidates: usize,
    rounds: usize,
) -> Result<(), Box<dyn Error>> {
    let client =
        Client::builder(servers).session_timeout(Duration::from_secs(20)).connect().await?;
    let path = format!("/take-over-{}-{candidates}", std::process::id());
    let election = client.election(&path);
    let (started, cpu) = (Instant::now(), cpu_time()?);
    let mut queue = std::collections::VecDeque::new();
    for _ in 0..candidates {
        queue.push_back(election.nominate()?);
    }
    for nomination in &queue {
        settled(nomination).await?;
    }
    let bring_up = started.elapsed();
    let bring_up_cpu = cpu_time()?.saturating_sub(cpu);
    // The order of the candidates is that of their creation on one session.
    let mut times = Vec::new();
    let mut deletes = Vec::new();
    let mut lists = Vec::new();
    for _ in 0..rounds {
        let Some(leader) = queue.pop_front() else { break };
        let Some(next) = queue.front_mut() else { break };
        let start = Instant::now();
        let (departure, elected) = tokio::join!(leader.withdraw(), async {
            let leadership = next.elected().await;
            leadership.map(|_| start.elapsed())
        });
        departure?;
        times.push(elected?);
        let newcomer = election.nominate()?;
        settled(&newcomer).await?;
        queue.push_back(newcomer);
        client.create("/take-over-floor", "", CreateMode::Ephemeral).await?;
        let start = Instant::now();
        client.delete("/take-over-floor", Version::ANY).await?;
        deletes.push(start.elapsed());
        let start = Instant::now();
        client.get_children(&path).await?;
        lists.push(start.elapsed());
    }
    println!(
        "{candidates:>10} {:>10.2} {:>10.3} {:>10.3} {:>10.3} {:>10.3} {:>12.3}",
        bring_up.as_secs_f64(),
        bring_up_cpu.as_secs_f64(),
        micros(quantile(&mut times, 0.5)) / 1000.0,
        micros(quantile(&mut times, 0.99)) / 1000.0,
        micros(quantile(&mut deletes, 0.5)) / 1000.0,
        micros(quantile(&mut lists, 0.5)) / 1000.0,
    );
    client.close().await?;
    Ok(())
}

async fn settled(nomination: &Nomination) -> Result<(), Box<dyn Error>> {
    let in_place = |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
    nomination.updates().wait_for(|status| in_place(&status.role)).await?;
    Ok(())
}
