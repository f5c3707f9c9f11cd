//! The embedded server's core, its connections, and the lies between them.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use bytes::BytesMut;
use election_tokio::SessionId;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use zk_embedded::{Config, ConnectionId, Database, Standalone, Transmit};
use zk_jute::OpCode;

use crate::cuts::{Cuts, Fate};
use crate::lies::{Events, Lie, echo, request};

/// How often the server looks what is due, as real ones do.
pub(crate) const TICK: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct State {
    core: Standalone,
    started: Instant,
    links: BTreeMap<ConnectionId, Link>,
    /// Connections of clients so far.
    pub(crate) accepted: u64,
    /// The traffic of each connection so far.
    traffic: BTreeMap<ConnectionId, Traffic>,
    /// Requests so far, without pings.
    pub(crate) requests: Vec<OpCode>,
    /// The answers to the next requests with these opcodes, instead of the truth.
    pub(crate) lies: Vec<(OpCode, Lie)>,
    /// The next connections that are cut.
    pub(crate) cuts: Option<Cuts>,
    /// The requests that the server is too old for.
    pub(crate) unknown: Vec<OpCode>,
    pub(crate) events: Events,
    pub(crate) door: Door,
    /// How long each answer is on its way.
    pub(crate) latency: Duration,
}

/// Whether clients can connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Open,
    Shut,
}

/// The connection of a client.
#[derive(Debug)]
struct Link {
    outgoing: mpsc::UnboundedSender<Outgoing>,
    task: AbortHandle,
    /// Requests so far, without pings.
    requests: usize,
}

/// A message to a client.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Bytes { arrive: Instant, bytes: BytesMut },
    End,
}

/// The traffic of a connection: whole frames, with their lengths.
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

impl State {
    /// Makes a server that grants any timeout, and takes any number of connections.
    pub(crate) fn new(mut config: Config) -> Self {
        config.tick_time = TICK;
        config.session_timeouts = Duration::ZERO..=Duration::MAX;
        config.limits.max_client_connections = 0;
        Self {
            core: Standalone::new(zk_embedded::Instant::ORIGIN, &config),
            started: Instant::now(),
            links: BTreeMap::new(),
            accepted: 0,
            traffic: BTreeMap::new(),
            requests: Vec::new(),
            lies: Vec::new(),
            cuts: None,
            unknown: Vec::new(),
            events: Events::Told,
            door: Door::Open,
            latency: Duration::ZERO,
        }
    }

    fn now(&self) -> zk_embedded::Instant {
        let elapsed = Instant::now().saturating_duration_since(self.started);
        zk_embedded::Instant::since_origin(elapsed)
    }

    /// Returns the time at which the server next does what is due.
    pub(crate) fn next_tick(&self) -> Instant {
        let elapsed = Instant::now().saturating_duration_since(self.started);
        let ticks = u32::try_from(elapsed.as_secs() / TICK.as_secs()).expect("a short test");
        self.started + TICK * (ticks + 1)
    }

    /// Does what is due.
    pub(crate) fn catch_up(&mut self) {
        let now = self.now();
        self.core.handle_timeout(now);
        self.flush();
    }

    pub(crate) fn database(&self) -> &Database {
        self.core.database()
    }

