//! Members of an ensemble that freeze, or pause: whether a leader keeps its lead, how long callers wait, and how many
//! connections it costs.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};
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
    /// How many connections were lost in each minute.
    reconnects: Mutex<Vec<usize>>,
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

async fn count_reconnects(client: Client, seen: Arc<Seen>, begun: Instant) {
    let mut updates = client.connection_updates();
    while let Some(state) = updates.next().await {
        if let ConnectionState::Suspended { failures: 0, .. } = state {
            let minute = usize::try_from(begun.elapsed().as_secs() / 60).unwrap_or_default();
            let mut reconnects = seen.reconnects.lock().await;
            let minutes = reconnects.len().max(minute + 1);
            reconnects.resize(minutes, 0);
            if let Some(reconnects) = reconnects.get_mut(minute) {
                *reconnects += 1;
            }
        }
    }
}

/// The members that pause at once.
#[derive(Clone, Copy, Debug)]
enum Pausing {
    /// One that follows, then another one.
    OneInTurn,
    /// All: none of them serves, whatever a client does.
    All,
}

#[derive(Clone, Copy, Debug)]
struct Pauses {
    pausing: Pausing,
    every: Duration,
    length: Duration,
}

const fn pauses(pausing: Pausing, every: u64, length: u64) -> Pauses {
    Pauses { pausing, every: Duration::from_millis(every), length: Duration::from_millis(length) }
}

impl Pauses {
    async fn pause(self, ensemble: &Ensemble, until: Instant) -> TestResult {
        let mut followers = ensemble.followers().into_iter().cycle();
        while Instant::now() < until {
            sleep(self.every).await;
            let members: Vec<_> = match self.pausing {
                Pausing::OneInTurn => followers.next().into_iter().collect(),
                Pausing::All => Member::ALL.to_vec(),
            };
            for member in &members {
                ensemble.member(*member).pause()?;
            }
            sleep(self.length).await;
            for member in &members {
                ensemble.member(*member).resume()?;
            }
        }
        Ok(())
    }
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
    let some = [
        pauses(Pausing::OneInTurn, 1_000, 100),
        pauses(Pausing::OneInTurn, 10_000, 1_000),
        pauses(Pausing::OneInTurn, 15_000, 2_000),
        pauses(Pausing::All, 10_000, 1_500),
    ];
    let runs = core::iter::once(None).chain(some.map(Some));
    let first = Client::builder(&ensemble.connect_string()).connect().await?;
    first.create("/busy", "x", CreateMode::Persistent).await?;
    for pauses in runs {
        for policy in [SilentServers::Endure, SilentServers::Leave] {
            let (seen, begun) = (Arc::new(Seen::default()), Instant::now());
            let until = begun + length;
            let mut calling = tokio::task::JoinSet::new();
            let mut clients = Vec::new();
            for _ in 0..20 {
                let builder = Client::builder(&ensemble.connect_string());
                let builder = builder.session_timeout(Duration::from_secs(6));
                let client = builder.silent_servers(policy).connect().await?;
                for _ in 0..16 {
                    calling.spawn(call(client.clone(), Arc::clone(&seen), until));
                }
                tokio::spawn(count_reconnects(client.clone(), Arc::clone(&seen), begun));
                clients.push(client);
            }
            if let Some(pauses) = pauses {
                pauses.pause(&ensemble, until).await?;
            }
            timeout(length + SOON, calling.join_all()).await?;
            eprintln!(
                "{pauses:?} {policy:?}: reconnects {:?}, {} answers, {} losses",
                seen.reconnects.lock().await,
                seen.answers.load(Ordering::Relaxed),
                seen.losses.load(Ordering::Relaxed),
            );
        }
    }
    Ok(())
}
