//! A TCP proxy between a client and a server that counts frames and breaks connections.
//!
//! It reads the frames of the client protocol in both directions, tells requests by their opcode and
//! replies by that of their request, and can cut a connection before or after a chosen frame. A fault
//! that names no connection applies to all of them; a planned cut hits only the connection on which its
//! frame passes.

mod connection;
mod counters;
mod door;
mod frame;
mod plan;
mod relay;
mod state;

use alloc::sync::Arc;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::opcode::Opcode;
use crate::ports::ReservedPort;
use crate::wait::{NotInTime, eventually_async};
pub use connection::ConnectionId;
pub use counters::Counters;
use door::Door;
pub use frame::{Direction, FrameKind};
pub use plan::Cut;
use plan::PlanId;
use state::{Alias, Held, Protocol, Shared};

/// Which way is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
    /// Both ways.
    Both,
}

/// A running proxy. Dropped: its port is closed and its connections are cut.
#[derive(Debug)]
pub struct Proxy {
    port: ReservedPort,
    shared: Arc<Shared>,
    door: Mutex<Door>,
}

impl Proxy {
    /// Listens on a free loopback port and relays to `target`, frame by frame.
    pub fn to(target: SocketAddr) -> io::Result<Self> {
        Self::start(target, Protocol::Client)
    }

    /// Does as [`Self::to`], for any other protocol (that between the members of an ensemble): it
    /// reads nothing as a frame, and counts only bytes and connections. A target that refuses is
    /// tried again for a while: a member treats a refusal more patiently than the end of a
    /// connection.
    pub fn opaque_to(target: SocketAddr) -> io::Result<Self> {
        Self::start(target, Protocol::Opaque)
    }

    fn start(target: SocketAddr, protocol: Protocol) -> io::Result<Self> {
        let port = ReservedPort::reserve()?;
        let shared = Arc::new(Shared::new(target, protocol));
        let door = Door::open(port.address(), &shared)?;
        Ok(Self { port, shared, door: Mutex::new(door) })
    }

    /// Returns the address to which clients connect.
    pub const fn addr(&self) -> SocketAddr {
        self.port.address()
    }

    /// Returns the connect string of this proxy: `host:port`.
    pub fn connect_string(&self) -> String {
        self.addr().to_string()
    }

    /// Sends connections accepted from now on to another server.
    pub fn set_target(&self, target: SocketAddr) {
        self.shared.lock().target = target;
    }

    /// Has servers read `read` wherever a client names `named`, its own address for instance: for
    /// a proxy that reads no frames.
    ///
    /// # Errors
    ///
    /// If the two differ in length as text.
    pub fn alias(&self, named: SocketAddr, read: SocketAddr) -> io::Result<()> {
        let alias = Alias::new(named, read).ok_or(io::ErrorKind::InvalidInput)?;
        self.shared.lock().aliases.push(alias);
        Ok(())
    }

    /// Closes every connection now. New ones are welcome.
    pub fn cut(&self) {
        self.shared.cut_all();
    }

    /// Closes one connection now; nothing to do if it has ended.
    pub fn cut_connection(&self, connection: ConnectionId) {
        self.shared.cut_one(connection);
    }

    /// Closes every connection on the client's side alone. On the server's side they stay open and
    /// fall silent, until the next [`Self::cut`] or [`Self::heal_by_cutting`].
    pub fn abandon_server(&self) {
        self.shared.abandon_server();
    }

    /// Returns the connections that are open, oldest first.
    pub fn connections(&self) -> Vec<ConnectionId> {
        self.shared.lock().connections.keys().copied().collect()
    }

    /// Refuses new connections, as a host without the server would. Open ones stay.
    pub fn refuse(&self) {
        self.door().close();
    }

    /// Accepts new connections again, on the same port.
    pub fn accept(&self) -> io::Result<()> {
        let mut door = self.door();
        if door.is_closed() {
            *door = Door::open(self.addr(), &self.shared)?;
        }
        Ok(())
    }