    /// Returns the number of clients that are connected.
    pub(crate) fn connections(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn traffic(&self) -> impl Iterator<Item = &Traffic> {
        self.traffic.values()
    }

    pub(crate) fn count(&mut self, connection: ConnectionId, count: impl FnOnce(&mut Traffic)) {
        count(self.traffic.entry(connection).or_default());
    }

    pub(crate) fn open(&mut self) -> ConnectionId {
        let peer = SocketAddr::from(([127, 0, 0, 1], 50_000));
        self.core.open(self.now(), peer).expect("there is no limit")
    }

    /// Connects a client to the server; the task carries between the two.
    pub(crate) fn link(
        &mut self,
        connection: ConnectionId,
        outgoing: mpsc::UnboundedSender<Outgoing>,
        task: AbortHandle,
    ) {
        self.accepted += 1;
        self.links.insert(connection, Link { outgoing, task, requests: 0 });
    }

    pub(crate) fn close(&mut self, connection: ConnectionId) {
        self.links.remove(&connection);
        self.core.close(connection);
    }

    /// Ends all connections of clients: what is on its way is lost.
    pub(crate) fn cut(&mut self) {
        for (connection, link) in core::mem::take(&mut self.links) {
            link.task.abort();
            self.core.close(connection);
        }
    }

    pub(crate) fn expire(&mut self, session: SessionId) {
        self.core.expire(self.now(), session).expect("it has not ended");
        self.flush();
    }

    /// Handles a client's first frame.
    pub(crate) fn greet(&mut self, connection: ConnectionId, frame: &[u8]) {
        self.core.receive(self.now(), connection, frame);
        self.flush();
    }

    /// Handles any other frame of a client.
    pub(crate) fn answer(&mut self, connection: ConnectionId, frame: &[u8]) {
        let (header, body) = request(frame);
        if header.opcode != OpCode::PING {
            self.requests.push(header.opcode);
            if let Some(fate) = self.next_cut(connection, header.opcode) {
                if fate == Fate::Executed {
                    self.core.receive(self.now(), connection, frame);
                }
                self.cut_one(connection);
                self.flush();
                return;
            }
        }
        if let Some(lie) = self.next_lie(header.opcode) {
            self.send(connection, lie.answer(header));
            if lie == Lie::TooNew {
                self.hang_up(connection);
            }
        } else if header.opcode == OpCode::SASL {
            self.send(connection, echo(header, body));
        } else {
            self.core.receive(self.now(), connection, frame);
            self.flush();
        }
    }

    fn next_cut(&mut self, connection: ConnectionId, opcode: OpCode) -> Option<Fate> {
        let link = self.links.get_mut(&connection)?;
        let after = link.requests;
        link.requests += 1;
        self.cuts.as_mut()?.next(after, opcode)
    }

    /// Ends the connection of a client: what is on its way is lost, in both directions.
    fn cut_one(&mut self, connection: ConnectionId) {
        if let Some(link) = self.links.remove(&connection) {
            link.task.abort();
            self.core.close(connection);
        }
    }

    fn next_lie(&mut self, request: OpCode) -> Option<Lie> {
        if self.unknown.contains(&request) {
            return Some(Lie::TooNew);
        }
        let next = self.lies.iter().position(|(about, _)| *about == request)?;
        Some(self.lies.remove(next).1)
    }

    /// Returns the server's answer to these bytes on a connection that is no client's.
    pub(crate) fn exchange(&mut self, connection: ConnectionId, bytes: &[u8]) -> BytesMut {
        let now = self.now();
        let mut answer = BytesMut::new();
        self.core.receive(now, connection, bytes);
        self.core.poll_transmit(now, connection, &mut answer);
        self.flush();
        answer
    }

    /// Hands out what the core has for its clients.
    fn flush(&mut self) {
        let now = self.now();
        while let Some(connection) = self.core.poll_ready() {
            let mut output = BytesMut::new();
            let transmit = loop {
                let length = output.len();
                let transmit = self.core.poll_transmit(now, connection, &mut output);
                if output.len() == length {
                    break transmit;
                }
            };
            let told = self.events.filter(output);
            self.send(connection, told);
            if transmit == Transmit::Close {
                self.hang_up(connection);
            }
        }
    }

    fn send(&self, connection: ConnectionId, bytes: BytesMut) {
        if let Some(link) = self.links.get(&connection)
            && !bytes.is_empty()
        {
            let arrive = Instant::now() + self.latency;
            let _ = link.outgoing.send(Outgoing::Bytes { arrive, bytes });
        }
    }

    /// Ends a connection behind what it is to get.
    fn hang_up(&mut self, connection: ConnectionId) {
        self.core.close(connection);
        if let Some(link) = self.links.get(&connection) {
            let _ = link.outgoing.send(Outgoing::End);
        }
    }
}
