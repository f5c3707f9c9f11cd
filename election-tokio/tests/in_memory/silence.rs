//! Servers that freeze, for good or for a while, and another address that answers: how long callers wait,
//! whether a leader keeps its lead, and how many connections it costs.

use core::fmt;
use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_tokio::lease::KeepReady;
use election_tokio::session::SilentServers;
use election_tokio::source::ServerAddress;
use election_tokio::transport::{Connecting, Connector, Transport};
use election_tokio::{Client, ClientBuilder, CreateMode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::server::Server;

/// One server with several addresses. Each of them freezes on its own, as if the process behind it were
/// stopped: it accepts connections and takes bytes, and gives nothing.
#[derive(Clone)]
struct Addresses {
    server: Server,
    doors: Arc<Mutex<Doors>>,
}

#[derive(Default)]
struct Doors {
    /// The hosts, in the order in which they were connected to.
    connected: Vec<String>,
    frozen: BTreeSet<String>,
    link: Link,
    waiting: Vec<Waker>,
}

/// The ways from the addresses to their clients.
#[derive(Clone, Copy, Default)]
enum Link {
    #[default]
    Fast,
    /// So many bytes each 300 ms.
    Slow(usize),
}

impl Addresses {
    fn new() -> Self {
        Self { server: Server::new(), doors: Arc::default() }
    }

    fn doors(&self) -> MutexGuard<'_, Doors> {
        self.doors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn builder(&self, servers: &str) -> ClientBuilder {
        Client::builder(servers).connector(self.clone())
    }

    /// Makes all links slow.
    fn slow_down(&self, bytes: usize) {
        self.doors().link = Link::Slow(bytes);
    }

    /// Freezes the address that was connected to last.
    fn freeze(&self) {
        let mut doors = self.doors();
        let last = doors.connected.last().expect("there is a connection").clone();
        doors.frozen.insert(last);
    }

    fn freeze_all(&self) {
        self.doors().frozen.extend(["one".to_owned(), "two".to_owned()]);
    }

    fn thaw(&self) {
        let mut doors = self.doors();
        doors.frozen.clear();
        doors.waiting.drain(..).for_each(Waker::wake);
    }

    fn connections(&self) -> usize {
        self.doors().connected.len()
    }
}

impl fmt::Debug for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Addresses")
    }
}

impl Connector for Addresses {
    fn connect<'a>(&'a self, address: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let inner = self.server.connect(address).await?;
            self.doors().connected.push(address.host.clone());
            let (doors, host) = (Arc::clone(&self.doors), address.host.clone());
            let next = Box::pin(sleep(Duration::ZERO));
            let stream = Stream { inner, doors, host, held: Vec::new(), next };
            Ok(Box::new(stream) as Box<dyn Transport>)
        })
    }
}

struct Stream {
    inner: Box<dyn Transport>,
    doors: Arc<Mutex<Doors>>,
    host: String,
    /// What was sent to the process while it was stopped.
    held: Vec<u8>,
    /// When a slow link gives something again.
    next: Pin<Box<Sleep>>,
}

impl Stream {
    fn is_frozen(&self) -> bool {
        let doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        doors.frozen.contains(&self.host)
    }

