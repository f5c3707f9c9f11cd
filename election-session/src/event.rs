//! What comes out of a host.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use election_core::Recipe;
use zk_jute::records::EventType;
use zk_jute::{ErrorCode, SessionId, Zxid};
use zk_session::{Completion, ConnectionEnd, Expiry, Failure, Instant, ServerIndex, SessionEnd};

use crate::grant::GrantChange;
use crate::key::RecipeKey;
use crate::request::RequestKind;
use crate::site::Site;

/// What happened, in the order in which it did.
///
/// `T` tells the caller's requests apart, `W` its watches; what is said of them, of connections and
/// of the lease is said as in [`zk_session::Event`].
#[derive(Debug)]
pub enum Event<R: Recipe, T, W> {
    /// A request of the caller has its outcome.
    Completed {
        /// Which request.
        tag: T,
        /// The reply's body, or why there is none.
        outcome: Result<Completion, Failure>,
    },
    /// A watch of the caller's fired; being one-shot, it is gone.
    Fired {
        /// Which watch.
        watcher: W,
        /// What happened to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; else −1.
        zxid: Zxid,
    },
    /// A persistent watch of the caller's saw a change; it stays.
    Changed {
        /// Which watch.
        watcher: W,
        /// The znode's path on the server.
        path: Arc<str>,
        /// What happened to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; else −1.
        zxid: Zxid,
    },
    /// A persistent watch of the caller's is set again after a reconnect; what changed meanwhile is
    /// not reported.
    ChangesMissed {
        /// Which watch.
        watcher: W,
    },
    /// A watch of the caller's is gone without having fired.
    WatchLost {
        /// Which watch.
        watcher: W,
    },
    /// A recipe took a step. It can be looked at by its key until [`Event::Over`] comes.
    Stepped(Step<R::Notice>),
    /// A recipe is over; nothing follows of it. Here it is back.
    Over {
        /// Which recipe.
        key: RecipeKey,
        /// The recipe.
        recipe: Box<R>,
        /// Where it stood.
        site: Arc<Site>,
        /// How it came to its end.
        end: RecipeEnd,
    },
    /// A request that was made for recipes has its outcome.
    Requested {
        /// What was asked for.
        kind: RequestKind,
        /// The outcome. That of the recipe's node is not one of its candidate.
        outcome: Result<(), Failure>,
    },
    /// A server accepted the session, for the first time or again.
    Connected {
        /// The session.
        session: SessionId,
        /// The negotiated timeout.
        timeout: Duration,
        /// Whether the server is cut off from its ensemble: recipes do not stand by it.
        read_only: bool,
    },
    /// An attempt to connect failed; another will follow.
    ConnectFailed {
        /// The server, in the list that counted when the attempt began.
        server: ServerIndex,
        /// Why.
        end: ConnectionEnd,
        /// When the next attempt will begin.
        retry_at: Instant,
    },
    /// The connection is gone. The session may live on: reconnecting has begun.
    Disconnected {
        /// The session.
        session: Option<SessionId>,
        /// Why.
        end: ConnectionEnd,
        /// The lease deadline; `None` if that has passed.
        lease_deadline: Option<Instant>,
    },
    /// The lease deadline has passed: what was announced is over.
    LeaseLapsed,
    /// The server refused a heartbeat: it proves nothing.
    HeartbeatRefused {
        /// The recipe whose znode it checked.
        key: RecipeKey,
        /// The path of that znode on the server.
        path: String,
        /// Why.
        error: ErrorCode,
    },
    /// The session expired, and another begins.
    Renewed {
        /// The session that expired.
        session: Option<SessionId>,
        /// How it came to that.
        expiry: Expiry,
    },
    /// The session is over, and the host with it. Nothing follows.
    Ended {
        /// The session.
        session: Option<SessionId>,
        /// How it came to that.
        end: SessionEnd,
    },
}

/// A step of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step<N> {
    /// Which recipe.
    pub key: RecipeKey,
    /// What the recipe has to tell, if anything.
    pub notice: Option<N>,
    /// How its grant has changed, if it has.
    pub grant: Option<GrantChange>,
    /// The change of a znode that woke it, if one did.
    pub woken_by: Option<Wake>,
    /// The highest zxid that the session had seen by then.
    pub zxid: Zxid,
}

impl<N> Step<N> {
    /// The same step, with another notice or none.
    pub fn map<M>(self, map: impl FnOnce(N) -> Option<M>) -> Step<M> {
        let Self { key, notice, grant, woken_by, zxid } = self;
        Step { key, notice: notice.and_then(map), grant, woken_by, zxid }
    }
}

/// A change of a znode that a recipe had a watch on, and awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// What happened to the znode.
    pub kind: EventType,
    /// The transaction, from servers since 3.9; else −1.
    pub zxid: Zxid,
}

/// How a recipe came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecipeEnd {
    /// It told its end by a notice, and nothing of it is left.
    Finished,
    /// The host ended first.
    HostEnded(SessionEnd),
}
