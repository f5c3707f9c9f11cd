//! The state that the threads of a proxy share.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::runtime::{Handle, RuntimeFlavor};

use super::connection::{Connection, ConnectionId, Ends, Frame, Label};
use super::counters::Counters;
use super::frame::{self, Direction, FrameKind, Piece, Splitter};
use super::plan::{Plans, Verdict};
use crate::wait::NotInTime;

#[derive(Clone, Copy, Debug)]
pub(super) enum Protocol {
    Client,
    Opaque,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) to_server: bool,
    pub(super) to_client: bool,
}

/// Whether this is the one thread of a runtime: while it blocks, no task of that runtime goes on.
fn is_only_thread() -> bool {
    Handle::try_current().is_ok_and(|at| at.runtime_flavor() == RuntimeFlavor::CurrentThread)
}

#[derive(Debug)]
pub(super) struct Shared {
    protocol: Protocol,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) target: SocketAddr,
    pub(super) held: Held,
    pub(super) delay: Duration,
    pub(super) plans: Plans,
    pub(super) counters: Counters,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    /// Connections that have lost their client; the server has not been told.
    abandoned: Vec<Connection>,
    /// Addresses that clients name, and what servers read instead.
    pub(super) aliases: Vec<Alias>,
    /// How often all connections were cut.
    cuts: u64,
}

/// An address, and another one of the same length, as text.
#[derive(Debug)]
pub(super) struct Alias {
    named: Vec<u8>,
    read: Vec<u8>,
}

/// A connection from a client, with none to the server yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted {
    pub(super) id: ConnectionId,
    pub(super) target: SocketAddr,
    cuts_before: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    Open,
    Cut,
}

/// The writing thread's treatment of a frame.
#[derive(Debug)]
pub(super) enum Admission {
    Pass,
    /// Write the first bytes, then close: the connection is no longer among the open ones.
    PassThenClose(usize, Connection),
    Gone,
}

