//! Nominees on one session, until each has its place; in turns with the floor, which creates the same
//! number of znodes, lists them once, and leaves a watch on each: all at once.

use std::time::Instant;

use core::time::Duration;
use election_tokio::Client;
use election_tokio::election::{Nomination, Role};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::zookeeper::Server;

use crate::raw::Raw;
use crate::times::{median, millis, ratio};

pub(crate) async fn table(server: &Server, sizes: &[usize], rounds: usize) -> TestResult {
    println!("bring-up on one session, medians of {rounds}");
    println!("{:>9} {:>10} {:>10} {:>7}", "nominees", "raw ms", "ours ms", "ratio");
    for &size in sizes {
        let (mut raw_times, mut own_times) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            raw_times.push(raw(server, &format!("/raw-{size}-{round}"), size)?);
            let client = connect(server).await?;
            let start = Instant::now();
            let nominations = stand(&client, &format!("/ours-{size}-{round}"), size).await?;
            own_times.push(start.elapsed());
            drop(nominations);
            client.close().await?;
        }
        let (raw, own) = (median(&mut raw_times), median(&mut own_times));
        let (raw_ms, own_ms) = (millis(raw), millis(own));
        println!("{size:>9} {raw_ms:>10.1} {own_ms:>10.1} {:>7.2}", ratio(own, raw));
    }
    Ok(())
}

fn raw(server: &Server, node: &str, size: usize) -> Result<Duration, TestFailure> {
    let mut raw = Raw::connect(server.addr())?;
    let start = Instant::now();
    let names = raw.candidates(node, size)?;
    raw.watch(node, &names)?;
    let time = start.elapsed();
    raw.close()?;
    Ok(time)
}

pub(crate) async fn connect(server: &Server) -> Result<Client, TestFailure> {
    let builder =
        Client::builder(&server.connect_string()).session_timeout(Duration::from_secs(30));
    Ok(builder.connect().await?)
}

/// Nominates so many times, and waits until each has its place.
pub(crate) async fn stand(
    client: &Client,
    node: &str,
    size: usize,
) -> Result<Vec<Nomination>, TestFailure> {
    let election = client.election(node);
    let nominations = (0..size).map(|_| election.nominate()).collect::<Result<Vec<_>, _>>()?;
    for nomination in &nominations {
        in_place(nomination).await?;
    }
    Ok(nominations)
}

pub(crate) async fn in_place(nomination: &Nomination) -> TestResult {
    let in_place = |role: &Role| matches!(role, Role::Following { .. } | Role::Leading { .. });
    nomination.updates().wait_for(|status| in_place(&status.role)).await?;
    Ok(())
}
