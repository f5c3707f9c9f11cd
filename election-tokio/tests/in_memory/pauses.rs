//! Processes that stand still between two instructions: after the driver has read the clock, and before
//! it reads from the transport.

use core::fmt;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use election_tokio::source::ServerAddress;
use election_tokio::transport::{Connecting, Connector, Transport};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use zk_jute::OpCode;

use crate::server::Server;

const TIMEOUT: Duration = Duration::from_secs(30);

/// What the transport has seen, and when the process stands still.
#[derive(Debug, Default)]
struct Seen {
    /// Whether the reply to a `sync` is on its way.
    confirmation_is_awaited: bool,
    pause: Option<Duration>,
    /// When the process has read the reply during which it stood still.
    read_at: Option<Instant>,
    /// When the first heartbeat after that was sent.
    heartbeat_at: Option<Instant>,
}

/// Transports of a process that stands still.
#[derive(Clone)]
struct Pausing {
    server: Server,
    seen: Arc<Mutex<Seen>>,
}

impl fmt::Debug for Pausing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pausing")
    }
}

impl Connector for Pausing {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let inner = self.server.connect(server).await?;
            let seen = Arc::clone(&self.seen);
            Ok(Box::new(Stream { inner, seen }) as Box<dyn Transport>)
        })
    }
}

struct Stream {
    inner: Box<dyn Transport>,
    seen: Arc<Mutex<Seen>>,
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.filled().len() > before
            && seen.confirmation_is_awaited
            && let Some(length) = seen.pause.take()
        {
            // The first poll sets the clock.
            let _ = pin!(tokio::time::advance(length)).poll(cx);
            seen.read_at = Some(Instant::now());
        }
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let opcode = bytes.get(8..12).and_then(|it| Some(i32::from_be_bytes(it.try_into().ok()?)));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.confirmation_is_awaited = opcode == Some(OpCode::SYNC.get());
        if opcode == Some(OpCode::MULTI.get()) && seen.read_at.is_some() {
            seen.heartbeat_at.get_or_insert_with(Instant::now);
        }
        drop(seen);
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// A heartbeat proves an earlier one because it is sent a third of the timeout after the server has
/// answered that one. The server may have answered at any time until the answer is read.
#[tokio::test(start_paused = true)]
async fn an_answer_counts_from_when_it_was_read() {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let pausing = Pausing { server: Server::new(), seen: Arc::clone(&seen) };
    let builder = pausing.server.builder().connector(pausing.clone());
    let client = builder.session_timeout(TIMEOUT).connect().await.unwrap();
    let mut nomination = client.election("/election").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    tokio::time::sleep(TIMEOUT * 2).await;
    seen.lock().unwrap().pause = Some(TIMEOUT / 8);
    tokio::time::sleep(TIMEOUT * 3).await;
    assert!(leadership.is_valid());
    let seen = seen.lock().unwrap();
    let gap = seen.heartbeat_at.unwrap() - seen.read_at.unwrap();
    assert!(gap >= TIMEOUT / 3, "{gap:?}");
}

/// A hypervisor that holds a guest stops the guest's clocks. A clock of the user's tells of it before
/// anything that waited is read.
#[tokio::test(start_paused = true)]
async fn a_clock_of_the_user_s_tells_of_a_machine_that_stood_still() {
    let server = Server::new();
    let stood_still = Arc::new(AtomicU64::new(0));
    let (begun, ahead) = (Instant::now(), Arc::clone(&stood_still));
    let read = move || {
        let secs = ahead.load(Ordering::Relaxed);
        begun.elapsed() + Duration::from_secs(secs)
    };
    let client = server.builder().clock(read).connect().await.unwrap();
    let mut nomination = client.election("/clock").nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    assert!(leadership.is_valid());
    stood_still.store(3600, Ordering::Relaxed);
    assert!(!leadership.is_valid());
    assert_eq!(leadership.remaining(), Duration::ZERO);
}