    /// Gives the process what it could not read.
    fn deliver(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.held.is_empty() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.held))?;
            self.held.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if doors.frozen.contains(&self.host) {
            doors.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        let link = doors.link;
        drop(doors);
        ready!(self.deliver(cx))?;
        let Link::Slow(bytes) = link else {
            return Pin::new(&mut self.inner).poll_read(cx, buffer);
        };
        ready!(self.next.as_mut().poll(cx));
        let mut part = vec![0; bytes.min(buffer.remaining())];
        let mut part = ReadBuf::new(&mut part);
        ready!(Pin::new(&mut self.inner).poll_read(cx, &mut part))?;
        buffer.put_slice(part.filled());
        self.next.as_mut().reset(Instant::now() + millis(300));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_frozen() {
            self.held.extend_from_slice(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        ready!(self.deliver(cx))?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

const TWO: &str = "one,two";

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Reads every ten milliseconds for this long, and returns the longest time without an answer.
async fn longest_gap(client: &Client, length: Duration) -> Duration {
    let begun = Instant::now();
    let (mut answered, mut longest) = (begun, Duration::ZERO);
    while begun.elapsed() < length {
        if client.exists("/").await.is_ok() {
            longest = longest.max(answered.elapsed());
            answered = Instant::now();
        }
        sleep(millis(10)).await;
    }
    longest.max(answered.elapsed())
}

/// The case that was found: two addresses of an ensemble, the connected one freezes 4 s after the election.
#[tokio::test(start_paused = true)]
async fn a_leader_keeps_its_lead_if_its_server_freezes_and_another_one_answers() {
    for after in (4_000..8_000).step_by(77) {
        let addresses = Addresses::new();
        let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(9));
        let client = builder.connect().await.unwrap();
        let mut nomination = client.election("/election").nominate().unwrap();
        let leadership = nomination.elected().await.unwrap();
        sleep(millis(after)).await;
        addresses.freeze();
        for _ in 0..1_500 {
            sleep(millis(10)).await;
            assert!(leadership.is_valid(), "{after}");
        }
        assert_eq!(addresses.connections(), 2, "{after}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_less_than_half_a_second_if_its_server_freezes() {
    for seed in 0..20 {
        let addresses = Addresses::new();
        let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(6));
        let client = builder.seed(seed).connect().await.unwrap();
        longest_gap(&client, millis(2_000 + seed * 371)).await;
        addresses.freeze();
        let gap = longest_gap(&client, Duration::from_secs(30)).await;
        assert!(gap <= millis(500), "{gap:?}");
        assert_eq!(addresses.connections(), 2);
    }
}

/// While nothing is asked for, only the pings and heartbeats tell: one comes in a third of the timeout.
#[tokio::test(start_paused = true)]
async fn a_client_at_rest_leaves_a_frozen_server_within_a_third_of_the_timeout_and_half_a_second() {
    for keep in [KeepReady::WhileNeeded, KeepReady::Always] {
        for after in (80_000..86_000).step_by(173) {
            let addresses = Addresses::new();
            let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(6));
            let client = builder.keep_ready(keep).connect().await.unwrap();
            sleep(millis(after)).await;
            addresses.freeze();
            sleep(millis(2_500)).await;
            assert_eq!(addresses.connections(), 2, "{after}");
            client.exists("/").await.unwrap();
        }
    }
}

/// A caller that asks later than that finds another server.
#[tokio::test(start_paused = true)]
async fn without_the_policy_a_silent_server_is_left_at_two_thirds_of_the_timeout() {
    let addresses = Addresses::new();
    let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(6));
    let client = builder.silent_servers(SilentServers::Endure).connect().await.unwrap();
    sleep(millis(3_000)).await;
    client.exists("/").await.unwrap();
    addresses.freeze();
    let gap = longest_gap(&client, Duration::from_secs(30)).await;
    assert!(gap >= millis(3_990) && gap < millis(4_200), "{gap:?}");
}

/// There is nothing to go to.
#[tokio::test(start_paused = true)]
async fn the_only_server_is_left_at_two_thirds_of_the_timeout() {
    let addresses = Addresses::new();
    let builder = addresses.builder("one").session_timeout(Duration::from_secs(6));
    let client = builder.connect().await.unwrap();
    sleep(millis(3_000)).await;
    client.exists("/").await.unwrap();
    addresses.freeze();
    let asked = Instant::now();
    client.exists("/").await.unwrap_err();
    assert!(asked.elapsed() >= millis(3_990), "{:?}", asked.elapsed());
}

/// Both addresses pause together, as if the ensemble waited for a disk. Each departure doubles the bound,
/// so the third pause within a minute finds a client that waits.
#[tokio::test(start_paused = true)]
async fn an_ensemble_that_pauses_again_and_again_is_left_twice_at_most() {
    for pause in [500, 1_000, 1_500, 2_000] {
        let addresses = Addresses::new();
        let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(10));
        let client = builder.connect().await.unwrap();
        let calls = client.clone();
        let calling =
            tokio::spawn(async move { longest_gap(&calls, Duration::from_secs(300)).await });
        for _ in 0..12 {
            sleep(Duration::from_secs(20)).await;
            addresses.freeze_all();
            sleep(millis(pause)).await;
            addresses.thaw();
        }
        let connections = addresses.connections();
        assert!(connections <= 3, "{pause}: {connections}");
        calling.await.unwrap();
    }
}

/// A long reply over a slow link takes as long as it takes.
#[tokio::test(start_paused = true)]
async fn a_reply_that_comes_in_bit_by_bit_is_no_silence() {
    let addresses = Addresses::new();
    let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(6));
    let client = builder.connect().await.unwrap();
    let data = vec![7; 30_000];
    client.create("/long", data.clone(), CreateMode::Persistent).await.unwrap();
    sleep(millis(1_500)).await;
    addresses.slow_down(5_000);
    let asked = Instant::now();
    let (read, _) = client.get_data("/long").await.unwrap();
    assert_eq!(read, data);
    assert!(asked.elapsed() > millis(1_000), "{:?}", asked.elapsed());
    assert_eq!(addresses.connections(), 1);
}

/// The driver slept until the next ping, and looks again before that.
#[tokio::test(start_paused = true)]
async fn a_caller_after_a_rest_waits_for_no_longer() {
    for after in (3_000..7_000).step_by(97) {
        let addresses = Addresses::new();
        let builder = addresses.builder(TWO).session_timeout(Duration::from_secs(6));
        let client = builder.connect().await.unwrap();
        sleep(millis(after)).await;
        client.exists("/").await.unwrap();
        addresses.freeze();
        let asked = Instant::now();
        client.exists("/").await.unwrap_err();
        assert!(asked.elapsed() <= millis(410), "{after}: {:?}", asked.elapsed());
    }
}
