// A ZooKeeper server in memory, without a socket, on tokio's clock: for tests in virtual time.
// Copy it into your tests; it takes `bytes`, `election-tokio`, `tokio` and `zk-embedded`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::{fmt, io};

use bytes::BytesMut;
use election_tokio::SessionId;
use election_tokio::source::ServerAddress;
use election_tokio::transport::{Connecting, Connector, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::sync::{Notify, mpsc};
use tokio::time::{self, sleep_until};
use zk_embedded::{Config, ConnectionId, Instant, Standalone, Transmit};

/// A server in memory, on tokio's clock.
#[derive(Clone)]
pub struct Memory(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    changed: Notify,
    origin: time::Instant,
}

pub struct State {
    pub server: Standalone,
    /// Whether connections are accepted.
    pub is_up: bool,
    /// Of how many requests the reply gets through before one is lost.
    pub replies_left: Option<usize>,
    outputs: HashMap<ConnectionId, mpsc::UnboundedSender<BytesMut>>,
}

impl Memory {
    pub fn new() -> Self {
        let server = Standalone::new(Instant::ORIGIN, &Config::default());
        let state = State { server, is_up: true, replies_left: None, outputs: HashMap::new() };
        let inner = Inner {
            state: Mutex::new(state),
            changed: Notify::new(),
            origin: time::Instant::now(),
        };
        let memory = Self(Arc::new(inner));
        tokio::spawn(memory.clone().keep_time());
        memory
    }

    /// Does something with the server, and sends what it has to say.
    pub fn with<T>(&self, work: impl FnOnce(&mut State, Instant) -> T) -> T {
        let result = self.work(work);
        self.0.changed.notify_one();
        result
    }

    fn work<T>(&self, work: impl FnOnce(&mut State, Instant) -> T) -> T {
        let mut state = self.0.state.lock().expect("no test panics with it");
        let now = Instant::ORIGIN + self.0.origin.elapsed();
        let result = work(&mut state, now);
        while let Some(id) = state.server.poll_ready() {
            let mut output = BytesMut::new();
            let transmit = state.server.poll_transmit(now, id, &mut output);
            if let Some(to) = state.outputs.get(&id) {
                let _ = to.send(output);
            }
            if transmit == Transmit::Close {
                state.close(id);
            }
        }
        result
    }

    /// Ends all connections, and accepts no others.
    pub fn goes_down(&self) {
        self.with(|state, _| {
            state.is_up = false;
            for id in state.outputs.keys().copied().collect::<Vec<_>>() {
                state.close(id);
            }
        });
    }

    /// Expires a session, and its ephemeral znodes go. Its client is told when it connects again.
    pub fn expires(&self, session: SessionId) {
        self.with(|state, now| state.server.expire(now, session)).expect("a session that is open");
    }

    async fn keep_time(self) {
        loop {
            let due = self.work(|state, now| {
                state.server.handle_timeout(now);
                state.server.poll_timeout()
            });
            let changed = self.0.changed.notified();
            match due {
                Some(due) => tokio::select! {
                    () = sleep_until(self.0.origin + due.elapsed()) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }
}

impl State {
    fn close(&mut self, id: ConnectionId) {
        self.server.close(id);
        self.outputs.remove(&id);
    }

    /// Takes a client's bytes. Where its reply is lost, the connection is, too.
    fn receive(&mut self, now: Instant, id: ConnectionId, bytes: &[u8]) {
        self.server.receive(now, id, bytes);
        match &mut self.replies_left {
            Some(0) => {
                self.replies_left = None;
                self.close(id);
            }
            Some(left) => *left -= 1,
            None => {}
        }
    }
}

impl Connector for Memory {
    fn connect<'a>(&'a self, _: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let (to_server, mut to_send) = mpsc::unbounded_channel::<BytesMut>();
            let id = self.with(|state, now| {
                if !state.is_up {
                    return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
                }
                let address = ([127, 0, 0, 1], 50_000).into();
                let id = state.server.open(now, address).map_err(io::Error::other)?;
                state.outputs.insert(id, to_server);
                Ok(id)
            })?;
            let (client, server) = duplex(1024 * 1024);
            let memory = self.clone();
            tokio::spawn(async move {
                let (mut from_client, mut to_client) = split(server);
                let mut input = BytesMut::new();
                loop {
                    tokio::select! {
                        read = from_client.read_buf(&mut input) => match read {
                            Ok(1..) => memory.with(|state, now| {
                                state.receive(now, id, &input.split());
                            }),
                            _ => break,
                        },
                        output = to_send.recv() => match output {
                            Some(output) if to_client.write_all(&output).await.is_ok() => {}
                            _ => break,
                        },
                    }
                }
                memory.with(|state, _| state.close(id));
            });
            Ok(Box::new(client) as Box<dyn Transport>)
        })
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
