//! What the driver task and the handles work on: one session, and who waits for what of it.
//!
//! A request is encoded where it is made and a reply is decoded where it is awaited; the task in
//! between only moves bytes, so a request costs no task of its own, no channel and no allocation.

mod answers;
mod calls;
mod dispatch;
mod heartbeats;
mod lists;
mod looks;
mod nomination;
mod perform;
mod servers;
mod shared;
mod stimulus;
mod target;
mod tenure;
mod watches;

use core::fmt;
use core::task::Waker;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use tracing::{info, warn};
use zk_session::{
    Config, Instant, Limits, Secret, ServerAddress, ServerIndex, SessionEnd, SessionTicket,
    SubmitError, Transport, WatchId,
};

pub(crate) use calls::{CallKey, Caller, Calls, Stage};
pub(crate) use lists::ListKey;
pub(crate) use nomination::{Nomination, NominationKey};
pub(crate) use perform::Step;
pub(crate) use servers::Servers;
pub(crate) use shared::Shared;
pub(crate) use target::{AclList, Target};
pub(crate) use tenure::Tenure;
pub(crate) use watches::{Change, StreamItem, WatchKey, WatchOutcome, Watches};

use crate::broadcast::Sender;
use crate::client::{ConnectionState, IfGone, OnExpiry};
use crate::clock::Clock;
use crate::error::SharedError;
use crate::path::Chroot;
use crate::telemetry::{CONNECTION, ConnectionObserver};
use heartbeats::Heartbeats;
use lists::Lists;
use looks::Looks;

/// The session of a client.
pub(crate) type Session = zk_session::Session<Tag, Watcher>;

/// Whom a reply is for.
#[derive(Debug)]
pub(crate) enum Tag {
    Call(CallKey),
    Nomination {
        key: NominationKey,
        ticket: election_core::Ticket,
        step: Step,
    },
    /// Of the election with this path on the server.
    List {
        election: Arc<str>,
        key: ListKey,
    },
}

/// Whom a watch event is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Watcher {
    Watch(WatchKey),
    Nomination { key: NominationKey, ticket: election_core::Ticket },
}

/// A watch of one of a client's sessions. Each session numbers its watches anew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionWatch {
    /// Sessions before that one.
    session: u64,
    id: WatchId,
}

/// An identity to present in every session.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) scheme: String,
    pub(crate) credential: Secret,
}

/// What a client is made with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) session: Config,
    pub(crate) identities: Vec<Identity>,
    pub(crate) on_expiry: OnExpiry,
    pub(crate) seed: u64,
    /// How often nominees look whether an event was lost, unless it follows from the timeout.
    pub(crate) look_interval: Option<Duration>,
    pub(crate) resumption: Option<Resumption>,
}

/// A session of another process that is to be gone on with.
#[derive(Clone, Debug)]
pub(crate) struct Resumption {
    pub(crate) ticket: SessionTicket,
    pub(crate) if_gone: IfGone,
}

pub(crate) struct Hub {
    pub(crate) settings: Settings,
    clock: Clock,
    pub(crate) session: Session,
    pub(crate) servers: Servers,
    pub(crate) calls: Calls,
    pub(crate) watches: Watches,
    pub(crate) nominations: BTreeMap<NominationKey, Nomination>,
    /// Nominations that end with the session, which is being closed.
    ending: Vec<Nomination>,
    lists: Lists,
    looks: Looks,
    pub(crate) connection: Sender<ConnectionState>,
    observer: ConnectionObserver,
    /// Why the transport failed last, for the report of the failed attempt.
    transport_error: Option<io::Error>,
    last_nomination: u64,
    /// Nominations whose leadership is announced once the lease is proved.
    awaiting_lease: Vec<NominationKey>,
    heartbeats: Heartbeats,
    /// Sessions before this one.
    sessions: u64,
    /// Connections so far.
    connections: u64,
    /// What the driver is told of its transport before what the session says: to drop that of an
    /// earlier session, or what was only looked at.
    first_transport: Option<Transport>,
    driver: Driver,
    /// To be woken once the lock is released.
    wakers: Vec<Waker>,
    /// To be dropped then: what a nomination holds may be a caller's, such as its data.
    retired: Vec<Nomination>,
}

/// Whether the driver looks at the hub again by itself.
#[derive(Debug)]
enum Driver {
    Awake,
    Asleep(Waker),
}

impl Hub {
    /// # Errors
    ///
    /// An identity that no server would read.
    fn new(
        mut settings: Settings,
        servers: Servers,
        clock: Clock,
        chroot: &Chroot,
    ) -> Result<Self, SubmitError> {
        settings.session.servers = servers.count();
        let limits = settings.session.limits;
        // The bounds are for calls: see `Calls`.
        settings.session.limits =
            Limits { max_in_flight: usize::MAX, max_queued_bytes: usize::MAX, ..limits };
        Ok(Self {
            session: first_session(&settings, clock.now())?,
            servers,
            clock,
            calls: Calls::new(limits),
            watches: Watches::new(),
            nominations: BTreeMap::new(),
            ending: Vec::new(),
            lists: Lists::default(),
            looks: Looks::new(settings.look_interval, settings.seed),
            connection: Sender::new(ConnectionState::Connecting {
                failures: 0,
                last_failure: None,
            }),
            observer: ConnectionObserver::new(chroot.as_str()),
            transport_error: None,
            last_nomination: 0,
            awaiting_lease: Vec::new(),
            heartbeats: Heartbeats::default(),
            sessions: 0,
            connections: 0,
            first_transport: None,
            driver: Driver::Awake,
            wakers: Vec::new(),
            retired: Vec::new(),
            settings,
        })
    }

