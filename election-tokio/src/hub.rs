//! The state that the driver task and the handles work on: the host of the client's sessions, and
//! the callers that wait for it.
//!
//! A request is encoded where it is made, and a reply is decoded where it is awaited. The task in
//! between only moves bytes, so a request costs no task, no channel and no allocation of its own.

mod calls;
mod dispatch;
mod host;
mod lease_cell;
mod seat;
mod servers;
mod shared;
mod sole;
mod unlocked;
mod vitals;
mod watches;

use core::fmt;
use core::task::Waker;
use std::io;
use std::sync::Arc;

use election_session::{CallerWatch, RecipeHost, RecipeKey, Settings, Site};
use zk_session::{
    Instant, Rollback, ServerAddress, ServerIndex, SessionEnd, SessionTicket, SubmitError,
    TransportCommand,
};

pub(crate) use calls::{CallStage, Caller, Calls};
pub(crate) use host::Host;
pub(crate) use seat::{Face, Seat};
pub(crate) use servers::Servers;
pub(crate) use shared::Shared;
use sole::SoleRecipes;
pub(crate) use unlocked::Unlocked;
pub(crate) use vitals::{ConnectionPhase, Vitals};
pub(crate) use watches::{StreamItem, WatchKey, WatchOutcome, WatchedChange, Watches};

use crate::broadcast::Sender;
use crate::error::SharedError;
use crate::state::ConnectionState;
use crate::telemetry::{ConnectionObserver, Entry, Journal, Outage, RepeatLimit};

/// By this name `tests/threads.rs` gives the cell others.
mod atomics {
    pub(crate) use core::sync::atomic::{AtomicU64, Ordering};
}

pub(crate) struct Hub {
    pub(crate) host: Host,
    pub(crate) servers: Servers,
    pub(crate) calls: Calls,
    pub(crate) watches: Watches,
    pub(crate) connection: Sender<ConnectionState>,
    observer: ConnectionObserver,
    vitals: Arc<Vitals>,
    /// Limits the lines about the connection, and about heartbeats.
    repeats: Repeats,
    /// Why the transport failed last, for the report of the failed attempt.
    transport_error: Option<io::Error>,
    /// Connections so far.
    connections: u64,
    /// The last one that a write has shown; made when one is shown or asked for, since most clients see none.
    rollback: Option<Box<Sender<Option<Rollback>>>>,
    driver: DriverState,
    change: Change,
    last_reading: Instant,
    unlocked: Unlocked,
    sole: SoleRecipes,
}

/// The limits for the lines of each kind.
#[derive(Debug)]
struct Repeats {
    connection: RepeatLimit,
    heartbeats: RepeatLimit,
    servers: RepeatLimit,
    outage: Outage,
}

impl Repeats {
    fn catch_up(&mut self, now: Instant, journal: &mut Journal) {
        let Self { connection, heartbeats, servers, .. } = self;
        for limit in [connection, heartbeats, servers] {
            limit.catch_up(now, journal);
        }
    }
}

/// The driver's state: it looks at the hub again by itself, or waits to be woken.
#[derive(Debug)]
enum DriverState {
    Awake,
    Asleep(Waker),
}

/// The order of a turn of the driver, once it has taken in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    SendFirst,
    /// It lets the callers run that it has woken.
    CallersFirst,
}

/// The change of the hub since the driver looked at all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// Requests were submitted, and nothing came of them but bytes to send.
    Requests,
    Any,
}

impl Hub {
    /// # Errors
    ///
    /// An identity that no server would accept.
    fn new(mut settings: Settings, servers: Servers, now: Instant) -> Result<Self, SubmitError> {
        settings.session.servers = servers.count();
        let outage = Outage::new(settings.session.session_timeout);
        Ok(Self {
            host: RecipeHost::new(settings, now)?,
            servers,
            calls: Calls::new(),
            watches: Watches::new(),
            connection: Sender::new(ConnectionState::Connecting {
                failures: 0,
                last_failure: None,
            }),
            observer: ConnectionObserver::new(),
            vitals: Arc::new(Vitals::new()),
            repeats: Repeats {
                connection: RepeatLimit::new(now),
                heartbeats: RepeatLimit::new(now),
                servers: RepeatLimit::new(now),
                outage,
            },
            transport_error: None,
            connections: 0,
            rollback: None,
            driver: DriverState::Awake,
            change: Change::Any,
            last_reading: now,
            unlocked: Unlocked::default(),
            sole: SoleRecipes::default(),
        })
    }

    /// Returns the time for the next step, by the clock's last reading. No step comes before the
    /// last one.
    fn reading(&mut self, now: Instant) -> Instant {
        self.last_reading = self.last_reading.max(now);
        self.last_reading
    }

    /// Returns the time of the last step that read the clock.
    const fn last_reading(&self) -> Instant {
        self.last_reading
    }

    /// Returns the health of the client.
    pub(crate) const fn vitals(&self) -> &Arc<Vitals> {
        &self.vitals
    }

    /// Registers the driver's waker, to be woken when something is submitted from now on.
    pub(crate) fn driver_sleeps(&mut self, waker: &Waker) {
        self.driver = DriverState::Asleep(waker.clone());
        self.change = Change::Requests;
    }

    /// Whether the driver has to look at all of the hub, and not only to send.
    pub(crate) fn has_changed(&self) -> bool {
        self.change == Change::Any
    }

