//! From a resignation to the next leader; in turns with the floor, a `delete` until the event of the
//! watch on its znode. Every successor has been the heir for longer than one look.

use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use election_tokio::Client;
use election_tokio::election::Nomination;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::zookeeper::Server;

use crate::bring_up::{in_place, stand};
use crate::raw::Raw;
use crate::times::{median, millis, ratio};

/// Looks come within five quarters of it.
const LOOKS: Duration = Duration::from_secs(1);
const LONGER_THAN_A_LOOK: Duration = Duration::from_millis(1500);

pub(crate) async fn table(server: &Server, sizes: &[usize], rounds: usize) -> TestResult {
    println!("take-over, medians of {rounds}");
    println!(
        "{:>10} {:>9} {:>12} {:>10} {:>10} {:>7}",
        "candidates", "sessions", "bring-up ms", "raw ms", "ours ms", "ratio"
    );
    for &size in sizes {
        one_session(server, size, rounds).await?;
        own_sessions(server, size, rounds).await?;
    }
    Ok(())
}

async fn one_session(server: &Server, size: usize, rounds: usize) -> TestResult {
    let client = connect(server, Some(LOOKS)).await?;
    let node = format!("/one-{size}");
    let start = Instant::now();
    let queue = VecDeque::from(stand(&client, &node, size).await?);
    let bring_up = start.elapsed();
    let mut deleting = Raw::connect(server.addr())?;
    let raw_node = format!("{node}-raw");
    let names = deleting.candidates(&raw_node, size + rounds)?;
    let times = measure(
        queue,
        rounds,
        async |_| Ok(client.election(&node).nominate()?),
        |round| {
            let Some(name) = names.get(round) else { return Ok(Duration::ZERO) };
            deleting.watch(&raw_node, core::slice::from_ref(name))?;
            let start = Instant::now();
            deleting.send_delete(&format!("{raw_node}/{name}"))?;
            deleting.notification()?;
            let time = start.elapsed();
            deleting.answer()?;
            Ok(time)
        },
    );
    print(size, "one", bring_up, times.await?);
    client.close().await?;
    deleting.close()?;
    Ok(())
}

async fn own_sessions(server: &Server, size: usize, rounds: usize) -> TestResult {
    let node = format!("/own-{size}");
    let mut clients = Vec::new();
    let mut queue = VecDeque::new();
    let start = Instant::now();
    for number in 0..size {
        // Those that will lead look often.
        let client = connect(server, (number <= rounds).then_some(LOOKS)).await?;
        let nomination = client.election(&node).nominate()?;
        in_place(&nomination).await?;
        queue.push_back(nomination);
        clients.push(client);
    }
    let bring_up = start.elapsed();
    let (mut deleting, mut watching) = (Raw::connect(server.addr())?, Raw::connect(server.addr())?);
    let raw_node = format!("{node}-raw");
    let names = deleting.candidates(&raw_node, size + rounds)?;
    let mut spare = Vec::new();
    for _ in 0..rounds {
        spare.push(connect(server, Some(LOOKS)).await?);
    }
    let times = measure(
        queue,
        rounds,
        async |round: usize| {
            let client = spare.get(round).ok_or_else(|| io::Error::other("one for each round"))?;
            Ok(client.election(&node).nominate()?)
        },
        |round| {
            let Some(name) = names.get(round) else { return Ok(Duration::ZERO) };
            watching.watch(&raw_node, core::slice::from_ref(name))?;
            let start = Instant::now();
            deleting.send_delete(&format!("{raw_node}/{name}"))?;
            watching.notification()?;
            let time = start.elapsed();
            deleting.answer()?;
            Ok(time)
        },
    );
    print(size, "own", bring_up, times.await?);
    for client in clients.into_iter().chain(spare) {
        client.close().await?;
    }
    deleting.close()?;
    watching.close()?;
    Ok(())
}

/// Lets the leader resign and another nominee join, so that the number stays.
async fn measure(
    mut queue: VecDeque<Nomination>,
    rounds: usize,
    join: impl AsyncFn(usize) -> Result<Nomination, TestFailure>,
    mut raw: impl FnMut(usize) -> Result<Duration, TestFailure>,
) -> Result<(Duration, Duration), TestFailure> {
    let (mut raw_times, mut own_times) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        tokio::time::sleep(LONGER_THAN_A_LOOK).await;
        raw_times.push(raw(round)?);
        let Some(mut leader) = queue.pop_front() else { break };
        let Some(next) = queue.front_mut() else { break };
        let leadership = leader.elected().await?;
        let start = Instant::now();
        let (resigned, elected) = tokio::join!(leadership.resign(), async {
            let elected = next.elected().await;
            elected.map(|_| start.elapsed())
        });
        resigned?;
        own_times.push(elected?);
        let newcomer = join(round).await?;
        in_place(&newcomer).await?;
        queue.push_back(newcomer);
    }
    Ok((median(&mut raw_times), median(&mut own_times)))
}

async fn connect(server: &Server, looks: Option<Duration>) -> Result<Client, TestFailure> {
    let builder =
        Client::builder(&server.connect_string()).session_timeout(Duration::from_secs(60));
    let builder = match looks {
        Some(interval) => builder.look_interval(interval),
        None => builder.look_interval(Duration::from_secs(3600)),
    };
    Ok(builder.connect().await?)
}

fn print(size: usize, sessions: &str, bring_up: Duration, (raw, own): (Duration, Duration)) {
    println!(
        "{size:>10} {sessions:>9} {:>12.1} {:>10.3} {:>10.3} {:>7.2}",
        millis(bring_up),
        millis(raw),
        millis(own),
        ratio(own, raw)
    );
}