    /// For the driver: whom to wake when something is submitted from now on.
    pub(crate) fn driver_sleeps(&mut self, waker: &Waker) {
        self.driver = Driver::Asleep(waker.clone());
    }

    /// The driver, if it has to be woken to look at the hub again.
    fn wake_driver(&mut self) -> Option<Waker> {
        match core::mem::replace(&mut self.driver, Driver::Awake) {
            Driver::Asleep(driver) => Some(driver),
            Driver::Awake => None,
        }
    }

    pub(crate) fn poll_transport(&mut self) -> Option<Transport> {
        self.first_transport.take().or_else(|| self.session.poll_transport())
    }

    /// The transport that the driver was told to open is open.
    pub(crate) fn transport_opened(&mut self, now: Instant) {
        if !self.is_transport_outdated() {
            self.session.handle_opened(now);
        }
    }

    /// The transport could not be opened, or is closed; for the report, why, if that is known.
    pub(crate) fn transport_closed(&mut self, now: Instant, error: Option<io::Error>) {
        if !self.is_transport_outdated() {
            self.transport_error = error;
            self.session.handle_closed(now);
        }
    }

    /// Whether the session wants to be rid of the driver's transport, which has not heard of it yet:
    /// what becomes of it must not pass for what becomes of the next one.
    fn is_transport_outdated(&mut self) -> bool {
        self.first_transport = self.poll_transport();
        self.first_transport.is_some()
    }

    /// The clock of the session, and that of the hub.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.session.handle_timeout(now);
        self.look_if_due(now);
    }

    /// When [`Hub::handle_timeout`] is to be called next.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.session.poll_timeout().into_iter().chain(self.looks.next()).min()
    }

    /// Whether there is more to do without anything having come in.
    pub(crate) fn has_more_to_do(&self) -> bool {
        self.lists.has_undelivered()
    }

    /// A server that the session wants to be asked whether it takes writes.
    pub(crate) fn poll_probe(&mut self) -> Option<(ServerIndex, ServerAddress)> {
        let index = self.session.poll_probe()?;
        Some((index, self.servers.address(index)?))
    }

    /// The watch of this number in the present session.
    pub(crate) const fn session_watch(&self, id: WatchId) -> SessionWatch {
        SessionWatch { session: self.sessions, id }
    }

    /// How many connections there were: it stays the same for as long as one lasts.
    pub(crate) const fn connections(&self) -> u64 {
        self.connections
    }

    /// Drops a watch, if its session is the present one: those of others went with them.
    pub(crate) fn forget_watch(&mut self, now: Instant, watch: SessionWatch) {
        if watch.session == self.sessions {
            self.session.forget(now, watch.id);
        }
    }

    /// Takes in a list of servers.
    pub(crate) fn replace_servers(&mut self, now: Instant, list: Vec<ServerAddress>) {
        if list.is_empty() {
            self.keep_servers(now, SharedError::new("the source names none"));
        } else if self.servers.replace(list) {
            let count = self.servers.count();
            info!(target: CONNECTION, count, "another list of servers");
            self.settings.session.servers = count;
            self.session.handle_servers(now, count);
        }
    }

    /// The source gave no list of servers: the attempts go on with the last one, if there is one.
    pub(crate) fn keep_servers(&mut self, now: Instant, reason: SharedError) {
        warn!(target: CONNECTION, %reason, "no new list of servers");
        self.servers.not_replaced(reason);
        if self.servers.is_empty() {
            self.session.handle_closed(now);
        }
    }

    /// Closes the session. Nobody leads from here on: the server deletes the candidates, and lets
    /// others lead, before it confirms.
    pub(crate) fn close(&mut self, now: Instant) {
        self.settings.on_expiry = OnExpiry::Close;
        self.session.close(now);
        self.heartbeats.stop();
        let (leaving, ending) = core::mem::take(&mut self.nominations)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, nomination)| nomination.is_leaving());
        self.nominations = leaving;
        for (_, mut nomination) in ending {
            nomination.client_closes(&mut self.wakers);
            self.ending.push(nomination);
        }
    }

    /// Gives the session up. Nobody leads from here on: whoever has the ticket may.
    pub(crate) fn detach(&mut self, now: Instant) -> Option<SessionTicket> {
        let ticket = self.session.detach(now)?;
        self.settings.on_expiry = OnExpiry::Close;
        Some(ticket)
    }

    /// Ends everything: the driver is gone.
    fn abandon(&mut self, now: Instant) {
        if self.session.ended().is_none() {
            self.session.close(now);
            self.session.handle_closed(now);
        }
        self.settings.on_expiry = OnExpiry::Close;
    }

    /// Whether the client is over.
    pub(crate) fn ended(&self) -> Option<SessionEnd> {
        self.session.ended()
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("session", &self.session)
            .field("nominations", &self.nominations.len())
            .finish_non_exhaustive()
    }
}

/// # Errors
///
/// An identity that no server would read.
fn first_session(settings: &Settings, now: Instant) -> Result<Session, SubmitError> {
    let Some(Resumption { ticket, .. }) = &settings.resumption else {
        return new_session(settings, 0, now);
    };
    let session = Session::resume(ticket, settings.session.clone(), settings.seed, now);
    authenticated(session, settings, now)
}

/// # Errors
///
/// An identity that no server would read.
fn new_session(settings: &Settings, generation: u64, now: Instant) -> Result<Session, SubmitError> {
    let seed = settings.seed.wrapping_add(generation);
    authenticated(Session::new(settings.session.clone(), seed, now), settings, now)
}

fn authenticated(
    mut session: Session,
    settings: &Settings,
    now: Instant,
) -> Result<Session, SubmitError> {
    for identity in &settings.identities {
        session.authenticate(now, &identity.scheme, identity.credential.expose())?;
    }
    Ok(session)
}
