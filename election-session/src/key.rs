//! Keys of replies, watch events and recipes.

use alloc::sync::Arc;

use election_core::Ticket;
use zk_session::WatchId;

use crate::request::RequestKind;

/// The key of a recipe of a host. No key is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecipeKey(pub(crate) u64);

/// A watch of the caller in one of the sessions of a host: each session numbers its watches anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerWatch {
    /// How many sessions came before that one.
    pub(crate) session: u64,
    pub(crate) id: WatchId,
}

/// The key of a list that was asked for. No key is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListKey(pub(crate) u64);

/// The request that a reply is for.
#[derive(Debug)]
pub(crate) enum Tag<T> {
    Caller(T),
    Recipe {
        key: RecipeKey,
        ticket: Ticket,
        kind: RequestKind,
    },
    /// A list of the children of the znode with this path on the server.
    List {
        parent: Arc<str>,
        list: ListKey,
    },
}

/// The receiver of a watch event.
#[derive(Clone, Debug)]
pub(crate) enum Watcher<W> {
    Caller(W),
    Recipe { key: RecipeKey, ticket: Ticket },
}
