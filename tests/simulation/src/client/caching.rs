//! Keeping cached trees: the requests of trackers, and their outcomes.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use election_session::cache::{
    CacheData, CacheQuestion, CacheRead, CacheReader, CacheRequest, CacheScope, CacheTracker,
};
use election_session::{CallerWatch, TrackerWatches, child_path};
use zk_jute::records::{
    CheckVersionRequest, EventType, ExistsRequest, ExistsResponse, GetChildren2Request,
    GetChildren2Response, GetDataRequest, GetDataResponse, MultiOp, MultiReadOp, MultiReadRequest,
    MultiReadResponse, MultiReadResult, MultiRequest, Stat, SyncRequest,
};
use zk_jute::{Decode, ErrorCode, OpCode, SessionId, Version, Zxid};
use zk_session::{Completion, Failure, Instant, WatchMode, Watching};

use super::{CallId, Client, Observed};
use crate::checker::Entry;
use crate::recipes::{Part, TREE};

/// The most requests of a cache in flight.
const WINDOW: usize = 8;
/// The pause behind a request that a server has refused.
const AGAIN: Duration = Duration::from_millis(200);

/// The tree of which a client keeps a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cached {
    /// The one that all write to.
    Tree,
    /// The plan of slots.
    Plan,
    /// The candidates of members that share slots.
    Members,
    /// The names of members that are drained.
    Drained,
}

/// A cache that a client's user keeps.
#[derive(Debug)]
pub(super) struct Caching {
    root: &'static str,
    part: Part,
    tracker: CacheTracker,
    reader: CacheReader,
    asked: BTreeMap<CallId, CacheRequest>,
    /// The root does not exist: what asks for a watch there.
    awaits_root: BTreeMap<CallId, CacheRequest>,
    /// With the paths of those that fire once.
    watches: BTreeMap<CallId, (Option<Arc<str>>, CallerWatch)>,
    session: Option<SessionId>,
    again_at: Option<Instant>,
}

impl Client {
    /// Begins to keep a part of the tree, by these watches.
    pub(crate) fn keep_tree(&mut self, part: Part, watching: TrackerWatches) {
        if self.is_closed() {
            return;
        }
        self.caches.insert(Cached::Tree, Caching::new((TREE, part), part.scope(), watching));
        self.told.push(Observed::CacheBegins(part));
    }

    /// Drops the cache of the tree.
    pub(crate) fn drop_tree(&mut self, now: Instant) {
        if self.caches.contains_key(&Cached::Tree) {
            self.drop_cache(now, Cached::Tree);
            self.told.push(Observed::CacheEnds);
        }
    }

    /// Begins to keep another tree, all of it.
    pub(super) fn keep(&mut self, which: Cached, root: &'static str, watching: TrackerWatches) {
        let scope = CacheScope::below(root.to_owned());
        self.caches.insert(which, Caching::new((root, Part::All), scope, watching));
    }

    /// Drops a cache, and its watches.
    pub(super) fn drop_cache(&mut self, now: Instant, which: Cached) {
        let watches = self.caches.remove(&which).map(|caching| caching.watches);
        for (call, (_, watch)) in watches.unwrap_or_default() {
            self.host.forget(now, watch);
            self.told.push(Observed::Entry(Entry::Forgotten(call)));
        }
    }

    pub(crate) fn keeps_tree(&self) -> bool {
        self.caches.contains_key(&Cached::Tree)
    }

    /// Whether the client keeps a tree that is the servers'.
    pub(crate) fn has_current_tree(&self) -> bool {
        self.current(Cached::Tree).is_some()
    }

    /// Returns the tracker of a tree that is the servers'.
    pub(super) fn current(&self, which: Cached) -> Option<&CacheTracker> {
        let tracker = &self.caches.get(&which)?.tracker;
        tracker.current().map(|_| tracker)
    }

    /// Returns the names of a znode's children, as the cache of the tree has them.
    pub(super) fn cached_children(&self, path: &str) -> Vec<String> {
        let caching = self.caches.get(&Cached::Tree);
        caching.map_or_else(Vec::new, |it| it.tracker.children(path))
    }

