//! A ZooKeeper server in memory that is advanced step by step: one frame of a client a step.

use core::future::Future;
use core::pin::pin;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use bytes::BytesMut;
use election_tokio::{
    Client, ClientBuilder, ErrorCode, SessionId,
    source::ServerAddress,
    transport::{Connecting, Connector, Transport},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use zk_jute::OpCode;

use crate::answer::{Answer, Watches};
use crate::tree::Tree;

/// Virtual time that passes only when nobody has anything to do: the clock of these tests stands
/// still while a task can run.
pub(crate) const IDLE: Duration = Duration::from_millis(1);
/// Frames, if nothing holds the server back.
const MANY: usize = 1 << 20;
/// Bytes on their way in one direction.
const PIPE: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    steps: Arc<Semaphore>,
}

/// A frame for a connection, and when it is to arrive; none ends it.
pub(crate) type Outgoing = mpsc::UnboundedSender<Option<(Instant, BytesMut)>>;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    pub(crate) watches: Watches,
    pub(crate) connections: BTreeMap<u64, Outgoing>,
    /// Connections so far.
    pub(crate) accepted: u64,
    pub(crate) sessions: BTreeMap<SessionId, Duration>,
    pub(crate) last_session: i64,
    /// What each connection has carried so far.
    pub(crate) traffic: BTreeMap<u64, Traffic>,
    /// Requests so far, without pings.
    pub(crate) requests: Vec<OpCode>,
    /// What the next request with this opcode is answered with, instead of the truth.
    pub(crate) lies: Vec<(OpCode, Lie)>,
    refuses: bool,
    /// How long each answer is on its way.
    pub(crate) latency: Duration,
}

/// What a connection has carried: whole frames, with their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    pub(crate) requests: u64,
    pub(crate) bytes_received: u64,
    pub(crate) bytes_sent: u64,
}

impl Traffic {
    pub(crate) const fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            bytes_received: self.bytes_received - before.bytes_received,
            bytes_sent: self.bytes_sent - before.bytes_sent,
        }
    }
}

/// A wrong answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// The request is refused with this code.
    Code(ErrorCode),
    /// The server does not know the operation: it says so, and ends the connection.
    TooNew,
    /// The answer names another request.
    WrongXid,
    /// A frame shorter than a header.
    Stub,
    /// A length that no frame can have.
    NegativeLength,
    /// A body that ends too early.
    NoBody,
    /// To several operations: a list without any results.
    NoResults,
    /// No answer at all.
    Silence,
}

impl Server {
    pub(crate) fn new() -> Self {
        let_somebody_listen();
        Self {
            state: Arc::new(Mutex::new(State {
                tree: Tree::new(),
                watches: Watches::default(),
                connections: BTreeMap::new(),
                accepted: 0,
                traffic: BTreeMap::new(),
                sessions: BTreeMap::new(),
                last_session: 0x1000,
                requests: Vec::new(),
                lies: Vec::new(),
                refuses: false,
                latency: Duration::ZERO,
            })),
            steps: Arc::new(Semaphore::new(MANY)),
        }
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder("in-memory").connector(self.clone())
    }

