//! The way from a process to the servers, and what befalls it.

use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use election_tokio::{
    source::ServerAddress,
    transport::{Connecting, Connector, Transport},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use zk_embedded::{ConnectionId, Transmit};

use crate::queue::Queue;
use crate::servers::{Condition, Servers};

/// Bytes that a socket takes before its reader takes any.
const PIPE: usize = 64 * 1024;

/// The way of one process.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    servers: Servers,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    weather: Weather,
    /// How often all connections were cut.
    cuts: u64,
    rng: fastrand::Rng,
    /// The tasks that hear of a change, in order: tokio's `watch` tells its receivers in any order.
    listeners: Vec<Weak<Notify>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weather {
    /// Which life of the process may use the way.
    life: u64,
    pub(crate) port: Port,
    pub(crate) to_server: Flow,
    pub(crate) to_client: Flow,
    /// How long bytes are on their way at most.
    pub(crate) latency: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Runs,
    /// Bytes wait until it runs again.
    Held,
}

impl Weather {
    const FAIR: Self = Self {
        life: 0,
        port: Port::Open,
        to_server: Flow::Runs,
        to_client: Flow::Runs,
        latency: Duration::from_millis(5),
    };

    pub(crate) fn clear_up(&mut self) {
        *self = Self { life: self.life, ..Self::FAIR };
    }
}

/// The way of one life of a process.
#[derive(Clone, Debug)]
struct Passage {
    way: Way,
    life: u64,
}

impl Way {
    pub(crate) fn to(servers: &Servers, rng: fastrand::Rng) -> Self {
        Self {
            servers: servers.clone(),
            state: Arc::new(Mutex::new(State {
                weather: Weather::FAIR,
                cuts: 0,
                rng,
                listeners: Vec::new(),
            })),
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Weather)) {
        let mut state = self.state();
        change(&mut state.weather);
        state.tell();
    }

    pub(crate) fn cut(&self) {
        let mut state = self.state();
        state.cuts += 1;
        state.tell();
    }

    fn weather(&self) -> Weather {
        self.state().weather
    }

    fn cuts(&self) -> u64 {
        self.state().cuts
    }

    /// Returns a notifier of changes.
    fn listen(&self) -> Arc<Notify> {
        let listener = Arc::new(Notify::new());
        self.state().listeners.push(Arc::downgrade(&listener));
        listener
    }

    /// Returns a connector for the present life.
    pub(crate) fn connector(&self) -> impl Connector {
        Passage { way: self.clone(), life: self.weather().life }
    }

    /// Cuts the process off: it is dead, as far as the server can tell.
    pub(crate) fn cut_off_this_life(&self) {
        self.change(|weather| weather.life += 1);
        self.cut();
    }

    fn latency(&self) -> Duration {
        let mut state = self.state();
        let most = state.weather.latency.as_micros();
        let most = u64::try_from(most).expect("a short time");
        Duration::from_micros(state.rng.u64(0..=most))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the address list for a client: the port is the place of the server, from 1.
    pub(crate) fn addresses(&self) -> String {
        let servers = (1..=self.servers.count()).map(|port| format!("in-memory:{port}"));
        servers.collect::<Vec<_>>().join(",")
    }

    /// Carries bytes both ways until either side is done.
    async fn carry(self, place: usize, stream: DuplexStream) {
        let (news, cuts) = (self.listen(), self.cuts());
        self.servers.awake(place).await;
        if self.cuts() != cuts || self.servers.condition(place) != Some(Condition::Running) {
            return;
        }
        let Some((id, sent)) = self.servers.open(place) else {
            return;
        };
        let open = Open { servers: &self.servers, place, id };
        let (mut client, mut to_client) = tokio::io::split(stream);
        let (mut up, mut down) = (Queue::default(), Queue::default());
        let mut input = vec![0; PIPE];
        let mut client_is_done = false;
        loop {
            let Weather { to_server, to_client: downward, .. } = self.weather();
            let is_paused = self.servers.condition(place) == Some(Condition::Paused);
            let upward = if is_paused { Flow::Held } else { to_server };
            while let Some(bytes) = up.arrived(upward) {
                self.servers.receive(place, open.id, &bytes);
            }
            let (bytes, transmit) = self.servers.take(place, open.id);
            if !bytes.is_empty() {
                down.push(self.latency(), bytes.to_vec());
            }
            while let Some(bytes) = down.arrived(downward) {
                if to_client.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            if (transmit == Transmit::Close && down.is_empty()) || (client_is_done && up.is_empty())
            {
                return;
            }
            let next = [up.next_at(upward), down.next_at(downward)].into_iter().flatten().min();
            tokio::select! {
                biased;
                () = news.notified() => {
                    if self.cuts() != cuts {
                        return;
                    }
                }
                () = sent.notified() => {}
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
                read = client.read(&mut input), if !client_is_done => match read {
                    Ok(0) | Err(_) => client_is_done = true,
                    Ok(read) => up.push(self.latency(), input.iter().copied().take(read).collect()),
                }
            }
        }
    }
}

impl State {
    fn tell(&mut self) {
        self.listeners.retain(|listener| {
            let listener = listener.upgrade();
            listener.inspect(|listener| listener.notify_one()).is_some()
        });
    }
}

/// A connection that ends with its task.
struct Open<'a> {
    servers: &'a Servers,
    place: usize,
    id: ConnectionId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.servers.close(self.place, self.id);
    }
}

impl Connector for Passage {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let refuses =
                |weather: &Weather| weather.port == Port::Closed || weather.life != self.life;
            let passes = |weather: &Weather| {
                (weather.to_server, weather.to_client) == (Flow::Runs, Flow::Runs)
            };
            let news = self.way.listen();
            let mut weather = self.way.weather();
            while !refuses(&weather) && !passes(&weather) {
                news.notified().await;
                weather = self.way.weather();
            }
            let place = usize::from(server.port).saturating_sub(1);
            let condition = self.way.servers.condition(place);
            let is_there = condition.is_some_and(|condition| condition != Condition::Down);
            if !is_there || refuses(&weather) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (client, stream) = tokio::io::duplex(PIPE);
            tokio::spawn(self.way.clone().carry(place, stream));
            Ok(Box::new(client) as Box<dyn Transport>)
        })
    }
}
