//! Counts the traffic of a proxy.

use alloc::collections::BTreeMap;

use super::connection::ConnectionId;
use super::frame::{Direction, FrameKind};
use crate::opcode::Opcode;

/// A snapshot of a proxy's counts.
///
/// A frame *arrives* when the proxy has read it whole, and *passes* just before the proxy writes it
/// whole: an end that has received a frame finds it counted. A frame that is held back, delayed or
/// cut off has arrived and not passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections accepted and dropped at once, because the target could not be reached.
    pub unreachable: u64,
    /// Bytes written to servers.
    pub bytes_to_server: u64,
    /// Bytes written to clients.
    pub bytes_to_client: u64,
    pub(super) arrived: BTreeMap<FrameKind, u64>,
    pub(super) passed: BTreeMap<FrameKind, u64>,
    pub(super) errors: BTreeMap<(Opcode, i32), u64>,
    pub(super) notifications: BTreeMap<ConnectionId, u64>,
    pub(super) openings: BTreeMap<ConnectionId, Vec<Opcode>>,
}

/// How many requests of each connection are remembered in their order.
const OPENING: usize = 8;

impl Counters {
    /// Frames of a kind that have arrived at the proxy.
    pub fn arrived(&self, kind: FrameKind) -> u64 {
        self.arrived.get(&kind).copied().unwrap_or_default()
    }

    /// Frames of a kind that have passed through the proxy.
    pub fn passed(&self, kind: FrameKind) -> u64 {
        self.passed.get(&kind).copied().unwrap_or_default()
    }

    /// Returns the requests with that opcode that have passed to servers.
    pub fn requests(&self, opcode: Opcode) -> u64 {
        self.passed(FrameKind::Request(opcode))
    }

    /// Returns the requests of every opcode that have passed to servers; connect requests are not
    /// among them.
    pub fn all_requests(&self) -> u64 {
        let requests = |(kind, count): (&FrameKind, &u64)| {
            matches!(kind, FrameKind::Request(_)).then_some(*count)
        };
        self.passed.iter().filter_map(requests).sum()
    }

    /// Returns the requests, but for those that keep a session and its lease.
    pub fn requests_but_upkeep(&self) -> u64 {
        let upkeep = self.requests(Opcode::PING) + self.requests(Opcode::SYNC);
        self.all_requests() - upkeep
    }

    /// Replies that have passed to clients, to requests with that opcode.
    pub fn replies(&self, opcode: Opcode) -> u64 {
        self.passed(FrameKind::Reply(opcode))
    }

    /// Replies with an error code that have arrived, to requests with that opcode.
    pub fn errors(&self, opcode: Opcode, code: i32) -> u64 {
        self.errors.get(&(opcode, code)).copied().unwrap_or_default()
    }

    /// Notifications that have passed to clients.
    pub fn notifications(&self) -> u64 {
        self.passed(FrameKind::Notification)
    }

    /// Returns the same, for each connection that has had one.
    pub const fn notifications_by_connection(&self) -> &BTreeMap<ConnectionId, u64> {
        &self.notifications
    }

    /// Returns the first requests that have passed to servers on each connection, eight at most, in
    /// order.
    pub const fn openings_by_connection(&self) -> &BTreeMap<ConnectionId, Vec<Opcode>> {
        &self.openings
    }

    pub(super) fn note_opening(&mut self, connection: ConnectionId, opcode: Opcode) {
        let opening = self.openings.entry(connection).or_default();
        if opening.len() < OPENING {
            opening.push(opcode);
        }
    }

    /// Bytes that have passed in a direction.
    pub const fn bytes(&self, direction: Direction) -> u64 {
        match direction {
            Direction::ToServer => self.bytes_to_server,
            Direction::ToClient => self.bytes_to_client,
        }
    }
}
