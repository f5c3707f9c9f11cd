//! Requests that wait for their replies.

use alloc::collections::VecDeque;

use zk_jute::Xid;

use crate::time::Instant;
use crate::watches::{WatchId, WatchedBy};

/// One request that was, or will be, sent.
#[derive(Debug)]
pub(crate) struct Pending<R> {
    pub(crate) xid: Xid,
    /// When it was queued: never later than when it was sent, so a lease that rests on it errs on
    /// the safe side.
    pub(crate) sent_at: Instant,
    pub(crate) purpose: Purpose<R>,
}

/// What a request is for.
#[derive(Debug)]
pub(crate) enum Purpose<R> {
    Caller { tag: R, watch: Option<AskedWatch> },
    SetWatches,
    Close,
}

/// A watch that is set if the request succeeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedWatch {
    pub(crate) id: WatchId,
    pub(crate) by: WatchedBy,
}

/// The requests of one connection, oldest first: servers answer in order.
pub(crate) type InFlight<R> = VecDeque<Pending<R>>;
