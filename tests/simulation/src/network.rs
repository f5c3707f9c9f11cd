//! The connections between the processes: they hold what was sent and has not arrived.
//!
//! A connection delivers in order or not at all. If it is held back, it delivers later. If it is lost,
//! both ends hear of it, each as soon as the way to it lets the news through. The members keep one
//! connection between each two.

mod peers;

use std::collections::BTreeMap;

use bytes::Bytes;

use self::peers::Line;
use super::clock::Time;
use super::ensemble::PeerMessage;
use super::links::{Impairment, Links, NodeId, Way};
use super::pipe::Pipe;

/// Names a client's connection; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ConnKey(u64);

/// Names one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PipeId {
    /// From a client.
    Up(ConnKey),
    /// To a client.
    Down(ConnKey),
    /// Between two members.
    Peer(Way),
}

/// A message from a client to a member.
#[derive(Debug)]
pub(super) enum Up {
    Open,
    Bytes(Bytes),
    Closed,
}

/// A message from a member to a client.
#[derive(Debug)]
pub(super) enum Down {
    Opened,
    Bytes(Bytes),
    Closed,
}

/// A message from a member to another.
#[derive(Debug)]
pub(super) enum Peer {
    Message(PeerMessage),
    Reset,
}

#[derive(Debug)]
pub(super) struct Network {
    links: Links,
    connections: BTreeMap<ConnKey, Connection>,
    last_connection: u64,
    lines: BTreeMap<Way, Line>,
    /// Deliveries to be put on the agenda.
    pub(super) due: Vec<(Time, PipeId)>,
}

/// How far a client's connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The client has asked for it.
    Asked,
    /// The member's host has taken it, be its process awake or not.
    Taken,
    /// It ends where the next reply would come.
    Unanswered,
}

#[derive(Debug)]
struct Connection {
    way: Way,
    up: Pipe<Up>,
    down: Pipe<Down>,
    stage: Stage,
    /// Whether each end still wants to hear of it.
    client: bool,
    member: bool,
}

impl Network {
    pub(super) fn new(links: Links) -> Self {
        Self {
            links,
            connections: BTreeMap::new(),
            last_connection: 0,
            lines: BTreeMap::new(),
            due: Vec::new(),
        }
    }

    pub(super) fn impair(&mut self, way: Way, impairment: Impairment) {
        self.links.impair(way, impairment);
    }

    pub(super) fn repair(&mut self, now: Time, way: Way, impairment: Impairment) {
        self.links.repair(way, impairment);
        if impairment == Impairment::Held && !self.links.is_held(way) {
            let at = self.links.arrival(now, way);
            self.rearm(at, |other| other == way);
        }
    }

    pub(super) fn is_held(&self, way: Way) -> bool {
        self.links.is_held(way)
    }

    /// Delivers again to a process that has resumed.
    pub(super) fn resumed(&mut self, now: Time, node: NodeId) {
        self.rearm(now, |way| way.to == node);
    }

    pub(super) fn way(&self, pipe: PipeId) -> Option<Way> {
        match pipe {
            PipeId::Up(key) => self.connections.get(&key).map(|connection| connection.way),
            PipeId::Down(key) => self.connections.get(&key).map(|connection| connection.way.back()),
            PipeId::Peer(way) => Some(way),
        }
    }

    /// Notes that a delivery came up on the agenda.
    pub(super) fn disarm(&mut self, pipe: PipeId) {
        match pipe {
            PipeId::Up(key) => {
                self.connections.get_mut(&key).map(|connection| connection.up.armed = false)
            }
            PipeId::Down(key) => {
                self.connections.get_mut(&key).map(|connection| connection.down.armed = false)
            }
            PipeId::Peer(way) => self.lines.get_mut(&way).map(|line| line.pipe.armed = false),
        };
    }

