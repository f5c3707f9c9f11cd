//! Settings of a host.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use zk_session::{Config, Secret, SessionTicket};

/// How a [`RecipeHost`](crate::RecipeHost) behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How each session behaves. Its limits hold for the caller's requests. Each recipe has one
    /// request at a time, beyond them.
    pub session: Config,
    /// The identities to present on each connection, in this order.
    pub identities: Vec<Identity>,
    /// The reaction to the expiry of the session.
    pub on_expiry: OnExpiry,
    /// How often recipes look whether an event was lost. By default it is ten session timeouts, and
    /// a minute at least. The moments are drawn at random around it.
    pub look_interval: Option<Duration>,
    /// When the lease is kept ready. A grant is then announced after a round trip, and not after a
    /// part of the timeout.
    pub keep_ready: KeepReady,
    /// The session of another process to continue. That process has given it up.
    pub resumption: Option<Box<Resumption>>,
    /// The seed for the order of servers, the backoff and the moments of looks. Give each client
    /// another one.
    pub seed: u64,
}

impl Settings {
    /// Returns settings with this configuration of the session. The first session is a new one, and
    /// an expired one is renewed.
    pub const fn new(session: Config, seed: u64) -> Self {
        Self {
            session,
            identities: Vec::new(),
            on_expiry: OnExpiry::Renew,
            look_interval: None,
            keep_ready: KeepReady::OnceNeeded,
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

/// When the session's lease is kept ready: see
/// [`LeaseUpkeep::Ready`](zk_session::lease::LeaseUpkeep::Ready).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeepReady {
    /// From the first recipe that needs the lease on, as a nominee or a contender for a lock does, and for as
    /// long as the client lives; before that as [`KeepReady::WhileNeeded`]. So only the first nomination of a
    /// client that has connected long ago waits.
    #[default]
    OnceNeeded,
    /// While a recipe stands; and for a minute, or ten session timeouts if that is more, after the
    /// client has connected and after its last recipe was over. A recipe that comes later waits for
    /// almost half of the session timeout before it gets a grant.
    WhileNeeded,
    /// Always: for clients whose first nomination comes late, and needs its grant at once.
    Always,
}

/// The reaction to the expiry of a session.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnExpiry {
    /// Another session begins, and recipes go on in it as after an expiry.
    #[default]
    Renew,
    /// The client ends.
    Close,
}

/// A session to continue. Another process has given it up.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// The ticket from [`RecipeHost::detach`](crate::RecipeHost::detach) there.
    pub ticket: SessionTicket,
    /// The reaction if the session is gone.
    pub if_gone: IfGone,
}

/// The reaction if the session to continue is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IfGone {
    /// The client ends.
    Fail,
    /// A new session begins.
    StartAnew,
}