    /// Returns when a cache asks again.
    pub(super) fn cache_due(&self) -> Option<Instant> {
        let due = self.caches.values().filter_map(|caching| caching.again_at).min();
        due.filter(|_| self.host.is_connected())
    }

    /// Makes the requests that are due, and hands out the changes of the tree.
    pub(super) fn drive_caches(&mut self, now: Instant) {
        if self.is_closed() {
            self.caches.clear();
        }
        let mut caches = core::mem::take(&mut self.caches);
        for (which, caching) in &mut caches {
            caching.look_at_session(self.host.session_id());
            if caching.again_at.is_none_or(|at| at <= now) && self.host.is_connected() {
                caching.again_at = None;
                self.ask_for(now, caching);
            }
            let mut has_told = false;
            while let Some(change) = caching.tracker.poll_change(caching.reader) {
                if *which == Cached::Tree {
                    self.told.push(Observed::Cached(change));
                    has_told = true;
                }
            }
            if let Some(zxid) = caching.tracker.current().filter(|_| has_told) {
                let nodes = caching.tracker.iter();
                let nodes = nodes.map(|(path, node)| (Arc::clone(path), Arc::clone(node)));
                self.told.push(Observed::CacheShows(caching.part, zxid, nodes.collect()));
            }
        }
        self.caches = caches;
    }

    fn ask_for(&mut self, now: Instant, caching: &mut Caching) {
        while caching.asked.len() + caching.awaits_root.len() < WINDOW && self.host.has_room() {
            let Some(request) = caching.tracker.poll_request() else { return };
            let call = self.ask_question(now, caching, &request);
            let Some(call) = call else {
                if self.lacks(&request.question) {
                    caching.tracker.handle_unsupported(&request);
                    continue;
                }
                caching.tracker.handle_failed(&request);
                caching.again_at = Some(now + AGAIN);
                return;
            };
            caching.asked.insert(call, request);
        }
    }

    /// Whether the session does not ask any server for that any more.
    fn lacks(&self, question: &CacheQuestion) -> bool {
        match question {
            CacheQuestion::AddWatch => self.host.is_unsupported(OpCode::ADD_WATCH),
            CacheQuestion::ReadMany(_) => self.host.is_unsupported(OpCode::MULTI_READ),
            _ => false,
        }
    }

    fn ask_question(
        &mut self,
        now: Instant,
        caching: &mut Caching,
        request: &CacheRequest,
    ) -> Option<CallId> {
        let leaves_watch = caching.tracker.watching() == TrackerWatches::OneShot;
        let watch = |watching| leaves_watch.then_some(watching);
        match &request.question {
            CacheQuestion::Barrier => {
                let check = CheckVersionRequest { path: "/", version: Version::ANY };
                self.submit_call(now, &MultiRequest::new(&[MultiOp::Check(check)]))
            }
            CacheQuestion::AddWatch => {
                let (call, watch) =
                    self.submit_watch(now, (caching.root, WatchMode::PersistentRecursive))?;
                caching.watches.insert(call, (None, watch));
                Some(call)
            }
            CacheQuestion::Mark => self.submit_call(now, &SyncRequest { path: caching.root }),
            CacheQuestion::Read(path) if caching.part.has_data() => {
                match watch(Watching::GetData(path)) {
                    Some(read) => self.read_and_watch(now, caching, (path, read)),
                    None => self.submit_call(now, &GetDataRequest { path, watch: false }),
                }
            }
            CacheQuestion::Read(path) => match watch(Watching::Exists(path)) {
                Some(read) => self.read_and_watch(now, caching, (path, read)),
                None => self.submit_call(now, &ExistsRequest { path, watch: false }),
            },
            CacheQuestion::ReadMany(paths) => {
                let read = |path| MultiReadOp::GetData(GetDataRequest { path, watch: false });
                let reads: Vec<_> = paths.iter().map(|path| read(path)).collect();
                self.submit_call(now, &MultiReadRequest::new(&reads))
            }
            CacheQuestion::List(path) => match watch(Watching::GetChildren(path)) {
                Some(read) => self.read_and_watch(now, caching, (path, read)),
                None => self.submit_call(now, &GetChildren2Request { path, watch: false }),
            },
        }
    }

