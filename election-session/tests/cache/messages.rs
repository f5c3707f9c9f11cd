//! The messages between a cache and its server.

use election_session::cache::{CacheRead, CacheRequest};
use zk_jute::Zxid;

use super::server::{Event, Watch};

/// What a server is able to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    pub(crate) tree_watches: bool,
    /// Its events name their transactions.
    pub(crate) named_events: bool,
    pub(crate) multi_read: bool,
}

/// Something that is on its way to the client.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Event(Event),
    Missed,
    WatchesLost,
    Reply(CacheRequest, Answer, usize),
    Failed(CacheRequest),
}

#[derive(Clone, Debug)]
pub(super) enum Answer {
    Done,
    Unsupported,
    Reads(Vec<(CacheRead, Option<Watch>)>),
    List(Option<(Vec<String>, Zxid)>),
}