    /// Puts the next delivery on the agenda, unless it is there or nothing is left.
    pub(super) fn arm(&mut self, now: Time, pipe: PipeId) {
        let due = &mut self.due;
        match pipe {
            PipeId::Up(key) => {
                if let Some(connection) = self.connections.get_mut(&key) {
                    arm(&mut connection.up, now, pipe, due);
                }
            }
            PipeId::Down(key) => {
                if let Some(connection) = self.connections.get_mut(&key) {
                    arm(&mut connection.down, now, pipe, due);
                }
            }
            PipeId::Peer(way) => {
                if let Some(line) = self.lines.get_mut(&way) {
                    arm(&mut line.pipe, now, pipe, due);
                }
            }
        }
    }

    fn rearm(&mut self, at: Time, concerns: impl Fn(Way) -> bool) {
        let due = &mut self.due;
        for (key, connection) in &mut self.connections {
            if concerns(connection.way) {
                arm(&mut connection.up, at, PipeId::Up(*key), due);
            }
            if concerns(connection.way.back()) {
                arm(&mut connection.down, at, PipeId::Down(*key), due);
            }
        }
        for (way, line) in self.lines.iter_mut().filter(|(way, _)| concerns(**way)) {
            arm(&mut line.pipe, at, PipeId::Peer(*way), due);
        }
    }
}

fn arm<T>(pipe: &mut Pipe<T>, now: Time, id: PipeId, due: &mut Vec<(Time, PipeId)>) {
    if let (false, Some(at)) = (pipe.armed, pipe.due()) {
        pipe.armed = true;
        due.push((at.max(now), id));
    }
}

/// The connections of clients.
impl Network {
    /// Opens a connection, as a client.
    pub(super) fn dial(&mut self, now: Time, way: Way) -> ConnKey {
        self.last_connection += 1;
        let key = ConnKey(self.last_connection);
        let connection = Connection {
            way,
            up: Pipe::new(),
            down: Pipe::new(),
            stage: Stage::Asked,
            client: true,
            member: true,
        };
        self.connections.insert(key, connection);
        self.push_up(now, key, Up::Open);
        key
    }

    pub(super) fn send_up(&mut self, now: Time, key: ConnKey, mut bytes: Bytes) {
        if let Some(way) = self.way(PipeId::Up(key)) {
            if self.links.draw(way, PIECES) == 0 && bytes.len() > 1 {
                let first = bytes.split_to(1 + self.links.draw(way, bytes.len() - 1));
                self.push_up(now, key, Up::Bytes(first));
            }
            self.push_up(now, key, Up::Bytes(bytes));
        }
    }

    pub(super) fn send_down(&mut self, now: Time, key: ConnKey, mut bytes: Bytes) {
        if self
            .connections
            .get(&key)
            .is_some_and(|connection| connection.stage == Stage::Unanswered)
        {
            self.push_up(now, key, Up::Closed);
            self.push_down(now, key, Down::Closed);
            return;
        }
        if let Some(way) = self.way(PipeId::Down(key)) {
            if self.links.draw(way, PIECES) == 0 && bytes.len() > 1 {
                let first = bytes.split_to(1 + self.links.draw(way, bytes.len() - 1));
                self.push_down(now, key, Down::Bytes(first));
            }
            self.push_down(now, key, Down::Bytes(bytes));
        }
    }

