//! The user's own calls and watches of a client.

use election_session::CallerWatch;
use zk_jute::records::{
    Acl, CreateMode, CreateRequest, DeleteRequest, GetChildrenRequest, GetDataRequest,
    SetDataRequest,
};
use zk_jute::{Request, Vector, Version};
use zk_session::{Instant, SubmitError, WatchMode, Watching};

use super::{Client, Observed};
use crate::checker::{Entry, WatchKind};

/// Names a call of a client's user, and the watch that it leaves; given once in the life of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallId(u64);

#[cfg(test)]
impl CallId {
    pub(crate) const fn numbered(number: u64) -> Self {
        Self(number)
    }
}

/// The user's requests.
#[derive(Debug)]
pub(super) struct Calls {
    last: CallId,
    /// The watches that were asked for last, of any session; the user may forget them.
    watches: Vec<(CallId, CallerWatch)>,
    random: fastrand::Rng,
}

/// The znodes that users call, some below others.
const PATHS: [&str; 3] = ["/shared", "/shared/a", "/shared-2"];

/// Watches that a user keeps.
const MOST_WATCHES: usize = 12;

impl Calls {
    pub(super) const fn new(seed: u64) -> Self {
        // Of its own, so that calls change nothing else that a client draws.
        Self { last: CallId(0), watches: Vec::new(), random: fastrand::Rng::with_seed(!seed) }
    }
}

impl Client {
    /// Submits calls of all kinds: a few, or more than there is room for.
    pub(crate) fn call(&mut self, now: Instant, most: usize) {
        for _ in 0..self.calls.random.usize(1..=most.saturating_mul(2).max(1)) {
            self.call_once(now);
        }
    }

    /// Submits calls for which there is no room any more in the end. No watch is forgotten: what was
    /// told of it may wait to be taken out.
    pub(super) fn read_once_more(&mut self, now: Instant, most: usize) {
        for path in PATHS.into_iter().cycle().take(most.saturating_add(1)) {
            self.submit(now, &GetDataRequest { path, watch: false });
        }
    }

    fn call_once(&mut self, now: Instant) {
        let path = self.calls.random.choice(PATHS).unwrap_or("/");
        let version = Version::ANY;
        match self.calls.random.u8(0..24) {
            0 => {
                let (acl, mode) = (Vector::<Acl<'_>>::OPEN, CreateMode::PERSISTENT);
                self.submit(now, &CreateRequest { path, data: Some(&[]), acl, mode });
            }
            1 => self.submit(now, &DeleteRequest { path, version }),
            2 => self.submit(now, &SetDataRequest { path, data: Some(b"user"), version }),
            3..=9 => self.submit(now, &GetDataRequest { path, watch: false }),
            10..=12 => self.submit(now, &GetChildrenRequest { path, watch: false }),
            13..=15 => self.watch(now, Watching::Exists(path)),
            16..=17 => self.watch(now, Watching::GetData(path)),
            18..=19 => self.watch(now, Watching::GetChildren(path)),
            20..=21 => self.watch_on(now, path),
            _ => self.forget_one(now),
        }
        if self.calls.watches.len() > MOST_WATCHES {
            self.forget_one(now);
        }
    }

    /// Submits a request. The checker hears whether the host takes it, and its outcome; the servers
    /// show its effect.
    pub(super) fn submit<Q: Request>(&mut self, now: Instant, request: &Q) {
        let _ = self.submit_call(now, request);
    }

    /// Returns the name of the call, if it is taken.
    pub(super) fn submit_call<Q: Request>(&mut self, now: Instant, request: &Q) -> Option<CallId> {
        let call = self.next_call();
        let submitted = self.host.submit(now, call, request);
        self.note(call, None, &submitted);
        submitted.is_ok().then_some(call)
    }

    /// Returns the name of the call and the watch that it leaves, if it is taken.
    pub(super) fn submit_read_and_watch(
        &mut self,
        now: Instant,
        read: Watching<'_>,
    ) -> Option<(CallId, CallerWatch)> {
        let call = self.next_call();
        let kind = match read {
            Watching::Exists(_) => WatchKind::Exists,
            Watching::GetData(_) | Watching::GetChildren(_) => WatchKind::Read,
        };
        let submitted = self.host.submit_watching(now, call, read, call);
        self.note(call, Some(kind), &submitted);
        submitted.ok().map(|watch| (call, watch))
    }

    /// Does so of a watch that stays.
    pub(super) fn submit_watch(
        &mut self,
        now: Instant,
        watch: (&str, WatchMode),
    ) -> Option<(CallId, CallerWatch)> {
        let call = self.next_call();
        let submitted = self.host.submit_persistent(now, call, watch, call);
        self.note(call, Some(WatchKind::Persistent), &submitted);
        submitted.ok().map(|watch| (call, watch))
    }

    fn watch(&mut self, now: Instant, read: Watching<'_>) {
        let watch = self.submit_read_and_watch(now, read);
        self.calls.watches.extend(watch);
    }

    fn watch_on(&mut self, now: Instant, path: &str) {
        let mode = if self.calls.random.bool() {
            WatchMode::Persistent
        } else {
            WatchMode::PersistentRecursive
        };
        let watch = self.submit_watch(now, (path, mode));
        self.calls.watches.extend(watch);
    }

    /// Forgets a watch: one that waits, one that is over, or one of an earlier session, of which
    /// another one of this session may have the number.
    fn forget_one(&mut self, now: Instant) {
        if self.calls.watches.is_empty() {
            return;
        }
        let index = self.calls.random.usize(0..self.calls.watches.len());
        let (call, watch) = self.calls.watches.swap_remove(index);
        self.host.forget(now, watch);
        self.told.push(Observed::Entry(Entry::Forgotten(call)));
    }

    fn next_call(&mut self) -> CallId {
        self.calls.last.0 += 1;
        self.calls.last
    }

    fn note<X>(
        &mut self,
        call: CallId,
        watch: Option<WatchKind>,
        submitted: &Result<X, SubmitError>,
    ) {
        match submitted {
            Ok(_) => self.told.push(Observed::Entry(Entry::Submitted(call, watch))),
            Err(SubmitError::Full) => self.told.push(Observed::Entry(Entry::NoRoom)),
            Err(_) => {}
        }
    }
}
