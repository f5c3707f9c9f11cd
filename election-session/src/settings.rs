//! What a host is made with.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use zk_session::{Config, Secret, SessionTicket};

/// How a [`RecipeHost`](crate::RecipeHost) behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How each session behaves. The limits hold for the requests of the caller; those of recipes
    /// are one a recipe at a time.
    pub session: Config,
    /// The identities to present on each connection, in this order.
    pub identities: Vec<Identity>,
    /// What follows when the session expires.
    pub on_expiry: OnExpiry,
    /// How often recipes look whether an event was lost, unless it follows from the session timeout:
    /// ten times that, and a minute at least. The moments are drawn at random around it.
    pub look_interval: Option<Duration>,
    /// When the lease is kept ready, so that what a recipe is granted is announced a round trip later
    /// and not a part of the timeout.
    pub keep_ready: KeepReady,
    /// The session to go on with, of another process that has given it up.
    pub resumption: Option<Box<Resumption>>,
    /// Seeds all that is drawn at random: the order of servers, the backoff, the moments of looks.
    /// Two clients had better not have the same.
    pub seed: u64,
}

impl Settings {
    /// With this configuration of the session; the first session is a new one, and an expired one is
    /// renewed.
    pub const fn new(session: Config, seed: u64) -> Self {
        Self {
            session,
            identities: Vec::new(),
            on_expiry: OnExpiry::Renew,
            look_interval: None,
            keep_ready: KeepReady::WhileNeeded,
            resumption: None,
            seed,
        }
    }
}

/// An identity to present on each connection.
#[derive(Clone, Debug)]
pub struct Identity {
    /// `digest`, for instance.
    pub scheme: String,
    /// `user:password`, for that scheme.
    pub credential: Secret,
}

/// When the lease of a session is kept ready: see
/// [`LeaseUpkeep::Ready`](zk_session::LeaseUpkeep::Ready).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeepReady {
    /// While a recipe stands, and for a minute, or ten session timeouts if that is more, after the
    /// client has connected and after its last recipe was over. A recipe that comes later waits for
    /// almost half of the session timeout before it is granted anything.
    #[default]
    WhileNeeded,
    /// Always: for clients that stand seldom, and have to be granted at once what they stand for.
    Always,
}

/// What follows when a session expires.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnExpiry {
    /// Another session begins, and recipes go on in it as they do after an expiry.
    #[default]
    Renew,
    /// The client is over.
    Close,
}

/// A session that another process has given up, to be gone on with.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// What [`RecipeHost::detach`](crate::RecipeHost::detach) has returned there.
    pub ticket: SessionTicket,
    /// What follows if the session is gone.
    pub if_gone: IfGone,
}

/// What follows if a session is gone that was to be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IfGone {
    /// The client is over.
    Fail,
    /// A new session begins.
    StartAnew,
}