    /// Returns whether what recipes have to send waits for callers that are about to be woken. A system call that hands it
    /// to the kernel, and wakes the server, would keep a new leader from its work.
    pub(crate) fn order_of_sending(&self) -> Order {
        match self.driver {
            DriverState::Asleep(_) if !self.unlocked.wakers.is_empty() => Order::CallersFirst,
            DriverState::Asleep(_) | DriverState::Awake => Order::SendFirst,
        }
    }

    /// The driver, if it has to be woken to send requests.
    fn wake_driver_to_send(&mut self) -> Option<Waker> {
        match core::mem::replace(&mut self.driver, DriverState::Awake) {
            DriverState::Asleep(driver) => Some(driver),
            DriverState::Awake => None,
        }
    }

    /// The driver, if it has to be woken to look at the hub again.
    fn wake_driver(&mut self) -> Option<Waker> {
        self.change = Change::Any;
        self.wake_driver_to_send()
    }

    /// The transport could not be opened, or is closed; for the report, why, if that is known.
    pub(crate) fn transport_closed(&mut self, now: Instant, error: Option<io::Error>) {
        let before = core::mem::replace(&mut self.transport_error, error);
        self.retire(before);
        self.host.handle_closed(now);
    }

    /// Returns a command for the driver's transport.
    pub(crate) fn poll_transport(&mut self) -> Option<TransportCommand> {
        let command = self.host.poll_transport();
        if let Some(TransportCommand::Disconnect) = command {
            let unheard = self.transport_error.take();
            self.retire(unheard);
        }
        command
    }

    /// Drops an error once the lock is released: an error of the user's may run anything then.
    fn retire<T: fmt::Debug + Send + 'static>(&mut self, error: Option<T>) {
        if let Some(error) = error {
            self.unlocked.retired.push(Box::new(error));
        }
    }

    /// Returns a server to ask whether it takes writes.
    pub(crate) fn poll_probe(&mut self) -> Option<(ServerIndex, ServerAddress)> {
        let index = self.host.poll_probe()?;
        Some((index, self.servers.address(index)?))
    }

    pub(crate) fn rollback(&mut self) -> &Sender<Option<Rollback>> {
        self.rollback.get_or_insert_with(|| Box::new(Sender::new(None)))
    }

    /// Returns how many connections there were. It stays the same while one lasts.
    pub(crate) const fn connections(&self) -> u64 {
        self.connections
    }

    /// Adds a recipe; it stands as soon as there is a session.
    pub(crate) fn stand(
        &mut self,
        now: Instant,
        seat: Box<dyn Seat>,
        site: Arc<Site>,
    ) -> RecipeKey {
        self.host.stand(now, seat, site)
    }

    /// Adds a recipe of which a session can have only one at a node, because its names do not tell
    /// its znode from another's. Returns `None` while there is one, even while that one removes its
    /// znode.
    pub(crate) fn stand_alone(
        &mut self,
        now: Instant,
        seat: Box<dyn Seat>,
        site: Arc<Site>,
    ) -> Option<RecipeKey> {
        let path = Arc::clone(site.server_path());
        if !self.sole.is_free(&self.host, &path) {
            return None;
        }
        let key = self.stand(now, seat, site);
        self.sole.insert(path, key);
        Some(key)
    }

    /// Returns a recipe of this type, to note its user's wishes; until it is over.
    pub(crate) fn recipe_mut<R: 'static>(&mut self, key: RecipeKey) -> Option<&mut R> {
        let (seat, _) = self.host.recipe_mut(key)?;
        seat.recipe_mut().downcast_mut()
    }

    /// Drops a watch of the caller.
    pub(crate) fn forget_watch(&mut self, now: Instant, watch: CallerWatch) {
        self.host.forget(now, watch);
    }

    /// Replaces the list of servers.
    pub(crate) fn replace_servers(&mut self, now: Instant, list: Vec<ServerAddress>) {
        if list.is_empty() {
            return self.keep_servers(now, SharedError::new("the source names none"));
        }
        let outdated = self.servers.set_outdated(None);
        self.retire(outdated);
        if self.servers.replace(list) {
            let count = self.servers.count();
            self.unlocked.journal.note(Entry::OtherServers { count: count.get() });
            self.host.handle_servers(now, count);
        }
    }

    /// Notes that the source gave no list of servers. The attempts go on with the last one, if
    /// there is one.
    pub(crate) fn keep_servers(&mut self, now: Instant, reason: SharedError) {
        let entry = Entry::NoServers { reason: reason.clone() };
        let left_out = self.repeats.servers.note(now, entry, &mut self.unlocked.journal);
        self.retire(left_out);
        let outdated = self.servers.set_outdated(Some(reason));
        self.retire(outdated);
        if self.servers.is_empty() {
            self.host.handle_closed(now);
        }
    }

    /// Gives the session up. No nominee of this client leads from here on: one that continues with
    /// the ticket may.
    pub(crate) fn detach(&mut self, now: Instant) -> Option<SessionTicket> {
        self.host.detach(now)
    }

    pub(crate) fn ticket(&self) -> Option<SessionTicket> {
        self.host.ticket()
    }

    /// Frees unused memory, as after a burst of requests.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.host.shrink_to_fit();
        self.calls.shrink_to_fit();
        self.watches.shrink_to_fit();
        self.unlocked.shrink_to_fit();
    }

    /// Returns how the client ended, if it has.
    pub(crate) fn ended(&self) -> Option<SessionEnd> {
        self.host.ended()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("host", &self.host).finish_non_exhaustive()
    }
}
