//! A server without an ensemble: a leader and its only replica.

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;

use bytes::BytesMut;
use zk_jute::SessionId;

use crate::config::{Config, ExpiryPace, Throttling};
use crate::database::Database;
use crate::deviations::Shutdown;
use crate::forward::ReplicaId;
use crate::leader::{Decision, Leader};
use crate::mode::ServerMode;
use crate::replica::Replica;
use crate::time::{Instant, Timestamp};
use crate::transport::{ConnectionId, TooManyConnections, Transmit};
use crate::txn::Txn;

/// The number of the only replica.
const REPLICA: ReplicaId = ReplicaId(1);

/// A whole ZooKeeper server in memory, without socket, clock or thread. See the
/// [crate documentation](crate) for the loop that drives it.
///
/// Every call takes the present moment, which must not be earlier than that of the call before.
/// After each call, [`Standalone::poll_ready`] returns the connections that have something to send.
#[derive(Debug)]
pub struct Standalone {
    leader: Leader,
    replica: Replica,
    config: Config,
}

impl Standalone {
    /// Creates an empty server.
    pub fn new(now: Instant, config: &Config) -> Self {
        let database = Database::first(config);
        Self {
            leader: Leader::new(now, config, &database, database.last_zxid()),
            replica: Replica::new(config, database, ServerMode::Standalone),
            config: config.clone(),
        }
    }

    /// Returns the tree and the sessions.
    pub fn database(&self) -> &Database {
        self.replica.database()
    }

    /// Registers the connection of a client.
    ///
    /// # Errors
    ///
    /// [`TooManyConnections`] if a limit of the configuration is reached. The driver closes the
    /// transport.
    pub fn open(
        &mut self,
        now: Instant,
        peer: SocketAddr,
    ) -> Result<ConnectionId, TooManyConnections> {
        self.replica.open(now, peer)
    }

    /// Takes bytes from the transport: any number of them, from anywhere in a frame.
    pub fn receive(&mut self, now: Instant, id: ConnectionId, bytes: &[u8]) {
        self.replica.receive(id, bytes);
        self.settle(now);
    }

    /// Returns whether the driver should read from the transport. It should not while requests wait
    /// for the client to take its replies. The server keeps what it receives nevertheless, so a
    /// driver that goes on reading decides how much memory a connection takes.
    pub fn wants_input(&self, id: ConnectionId) -> bool {
        self.replica.wants_input(id)
    }

