//! The hosts of the servers: a server on its own, or a member of an ensemble, with its clock and
//! its clients' connections.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;

use bytes::BytesMut;
use zk_embedded::{ConnectionId, Database, Instant, TooManyConnections, Transmit};
use zk_jute::SessionId;

use super::clock::{Clock, Time};
use super::ensemble::{MemberId, MemberRole, PeerMessage, PeerOutput, Server};
use super::links::NodeId;
use super::network::ConnKey;

/// The condition of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Running,
    /// It does nothing, while its clock goes on and its input waits.
    Paused,
    /// No process runs.
    Down,
}

#[derive(Debug)]
pub(super) struct Host {
    pub(super) server: Server,
    pub(super) clock: Clock,
    pub(super) condition: Condition,
    pub(super) wake_at: Option<Time>,
    /// How many faults make it refuse connections.
    pub(super) refusals: u32,
    keys: BTreeMap<ConnectionId, ConnKey>,
    ids: BTreeMap<ConnKey, ConnectionId>,
}

impl Host {
    pub(super) const fn new(server: Server, clock: Clock) -> Self {
        Self {
            server,
            clock,
            condition: Condition::Running,
            wake_at: None,
            refusals: 0,
            keys: BTreeMap::new(),
            ids: BTreeMap::new(),
        }
    }

    pub(super) fn now(&self, now: Time) -> Instant {
        Instant::since_origin(self.clock.reading(now))
    }

    pub(super) fn takes_connections(&self) -> bool {
        self.condition != Condition::Down && self.refusals == 0
    }

    /// Whether the server says so, if it is asked.
    pub(super) fn takes_writes(&self) -> bool {
        let is_free = self.condition == Condition::Running && self.refusals == 0;
        is_free
            && match &self.server {
                Server::Alone(_) => true,
                Server::Member(member) => member.takes_writes(),
            }
    }

