//! A server process: a server on its own, or a member of an ensemble, with a clock of its own.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::sync::Notify;
use tokio::time;
use zk_embedded::{ConnectionId, Database, Instant, Throttling, Timestamp, Transmit};
use zk_jute::SessionId;
use zk_simulation::ensemble::{Member, PeerOutput, Server};

use super::lines::{Peer, member_id};

/// The condition of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Running,
    /// It does nothing, while its clock goes on and its input waits.
    Paused,
    /// No process runs.
    Down,
}

/// Does the same with either kind of server.
macro_rules! either {
    ($host:expr, $server:ident => $work:expr) => {
        match &mut $host.server {
            Server::Alone($server) => $work,
            Server::Member($server) => $work,
        }
    };
}

#[derive(Debug)]
pub(super) struct Host {
    server: Server,
    condition: Condition,
    /// The tasks that carry the connections: each hears when bytes wait to be sent, or to be
    /// received.
    carriers: BTreeMap<ConnectionId, Arc<Notify>>,
    /// The tasks that wait for the process to take a connection.
    waiting: Vec<Arc<Notify>>,
    clock: Clock,
}

/// A clock that may run fast or slow, by at most two percent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) origin: time::Instant,
    /// Of what passes on it in a million microseconds.
    pub(super) rate: u32,
}

/// That of a clock that runs right.
pub(super) const RIGHT: u32 = 1_000_000;

impl Clock {
    fn now(self) -> Instant {
        let micros = self.origin.elapsed().as_micros() * u128::from(self.rate);
        Instant::since_origin(micros_of(micros / u128::from(RIGHT)))
    }

    /// Returns the time at which the clock shows that, or a little later.
    fn when(self, at: Instant) -> time::Instant {
        let micros = at.elapsed().as_micros() * u128::from(RIGHT);
        // More than what rounding takes away: a timer that is early would be early for ever.
        self.origin + micros_of(micros / u128::from(self.rate) + 10)
    }
}

fn micros_of(micros: u128) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

impl Host {
    pub(super) fn new(server: Server, clock: Clock) -> Self {
        let condition = Condition::Running;
        Self { server, condition, carriers: BTreeMap::new(), waiting: Vec::new(), clock }
    }

    pub(super) fn condition(&self) -> Condition {
        self.condition
    }

    pub(super) fn is(&self, condition: Condition) -> bool {
        self.condition == condition
    }

    /// Returns a notifier of changes of the condition.
    pub(super) fn wait(&mut self) -> Arc<Notify> {
        let waits = Arc::new(Notify::new());
        self.waiting.push(Arc::clone(&waits));
        waits
    }

    /// Begins or ends a pause.
    pub(super) fn turn(&mut self, condition: Condition) {
        self.condition = condition;
        self.carriers.values().for_each(|carrier| carrier.notify_one());
        self.waiting.drain(..).for_each(|waits| waits.notify_one());
    }

