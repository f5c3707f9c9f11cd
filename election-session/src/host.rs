//! The host: the sessions of one client, one after another, and the recipes on them.

mod calls;
mod dispatch;
mod heartbeats;
mod io;
mod recipes;
mod renewal;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::fmt;
use core::time::Duration;

use election_core::Recipe;
use zk_jute::{OpCode, SessionId, Zxid};
use zk_session::lease::LeaseOutlook;
use zk_session::{Instant, Limits, ServerFamily, SessionEnd, SubmitError, TransportCommand};

use crate::callers::Callers;
use crate::deadlines::Deadlines;
use crate::event::Event;
use crate::heartbeats::Heartbeats;
use crate::key::RecipeKey;
use crate::lists::{Lists, Turn};
use crate::looks::Looks;
use crate::readiness::Readiness;
use crate::seat::Seat;
use crate::sessions::{HostSession, first_session};
use crate::settings::Settings;

/// A client without its IO. It keeps recipes of type `R` on one session after another, and passes
/// the caller's own requests (with tags of type `T`) and watches (of type `W`) through.
///
/// The [crate documentation](crate) has the loop that drives it.
pub struct RecipeHost<R: Recipe, T, W> {
    settings: Settings,
    session: HostSession<T, W>,
    /// How many sessions came before this one.
    sessions: u64,
    link: HostLink,
    callers: Callers,
    /// With ascending keys, the nodes of the map are little more than half full, so their capacity
    /// fits.
    seats: BTreeMap<RecipeKey, Box<Seat<R>>>,
    last_key: u64,
    lists: Lists,
    /// How much of the lists may still be delivered before other events are handled.
    turn: Turn,
    clock: Clock,
    looks: Looks,
    heartbeats: Heartbeats,
    readiness: Readiness,
    deadlines: Deadlines,
    /// Recipes with a grant that is announced once the lease is proved.
    awaiting_lease: BTreeSet<RecipeKey>,
    /// A command that the driver gets before those of the present session: to drop the transport of
    /// an earlier session, or one that was only looked at.
    first_transport: Option<TransportCommand>,
    /// The recipe whose node's outermost ancestor found no chroot when it was last created.
    chroot_missing: Option<RecipeKey>,
    events: VecDeque<Pending<R, T, W>>,
}

/// The state of the clock: read, with recipes that do not have the time yet, or settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Read,
    Settled,
}

/// Events that the caller has not polled yet.
enum Pending<R: Recipe, T, W> {
    Event(Event<R, T, W>),
    /// The end of a recipe, which can be looked up until the event is polled.
    Over(RecipeKey),
}

/// The present connection, as recipes see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostLink {
    Down,
    Up {
        timeout: Duration,
    },
    /// It is to a server that is cut off from its ensemble. No recipe stands by it.
    ReadOnly,
}

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// Creates a host. Its first session begins at once: a new one, or the one of
    /// [`Settings::resumption`].
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] for an identity that no server would accept.
    pub fn new(mut settings: Settings, now: Instant) -> Result<Self, SubmitError> {
        let limits = settings.session.limits;
        // The bounds are for the caller; a recipe's request must not be refused.
        settings.session.limits =
            Limits { max_in_flight: usize::MAX, max_queued_bytes: usize::MAX, ..limits };
        Ok(Self {
            session: first_session(&settings, now)?,
            sessions: 0,
            link: HostLink::Down,
            callers: Callers::new(limits),
            seats: BTreeMap::new(),
            last_key: 0,
            lists: Lists::default(),
            turn: Turn::new(),
            clock: Clock::Settled,
            chroot_missing: None,
            looks: Looks::new(settings.look_interval, settings.seed),
            heartbeats: Heartbeats::default(),
            readiness: Readiness::new(settings.keep_ready),
            deadlines: Deadlines::default(),
            awaiting_lease: BTreeSet::new(),
            first_transport: None,
            events: VecDeque::new(),
            settings,
        })
    }

    /// Returns whether a server has answered this operation with `Unimplemented`. The host does not
    /// send it any more.
    pub fn is_unsupported(&self, operation: OpCode) -> bool {
        self.session.is_unsupported(operation)
    }

    /// Returns the session's id, once a server has granted it.
    pub fn session_id(&self) -> Option<SessionId> {
        self.session.id()
    }

    /// Returns whether requests can be sent now.
    pub fn is_connected(&self) -> bool {
        self.session.is_connected()
    }

    /// Returns the family of the server that the session is connected to, or was last.
    pub fn server_family(&self) -> Option<ServerFamily> {
        self.session.server_family()
    }

    /// Returns whether the connected server is cut off from its ensemble.
    pub fn is_read_only(&self) -> bool {
        self.session.is_read_only()
    }

    /// Returns how the host ended, once it has.
    pub fn ended(&self) -> Option<SessionEnd> {
        self.session.ended().filter(|end| !self.renews_after(*end))
    }

    /// Returns until when no server can have expired the session, less the margin. Compare it with
    /// the clock before each act by virtue of a [grant](crate::Grant).
    pub fn lease_deadline(&self) -> Option<Instant> {
        self.session.lease_deadline()
    }

    /// Returns whether the lease can be relied on, and if not, what it waits for.
    pub fn lease_outlook(&self, now: Instant) -> LeaseOutlook {
        self.session.lease_outlook(now)
    }

    /// Returns the highest zxid of any reply or event of this session.
    pub fn last_zxid(&self) -> Zxid {
        self.session.last_zxid()
    }
}

impl<R: Recipe, T, W: Clone> fmt::Debug for RecipeHost<R, T, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecipeHost")
            .field("session", &self.session)
            .field("recipes", &self.seats.len())
            .finish_non_exhaustive()
    }
}
