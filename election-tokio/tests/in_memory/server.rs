//! The embedded server behind pipes in memory, advanced step by step: one frame of a client a step.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use election_tokio::{
    Client, ClientBuilder, SessionId,
    source::ServerAddress,
    transport::{Connecting, Connector, Transport},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use zk_embedded::{Config, ConnectionId, Profile};
use zk_jute::OpCode;

use crate::lies::{Events, Lie};
use crate::raw::RawSession;
use crate::state::{Door, Outgoing, State, Traffic};

/// Virtual time that passes only when no task has anything to do: the clock of these tests stands
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

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    /// Makes a server with a znode that gives out the numbers from `next` on.
    pub(crate) fn counted_on(path: &str, next: i32) -> Self {
        let mut config = Config::default();
        config.first_znodes.add(path, next).expect("a znode can have this path");
        Self::with(config)
    }

    /// Makes a server that knows nothing of what came with 3.6, as persistent watches.
    pub(crate) fn older_than_3_6() -> Self {
        let server = Self::new();
        server.state().unknown = vec![
            OpCode::ADD_WATCH,
            OpCode::GET_ALL_CHILDREN_NUMBER,
            OpCode::GET_EPHEMERALS,
            OpCode::MULTI_READ,
            OpCode::SET_WATCHES2,
        ];
        server
    }

    /// Makes a server that deviates from Apache ZooKeeper as another one does.
    pub(crate) fn like(profile: Profile) -> Self {
        Self::with(Config::default().like(profile))
    }

    fn with(config: Config) -> Self {
        let_somebody_listen();
        Self {
            state: Arc::new(Mutex::new(State::new(config))),
            steps: Arc::new(Semaphore::new(MANY)),
        }
    }

    pub(crate) fn builder(&self) -> ClientBuilder {
        Client::builder("in-memory").connector(self.clone())
    }

    pub(crate) async fn client(&self) -> Client {
        self.builder().connect().await.expect("the server is there")
    }

    /// Opens a session of another program.
    pub(crate) fn raw(&self) -> RawSession {
        RawSession::new(self)
    }

    /// Locks the state of the server.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.catch_up();
        state
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
        self.state().cut();
    }

    pub(crate) fn refuse(&self) {
        self.state().door = Door::Shut;
    }

    pub(crate) fn accept(&self) {
        self.state().door = Door::Open;
    }

    /// Expires all sessions.
    pub(crate) fn expire(&self) {
        for session in self.sessions() {
            self.state().expire(session);
        }
    }

    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        self.state().database().sessions().map(|(session, _)| session).collect()
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.state().database().znode(path).is_some()
    }

    pub(crate) fn data(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.state();
        state.database().znode(path)?.data().map(<[u8]>::to_vec)
    }

    /// Returns the children of a znode, without the one that every server has.
    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let state = self.state();
        let above = path.trim_end_matches('/');
        let names = state.database().znodes().filter_map(|(path, _)| path.rsplit_once('/'));
        let names = names.filter(|(parent, name)| *parent == above && !name.is_empty());
        let names = names.filter(|(parent, name)| (*parent, *name) != ("", "zookeeper"));
        names.map(|(_, name)| name.to_owned()).collect()
    }

    /// Watches that clients have left, by the word `mntr`.
    pub(crate) fn watches(&self) -> usize {
        let mut state = self.state();
        let connection = state.open();
        let answer = state.exchange(connection, b"mntr");
        state.close(connection);
        let answer = str::from_utf8(&answer).expect("it answers with text");
        let mut values = answer.lines().filter_map(|line| line.strip_prefix("zk_watch_count\t"));
        values.next().expect("it counts watches").parse().expect("a number")
    }

    /// Deletes a znode without an event, as a server does if the watcher may not read it.
    pub(crate) fn delete_silently(&self, path: &str) {
        let raw = self.raw();
        self.state().events = Events::Withheld;
        raw.delete(path).expect("it stands");
        self.state().events = Events::Told;
    }

    pub(crate) fn requests(&self, opcode: OpCode) -> usize {
        let state = self.state();
        state.requests.iter().filter(|sent| **sent == opcode).count()
    }

    /// Returns the requests, without those that keep a lease ready.
    pub(crate) fn requested(&self) -> Vec<OpCode> {
        let state = self.state();
        state.requests.iter().copied().filter(|sent| *sent != OpCode::SYNC).collect()
    }

    /// Returns the traffic of the connections, in the order in which they were made.
    pub(crate) fn traffic(&self) -> Vec<Traffic> {
        self.state().traffic().copied().collect()
    }

    fn serve(&self, stream: DuplexStream) {
        let (read, write) = tokio::io::split(stream);
        let (outgoing, frames) = mpsc::unbounded_channel();
        let mut state = self.state();
        let connection = state.open();
        let server = self.clone();
        let task = tokio::spawn(async move {
            // The first of them that ends takes the others along.
            tokio::select! {
                biased;
                () = server.read_all(connection, read) => {}
                () = server.write_all(connection, write, frames) => {}
                () = server.tick() => {}
            }
            server.state().close(connection);
        });
        state.link(connection, outgoing, task.abort_handle());
    }

    async fn read_all(&self, connection: ConnectionId, mut read: ReadHalf<DuplexStream>) {
        let mut receive = State::greet as fn(&mut State, ConnectionId, &[u8]);
        while let Ok(length) = read.read_u32().await {
            let mut frame = length.to_be_bytes().to_vec();
            frame.resize(4 + usize::try_from(length).expect("64 bits"), 0);
            if read.read_exact(&mut frame[4..]).await.is_err() {
                return;
            }
            let Ok(step) = self.steps.acquire().await else {
                return;
            };
            if self.steps.available_permits() < MANY / 2 {
                step.forget();
            }
            let mut state = self.state();
            state.count(connection, |traffic| {
                traffic.requests += 1;
                traffic.bytes_received += 4 + u64::from(length);
            });
            receive(&mut state, connection, &frame);
            receive = State::answer;
        }
    }

    async fn write_all(
        &self,
        connection: ConnectionId,
        mut write: WriteHalf<DuplexStream>,
        mut frames: mpsc::UnboundedReceiver<Outgoing>,
    ) {
        while let Some(Outgoing::Bytes { arrive, bytes }) = frames.recv().await {
            if Instant::now() < arrive {
                tokio::time::sleep_until(arrive).await;
            }
            if write.write_all(&bytes).await.is_err() {
                return;
            }
            let sent = u64::try_from(bytes.len()).expect("64 bits");
            self.state().count(connection, |traffic| traffic.bytes_sent += sent);
        }
    }

    /// Has the server do what is due, as long as a connection waits for it.
    async fn tick(&self) {
        loop {
            let next = self.state().next_tick();
            tokio::time::sleep_until(next).await;
        }
    }
}

impl Connector for Server {
    fn connect<'a>(&'a self, _: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            if self.state().door == Door::Shut {
                return Err(io::Error::new(io::ErrorKind::ConnectionRefused, "nobody home"));
            }
            let (client, server) = tokio::io::duplex(PIPE);
            self.serve(server);
            Ok(Box::new(client) as Box<dyn Transport>)
        })
    }
}

/// Makes the process listen to events. Without this, a place in the code could stay silent for
/// good: its first event could fall into the moment in which a test on another thread begins to
/// listen, while no other does.
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