impl Shared {
    pub(super) fn new(target: SocketAddr, protocol: Protocol) -> Self {
        let state = State {
            target,
            held: Held::default(),
            delay: Duration::ZERO,
            plans: Plans::default(),
            counters: Counters::default(),
            connections: BTreeMap::new(),
            abandoned: Vec::new(),
            aliases: Vec::new(),
            cuts: 0,
        };
        Self { protocol, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let outcome = change(&mut self.lock());
        self.changed.notify_all();
        outcome
    }

    pub(super) const fn protocol(&self) -> Protocol {
        self.protocol
    }

    pub(super) const fn splitter(&self) -> Splitter {
        match self.protocol {
            Protocol::Client => Splitter::Frames(Vec::new()),
            Protocol::Opaque => Splitter::Opaque(Vec::new()),
        }
    }

    /// Numbers and counts a connection that was accepted.
    pub(super) fn accept(&self) -> Accepted {
        self.change(|state| {
            let id = ConnectionId(state.counters.accepted);
            state.counters.accepted += 1;
            Accepted { id, target: state.target, cuts_before: state.cuts }
        })
    }

    /// Registers a connection, unless all were cut since it was accepted.
    pub(super) fn open(
        &self,
        accepted: Accepted,
        client: &TcpStream,
        server: &TcpStream,
    ) -> io::Result<Opening> {
        let connection = Connection::new(client, server)?;
        Ok(self.change(|state| {
            if state.cuts != accepted.cuts_before {
                return Opening::Cut;
            }
            state.connections.insert(accepted.id, connection);
            Opening::Open
        }))
    }

    pub(super) fn cut_one(&self, id: ConnectionId) {
        if let Some(connection) = self.change(|state| state.connections.remove(&id)) {
            connection.close();
        }
    }

    pub(super) fn cut_all(&self) {
        self.cut_all_and(|_| {});
    }

    /// Cuts, and changes the state in the same moment: nothing slips through in between.
    pub(super) fn cut_all_and(&self, change: impl FnOnce(&mut State)) {
        self.change(|state| {
            state.cuts += 1;
            core::mem::take(&mut state.connections).values().for_each(Connection::close);
            core::mem::take(&mut state.abandoned).iter().for_each(Connection::close);
            change(state);
        });
    }

    pub(super) fn abandon_server(&self) {
        self.change(|state| {
            let connections = core::mem::take(&mut state.connections).into_values();
            state.abandoned.extend(connections.inspect(Connection::close_client));
        });
    }

    /// Labels and counts what has arrived; says when it is to be delivered. `None`: it was cut.
    pub(super) fn arrive(
        &self,
        id: ConnectionId,
        direction: Direction,
        is_first: bool,
        piece: Piece,
    ) -> Option<(Instant, Frame)> {
        self.change(|state| {
            let connection = state.connections.get_mut(&id)?;
            let (label, bytes) = match (piece, direction) {
                (Piece::Opaque(mut bytes), _) => {
                    if direction == Direction::ToServer {
                        state.aliases.iter().for_each(|alias| alias.apply(&mut bytes));
                    }
                    (Label::Opaque, bytes)
                }
                (Piece::Frame(bytes), Direction::ToServer) if is_first => {
                    (Label::ConnectRequest, bytes)
                }
                (Piece::Frame(bytes), Direction::ToClient) if is_first => {
                    (Label::ConnectResponse, bytes)
                }
                (Piece::Frame(bytes), _) => (connection.label(direction, &bytes), bytes),
            };
            if let (Label::Reply { opcode, .. }, Some(code)) = (label, frame::error_code(&bytes))
                && code != 0
            {
                *state.counters.errors.entry((opcode, code)).or_default() += 1;
            }
            let frame = Frame { direction, label, bytes };
            *state.counters.arrived.entry(frame.kind()).or_default() += 1;
            Some((state.due(), frame))
        })
    }

    /// Waits for a frame's turn, asks the plans, counts.
    pub(super) fn admit(&self, id: ConnectionId, due: Instant, frame: &Frame) -> Admission {
        let Some(mut state) = self.await_turn(id, due, frame.direction) else {
            return Admission::Gone;
        };
        let verdict = state.plans.judge(id, frame);
        let passes = match verdict {
            Verdict::Pass => frame.bytes.len(),
            Verdict::CutAfter(length) => length,
        };
        state.count(id, frame, passes);
        let closing = match verdict {
            Verdict::Pass => None,
            Verdict::CutAfter(_) => state.connections.remove(&id),
        };
        drop(state);
        self.changed.notify_all();
        match closing {
            Some(connection) => Admission::PassThenClose(passes, connection),
            None => Admission::Pass,
        }
    }

    /// Passes on the end of a direction, when its turn has come.
    pub(super) fn end(&self, id: ConnectionId, due: Instant, direction: Direction) {
        let Some(mut state) = self.await_turn(id, due, direction) else {
            return;
        };
        if let Some(connection) = state.connections.get_mut(&id)
            && connection.end(direction) == Ends::Both
        {
            state.connections.remove(&id);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Blocks until `find` finds something.
    pub(super) fn wait_for<T>(
        &self,
        bound: Duration,
        what: &str,
        find: impl Fn(&State) -> Option<T>,
    ) -> Result<T, NotInTime> {
        assert!(
            !is_only_thread(),
            "{what}: the client may wait for the thread that waits for this"
        );
        let deadline = Instant::now() + bound;
        let mut state = self.lock();
        loop {
            if let Some(found) = find(&state) {
                return Ok(found);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(NotInTime::new(format!("{what}; {:?}", state.counters), bound));
            }
            state = self.sleep(state, left);
        }
    }

    /// Waits for the turn of a frame; `None` if the connection was cut.
    fn await_turn(
        &self,
        id: ConnectionId,
        due: Instant,
        direction: Direction,
    ) -> Option<MutexGuard<'_, State>> {
        const FOREVER: Duration = Duration::from_secs(3600);
        let mut state = self.lock();
        loop {
            if !state.connections.contains_key(&id) {
                return None;
            }
            let early = due.saturating_duration_since(Instant::now());
            if state.held.holds(direction) {
                state = self.sleep(state, FOREVER);
            } else if early.is_zero() {
                return Some(state);
            } else {
                state = self.sleep(state, early);
            }
        }
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Alias {
    /// Replaces a text by another one; `None` if they differ in length: the bytes behind them could
    /// not stay in their place.
    pub(super) fn new(named: SocketAddr, read: SocketAddr) -> Option<Self> {
        let [named, read] = [named, read].map(|address| address.to_string().into_bytes());
        (named.len() == read.len()).then_some(Self { named, read })
    }

    fn apply(&self, bytes: &mut [u8]) {
        let length = self.named.len();
        for start in 0..(bytes.len() + 1).saturating_sub(length) {
            if let Some(text) = bytes.get_mut(start..start + length)
                && *text == *self.named
            {
                text.copy_from_slice(&self.read);
            }
        }
    }
}

impl State {
    /// Returns the instant at which a frame that arrives now is to be delivered.
    pub(super) fn due(&self) -> Instant {
        Instant::now() + self.delay
    }

    fn count(&mut self, id: ConnectionId, frame: &Frame, passes: usize) {
        let bytes = u64::try_from(passes).unwrap_or(u64::MAX);
        match frame.direction {
            Direction::ToServer => self.counters.bytes_to_server += bytes,
            Direction::ToClient => self.counters.bytes_to_client += bytes,
        }
        if passes == frame.bytes.len() {
            let kind = frame.kind();
            *self.counters.passed.entry(kind).or_default() += 1;
            match kind {
                FrameKind::Notification => {
                    *self.counters.notifications.entry(id).or_default() += 1;
                }
                FrameKind::Request(opcode) => self.counters.note_opening(id, opcode),
                _ => {}
            }
        }
    }
}

impl Held {
    const fn holds(self, direction: Direction) -> bool {
        match direction {
            Direction::ToServer => self.to_server,
            Direction::ToClient => self.to_client,
        }
    }
}
