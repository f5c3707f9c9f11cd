//! One server of the ensemble.

use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::collections::BTreeSet;

use bytes::BytesMut;
use zk_embedded::replication::{ServerMode, Txn};
use zk_embedded::{
    ConnectionId, Database, ExpiryPace, Instant, Throttling, Timestamp, TooManyConnections,
    Transmit,
};
use zk_jute::{SessionId, Zxid};

use super::election::Looking;
use super::following::Following;
use super::leading::Leading;
use super::local::Local;
use super::role::{Role, Turn};
use super::{EnsembleConfig, MemberId, PeerMessage, PeerOutput, ReadOnlyMode, TouchLoss};

/// One server of an ensemble, without socket, clock or thread.
///
/// Time is that of the member's own clock, and never goes back. After each call that takes it,
/// [`Member::poll_peer`] and [`Member::poll_ready`] are to be called until there is nothing left.
/// A member that is not called for a while is a process that was paused.
#[derive(Debug)]
pub struct Member {
    local: Local,
    role: Role,
    /// The transports of clients, as far as the driver has not closed them.
    connections: BTreeSet<ConnectionId>,
}

/// The role of a member among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRole {
    /// It has no leader, and serves no client.
    Looking,
    /// It follows, or is being brought to its leader's log.
    Following(MemberId),
    /// It leads, or has been elected and is not yet acknowledged by a quorum.
    Leading,
}

impl Member {
    /// Makes a member with an empty log, at its first start. Members with different seeds give out
    /// different session ids.
    pub fn new(id: MemberId, config: &EnsembleConfig, seed: u64, now: Instant) -> Self {
        let mut local = Local::new(id, config, seed);
        let role = Role::Looking(Looking::new(&mut local, now));
        Self { local, role, connections: BTreeSet::new() }
    }

    /// Starts the process again after a crash: it still has the transactions that it logged and the
    /// epoch that it promised; everything else is gone, its connections too.
    pub fn restart(&mut self, now: Instant) {
        self.local.fall_silent();
        for connection in core::mem::take(&mut self.connections) {
            self.local.replica.close(connection);
        }
        for peer in self.local.peers() {
            self.local.reset(peer);
        }
        self.look(now);
    }

    /// Sets the bounds of session timeouts from now on. A real server learns of them when it
    /// starts: to be set before [`Member::restart`]. They may differ from member to member.
    pub fn set_session_timeouts(&mut self, bounds: RangeInclusive<Duration>) {
        self.local.replica.set_session_timeouts(bounds.clone());
        self.local.config.server.session_timeouts = bounds;
    }

    /// Sets how long the end of a session takes from now on, while this member leads.
    pub fn set_expiry_pace(&mut self, pace: ExpiryPace) {
        self.local.config.server.expiry_pace = pace;
        if let Role::Leading(leading) = &mut self.role {
            leading.set_expiry_pace(pace);
        }
    }

    /// Ends these sessions at once, if this member leads: a server that is not ZooKeeper does so when it
    /// shuts down, or has not applied yet that it heard of them.
    pub fn end_sessions(&mut self, now: Instant, sessions: &[SessionId]) {
        if let Role::Leading(leading) = &mut self.role {
            leading.end_sessions(&mut self.local, now, sessions);
        }
        self.role.settle(&mut self.local, now);
    }

    /// Returns the sessions of the clients that are connected to this member.
    pub fn connected_sessions(&self) -> Vec<SessionId> {
        self.local.replica.connected_sessions().collect()
    }

    /// Lets the clock by which sessions end go forward, if this member leads.
    pub fn step_wall_clock(&mut self, step: Duration) {
        if let Role::Leading(leading) = &mut self.role {
            leading.step_wall_clock(step);
        }
    }

    /// Sets the wall clock, by what it would have shown at [`Instant::ORIGIN`]: the times of the transactions that this
    /// member makes while it leads. No session ends by it.
    pub fn set_wall_clock_at_origin(&mut self, time: Timestamp) {
        self.local.config.server.wall_clock_at_origin = time;
        if let Role::Leading(leading) = &mut self.role {
            leading.set_wall_clock_at_origin(time);
        }
    }

    /// Sets by how much the times are too early that this member tells its leader for the ends of
    /// sessions, while it follows.
    pub const fn set_touch_skew(&mut self, skew: Duration) {
        self.local.touch_skew = skew;
    }

    /// Whether the member answers requests with `ThrottledOp` from now on, also after a restart.
    pub const fn set_throttling(&mut self, throttling: Throttling) {
        self.local.replica.set_throttling(throttling);
    }

    /// Whether the member loses touches from now on, while it follows; also after a restart.
    pub const fn set_touch_loss(&mut self, loss: TouchLoss) {
        self.local.touch_loss = loss;
    }

    /// Loses the touch of the request that it receives next: the request comes at the moment in
    /// which a swap has just taken the table away, and enters its touch there.
    pub const fn lose_next_touch(&mut self) {
        self.local.loses_next_touch = true;
    }

    /// Whether the member serves reads from now on when it has had no leader for a tick, to clients
    /// that will do with that (`readonlymode.enabled`); also after a restart.
    pub const fn set_read_only_mode(&mut self, mode: ReadOnlyMode) {
        self.local.read_only_mode = mode;
    }