    /// Holds back all that arrives from now on, the ends of connections too. Connections stay open,
    /// and new ones are accepted and just as silent. Bytes that were about to be written when this
    /// was called may still arrive.
    pub fn black_hole(&self, directions: Directions) {
        let held = match directions {
            Directions::ToServer => Held { to_server: true, to_client: false },
            Directions::ToClient => Held { to_server: false, to_client: true },
            Directions::Both => Held { to_server: true, to_client: true },
        };
        self.shared.change(|state| {
            state.held.to_server |= held.to_server;
            state.held.to_client |= held.to_client;
        });
    }

    /// Ends [`Self::black_hole`]: what was held back is delivered, late.
    pub fn heal(&self) {
        self.shared.change(|state| state.held = Held::default());
    }

    /// Ends [`Self::black_hole`]: what was held back is lost, with all the connections.
    pub fn heal_by_cutting(&self) {
        self.shared.cut_all_and(|state| state.held = Held::default());
    }

    /// Delivers what arrives from now on later by `delay`, in order. Zero ends it.
    pub fn delay(&self, delay: Duration) {
        self.shared.change(|state| state.delay = delay);
    }

    /// Plans a cut. Frames and bytes count from now on, over all connections.
    pub fn cut_when(&self, cut: Cut) -> PlannedCut {
        let plan = self.shared.lock().plans.add(cut);
        PlannedCut { shared: Arc::clone(&self.shared), plan }
    }

    /// Plans a cut as soon as `bytes` more bytes have passed in `direction`, be it in the middle
    /// of a frame: short for [`Self::cut_when`] with [`Cut::after_bytes`].
    pub fn cut_after_bytes(&self, direction: Direction, bytes: u64) -> PlannedCut {
        self.cut_when(Cut::after_bytes(direction, bytes))
    }

    /// Returns the counts so far.
    pub fn counters(&self) -> Counters {
        self.shared.lock().counters.clone()
    }

    /// Blocks until the counters fulfil `condition`, and gives them as they then were.
    ///
    /// # Errors
    ///
    /// [`NotInTime`] with `what`, and the counters, when they do not within `bound`.
    ///
    /// # Panics
    ///
    /// If it would block the only thread of a runtime, on which the client may run.
    pub fn wait_for(
        &self,
        bound: Duration,
        what: &str,
        condition: impl Fn(&Counters) -> bool,
    ) -> Result<Counters, NotInTime> {
        self.shared.wait_for(bound, what, |state| {
            condition(&state.counters).then(|| state.counters.clone())
        })
    }

    fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.door().close();
        self.shared.cut_all();
    }
}

const CUT_HAPPENS: &str = "the planned cut happens";

/// A cut that was planned. Dropping this handle changes nothing.
#[derive(Debug)]
pub struct PlannedCut {
    shared: Arc<Shared>,
    plan: PlanId,
}

impl PlannedCut {
    /// Returns the connection that was cut, once one was.
    pub fn cut_connection(&self) -> Option<ConnectionId> {
        self.shared.lock().plans.outcome(self.plan)
    }

    /// Blocks until the cut has happened.
    ///
    /// # Panics
    ///
    /// If it would block the only thread of a runtime, on which the client may run: see
    /// [`PlannedCut::happened`].
    pub fn wait(&self, bound: Duration) -> Result<ConnectionId, NotInTime> {
        self.shared.wait_for(bound, CUT_HAPPENS, |state| state.plans.outcome(self.plan))
    }

    /// Does as [`PlannedCut::wait`], and leaves the runtime to the client.
    pub async fn happened(&self, bound: Duration) -> Result<ConnectionId, NotInTime> {
        eventually_async(bound, CUT_HAPPENS, async || self.cut_connection().is_some()).await?;
        self.cut_connection().ok_or_else(|| NotInTime::new(CUT_HAPPENS, bound))
    }

    /// Gives the plan up, unless it has happened.
    pub fn cancel(self) {
        self.shared.lock().plans.remove(self.plan);
    }
}
