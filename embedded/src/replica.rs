//! The work that every server of an ensemble does by itself: connections, reads, watches, and the
//! copy of the database that they use.

mod connection;
mod dispatch;
mod four_letter;
mod handshake;
mod outcome;
mod reads;
mod session_id;
mod touches;
mod watching;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::net::{IpAddr, SocketAddr};
use core::ops::RangeInclusive;
use core::time::Duration;

use bytes::BytesMut;
use zk_jute::{SessionId, Zxid};

use self::connection::{Connection, Established, Intake, Phase, Scope};
use self::session_id::first_session;
use self::touches::TouchTable;
use crate::config::{Config, Throttling};
use crate::database::Database;
use crate::forward::{Forward, Ticket};
use crate::mode::ServerMode;
use crate::time::Instant;
use crate::transport::{ConnectionId, TooManyConnections, Transmit};
use crate::txn::{Diverged, TreeChange, Txn, TxnBody};
use crate::watches::Watches;

/// How long a connection may take to begin a session (`zookeeper.nio.sessionlessCnxnTimeout`).
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A server without the power to decide. It answers reads from its own [`Database`] and forwards
/// every other request; it answers those once it has applied their transactions.
#[derive(Debug)]
pub struct Replica {
    config: Config,
    mode: ServerMode,
    database: Database,
    watches: Watches,
    connections: BTreeMap<ConnectionId, Connection>,
    by_session: BTreeMap<SessionId, ConnectionId>,
    by_address: BTreeMap<IpAddr, usize>,
    handshake_deadlines: BTreeSet<(Instant, ConnectionId)>,
    /// Sessions that only this replica knows. It makes them while it is read-only.
    local_sessions: BTreeSet<SessionId>,
    forwards: VecDeque<(Ticket, Forward)>,
    touches: TouchTable,
    /// Sessions that the leader has marked closing, if this is the leader's own replica.
    closing_sessions: BTreeSet<SessionId>,
    throttling: Throttling,
    ready: BTreeSet<ConnectionId>,
    next_connection: u64,
    next_session: SessionId,
    frames_received: u64,
    frames_sent: u64,
}

impl Replica {
    /// Creates a replica that begins with `database`.
    pub fn new(config: &Config, database: Database, mode: ServerMode) -> Self {
        Self {
            mode,
            database,
            watches: Watches::new(config.limits.max_watch_bytes),
            connections: BTreeMap::new(),
            by_session: BTreeMap::new(),
            by_address: BTreeMap::new(),
            handshake_deadlines: BTreeSet::new(),
            local_sessions: BTreeSet::new(),
            forwards: VecDeque::new(),
            touches: TouchTable::default(),
            closing_sessions: BTreeSet::new(),
            throttling: Throttling::Off,
            ready: BTreeSet::new(),
            next_connection: 1,
            next_session: first_session(config),
            frames_received: 0,
            frames_sent: 0,
            config: config.clone(),
        }
    }

    /// Returns what this replica has applied so far.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the role of this server in its ensemble.
    pub fn mode(&self) -> ServerMode {
        self.mode
    }

    /// Changes the role of this server. It closes all connections, as servers do when they gain or
    /// lose a leader, and forgets the requests that it forwarded.
    pub fn set_mode(&mut self, mode: ServerMode) {
        self.mode = mode;
        self.drop_connections();
        self.local_sessions.clear();
        self.forwards.clear();
        self.touches = TouchTable::default();
        self.closing_sessions.clear();
    }

    /// Registers the connection of a client.
    ///
    /// # Errors
    ///
    /// [`TooManyConnections`] if a limit of the configuration is reached.
    pub fn open(
        &mut self,
        now: Instant,
        peer: SocketAddr,
    ) -> Result<ConnectionId, TooManyConnections> {
        // As in Java: an IPv4 peer of an IPv6 socket counts as an IPv4 peer.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let limits = self.config.limits;
        let from_there = self.by_address.get(&peer.ip()).copied().unwrap_or(0);
        if reaches(self.connections.len(), limits.max_connections) {
            return Err(TooManyConnections::InTotal { limit: limits.max_connections });
        }
        if reaches(from_there, limits.max_client_connections) {
            let limit = limits.max_client_connections;
            return Err(TooManyConnections::FromAddress { limit });
        }
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        self.by_address.insert(peer.ip(), from_there + 1);
        let handshake_due = now + HANDSHAKE_TIMEOUT;
        self.connections.insert(id, Connection::new(peer, handshake_due));
        self.handshake_deadlines.insert((handshake_due, id));
        Ok(id)
    }