    /// Handles a message of another member.
    pub fn handle_peer(&mut self, now: Instant, from: MemberId, message: PeerMessage) {
        let turn = self.role.handle(&mut self.local, now, from, message.0);
        self.take(now, turn);
    }

    /// Handles the end of the connection with another member.
    pub fn handle_peer_reset(&mut self, now: Instant, peer: MemberId) {
        let turn = self.role.handle_reset(peer);
        self.take(now, turn);
    }

    /// Returns the next order for the connections to the other members.
    pub fn poll_peer(&mut self) -> Option<PeerOutput> {
        self.local.poll()
    }

    /// Takes a client's connection. A member that does not serve closes the connection at the
    /// handshake.
    ///
    /// # Errors
    ///
    /// [`TooManyConnections`] at the limits of the configuration: the transport is to be closed.
    pub fn open(
        &mut self,
        now: Instant,
        peer: SocketAddr,
    ) -> Result<ConnectionId, TooManyConnections> {
        let opened = self.local.replica.open(now, peer);
        self.connections.extend(opened);
        opened
    }

    /// Handles bytes that a client's transport delivered.
    pub fn receive(&mut self, now: Instant, connection: ConnectionId, bytes: &[u8]) {
        self.local.heard_at = now;
        self.local.replica.receive(connection, bytes);
        if core::mem::take(&mut self.local.loses_next_touch) {
            self.local.replica.lose_last_touch();
        }
        self.role.settle(&mut self.local, now);
    }

    /// Handles the end of a client's transport. Its session goes on.
    pub fn close(&mut self, connection: ConnectionId) {
        self.connections.remove(&connection);
        self.local.replica.close(connection);
    }

    /// Returns a client's connection that has something to send, or is to be closed.
    pub fn poll_ready(&mut self) -> Option<ConnectionId> {
        self.local.replica.poll_ready()
    }

    /// Appends what is to be sent to a client, then goes on with requests that waited for that. To
    /// be called until it appends nothing.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        connection: ConnectionId,
        output: &mut BytesMut,
    ) -> Transmit {
        let transmit = self.local.replica.poll_transmit(connection, output);
        self.role.settle(&mut self.local, now);
        transmit
    }

    /// Does what is due. Calling it early does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.local.replica.handle_timeout(now);
        let turn = self.role.handle_timeout(&mut self.local, now);
        self.take(now, turn);
        self.serve_reads_if_alone(now);
    }

    /// Returns the time at which [`Member::handle_timeout`] wants to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.local.replica.poll_timeout().into_iter().chain([self.role.poll_timeout()]).min()
    }

    /// Returns its number.
    pub fn id(&self) -> MemberId {
        self.local.id
    }

    /// Returns its role among the others.
    pub fn role(&self) -> MemberRole {
        match &self.role {
            Role::Looking(_) => MemberRole::Looking,
            Role::Following(following) => MemberRole::Following(following.leader()),
            Role::Leading(_) => MemberRole::Leading,
        }
    }

    /// Whether clients can have a session here.
    pub fn is_serving(&self) -> bool {
        self.local.replica.mode() != ServerMode::NotServing
    }

    /// Whether clients can write here: it has a leader.
    pub fn takes_writes(&self) -> bool {
        !matches!(self.local.replica.mode(), ServerMode::NotServing | ServerMode::ReadOnly)
    }

    /// Returns the database that its clients read.
    pub fn database(&self) -> &Database {
        self.local.replica.database()
    }

    /// Returns the last transaction that it knows to be committed, and has applied.
    pub fn committed(&self) -> Zxid {
        self.database().last_zxid()
    }

    /// Returns all transactions that it logged, those that are not committed last.
    pub fn log(&self) -> &[Txn] {
        self.local.log.txns()
    }

    /// Takes the turn that the role asks for, and the clients' requests that came meanwhile.
    fn take(&mut self, now: Instant, turn: Turn) {
        if turn != Turn::Stay && self.local.replica.mode() == ServerMode::ReadOnly {
            self.local.replica.set_mode(ServerMode::NotServing);
        }
        match turn {
            Turn::Stay => {}
            Turn::Look => {
                if let Role::Leading(leading) = &mut self.role {
                    leading.abdicate(&mut self.local);
                }
                self.look(now);
            }
            Turn::Stand(epoch) => {
                let leading = Leading::new(&mut self.local, now, epoch);
                self.role = Role::Leading(Box::new(leading));
            }
            Turn::Follow(promise) => {
                self.role = Role::Following(Following::new(&mut self.local, now, promise));
            }
        }
        self.role.settle(&mut self.local, now);
    }

    fn serve_reads_if_alone(&mut self, now: Instant) {
        if let Role::Looking(looking) = &self.role
            && self.local.read_only_mode == ReadOnlyMode::On
            && self.local.replica.mode() == ServerMode::NotServing
            && looking.since() + self.local.tick() <= now
        {
            self.local.replica.set_mode(ServerMode::ReadOnly);
        }
    }

    /// Looks for a leader. At first, the member serves no client meanwhile.
    fn look(&mut self, now: Instant) {
        self.local.replica.set_mode(ServerMode::NotServing);
        self.role = Role::Looking(Looking::new(&mut self.local, now));
    }
}
