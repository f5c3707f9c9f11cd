//! Events of a host.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use election_core::Recipe;
use zk_jute::records::EventType;
use zk_jute::{ErrorCode, SessionId, Zxid};
use zk_session::{
    Completion, ConnectionEnd, Expiry, Failure, Instant, Rollback, ServerIndex, SessionEnd,
};

use crate::grant::GrantChange;
use crate::key::RecipeKey;
use crate::request::RequestKind;
use crate::site::Site;

/// An event. Events come in the order in which things happened.
///
/// `T` is the type of the caller's tags for requests, `W` that for watches. Events of requests,
/// watches, connections and the lease mean the same as in [`zk_session::Event`].
#[derive(Debug)]
pub enum Event<R: Recipe, T, W> {
    /// A request of the caller has its outcome.
    Completed {
        /// The tag of the request.
        tag: T,
        /// The reply's body, or why there is none.
        outcome: Result<Completion, Failure>,
    },
    /// A one-shot watch of the caller fired, and is gone.
    Fired {
        /// The tag of the watch.
        watcher: W,
        /// The kind of change to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; otherwise −1.
        zxid: Zxid,
    },
    /// A persistent watch of the caller saw a change. The watch stays.
    Changed {
        /// The tag of the watch.
        watcher: W,
        /// The znode's path on the server.
        path: Arc<str>,
        /// The kind of change to the znode.
        kind: EventType,
        /// The transaction, from servers since 3.9; otherwise −1.
        zxid: Zxid,
    },
    /// A persistent watch of the caller is set again after a reconnect. Changes in between are not
    /// reported.
    ChangesMissed {
        /// The tag of the watch.
        watcher: W,
    },
    /// A watch of the caller is gone without having fired.
    WatchLost {
        /// The tag of the watch.
        watcher: W,
    },
    /// A recipe took a step. Its key finds it until [`Event::Over`] comes.
    Stepped(Step<R::Notice>),
    /// A recipe is over, and is returned here. No more events of it follow.
    Over {
        /// The key of the recipe.
        key: RecipeKey,
        /// The recipe.
        recipe: Box<R>,
        /// The site of the recipe.
        site: Arc<Site>,
        /// Why it ended.
        end: RecipeEnd,
    },
    /// A request for recipes has its outcome.
    Requested {
        /// The kind of the request.
        kind: RequestKind,
        /// The outcome. A success or failure for the recipe's node says nothing of its candidate.
        outcome: Result<(), Failure>,
    },
    /// A server accepted the session, for the first time or again.
    Connected {
        /// The session.
        session: SessionId,
        /// The negotiated timeout.
        timeout: Duration,
        /// Whether the server is cut off from its ensemble. Recipes do not stand by such a server.
        read_only: bool,
    },
    /// An attempt to connect failed. Another one follows.
    ConnectFailed {
        /// The server, by its place in the list that counted when the attempt began.
        server: ServerIndex,
        /// Why.
        end: ConnectionEnd,
        /// When the next attempt will begin.
        retry_at: Instant,
    },
    /// The connection is lost. The session may live on, and reconnecting has begun.
    Disconnected {
        /// The session.
        session: Option<SessionId>,
        /// Why.
        end: ConnectionEnd,
        /// The lease deadline; `None` if it has passed.
        lease_deadline: Option<Instant>,
    },
    /// The lease deadline has passed. All announced grants are over.
    LeaseLapsed,
    /// The server refused a heartbeat, which therefore proves nothing.
    HeartbeatRefused {
        /// The recipe that owns the checked znode.
        key: RecipeKey,
        /// The path of that znode on the server.
        path: String,
        /// Why.
        error: ErrorCode,
    },
    /// The ensemble has lost transactions that an earlier session saw. It comes once, before what came of the
    /// write that shows it.
    RolledBack(Rollback),
    /// The session expired, and another begins.
    Renewed {
        /// The session that expired.
        session: Option<SessionId>,
        /// The proof that it has expired.
        expiry: Expiry,
    },
    /// The session has ended, and the host with it. This is the last event.
    Ended {
        /// The session.
        session: Option<SessionId>,
        /// Why it ended.
        end: SessionEnd,
    },
}

/// A step of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step<N> {
    /// The key of the recipe.
    pub key: RecipeKey,
    /// The recipe's notice, if it gives one.
    pub notice: Option<N>,
    /// The change of its grant, if there is one.
    pub grant: Option<GrantChange>,
    /// The change of a znode that woke it, if there is one.
    pub woken_by: Option<Wake>,
    /// The highest zxid that the session had seen by then.
    pub zxid: Zxid,
}

impl<N> Step<N> {
    /// Returns the same step with another notice, or without one.
    pub fn map<M>(self, map: impl FnOnce(N) -> Option<M>) -> Step<M> {
        let Self { key, notice, grant, woken_by, zxid } = self;
        Step { key, notice: notice.and_then(map), grant, woken_by, zxid }
    }
}

/// A change of a znode that a recipe watched and waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The kind of change to the znode.
    pub kind: EventType,
    /// The transaction, from servers since 3.9; otherwise −1.
    pub zxid: Zxid,
}

/// Why a recipe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecipeEnd {
    /// It reported its end by a notice, and nothing of it is left.
    Finished,
    /// The host ended first.
    HostEnded(SessionEnd),
}
