//! One server of the ensemble.

use core::net::SocketAddr;

use bytes::BytesMut;
use zk_embedded::{ConnectionId, Database, Instant, Mode, Replica, TooManyConnections, Transmit};
use zk_jute::Zxid;

use super::{EnsembleConfig, MemberId, PeerMessage, PeerOutput};

/// One server of an ensemble, without socket, clock or thread.
///
/// Time is that of the member's own clock, and never goes back. After each call that takes it,
/// [`Member::poll_peer`] and [`Member::poll_ready`] are to be called until there is nothing left.
/// A member that is not called for a while is a process that was paused.
#[derive(Debug)]
pub struct Member {
    id: MemberId,
    replica: Replica,
}

/// What a member is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberRole {
    /// It has no leader, and serves nobody.
    Looking,
    /// It follows, or is being brought to its leader's log.
    Following(MemberId),
    /// It leads, or has been elected and is not yet acknowledged by a quorum.
    Leading,
}

impl Member {
    /// A member with an empty log, at its first start.
    pub fn new(id: MemberId, config: &EnsembleConfig, _seed: u64, _now: Instant) -> Self {
        Self { id, replica: Replica::new(&config.server, Database::new(), Mode::NotServing) }
    }

    /// The process starts again after a crash: it still has the transactions that it acknowledged
    /// and the epoch that it promised; connections, also those with the other members, are gone.
    pub fn restart(&mut self, _now: Instant) {}

    /// A message of another member arrives.
    pub fn handle_peer(&mut self, _now: Instant, _from: MemberId, _message: PeerMessage) {}

    /// The connection with another member has ended.
    pub fn handle_peer_reset(&mut self, _now: Instant, _peer: MemberId) {}

    /// The next thing to do with the connections to the other members.
    pub fn poll_peer(&mut self) -> Option<PeerOutput> {
        None
    }

    /// A client has connected. A member that does not serve closes the connection at the handshake.
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

    /// A client's transport delivered bytes.
    pub fn receive(&mut self, _now: Instant, connection: ConnectionId, bytes: &[u8]) {
        self.replica.receive(connection, bytes);
    }

    /// A client's transport is closed. Its session goes on.
    pub fn close(&mut self, connection: ConnectionId) {
        self.replica.close(connection);
    }

    /// A client's connection that has something to send, or is to be closed.
    pub fn poll_ready(&mut self) -> Option<ConnectionId> {
        self.replica.poll_ready()
    }

    /// Appends what is to be sent to a client, then goes on with requests that waited for that. To
    /// be called until it appends nothing.
    pub fn poll_transmit(
        &mut self,
        _now: Instant,
        connection: ConnectionId,
        output: &mut BytesMut,
    ) -> Transmit {
        self.replica.poll_transmit(connection, output)
    }

    /// Does what is due. Calling it early does nothing.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// When [`Member::handle_timeout`] wants to be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Its number.
    pub fn id(&self) -> MemberId {
        self.id
    }

    /// What it is to the others.
    pub fn role(&self) -> MemberRole {
        MemberRole::Looking
    }

    /// Whether clients can have a session here.
    pub fn is_serving(&self) -> bool {
        self.replica.mode() != Mode::NotServing
    }

    /// What its clients read.
    pub fn database(&self) -> &Database {
        self.replica.database()
    }

    /// The last transaction that it knows to be committed, and has applied.
    pub fn committed(&self) -> Zxid {
        self.database().last_zxid()
    }
}
