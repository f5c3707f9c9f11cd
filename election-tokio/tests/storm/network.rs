//! The way from a process to the server, and what befalls it.

use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use election_tokio::{Connecting, Connector, ServerAddress, Transport};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use zk_embedded::{ConnectionId, Transmit};

use crate::server::Server;

/// Bytes that a socket takes before anybody reads them.
const PIPE: usize = 64 * 1024;

/// The way of one process.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    server: Server,
    weather: watch::Sender<Weather>,
    /// Counts the times that all connections were cut.
    cuts: watch::Sender<u64>,
    rng: Arc<Mutex<fastrand::Rng>>,
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
    /// What is sent waits until it runs again.
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
    pub(crate) fn to(server: &Server, rng: fastrand::Rng) -> Self {
        Self {
            server: server.clone(),
            weather: watch::Sender::new(Weather::FAIR),
            cuts: watch::Sender::new(0),
            rng: Arc::new(Mutex::new(rng)),
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Weather)) {
        self.weather.send_modify(change);
    }

    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// For the present life.
    pub(crate) fn connector(&self) -> impl Connector {
        Passage { way: self.clone(), life: self.weather.borrow().life }
    }

    /// The process is dead, as far as the server can tell.
    pub(crate) fn cut_off_this_life(&self) {
        self.change(|weather| weather.life += 1);
        self.cut();
    }

    fn latency(&self) -> Duration {
        let most = self.weather.borrow().latency.as_micros();
        let most = u64::try_from(most).expect("a short time");
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        Duration::from_micros(rng.u64(0..=most))
    }

    /// Carries bytes both ways until either side is done.
    async fn carry(self, stream: DuplexStream) {
        let Some((id, sent)) = self.server.open() else {
            return;
        };
        let open = Open { server: &self.server, id };
        let (mut weather, mut cuts) = (self.weather.subscribe(), self.cuts.subscribe());
        let (mut client, mut to_client) = tokio::io::split(stream);
        let (mut up, mut down) = (Queue::default(), Queue::default());
        let mut input = vec![0; PIPE];
        let mut client_is_done = false;
        loop {
            let Weather { to_server: upward, to_client: downward, .. } = *weather.borrow();
            while let Some(bytes) = up.arrived(upward) {
                self.server.receive(open.id, &bytes);
            }
            let (bytes, transmit) = self.server.take(open.id);
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
                _ = cuts.changed() => return,
                _ = weather.changed() => {}
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

/// A connection that ends with its task.
struct Open<'a> {
    server: &'a Server,
    id: ConnectionId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.server.close(self.id);
    }
}

/// What is on its way in one direction, in order.
#[derive(Default)]
struct Queue(VecDeque<(Instant, Vec<u8>)>);

impl Queue {
    fn push(&mut self, latency: Duration, bytes: Vec<u8>) {
        let at = Instant::now() + latency;
        let at = self.0.back().map_or(at, |(last, _)| at.max(*last));
        self.0.push_back((at, bytes));
    }

    fn next_at(&self, flow: Flow) -> Option<Instant> {
        self.0.front().map(|(at, _)| *at).filter(|_| flow == Flow::Runs)
    }

    fn arrived(&mut self, flow: Flow) -> Option<Vec<u8>> {
        self.next_at(flow).filter(|at| *at <= Instant::now())?;
        self.0.pop_front().map(|(_, bytes)| bytes)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Connector for Passage {
    fn connect<'a>(&'a self, _: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let refuses =
                |weather: &Weather| weather.port == Port::Closed || weather.life != self.life;
            let is_decided = |weather: &Weather| {
                let passes = weather.to_server == Flow::Runs && weather.to_client == Flow::Runs;
                passes || refuses(weather)
            };
            let mut weather = self.way.weather.subscribe();
            // It cannot fail: the way has the sender.
            let decided = weather.wait_for(is_decided).await;
            if decided.is_ok_and(|decided| refuses(&decided)) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (client, server) = tokio::io::duplex(PIPE);
            tokio::spawn(self.way.clone().carry(server));
            Ok(Box::new(client) as Box<dyn Transport>)
        })
    }
}