    /// Whether the server took the connection.
    pub(super) fn open(
        &mut self,
        now: Time,
        key: ConnKey,
        client: NodeId,
    ) -> Result<(), TooManyConnections> {
        let now = self.now(now);
        let last = u8::try_from(client.0).unwrap_or(u8::MAX);
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), 40_000);
        let id = match &mut self.server {
            Server::Alone(server) => server.open(now, peer),
            Server::Member(member) => member.open(now, peer),
        }?;
        self.keys.insert(id, key);
        self.ids.insert(key, id);
        Ok(())
    }

    pub(super) fn receive(&mut self, now: Time, key: ConnKey, bytes: &[u8]) {
        let now = self.now(now);
        if let Some(id) = self.ids.get(&key) {
            match &mut self.server {
                Server::Alone(server) => server.receive(now, *id, bytes),
                Server::Member(member) => member.receive(now, *id, bytes),
            }
        }
    }

    pub(super) fn close(&mut self, key: ConnKey) {
        if let Some(id) = self.ids.remove(&key) {
            self.keys.remove(&id);
            match &mut self.server {
                Server::Alone(server) => server.close(id),
                Server::Member(member) => member.close(id),
            }
        }
    }

    /// Returns the next connection with bytes to send, and whether it is to be closed behind them.
    pub(super) fn poll_client(
        &mut self,
        now: Time,
        output: &mut BytesMut,
    ) -> Option<(ConnKey, Transmit)> {
        let now = self.now(now);
        loop {
            let id = match &mut self.server {
                Server::Alone(server) => server.poll_ready(),
                Server::Member(member) => member.poll_ready(),
            }?;
            let transmit = self.transmit(now, id, output);
            if let Some(key) = self.keys.get(&id) {
                return Some((*key, transmit));
            }
            output.clear();
        }
    }

    fn transmit(&mut self, now: Instant, id: ConnectionId, output: &mut BytesMut) -> Transmit {
        loop {
            let before = output.len();
            let transmit = match &mut self.server {
                Server::Alone(server) => server.poll_transmit(now, id, output),
                Server::Member(member) => member.poll_transmit(now, id, output),
            };
            if transmit == Transmit::Close || output.len() == before {
                return transmit;
            }
        }
    }

    pub(super) fn handle_peer(&mut self, now: Time, from: NodeId, message: PeerMessage) {
        let now = self.now(now);
        if let Server::Member(member) = &mut self.server {
            member.handle_peer(now, member_id(from), message);
        }
    }

    pub(super) fn handle_peer_reset(&mut self, now: Time, from: NodeId) {
        let now = self.now(now);
        if let Server::Member(member) = &mut self.server {
            member.handle_peer_reset(now, member_id(from));
        }
    }

    pub(super) fn poll_peer(&mut self) -> Option<PeerOutput> {
        match &mut self.server {
            Server::Alone(_) => None,
            Server::Member(member) => member.poll_peer(),
        }
    }

    /// Ends these sessions at once, if it decides about them.
    pub(super) fn end_sessions(&mut self, now: Time, sessions: &[SessionId]) {
        let now = self.now(now);
        self.server.end_sessions(now, sessions);
    }

    /// Lets the clock by which sessions end go forward, if it leads others.
    pub(super) fn step_wall_clock(&mut self, step: Duration) {
        self.server.step_wall_clock(step);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        let now = self.now(now);
        match &mut self.server {
            Server::Alone(server) => server.handle_timeout(now),
            Server::Member(member) => member.handle_timeout(now),
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Time> {
        let timeout = match &self.server {
            Server::Alone(server) => server.poll_timeout(),
            Server::Member(member) => member.poll_timeout(),
        };
        timeout.map(|at| self.clock.when(at.elapsed()))
    }

    /// Ends the process, which loses all that it had not on disk; the connections are the network's.
    pub(super) fn crash(&mut self) {
        self.condition = Condition::Down;
        self.keys.clear();
        self.ids.clear();
    }

    pub(super) fn restart(&mut self, now: Time) {
        let now = self.now(now);
        self.condition = Condition::Running;
        if let Server::Member(member) = &mut self.server {
            member.restart(now);
        }
    }

    pub(super) fn database(&self) -> &Database {
        match &self.server {
            Server::Alone(server) => server.database(),
            Server::Member(member) => member.database(),
        }
    }

    /// Returns the database of the server that has applied most.
    pub(super) fn newest(hosts: &[Self]) -> Option<&Database> {
        hosts.iter().map(Self::database).max_by_key(|database| database.last_zxid())
    }

    /// Returns the number of watches that the server says that it keeps, asked by a connection of
    /// its own.
    pub(super) fn watches(&mut self, now: Time) -> usize {
        let now = self.now(now);
        let peer = SocketAddr::from(([127, 0, 0, 1], 4));
        let mut answer = BytesMut::new();
        let opened = match &mut self.server {
            Server::Alone(server) => server.open(now, peer),
            Server::Member(member) => member.open(now, peer),
        };
        let Ok(id) = opened else {
            return 0;
        };
        match &mut self.server {
            Server::Alone(server) => server.receive(now, id, b"wchs"),
            Server::Member(member) => member.receive(now, id, b"wchs"),
        }
        self.transmit(now, id, &mut answer);
        match &mut self.server {
            Server::Alone(server) => server.close(id),
            Server::Member(member) => member.close(id),
        }
        watches_told(&answer)
    }

    /// Returns the member's role among the others; `None` of a server on its own.
    pub(super) fn role(&self) -> Option<MemberRole> {
        match &self.server {
            Server::Alone(_) => None,
            Server::Member(member) => Some(member.role()),
        }
    }
}

/// Returns the number of a member: they are numbered from 1.
pub(super) fn member_id(node: NodeId) -> MemberId {
    MemberId(u8::try_from(node.0 + 1).unwrap_or(u8::MAX))
}

pub(super) fn node_of(member: MemberId) -> NodeId {
    NodeId(usize::from(member.0).saturating_sub(1))
}

/// Returns the number at the end of the answer to `wchs`.
fn watches_told(answer: &[u8]) -> usize {
    let text = String::from_utf8_lossy(answer);
    let number = text.trim_end().rsplit_once(':').map(|(_, number)| number);
    number.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}