    /// Takes bytes from the transport: any number of them, from anywhere in a frame.
    pub fn receive(&mut self, id: ConnectionId, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if let Phase::Established(Established { session, timeout, scope: Scope::Ensemble, .. }) =
            connection.phase
            && connection.count_requests(bytes) > 0
        {
            self.touches.put(session, timeout);
        }
        if connection.has_input() {
            let input = connection.take_input(bytes);
            let used = self.read(id, &input);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.put_back(input, used);
            }
        } else {
            let used = self.read(id, bytes);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.keep_input(bytes.get(used..).unwrap_or_default(), used);
            }
        }
    }

    /// Returns whether the driver should read from the transport. It should not while requests wait
    /// for the client to take its replies, or for a write to be committed. The replica keeps what
    /// it receives nevertheless.
    pub fn wants_input(&self, id: ConnectionId) -> bool {
        self.connections.get(&id).is_some_and(|connection| {
            connection.intake == Intake::Starved && !matches!(connection.phase, Phase::Closing)
        })
    }

    /// Returns whether this replica has closed the connection, or does not know it. The driver may
    /// then send what is left, and reads no more.
    pub fn is_closing(&self, id: ConnectionId) -> bool {
        let is_closing = |connection: &Connection| matches!(connection.phase, Phase::Closing);
        self.connections.get(&id).is_none_or(is_closing)
    }

    /// Appends the bytes to send to `output`, then continues with requests that waited for that.
    /// Call it until it appends nothing.
    pub fn poll_transmit(&mut self, id: ConnectionId, output: &mut BytesMut) -> Transmit {
        self.ready.remove(&id);
        let Some(connection) = self.connections.get_mut(&id) else {
            return Transmit::Close;
        };
        connection.drain_into(output);
        if connection.intake == Intake::Stalled {
            self.go_on(id);
        }
        match self.connections.get(&id) {
            Some(connection)
                if !matches!(connection.phase, Phase::Closing) || connection.unsent() > 0 =>
            {
                Transmit::Open
            }
            Some(_) | None => Transmit::Close,
        }
    }

    /// Returns a connection that has bytes to send, or has to be closed.
    pub fn poll_ready(&mut self) -> Option<ConnectionId> {
        self.ready.pop_first()
    }

    /// Forgets a connection; its transport is closed. The session goes on.
    pub fn close(&mut self, id: ConnectionId) {
        self.end(id);
        self.ready.remove(&id);
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        self.handshake_deadlines.remove(&(connection.handshake_due, id));
        self.frames_sent += connection.frames_sent;
        let address = connection.peer.ip();
        let left = self.by_address.get(&address).map_or(0, |count| count - 1);
        if left == 0 {
            self.by_address.remove(&address);
        } else {
            self.by_address.insert(address, left);
        }
    }

    /// Returns the sessions whose clients are connected.
    pub fn connected_sessions(&self) -> impl Iterator<Item = SessionId> {
        self.by_session.keys().copied()
    }

    /// Closes all connections. The sessions go on.
    pub fn drop_connections(&mut self) {
        let all: alloc::vec::Vec<ConnectionId> = self.connections.keys().copied().collect();
        for id in all {
            self.end(id);
        }
    }

    /// Closes connections that have begun no session in time.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, id)) = self.handshake_deadlines.first().filter(|(at, _)| *at <= now) {
            let id = *id;
            self.handshake_deadlines.pop_first();
            self.end(id);
        }
    }

    /// Returns when to call [`Replica::handle_timeout`] next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.handshake_deadlines.first().map(|(at, _)| *at)
    }

    /// Returns the next request to the leader, with a ticket that comes back with the answer.
    pub fn poll_forward(&mut self) -> Option<(Ticket, Forward)> {
        self.forwards.pop_front()
    }

    /// Returns a session that was heard of since the last call, with the timeout of its connection.
    /// The caller tells the leader ([`Leader::touch`](crate::replication::Leader::touch)); another
    /// server than the leader's does so with its answer to the leader's next heartbeat.
    pub fn poll_touched(&mut self) -> Option<(SessionId, Duration)> {
        self.touches.pop()
    }

    /// Forgets the last touch, if [`Replica::poll_touched`] has returned nothing since: ZooKeeper's
    /// table loses an entry that is made while the table is swapped. An earlier touch of the same
    /// session stays. Returns the session that lost it.
    pub fn lose_last_touch(&mut self) -> Option<SessionId> {
        self.touches.lose_last()
    }

    /// Stops answering a session that the leader has marked closing. Only for the leader's own
    /// replica; see [`Leader::poll_closing`](crate::replication::Leader::poll_closing).
    pub fn mark_closing(&mut self, session: SessionId) {
        if self.database.has_session(session) {
            self.closing_sessions.insert(session);
        }
    }

    /// Sets whether requests count as having waited too long.
    pub const fn set_throttling(&mut self, throttling: Throttling) {
        self.throttling = throttling;
    }

    /// Sets the bounds for session timeouts, as a restart with another [`Config::session_timeouts`]
    /// does. Connections keep the timeout that they were granted.
    pub fn set_session_timeouts(&mut self, bounds: RangeInclusive<Duration>) {
        self.config.session_timeouts = bounds;
    }

    /// Applies the next transaction of the log. `ticket` is that of the request that it comes from,
    /// if this replica forwarded it.
    ///
    /// # Errors
    ///
    /// [`Diverged`] if the transaction does not fit: do not use this replica any more.
    pub fn commit(&mut self, txn: &Txn, ticket: Option<Ticket>) -> Result<(), Diverged> {
        let applied = self.database.apply_and_tell(txn)?;
        for change in &applied.changes {
            self.notify(txn.at.zxid, change);
        }
        self.track(txn);
        self.conclude(txn, &applied.outcome, ticket);
        if let Some(ticket) = ticket {
            self.go_on(ticket.connection);
        }
        Ok(())
    }

    /// Keeps track of the session that the transaction begins or ends.
    fn track(&mut self, txn: &Txn) {
        match (&txn.body, self.mode) {
            // Every learner tracks the session, whichever server its client has connected to.
            (TxnBody::CreateSession { timeout }, ServerMode::Follower | ServerMode::Observer) => {
                self.touches.put(txn.session, *timeout);
            }
            (TxnBody::CloseSession, _) => {
                self.closing_sessions.remove(&txn.session);
            }
            _ => {}
        }
    }

    /// Sends the events of a change to the clients that watch it and may read the znode.
    fn notify(&mut self, zxid: Zxid, change: &TreeChange) {
        for notification in self.watches.fire(change) {
            let Some(connection) = self.connections.get_mut(&notification.connection) else {
                continue;
            };
            let Phase::Established(established) = &connection.phase else {
                continue;
            };
            if notification
                .access
                .grants(zk_jute::records::Permissions::READ, &established.identities)
            {
                connection.send_event(zxid, notification.kind, notification.path);
                self.ready.insert(notification.connection);
                if !connection.is_deliverable(self.config.limits.max_unread) {
                    self.end(notification.connection);
                }
            }
        }
    }

    /// Reads input that was kept back.
    fn go_on(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id)
            && connection.intake == Intake::Stalled
        {
            let input = connection.take_input(&[]);
            let used = self.read(id, &input);
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.put_back(input, used);
            }
        }
    }

    /// Ends a connection from this side: it removes its watches, keeps its session, and sends what
    /// is left to be sent.
    fn end(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if let Phase::Established(established) = &connection.phase
            && self.by_session.get(&established.session) == Some(&id)
        {
            self.by_session.remove(&established.session);
        }
        connection.phase = Phase::Closing;
        self.watches.forget(id);
        self.ready.insert(id);
    }
}

/// Returns whether a limit is reached; 0 is no limit.
const fn reaches(number: usize, limit: usize) -> bool {
    limit > 0 && number >= limit
}