    fn read_and_watch(
        &mut self,
        now: Instant,
        caching: &mut Caching,
        (path, read): (&Arc<str>, Watching<'_>),
    ) -> Option<CallId> {
        let (call, watch) = self.submit_read_and_watch(now, read)?;
        caching.watches.insert(call, (Some(Arc::clone(path)), watch));
        Some(call)
    }

    /// Takes in the answer to a call; perhaps one of the cache.
    pub(super) fn cache_answered(
        &mut self,
        now: Instant,
        call: CallId,
        outcome: &Result<Completion, Failure>,
    ) {
        let which = self.caches.iter().find_map(|(which, caching)| {
            let asks = caching.asked.contains_key(&call) || caching.awaits_root.contains_key(&call);
            asks.then_some(*which)
        });
        let Some((which, mut caching)) = which.and_then(|it| self.caches.remove_entry(&it)) else {
            return;
        };
        if outcome.is_err() {
            let is_left = matches!(outcome, Err(Failure::Refused(ErrorCode::NO_NODE)));
            let is_of_root = caching.awaits_root.contains_key(&call);
            if !(is_left && is_of_root) {
                caching.watches.remove(&call);
            }
        }
        if let Some(request) = caching.awaits_root.remove(&call) {
            match outcome {
                Err(Failure::Refused(ErrorCode::NO_NODE)) => {
                    let (ticket, root) = (request.ticket, caching.root);
                    caching.tracker.handle_read(ticket, root, CacheRead::Gone, None);
                }
                // It was created just now, or the answer is lost.
                _ => caching.tracker.handle_failed(&request),
            }
        } else if let Some(request) = caching.asked.remove(&call) {
            self.take_in_answer(now, &mut caching, request, outcome);
        }
        self.caches.insert(which, caching);
    }

    fn take_in_answer(
        &mut self,
        now: Instant,
        caching: &mut Caching,
        request: CacheRequest,
        outcome: &Result<Completion, Failure>,
    ) {
        let is_oneshot = caching.tracker.watching() == TrackerWatches::OneShot;
        match (&request.question, outcome) {
            (_, Ok(completion)) => caching.answered(&request, completion),
            (CacheQuestion::Read(path), Err(Failure::Refused(ErrorCode::NO_NODE)))
                if **path == *caching.root && is_oneshot =>
            {
                let read = Watching::Exists(path);
                match self.read_and_watch(now, caching, (path, read)) {
                    Some(call) => drop(caching.awaits_root.insert(call, request)),
                    None => caching.refused(now, &request),
                }
            }
            (CacheQuestion::Read(path), Err(Failure::Refused(ErrorCode::NO_NODE))) => {
                caching.tracker.handle_read(request.ticket, path, CacheRead::Gone, None);
            }
            (CacheQuestion::List(path), Err(Failure::Refused(ErrorCode::NO_NODE))) => {
                caching.tracker.handle_unlisted(request.ticket, path);
            }
            (_, Err(Failure::Refused(_))) => caching.refused(now, &request),
            (_, Err(_)) => caching.tracker.handle_failed(&request),
        }
    }

    /// Takes in that a watch fired; perhaps one of a cache.
    pub(super) fn cache_fired(&mut self, watcher: CallId, kind: EventType, zxid: Zxid) {
        if let Some(caching) = self.watching(watcher)
            && let Some((Some(path), _)) = caching.watches.remove(&watcher)
        {
            caching.tracker.handle_change(&path, kind, named(zxid));
        }
    }

    /// Takes in that a persistent watch saw a change.
    pub(super) fn cache_changed(
        &mut self,
        watcher: CallId,
        (path, kind, zxid): (&str, EventType, Zxid),
    ) {
        let Some(caching) = self.watching(watcher) else { return };
        if kind != EventType::NODE_CREATED || caching.part.keeps(path) {
            caching.tracker.handle_change(path, kind, named(zxid));
        }
    }

    pub(super) fn cache_missed(&mut self, watcher: CallId) {
        if let Some(caching) = self.watching(watcher) {
            caching.tracker.handle_missed();
        }
    }

    pub(super) fn cache_lost(&mut self, watcher: CallId) {
        if let Some(caching) = self.watching(watcher) {
            caching.lost();
        }
    }

    /// Returns the cache of a watch.
    fn watching(&mut self, watcher: CallId) -> Option<&mut Caching> {
        self.caches.values_mut().find(|caching| caching.watches.contains_key(&watcher))
    }
}

impl Caching {
    fn new(
        (root, part): (&'static str, Part),
        scope: CacheScope,
        watching: TrackerWatches,
    ) -> Self {
        let data = if part.has_data() { CacheData::Kept } else { CacheData::Left };
        let mut tracker = CacheTracker::new(scope, data, watching);
        let reader = tracker.open_reader();
        Self {
            root,
            part,
            tracker,
            reader,
            asked: BTreeMap::new(),
            awaits_root: BTreeMap::new(),
            watches: BTreeMap::new(),
            session: None,
            again_at: None,
        }
    }

    /// Notes that another session has begun, whose server may be behind what the last one has shown.
    fn look_at_session(&mut self, session: Option<SessionId>) {
        if self.session.is_some() && session.is_some() && self.session != session {
            self.lost();
        }
        self.session = self.session.or(session);
    }

    /// The watches are gone with their session.
    fn lost(&mut self) {
        self.watches.clear();
        self.session = None;
        self.tracker.handle_watches_lost();
    }

    fn refused(&mut self, now: Instant, request: &CacheRequest) {
        self.tracker.handle_failed(request);
        self.again_at = Some(now + AGAIN);
    }

    fn answered(&mut self, request: &CacheRequest, completion: &Completion) {
        let (ticket, zxid, body) = (request.ticket, completion.zxid, &completion.body);
        let tracker = &mut self.tracker;
        match &request.question {
            CacheQuestion::Barrier => tracker.handle_barrier(ticket, zxid),
            CacheQuestion::AddWatch => tracker.handle_watch_added(ticket),
            CacheQuestion::Mark => tracker.handle_mark(ticket, zxid),
            CacheQuestion::Read(path) => {
                let found = if self.part.has_data() { data(body) } else { stat(body) };
                match found {
                    Some(found) => tracker.handle_read(ticket, path, found, Some(zxid)),
                    None => tracker.handle_failed(request),
                }
            }
            CacheQuestion::ReadMany(paths) => match MultiReadResponse::decode_prefix(body) {
                Ok(results) => {
                    let reads: Vec<_> = results.into_iter().map(one_of_many).collect();
                    tracker.handle_reads(ticket, paths.iter().cloned().zip(reads), zxid);
                }
                Err(_) => tracker.handle_failed(request),
            },
            CacheQuestion::List(path) => match GetChildren2Response::decode_prefix(body) {
                Ok(list) => {
                    let kept = |name: &&str| self.part.keeps(&child_path(path, name));
                    let names = list.children.iter().filter(kept);
                    tracker.handle_list((ticket, path), names, (list.stat.pzxid, zxid));
                }
                Err(_) => tracker.handle_failed(request),
            },
        }
    }
}

fn data(body: &Bytes) -> Option<CacheRead> {
    let GetDataResponse { data, stat } = GetDataResponse::decode_prefix(body).ok()?;
    Some(found(data, stat))
}

fn stat(body: &Bytes) -> Option<CacheRead> {
    let ExistsResponse { stat } = ExistsResponse::decode_prefix(body).ok()?;
    Some(found(None, stat))
}

fn found(data: Option<&[u8]>, stat: Stat) -> CacheRead {
    CacheRead::Found(Bytes::copy_from_slice(data.unwrap_or_default()), stat)
}

fn one_of_many(result: MultiReadResult<'_>) -> CacheRead {
    match result {
        MultiReadResult::GetData(GetDataResponse { data, stat }) => found(data, stat),
        MultiReadResult::Error(ErrorCode::NO_NODE) => CacheRead::Gone,
        _ => CacheRead::Unreadable,
    }
}

/// Returns the transaction of an event, if the server names it.
fn named(zxid: Zxid) -> Option<Zxid> {
    (zxid > Zxid::ZERO).then_some(zxid)
}
