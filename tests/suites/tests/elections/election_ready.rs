//! Leases that are ready: however old a session is, and wherever its nominee stood, the next leader
//! is told of its promotion after a round trip.

use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use election_tokio::Client;
use election_tokio::election::{Nomination, Role};
use zk_test_kit::election::{Arena, ELECTION, LASTING, connect, follows, leads};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::raw::{CreateMode, RawClient};
use zk_test_kit::server::ServerKind;

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    leaders_that_resign_in_turn_are_followed_at_once,
    a_nominee_that_comes_late_leads_at_once;
}

/// A lease that is not ready takes a twelfth of this at least. That much time is left for a busy
/// machine, beside the time for which it stands still.
const TIMEOUT: Duration = Duration::from_secs(12);

/// The time for which this machine, or the server on it, let a thread wait that was to commit something.
struct Stalls(Arc<Mutex<Watched>>);

struct Watched {
    late: Duration,
    longest: Duration,
    /// When the thread is to be through with its next commit.
    due: Instant,
}

impl Stalls {
    /// Watches until it is dropped.
    fn watch(server: ServerKind) -> Result<Self, TestFailure> {
        const TURN: Duration = Duration::from_millis(10);
        let server = server.shared()?;
        let path = format!("{}/turn", server.fresh_chroot("stalls")?);
        let mut client = RawClient::connect(server.addr(), LASTING)?;
        let watched =
            Watched { late: Duration::ZERO, longest: Duration::ZERO, due: Instant::now() + TURN };
        let watched = Arc::new(Mutex::new(watched));
        let watching = Arc::downgrade(&watched);
        thread::spawn(move || {
            while let Some(watched) = watching.upgrade() {
                client.create(&path, CreateMode::Persistent).expect("its session lives");
                let mut watched = watched.lock().expect("no panic");
                let now = Instant::now();
                let late = now.saturating_duration_since(watched.due);
                watched.late += late;
                watched.longest = watched.longest.max(late);
                watched.due = now + TURN;
                drop(watched);
                thread::sleep(TURN);
                client.delete(&path).expect("its session lives");
            }
        });
        Ok(Self(watched))
    }

    fn total(&self) -> Duration {
        let watched = self.0.lock().expect("no panic");
        watched.late + watched.due.elapsed()
    }

    fn longest(&self) -> Duration {
        let watched = self.0.lock().expect("no panic");
        watched.longest.max(watched.due.elapsed())
    }
}

/// Nine nominees, with sessions that are older than their timeout. Each is promoted by an event, and none but the
/// second knew that it was next.
async fn leaders_that_resign_in_turn_are_followed_at_once(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "in-turn").await?;
    let mut queue: Vec<(Client, Nomination)> = Vec::new();
    for place in 0..9 {
        let client = connect(&arena.servers(), TIMEOUT).await?;
        let mut nomination = client.election(ELECTION).nominate()?;
        if place == 0 {
            leads(&mut nomination).await?;
        } else {
            follows(&nomination).await?;
        }
        queue.push((client, nomination));
    }
    tokio::time::sleep(TIMEOUT + TIMEOUT / 6).await;
    let stalls = Stalls::watch(server)?;
    let (_client, mut leader) = queue.remove(0);
    let mut leadership = leads(&mut leader).await?;
    let mut gone = Vec::new();
    for (client, mut next) in queue {
        let (stalled, resigned_at) = (stalls.total(), Instant::now());
        leadership.resign().await?;
        leadership = leads(&mut next).await?;
        let took = resigned_at.elapsed();
        let stalled = stalls.total().saturating_sub(stalled);
        println!("followed after {took:?}, {stalled:?} of it stalled");
        assert!(leadership.is_valid());
        assert!(took < TIMEOUT / 12 + stalled, "{took:?}, {stalled:?}");
        gone.push(client);
    }
    Ok(())
}

/// A session of any age nominates in an empty election: the create of the candidate proves the lease, and no
/// check follows it.
async fn a_nominee_that_comes_late_leads_at_once(server: ServerKind) -> TestResult {
    for age in [TIMEOUT / 2, TIMEOUT * 3 / 2] {
        let stalls = Stalls::watch(server)?;
        let arena = Arena::new(server, "late").await?;
        let proxy = Proxy::to(server.shared()?.addr())?;
        let client = connect(&arena.servers_by(&proxy), TIMEOUT).await?;
        tokio::time::sleep(age).await;
        let commits = proxy.counters().requests(Opcode::MULTI);
        let (stalled, nominated_at) = (stalls.total(), Instant::now());
        let mut nomination = client.election(ELECTION).nominate()?;
        let leadership = leads(&mut nomination).await?;
        let took = nominated_at.elapsed();
        let stalled = stalls.total().saturating_sub(stalled);
        assert!(matches!(nomination.status().role, Role::Leading { .. }));
        client.sync(ELECTION).await?;
        let commits = proxy.counters().requests(Opcode::MULTI) - commits;
        let longest = stalls.longest();
        println!(
            "leads after {took:?}, {stalled:?} of it stalled, {commits} commits, longest {longest:?}"
        );
        assert!(leadership.is_valid());
        // After a round trip of a 30th a leader waits for quicker heartbeats (`LeaseOutlook::RoundTripTooLong`). One may
        // have been that long where the machine stalled for nearly as long.
        if longest < TIMEOUT / 45 {
            assert!(took < TIMEOUT / 12 + stalled, "{took:?}, {stalled:?}");
            // After many stalls the leader's next heartbeats are due.
            assert!(commits == 0 || stalled > TIMEOUT / 12, "{commits}");
        } else {
            assert!(took < TIMEOUT + stalled, "{took:?}, {stalled:?}, {longest:?}");
        }
    }
    Ok(())
}
