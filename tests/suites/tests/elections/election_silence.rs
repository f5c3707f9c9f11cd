//! Members of an ensemble that freeze, or pause: whether a leader keeps its lead, how long callers wait, and how many
//! connections it costs.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::io;

use election_tokio::session::SilentServers;
use election_tokio::{Client, ConnectionState, CreateMode, Version};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout};
use zk_test_kit::election::{ELECTION, leads};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::proxy::Proxy;
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::{Ensemble, Member, Options};

/// One at a time: an ensemble is heavy.
static ALONE: Mutex<()> = Mutex::const_new(());

/// An ensemble, and ways to those of its members that do not lead it.
struct Bench {
    ensemble: Ensemble,
    ways: Vec<(Member, Proxy)>,
}

impl Bench {
    fn new() -> Result<Self, TestFailure> {
        let ensemble = Options::new().start_ensemble()?;
        ensemble.wait_for_leader(SOON)?;
        let way = |member| Ok((member, Proxy::to(ensemble.member(member).addr())?));
        let ways: io::Result<Vec<_>> = ensemble.followers().into_iter().map(way).collect();
        Ok(Self { ways: ways?, ensemble })
    }

    fn servers(&self) -> String {
        let ways: Vec<_> = self.ways.iter().map(|(_, proxy)| proxy.connect_string()).collect();
        ways.join(",")
    }

    /// Returns the member that the only client is connected to.
    fn connected(&self) -> Member {
        let mut ways = self.ways.iter();
        let connected = ways.find(|(_, proxy)| !proxy.connections().is_empty());
        connected.expect("the client is connected").0
    }
}

/// Two addresses of an ensemble, the connected member freezes between two heartbeats, the other one answers. It took
/// two thirds of the timeout to leave it, and the lease had lapsed by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_keeps_its_lead_when_its_member_freezes() -> TestResult {
    const TIMEOUT: Duration = Duration::from_secs(18);
    let _alone = ALONE.lock().await;
    let bench = Bench::new()?;
    let client = Client::builder(&bench.servers()).session_timeout(TIMEOUT).connect().await?;
    let mut nomination = client.election(ELECTION).nominate()?;
    let leadership = leads(&mut nomination).await?;
    // The moment decides, not a condition: the last heartbeat is half an interval ago.
    sleep(TIMEOUT / 2).await;
    let frozen = bench.connected();
    bench.ensemble.member(frozen).pause()?;
    let begun = Instant::now();
    while begun.elapsed() < TIMEOUT {
        sleep(Duration::from_millis(50)).await;
        assert!(leadership.is_valid(), "after {:?}", begun.elapsed());
    }
    leadership.confirm().await?;
    bench.ensemble.member(frozen).resume()?;
    Ok(())
}

/// What some clients of an ensemble see.
#[derive(Default)]
struct Seen {
    answers: AtomicU64,
    losses: AtomicU64,
    reconnects: AtomicUsize,
}

async fn call(client: Client, seen: Arc<Seen>, until: Instant) {
    while Instant::now() < until {
        let read = client.get_data("/busy").await.map(|_| ());
        let outcome = match read {
            Ok(()) => client.set_data("/busy", "x", Version::ANY).await.map(|_| ()),
            Err(error) => Err(error),
        };
        if outcome.is_ok() {
            seen.answers.fetch_add(1, Ordering::Relaxed);
        } else {
            seen.losses.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn count_reconnects(client: Client, seen: Arc<Seen>) {
    let mut updates = client.connection_updates();
    while let Some(state) = updates.next().await {
        if let ConnectionState::Suspended { failures: 0, .. } = state {
            seen.reconnects.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Pauses of the members, one after the other.
#[derive(Clone, Copy, Debug)]
struct Pauses {
    every: Duration,
    length: Duration,
}

const fn pauses(every: u64, length: u64) -> Pauses {
    Pauses { every: Duration::from_millis(every), length: Duration::from_millis(length) }
}

/// A measurement: how often busy but healthy servers are left, under both policies.
///
/// `SILENCE_SECONDS` is the length of each run, a minute by default.
#[ignore = "a measurement that takes minutes"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_often_servers_that_pause_are_left() -> TestResult {
    let _alone = ALONE.lock().await;
    let seconds = std::env::var("SILENCE_SECONDS").ok().and_then(|text| text.parse().ok());
    let length = Duration::from_secs(seconds.unwrap_or(60));
    let ensemble = Options::new().start_ensemble()?;
    ensemble.wait_for_leader(SOON)?;
    let some = [pauses(1_000, 100), pauses(10_000, 1_000), pauses(15_000, 2_000)];
    let runs = core::iter::once(None).chain(some.map(Some));
    let first = Client::builder(&ensemble.connect_string()).connect().await?;
    first.create("/busy", "x", CreateMode::Persistent).await?;
    for pauses in runs {
        for policy in [SilentServers::Endure, SilentServers::Leave] {
            let (seen, until) = (Arc::new(Seen::default()), Instant::now() + length);
            let mut calling = tokio::task::JoinSet::new();
            let mut clients = Vec::new();
            for _ in 0..20 {
                let builder = Client::builder(&ensemble.connect_string());
                let builder = builder.session_timeout(Duration::from_secs(6));
                let client = builder.silent_servers(policy).connect().await?;
                for _ in 0..16 {
                    calling.spawn(call(client.clone(), Arc::clone(&seen), until));
                }
                tokio::spawn(count_reconnects(client.clone(), Arc::clone(&seen)));
                clients.push(client);
            }
            let mut members = ensemble.followers().into_iter().cycle();
            while let (Some(Pauses { every, length }), true) = (pauses, Instant::now() < until) {
                sleep(every).await;
                let member = ensemble.member(members.next().expect("there are followers"));
                member.pause()?;
                sleep(length).await;
                member.resume()?;
            }
            timeout(length + SOON, calling.join_all()).await?;
            eprintln!(
                "{pauses:?} {policy:?}: {} reconnects, {} answers, {} losses",
                seen.reconnects.load(Ordering::Relaxed),
                seen.answers.load(Ordering::Relaxed),
                seen.losses.load(Ordering::Relaxed),
            );
        }
    }
    Ok(())
}