    /// Makes a connection, unless the server has too many.
    pub(super) fn open(&mut self) -> Option<(ConnectionId, Arc<Notify>)> {
        let (now, peer) = (self.clock.now(), SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
        let id = either!(self, server => server.open(now, peer)).ok()?;
        let carrier = Arc::new(Notify::new());
        self.carriers.insert(id, Arc::clone(&carrier));
        Some((id, carrier))
    }

    pub(super) fn receive(&mut self, id: ConnectionId, bytes: &[u8]) {
        let now = self.clock.now();
        if self.carriers.contains_key(&id) {
            either!(self, server => server.receive(now, id, bytes));
        }
    }

    /// Takes the bytes to send. A connection of a process that is gone is over.
    pub(super) fn take(&mut self, id: ConnectionId) -> (BytesMut, Transmit) {
        let (now, mut bytes) = (self.clock.now(), BytesMut::new());
        if !self.carriers.contains_key(&id) {
            return (bytes, Transmit::Close);
        }
        if !self.is(Condition::Running) {
            return (bytes, Transmit::Open);
        }
        loop {
            let before = bytes.len();
            let transmit = either!(self, server => server.poll_transmit(now, id, &mut bytes));
            if bytes.len() == before {
                return (bytes, transmit);
            }
        }
    }

    pub(super) fn close(&mut self, id: ConnectionId) {
        if self.carriers.remove(&id).is_some() {
            either!(self, server => server.close(id));
        }
    }

    /// Ends all connections, as if the network did it.
    pub(super) fn drop_connections(&mut self) {
        for (id, carrier) in core::mem::take(&mut self.carriers) {
            either!(self, server => server.close(id));
            carrier.notify_one();
        }
    }

    /// Returns the sessions of its clients, which end with its process: those of a server on its own, now.
    pub(super) fn shut_down(&mut self) -> Vec<SessionId> {
        match &mut self.server {
            Server::Alone(server) => {
                server.shut_down(self.clock.now());
                Vec::new()
            }
            Server::Member(member) => member.connected_sessions(),
        }
    }

    /// Ends these sessions at once, if it decides about them.
    pub(super) fn end_sessions(&mut self, sessions: &[SessionId]) {
        let now = self.clock.now();
        self.server.end_sessions(now, sessions);
    }

    /// Lets the clock by which sessions end go forward, if it leads others.
    pub(super) fn step_wall_clock(&mut self, step: Duration) {
        self.server.step_wall_clock(step);
    }

    /// Sets the clock of the day, by what it would have shown when the run began.
    pub(super) fn set_wall_clock_at_origin(&mut self, time: Timestamp) {
        self.server.set_wall_clock_at_origin(time);
    }

    /// Ends the process, which loses all that it had not on disk.
    pub(super) fn crash(&mut self) {
        self.drop_connections();
        self.turn(Condition::Down);
    }

    pub(super) fn restart(&mut self) {
        let now = self.clock.now();
        either!(self, server => server.restart(now));
        self.turn(Condition::Running);
    }

    pub(super) fn hear(&mut self, from: usize, peer: Peer) {
        let now = self.clock.now();
        if let Server::Member(member) = &mut self.server {
            match peer {
                Peer::Message(message) => member.handle_peer(now, member_id(from), message),
                Peer::Reset => member.handle_peer_reset(now, member_id(from)),
            }
        }
    }

    pub(super) fn handle_timeout(&mut self) {
        let now = self.clock.now();
        either!(self, server => server.handle_timeout(now));
    }

    pub(super) fn next_timeout(&self) -> Option<time::Instant> {
        let timeout = match &self.server {
            Server::Alone(server) => server.poll_timeout(),
            Server::Member(member) => member.poll_timeout(),
        };
        timeout.map(|at| self.clock.when(at))
    }

    /// Tells the carriers that there is something to send, and gives what is to be said to the other
    /// members.
    pub(super) fn settle(&mut self) -> Vec<PeerOutput> {
        while let Some(id) = either!(self, server => server.poll_ready()) {
            if let Some(carrier) = self.carriers.get(&id) {
                carrier.notify_one();
            }
        }
        match &mut self.server {
            Server::Alone(_) => Vec::new(),
            Server::Member(member) => core::iter::from_fn(|| member.poll_peer()).collect(),
        }
    }

    pub(super) fn database(&self) -> &Database {
        match &self.server {
            Server::Alone(server) => server.database(),
            Server::Member(member) => member.database(),
        }
    }

    pub(super) fn member(&mut self) -> Option<&mut Member> {
        match &mut self.server {
            Server::Alone(_) => None,
            Server::Member(member) => Some(member),
        }
    }

    pub(super) fn set_throttling(&mut self, throttling: Throttling) {
        either!(self, server => server.set_throttling(throttling));
    }

    /// Writes the bound, as the operator, into the file that the process reads when it starts.
    pub(super) fn set_longest_timeout(&mut self, longest: Duration) {
        let bounds = super::SHORTEST_TIMEOUT..=longest;
        either!(self, server => server.set_session_timeouts(bounds));
    }
}
