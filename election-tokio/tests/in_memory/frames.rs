//! Frames, however their bytes arrive.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use election_tokio::{
    Client, CreateMode,
    source::ServerAddress,
    transport::{Connecting, Connector, Transport},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinSet;

use crate::server::{IDLE, Server};

/// Passes on a few bytes at a time, and counts how often it is asked.
#[derive(Clone, Debug)]
struct Narrow {
    server: Server,
    bytes_at_once: usize,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    reads: AtomicUsize,
    writes: AtomicUsize,
}

impl Counts {
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }
}

struct NarrowStream {
    inner: Box<dyn Transport>,
    bytes_at_once: usize,
    counts: Arc<Counts>,
}

impl Connector for Narrow {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let inner = self.server.connect(server).await?;
            Ok(Box::new(NarrowStream {
                inner,
                bytes_at_once: self.bytes_at_once,
                counts: Arc::clone(&self.counts),
            }) as Box<dyn Transport>)
        })
    }
}

impl AsyncRead for NarrowStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut bytes = vec![0; self.bytes_at_once.min(buffer.remaining())];
        let mut few = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut *self.inner).poll_read(cx, &mut few);
        if !few.filled().is_empty() {
            self.counts.reads.fetch_add(1, Ordering::Relaxed);
        }
        buffer.put_slice(few.filled());
        read
    }
}

impl AsyncWrite for NarrowStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let few = &bytes[..bytes.len().min(self.bytes_at_once)];
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut *self.inner).poll_write(cx, few)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.inner).poll_shutdown(cx)
    }
}

pub(crate) async fn narrow_client(bytes_at_once: usize) -> (Server, Client, Arc<Counts>) {
    let server = Server::new();
    let counts = Arc::new(Counts::default());
    let narrow = Narrow { server: server.clone(), bytes_at_once, counts: Arc::clone(&counts) };
    let client = Client::builder("in-memory").connector(narrow).connect().await.unwrap();
    (server, client, counts)
}

#[tokio::test(start_paused = true)]
async fn frames_may_arrive_and_leave_in_pieces_of_any_size() {
    for bytes_at_once in [1, 2, 3, 5, 19, 64] {
        let (_server, client, counts) = narrow_client(bytes_at_once).await;
        let data: Vec<u8> = (0..=255).cycle().take(5000).collect();
        client.create("/znode", data.clone(), CreateMode::Persistent).await.unwrap();
        let (_, _, watch) = client.get_data_and_watch("/znode").await.unwrap();
        let (read, stat) = client.get_data("/znode").await.unwrap();
        assert_eq!(read, data);
        client.delete("/znode", stat.version).await.unwrap();
        watch.await.unwrap();
        assert!(counts.reads.load(Ordering::Relaxed) >= 10_000 / bytes_at_once);
    }
}

/// Replies that lie ready together are read together, and requests that are made together are
/// written together.
#[tokio::test(start_paused = true)]
async fn batches_cost_one_read_and_one_write() {
    const REQUESTS: usize = 500;
    let (server, client, counts) = narrow_client(usize::MAX).await;
    client.create("/znode", "data", CreateMode::Persistent).await.unwrap();
    server.read_only_next(0);
    counts.reads.store(0, Ordering::Relaxed);
    counts.writes.store(0, Ordering::Relaxed);
    let mut reads = JoinSet::new();
    for _ in 0..REQUESTS {
        let client = client.clone();
        reads.spawn(async move { client.get_data("/znode").await.unwrap().0 });
    }
    tokio::time::sleep(IDLE).await;
    assert_eq!(counts.writes(), 1);
    server.read_freely();
    let answers = reads.join_all().await;
    assert_eq!(answers, vec![&b"data"[..]; REQUESTS]);
    let reads = counts.reads.load(Ordering::Relaxed);
    assert!(reads <= REQUESTS / 10, "{reads} reads for {REQUESTS} replies");
}

/// A worker thread of such a runtime runs the task that was woken last first: the driver, each time that a caller has
/// submitted a request.
#[test]
fn requests_of_callers_that_were_woken_together_go_out_together() {
    const CALLERS: usize = 20;
    const REQUESTS: usize = 50;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let all_on_the_worker = runtime.spawn(async {
        let (_server, client, counts) = narrow_client(usize::MAX).await;
        client.create("/znode", "data", CreateMode::Persistent).await.unwrap();
        counts.writes.store(0, Ordering::Relaxed);
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let client = client.clone();
            callers.spawn(async move {
                for _ in 0..REQUESTS {
                    client.get_data("/znode").await.unwrap();
                }
            });
        }
        callers.join_all().await;
        counts.writes()
    });
    let writes = runtime.block_on(all_on_the_worker).unwrap();
    assert!(writes <= CALLERS * REQUESTS / 4, "{writes} writes");
}

/// Data that is kept is not overwritten by what is read later.
#[tokio::test(start_paused = true)]
async fn data_stays_as_it_was_read() {
    let server = Server::new();
    let client = server.client().await;
    let mut kept = Vec::new();
    for number in 0..2000_u32 {
        let data = number.to_be_bytes().repeat(25);
        let path = format!("/{number}");
        client.create(&path, data.clone(), CreateMode::Persistent).await.unwrap();
        kept.push((client.get_data(&path).await.unwrap().0, data));
    }
    assert!(kept.iter().all(|(read, written)| read == written));
}
