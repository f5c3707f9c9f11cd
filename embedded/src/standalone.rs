//! A server without an ensemble: a leader and its only replica.

use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;

use bytes::BytesMut;
use zk_jute::SessionId;

use crate::config::{Config, ExpiryPace, Throttling};
use crate::database::Database;
use crate::forward::ReplicaId;
use crate::leader::{Decision, Leader};
use crate::mode::ServerMode;
use crate::replica::Replica;
use crate::time::Instant;
use crate::transport::{ConnectionId, TooManyConnections, Transmit};
use crate::txn::Txn;

/// The number of the only replica.
const REPLICA: ReplicaId = ReplicaId(1);

/// A whole ZooKeeper server in memory, without socket, clock or thread. See the
/// [crate documentation](crate) for the loop that drives it.
///
/// Every call takes the present moment; it must not be earlier than that of the call before. After
/// each call, [`Standalone::poll_ready`] tells which connections have something to send.
#[derive(Debug)]
pub struct Standalone {
    leader: Leader,
    replica: Replica,
    config: Config,
}

impl Standalone {
    /// An empty server.
    pub fn new(now: Instant, config: &Config) -> Self {
        let database = Database::first(config);
        Self {
            leader: Leader::new(now, config, &database, database.last_zxid()),
            replica: Replica::new(config, database, ServerMode::Standalone),
            config: config.clone(),
        }
    }

    /// The tree and the sessions.
    pub fn database(&self) -> &Database {
        self.replica.database()
    }

    /// A client has connected.
    ///
    /// # Errors
    ///
    /// [`TooManyConnections`] at the limits of the configuration: the transport is to be closed.
    pub fn open(
        &mut self,
        now: Instant,
        peer: SocketAddr,
    ) -> Result<ConnectionId, TooManyConnections> {
        self.replica.open(now, peer)
    }

    /// The transport delivered bytes: any number, from anywhere in a frame.
    pub fn receive(&mut self, now: Instant, id: ConnectionId, bytes: &[u8]) {
        self.replica.receive(id, bytes);
        self.settle(now);
    }

    /// Whether the driver is to read from the transport: not while requests wait for the client to
    /// take its replies. What is received nevertheless is kept, so that a driver that reads
    /// nevertheless sets the bound on a connection's memory.
    pub fn wants_input(&self, id: ConnectionId) -> bool {
        self.replica.wants_input(id)
    }

    /// Appends what is to be sent to `output`, then goes on with requests that waited for that. To
    /// be called until it appends nothing.
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

    /// Whether the server has closed the connection, or does not know it: what is left to be sent
    /// may be sent, and nothing is read any more.
    pub fn is_closing(&self, id: ConnectionId) -> bool {
        self.replica.is_closing(id)
    }

    /// A connection that has something to send, or is to be closed.
    pub fn poll_ready(&mut self) -> Option<ConnectionId> {
        self.replica.poll_ready()
    }

    /// The transport is closed. The session goes on until its time is over.
    pub fn close(&mut self, id: ConnectionId) {
        self.replica.close(id);
    }

    /// Starts again, as with what a process had on disk: connections are closed, and every session
    /// has the whole timeout before it that it was *created* with, whatever was granted to it
    /// later.
    pub fn restart(&mut self, now: Instant) {
        self.replica.drop_connections();
        let database = self.replica.database();
        self.leader = Leader::new(now, &self.config, database, database.last_zxid());
    }

    /// What session timeouts are brought into from now on: a real server learns of it when it
    /// starts.
    pub fn set_session_timeouts(&mut self, bounds: RangeInclusive<Duration>) {
        self.replica.set_session_timeouts(bounds.clone());
        self.config.session_timeouts = bounds;
    }

    /// Whether requests are found to have waited too long, from now on.
    pub const fn set_throttling(&mut self, throttling: Throttling) {
        self.replica.set_throttling(throttling);
    }

    /// How long the end of a session takes from now on.
    pub const fn set_expiry_pace(&mut self, pace: ExpiryPace) {
        self.config.expiry_pace = pace;
        self.leader.set_expiry_pace(pace);
    }

    /// Closes all connections. The sessions go on.
    pub fn drop_connections(&mut self) {
        self.replica.drop_connections();
    }

    /// Cuts the session's client off, and ends the session at once, as if its time had passed
    /// meanwhile: the connection is closed without a word, then the ephemeral znodes go. The client
    /// learns of it when it tries to go on with the session.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session is over already, or never was.
    pub fn expire(&mut self, now: Instant, session: SessionId) -> Result<(), UnknownSession> {
        let txn = self.leader.expire(now, session).ok_or(UnknownSession)?;
        self.replica.end_connection_of(session);
        self.commit(&txn);
        Ok(())
    }

    /// Ends the session at once while its client is connected: the ephemeral znodes go, then the
    /// connection is closed. A client that watches them is told that they are gone before it can
    /// know that its session is.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session is over already, or never was.
    pub fn expire_connected(
        &mut self,
        now: Instant,
        session: SessionId,
    ) -> Result<(), UnknownSession> {
        let txn = self.leader.expire(now, session).ok_or(UnknownSession)?;
        self.commit(&txn);
        Ok(())
    }

    /// Does what is due: ends sessions, reaps containers and znodes with a time to live, gives up
    /// connections that began no session. Calling it early does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.replica.handle_timeout(now);
        while let Some(txn) = self.leader.poll_due(now, self.replica.database()) {
            self.commit(&txn);
        }
        self.mark_closing();
    }

    /// When [`Standalone::handle_timeout`] wants to be called next; `None` if nothing is due.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let leader = self.leader.poll_timeout(self.replica.database());
        leader.into_iter().chain(self.replica.poll_timeout()).min()
    }

    /// Decides on everything that the replica asked for. A decision may let it go on with requests
    /// that ask for more.
    fn settle(&mut self, now: Instant) {
        while let Some((session, timeout)) = self.replica.poll_touched() {
            // The replica knows already of one that is closing.
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

/// A session that is over, or never was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no such session")]
pub struct UnknownSession;
