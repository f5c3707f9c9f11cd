//! The host: the sessions of one client, one after another, and what stands on them.

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
use zk_session::{Instant, LeaseOutlook, Limits, SessionEnd, SubmitError, TransportCommand};

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

/// A client without its IO: it keeps recipes of type `R` on one session after another, and passes the
/// caller's own requests (told apart by a `T`) and watches (by a `W`) through.
///
/// See the [crate's documentation](crate) for the loop that drives it.
pub struct RecipeHost<R: Recipe, T, W> {
    settings: Settings,
    session: HostSession<T, W>,
    /// Sessions before this one.
    sessions: u64,
    link: Link,
    callers: Callers,
    /// By keys that ascend, the nodes of the map are little more than half full: they hold no more than needed.
    seats: BTreeMap<RecipeKey, Box<Seat<R>>>,
    last_key: u64,
    lists: Lists,
    /// What may still be handed out of lists before other events are taken in.
    turn: Turn,
    clock: Clock,
    looks: Looks,
    heartbeats: Heartbeats,
    readiness: Readiness,
    deadlines: Deadlines,
    /// Recipes whose grant is announced once the lease is proved.
    awaiting_lease: BTreeSet<RecipeKey>,
    /// What the driver is told of its transport before what the session says: to drop that of an
    /// earlier session, or what was only looked at.
    first_transport: Option<TransportCommand>,
    events: VecDeque<Pending<R, T, W>>,
}

/// Whether the time was told that recipes are to be told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    Read,
    Settled,
}

/// What the caller is still to be handed.
enum Pending<R: Recipe, T, W> {
    Event(Event<R, T, W>),
    /// The end of a recipe, which can be looked at until it is handed out.
    Over(RecipeKey),
}

/// The present connection, as far as recipes are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Up {
        timeout: Duration,
    },
    /// By a server that is cut off from its ensemble: no recipe stands by it.
    ReadOnly,
}

impl<R: Recipe, T, W: Clone> RecipeHost<R, T, W> {
    /// A host whose first session begins at once: as a new one, or where
    /// [`Settings::resumption`] goes on.
    ///
    /// # Errors
    ///
    /// [`SubmitError::TooLarge`] for an identity that no server would read.
    pub fn new(mut settings: Settings, now: Instant) -> Result<Self, SubmitError> {
        let limits = settings.session.limits;
        // The bounds are for the caller: a recipe must not be refused its request.
        settings.session.limits =
            Limits { max_in_flight: usize::MAX, max_queued_bytes: usize::MAX, ..limits };
        Ok(Self {
            session: first_session(&settings, now)?,
            sessions: 0,
            link: Link::Down,
            callers: Callers::new(limits),
            seats: BTreeMap::new(),
            last_key: 0,
            lists: Lists::default(),
            turn: Turn::new(),
            clock: Clock::Settled,
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

    /// Says that a server has answered this operation with `Unimplemented`: it is not sent any more.
    pub fn is_unsupported(&self, operation: OpCode) -> bool {
        self.session.is_unsupported(operation)
    }

    /// The session's id, once a server has granted it.
    pub fn session_id(&self) -> Option<SessionId> {
        self.session.id()
    }

    /// Whether requests can be sent right now.
    pub fn is_connected(&self) -> bool {
        self.session.is_connected()
    }

    /// Whether the connection is one to a server that is cut off from its ensemble.
    pub fn is_read_only(&self) -> bool {
        self.session.is_read_only()
    }

    /// How the host ended, once it has.
    pub fn ended(&self) -> Option<SessionEnd> {
        self.session.ended().filter(|end| !self.renews_after(*end))
    }

    /// Until when no server can have expired the session, less the margin. Compare it with the clock
    /// before anything else is done by virtue of a [grant](crate::Grant).
    pub fn lease_deadline(&self) -> Option<Instant> {
        self.session.lease_deadline()
    }

    /// Whether the lease can be relied on, and what it waits for if it cannot.
    pub fn lease_outlook(&self, now: Instant) -> LeaseOutlook {
        self.session.lease_outlook(now)
    }

    /// The highest zxid seen in any reply or event of this session.
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