    /// Appends the bytes to send to `output`, then continues with requests that waited for that.
    /// Call it until it appends nothing.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        id: ConnectionId,
        output: &mut BytesMut,
    ) -> Transmit {
        let transmit = self.replica.poll_transmit(id, output);
        self.settle(now);
        transmit
    }

    /// Returns whether the server has closed the connection, or does not know it. The driver may
    /// then send what is left, and reads no more.
    pub fn is_closing(&self, id: ConnectionId) -> bool {
        self.replica.is_closing(id)
    }

    /// Returns a connection that has bytes to send, or has to be closed.
    pub fn poll_ready(&mut self) -> Option<ConnectionId> {
        self.replica.poll_ready()
    }

    /// Forgets a connection; its transport is closed. The session goes on until its timeout has
    /// passed.
    pub fn close(&mut self, id: ConnectionId) {
        self.replica.close(id);
    }

    /// Restarts the server, as from what a process had on disk: it closes connections, and gives
    /// every session the whole timeout again that it was *created* with, whatever was granted to it
    /// later.
    pub fn restart(&mut self, now: Instant) {
        self.replica.set_mode(self.replica.mode());
        let database = self.replica.database();
        self.leader = Leader::new(now, &self.config, database, database.last_zxid());
    }

    /// Sets the bounds for session timeouts from now on. A real server reads them when it starts.
    pub fn set_session_timeouts(&mut self, bounds: RangeInclusive<Duration>) {
        self.replica.set_session_timeouts(bounds.clone());
        self.config.session_timeouts = bounds;
    }

    /// Sets the wall clock, as an operator or a time server does, by what it would have shown at [`Instant::ORIGIN`]: the
    /// `ctime` and `mtime` of later changes follow it. No session ends by it.
    pub const fn set_wall_clock_at_origin(&mut self, time: Timestamp) {
        self.config.wall_clock_at_origin = time;
        self.leader.set_wall_clock_at_origin(time);
    }

    /// Sets whether requests count as having waited too long.
    pub const fn set_throttling(&mut self, throttling: Throttling) {
        self.replica.set_throttling(throttling);
    }

    /// Sets how long the server takes to end a session from now on.
    pub const fn set_expiry_pace(&mut self, pace: ExpiryPace) {
        self.config.expiry_pace = pace;
        self.leader.set_expiry_pace(pace);
    }

    /// Closes all connections. The sessions go on.
    pub fn drop_connections(&mut self) {
        self.replica.drop_connections();
    }

    /// Cuts the session's client off and ends the session at once, as if its timeout had passed
    /// meanwhile: the server closes the connection without a word, then deletes the ephemeral
    /// znodes. The client learns of it when it tries to continue the session.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session has ended, or never existed.
    pub fn expire(&mut self, now: Instant, session: SessionId) -> Result<(), UnknownSession> {
        let txn = self.leader.expire(now, session).ok_or(UnknownSession)?;
        self.replica.end_connection_of(session);
        self.commit(&txn);
        Ok(())
    }

    /// Ends the session at once while its client is connected: the server deletes the ephemeral
    /// znodes, then closes the connection. A client that watches them gets the events before it can
    /// know that its session has ended.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session has ended, or never existed.
    pub fn expire_connected(
        &mut self,
        now: Instant,
        session: SessionId,
    ) -> Result<(), UnknownSession> {
        let txn = self.leader.expire(now, session).ok_or(UnknownSession)?;
        self.commit(&txn);
        Ok(())
    }

    /// Closes all connections, as a member of an ensemble does that shuts down in order while the others
    /// go on. The sessions go on, or end before: see [`Shutdown`].
    pub fn shut_down(&mut self, now: Instant) {
        if self.config.deviations.shutdown == Shutdown::SessionsEnd {
            let connected: Vec<SessionId> = self.replica.connected_sessions().collect();
            for session in connected {
                // One that is closing already ends by itself.
                let _ = self.expire_connected(now, session);
            }
        }
        self.replica.drop_connections();
    }

    /// Does what is due: it ends sessions, deletes containers and znodes with a time to live, and
    /// closes connections that began no session. Calling it early does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.replica.handle_timeout(now);
        while let Some(txn) = self.leader.poll_due(now, self.replica.database()) {
            self.commit(&txn);
        }
        self.mark_closing();
    }

    /// Returns when to call [`Standalone::handle_timeout`] next; `None` if nothing is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let leader = self.leader.poll_timeout(self.replica.database());
        leader.into_iter().chain(self.replica.poll_timeout()).min()
    }

    /// Decides on every request of the replica. A decision may let the replica continue with
    /// requests that ask for more.
    fn settle(&mut self, now: Instant) {
        while let Some((session, timeout)) = self.replica.poll_touched() {
            // The replica already knows of a session that is closing.
            self.leader.touch(now, session, timeout);
        }
        while let Some((ticket, forward)) = self.replica.poll_forward() {
            let database = self.replica.database();
            match self.leader.decide(now, database, REPLICA, &forward) {
                Decision::Propose(txn) => {
                    let committed = self.replica.commit(&txn, Some(ticket));
                    committed.expect("the transaction was made for this very database");
                    self.leader.handle_applied(txn.at.zxid);
                }
                Decision::Answer(answer) => self.replica.answer(ticket, answer),
            }
        }
        self.mark_closing();
    }

    fn mark_closing(&mut self) {
        while let Some(session) = self.leader.poll_closing() {
            self.replica.mark_closing(session);
        }
    }

    fn commit(&mut self, txn: &Txn) {
        let committed = self.replica.commit(txn, None);
        committed.expect("the transaction was made for this very database");
        self.leader.handle_applied(txn.at.zxid);
    }
}

/// The session has ended, or never existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such session")]
pub struct UnknownSession;