    /// Lets the member take in all that was sent so far; its answers are lost, with the connection.
    pub(super) fn leave_unanswered(&mut self, key: ConnKey) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.stage = Stage::Unanswered;
        }
    }

    /// Accepts the connection, once, as the member's host.
    pub(super) fn accept(&mut self, now: Time, key: ConnKey) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if connection.stage == Stage::Asked {
            connection.stage = Stage::Taken;
            self.push_down(now, key, Down::Opened);
        }
    }

    /// Whether the first that waits for the member is a connection that its host could take.
    pub(super) fn is_unaccepted(&self, now: Time, key: ConnKey) -> bool {
        self.connections.get(&key).is_some_and(|connection| {
            connection.stage == Stage::Asked
                && connection.up.due().is_some_and(|due| due <= now)
                && matches!(connection.up.front(), Some(Up::Open))
        })
    }

    /// Closes the client's end: its bytes arrive, and those to it are dropped.
    pub(super) fn close_client(&mut self, now: Time, key: ConnKey) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.client = false;
            connection.down.clear();
            self.push_up(now, key, Up::Closed);
            self.forget_if_over(key);
        }
    }

    /// Closes the member's end, or refuses.
    pub(super) fn close_member(&mut self, now: Time, key: ConnKey) {
        if let Some(connection) = self.connections.get_mut(&key) {
            connection.member = false;
            connection.up.clear();
            self.push_down(now, key, Down::Closed);
            self.forget_if_over(key);
        }
    }

    /// Breaks the connection: of the bytes on their way, at most a piece arrives.
    pub(super) fn lose(&mut self, now: Time, key: ConnKey) {
        let Some(Connection { way, up, down, .. }) = self.connections.get_mut(&key) else {
            return;
        };
        let way = *way;
        let (up, down) = (up.take_front(), down.take_front());
        match up {
            Some(Up::Bytes(bytes)) => {
                let piece = bytes.slice(..self.links.draw(way, bytes.len()));
                self.push_up(now, key, Up::Bytes(piece));
            }
            Some(other) => self.push_up(now, key, other),
            None => {}
        }
        match down {
            Some(Down::Bytes(bytes)) => {
                let piece = bytes.slice(..self.links.draw(way.back(), bytes.len()));
                self.push_down(now, key, Down::Bytes(piece));
            }
            Some(other) => self.push_down(now, key, other),
            None => {}
        }
        self.push_up(now, key, Up::Closed);
        self.push_down(now, key, Down::Closed);
    }

    /// Returns the connections that begin or end at this process.
    pub(super) fn connections_of(&self, node: NodeId) -> Vec<ConnKey> {
        let concerns = |way: Way| way.from == node || way.to == node;
        let concerned = self.connections.iter().filter(|(_, other)| concerns(other.way));
        concerned.map(|(key, _)| *key).collect()
    }

    pub(super) fn next_up(&mut self, now: Time, key: ConnKey) -> Option<Up> {
        let item = self.connections.get_mut(&key)?.up.pop_due(now);
        if let (Some(Up::Closed), Some(connection)) = (&item, self.connections.get_mut(&key)) {
            connection.member = false;
            self.forget_if_over(key);
        }
        item
    }

    pub(super) fn next_down(&mut self, now: Time, key: ConnKey) -> Option<Down> {
        let item = self.connections.get_mut(&key)?.down.pop_due(now);
        if let (Some(Down::Closed), Some(connection)) = (&item, self.connections.get_mut(&key)) {
            connection.client = false;
            self.forget_if_over(key);
        }
        item
    }

    fn push_up(&mut self, now: Time, key: ConnKey, item: Up) {
        if let Some(connection) = self.connections.get_mut(&key).filter(|other| other.member) {
            let arrival = self.links.arrival(now, connection.way);
            connection.up.push(arrival, item);
            arm(&mut connection.up, now, PipeId::Up(key), &mut self.due);
        }
    }

    fn push_down(&mut self, now: Time, key: ConnKey, item: Down) {
        if let Some(connection) = self.connections.get_mut(&key).filter(|other| other.client) {
            let arrival = self.links.arrival(now, connection.way.back());
            connection.down.push(arrival, item);
            arm(&mut connection.down, now, PipeId::Down(key), &mut self.due);
        }
    }

    fn forget_if_over(&mut self, key: ConnKey) {
        if self.connections.get(&key).is_some_and(|other| !other.client && !other.member) {
            self.connections.remove(&key);
        }
    }
}

/// One transmission in so many arrives in two pieces.
const PIECES: usize = 16;