    pub(crate) async fn client(&self) -> Client {
        self.builder().connect().await.expect("the server is there")
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads that many more frames and then no more.
    pub(crate) fn read_only_next(&self, frames: usize) {
        self.steps.forget_permits(self.steps.available_permits());
        self.steps.add_permits(frames);
    }

    pub(crate) fn read_freely(&self) {
        self.steps.add_permits(MANY - self.steps.available_permits());
    }

    pub(crate) fn lie_about(&self, request: OpCode, lie: Lie) {
        self.state().lies.push((request, lie));
    }

    /// Ends all connections; the sessions live on.
    pub(crate) fn cut(&self) {
        self.state().connections.clear();
    }

    pub(crate) fn refuse(&self) {
        self.state().refuses = true;
    }

    pub(crate) fn accept(&self) {
        self.state().refuses = false;
    }

    /// Expires all sessions.
    pub(crate) fn expire(&self) {
        let mut state = self.state();
        for session in core::mem::take(&mut state.sessions).into_keys() {
            state.end_session(session);
        }
        state.connections.clear();
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let state = self.state();
        let children = state.tree.children(path).map(|(names, _)| names);
        children.unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    pub(crate) fn requests(&self, opcode: OpCode) -> usize {
        let state = self.state();
        state.requests.iter().filter(|sent| **sent == opcode).count()
    }

    /// What was asked for, beside what keeps a lease ready.
    pub(crate) fn requested(&self) -> Vec<OpCode> {
        let state = self.state();
        state.requests.iter().copied().filter(|sent| *sent != OpCode::SYNC).collect()
    }

    /// What the connections have carried, in the order in which they were made.
    pub(crate) fn traffic(&self) -> Vec<Traffic> {
        self.state().traffic.values().copied().collect()
    }

    fn serve(&self, stream: DuplexStream) {
        let (read, write) = tokio::io::split(stream);
        let (outgoing, frames) = mpsc::unbounded_channel();
        let connection = {
            let mut state = self.state();
            state.accepted += 1;
            let connection = state.accepted;
            state.connections.insert(connection, outgoing);
            connection
        };
        let server = self.clone();
        tokio::spawn(async move {
            let reading = pin!(server.read_all(connection, read));
            let writing = pin!(server.write_all(connection, write, frames));
            // The first of the two that ends takes the other one along.
            either(reading, writing).await;
            let mut state = server.state();
            state.connections.remove(&connection);
            state.watches.drop_connection(connection);
        });
    }

    async fn read_all(&self, connection: u64, mut read: ReadHalf<DuplexStream>) {
        let mut session = SessionId::NONE;
        while let Ok(length) = read.read_u32().await {
            let mut frame = vec![0; usize::try_from(length).expect("64 bits")];
            if read.read_exact(&mut frame).await.is_err() {
                return;
            }
            let Ok(step) = self.steps.acquire().await else {
                return;
            };
            if self.steps.available_permits() < MANY / 2 {
                step.forget();
            }
            self.count(connection, |traffic| {
                traffic.requests += 1;
                traffic.bytes_received += 4 + u64::from(length);
            });
            let answered = self.state().answer(connection, &mut session, &frame);
            if answered == Answer::EndConnection {
                let state = self.state();
                if let Some(outgoing) = state.connections.get(&connection) {
                    let _ = outgoing.send(None);
                }
            }
        }
    }

    async fn write_all(
        &self,
        connection: u64,
        mut write: WriteHalf<DuplexStream>,
        mut frames: mpsc::UnboundedReceiver<Option<(Instant, BytesMut)>>,
    ) {
        while let Some(Some((arrives, frame))) = frames.recv().await {
            if Instant::now() < arrives {
                tokio::time::sleep_until(arrives).await;
            }
            if write.write_all(&frame).await.is_err() {
                return;
            }
            let sent = u64::try_from(frame.len()).expect("64 bits");
            self.count(connection, |traffic| traffic.bytes_sent += sent);
        }
    }

    fn count(&self, connection: u64, count: impl FnOnce(&mut Traffic)) {
        count(self.state().traffic.entry(connection).or_default());
    }
}

async fn either(mut one: impl Future<Output = ()> + Unpin, other: impl Future<Output = ()>) {
    tokio::select! {
        () = &mut one => {}
        () = other => {}
    }
}

impl Connector for Server {
    fn connect<'a>(&'a self, _: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            if self.state().refuses {
                return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "nobody home"));
            }
            let (client, server) = tokio::io::duplex(PIPE);
            self.serve(server);
            Ok(Box::new(client) as Box<dyn Transport>)
        })
    }
}

/// A place in the code whose first event falls into the moment in which a test on another thread
/// begins to listen, while nobody else does, could stay silent for good.
fn let_somebody_listen() {
    static LISTENER: Once = Once::new();
    LISTENER.call_once(|| {
        let nobody_before = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        nobody_before.expect("only this sets one");
    });
}

/// Lets everything happen that can happen without time passing.
pub(crate) async fn settle() {
    tokio::time::sleep(IDLE).await;
}

/// Lets time pass: for backoffs and the like.
pub(crate) async fn wait(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
