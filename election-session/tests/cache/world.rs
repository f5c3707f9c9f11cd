//! A server, its messages, and a tracker with its readers.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use election_session::TrackerWatches;
use election_session::cache::{
    CacheData, CacheQuestion, CacheRead, CacheRequest, CacheScope, CacheTracker,
};
use zk_jute::Zxid;
use zk_jute::records::EventType;

use super::messages::{Abilities, Answer, Item};
use super::reader::{Heard, Reader};
use super::server::{ROOT, Server, Table, Watch, index};

/// Events beside those of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Churn {
    /// Writes, lost connections, lost events, expired sessions, readers that come and go.
    Faults,
    Constant,
    /// One znode is written all the time.
    Hot,
}

/// What the cache keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    pub(super) depth: usize,
    pub(super) left_out: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    rng: fastrand::Rng,
    pub(crate) tracker: CacheTracker,
    watching: TrackerWatches,
    pub(super) scope: Scope,
    pub(crate) server: Server,
    is_able: Abilities,
    /// The last transaction that the session has seen.
    pub(super) seen: usize,
    pub(super) sent: VecDeque<CacheRequest>,
    pub(super) wire: VecDeque<Item>,
    /// One-shot watches that did not fire for the client yet, and whether they wait for a creation.
    pub(super) registered: BTreeMap<Watch, bool>,
    pub(super) readers: Vec<Reader>,
    /// At how many zxids the cache was current.
    pub(super) moments: usize,
    pub(super) last_moment: i64,
    /// Whether queues of events may become full.
    has_faults: bool,
    pub(crate) asked: Vec<CacheQuestion>,
    pub(super) log: Vec<String>,
}

impl World {
    pub(crate) fn new(seed: u64, watching: TrackerWatches) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let depth = [usize::MAX, usize::MAX, 1, 2][index(&mut rng, 0..4)];
        let left_out = ["", "", "/r/a/x"][index(&mut rng, 0..3)];
        let mut server = Server::new();
        server.hidden = [None, None, Some("/r/b"), Some("/r/a")][index(&mut rng, 0..4)];
        let (named_events, multi_read) = (rng.bool(), rng.u8(..4) > 0);
        let is_able = Abilities { tree_watches: true, named_events, multi_read };
        Self::of(rng, watching, Scope { depth, left_out }, server, is_able)
    }

    /// Makes a world with the whole tree, and a server that names the transaction of each event.
    pub(crate) fn with_named_events(seed: u64) -> Self {
        let is_able = Abilities { tree_watches: true, named_events: true, multi_read: true };
        Self { rng: fastrand::Rng::with_seed(seed), ..Self::on(is_able) }
    }

    /// Makes a world with the whole tree, and a server with these abilities.
    pub(crate) fn on(is_able: Abilities) -> Self {
        let scope = Scope { depth: usize::MAX, left_out: "" };
        let rng = fastrand::Rng::with_seed(0);
        Self::of(rng, TrackerWatches::Persistent, scope, Server::new(), is_able)
    }

    fn of(
        rng: fastrand::Rng,
        watching: TrackerWatches,
        scope: Scope,
        server: Server,
        is_able: Abilities,
    ) -> Self {
        let kept = CacheScope::below(ROOT.into()).depth(scope.depth);
        let mut tracker = CacheTracker::new(kept, CacheData::Kept, watching);
        let readers = vec![Reader::open(&mut tracker)];
        Self {
            rng,
            tracker,
            watching,
            scope,
            server,
            is_able,
            seen: 0,
            sent: VecDeque::new(),
            wire: VecDeque::new(),
            registered: BTreeMap::new(),
            readers,
            moments: 0,
            last_moment: -1,
            has_faults: false,
            asked: Vec::new(),
            log: Vec::new(),
        }
    }

    pub(crate) fn moments(&self) -> usize {
        self.moments
    }

    pub(crate) fn step(&mut self, churn: Churn) {
        let dice = self.rng.u32(..100);
        self.has_faults = churn == Churn::Faults;
        match churn {
            Churn::Faults => match dice {
                0..6 => self.commit(),
                15..16 => self.disconnect(),
                16..17 if self.rng.u8(..4) == 0 => self.restore(),
                16..17 => self.expire(),
                17..18 => self.tracker.look(),
                18..19 => self.reopen(),
                _ => self.proceed(),
            },
            Churn::Constant if dice < 5 => self.commit(),
            Churn::Hot if dice < 60 => self.server.set(ROOT),
            Churn::Constant | Churn::Hot => self.proceed(),
        }
    }

    fn commit(&mut self) {
        self.server.commit(&mut self.rng);
        let tip = self.server.tip();
        self.log.push(format!("{tip}: {:?}", self.server.history[tip]));
    }

    fn reopen(&mut self) {
        let mut reader = Reader::open(&mut self.tracker);
        if self.server.has_lost {
            reader.lost();
        }
        self.readers.push(reader);
        if self.readers.len() > 2 {
            let gone = self.readers.remove(index(&mut self.rng, 1..3));
            self.tracker.close_reader(gone.key());
        }
    }

    fn proceed(&mut self) {
        match self.rng.u32(..5) {
            0 if self.server.applied < self.server.tip() => self.apply(),
            1 => self.ask(),
            2 => self.execute(),
            3 => self.read(),
            _ => self.deliver(),
        }
    }

    /// Lets everything that goes on by itself go on until nothing does: then the cache is current, and its tree the
    /// last one.
    pub(crate) fn rest(&mut self) {
        self.has_faults = false;
        for _ in 0..100_000 {
            while self.server.applied < self.server.tip() {
                self.apply();
            }
            self.ask();
            self.execute();
            self.deliver();
            if self.wire.is_empty() && self.sent.is_empty() && self.tracker.current().is_some() {
                return self.check_rest();
            }
        }
        panic!("no rest: {:#?} {:#?}", self.tracker, self.log);
    }

    /// Comes to rest in order, with all replies at once: for trees that are too large to be checked with each of
    /// them.
    pub(crate) fn rest_at_once(&mut self) {
        while self.server.applied < self.server.tip() {
            self.apply();
        }
        for _ in 0..100 {
            self.rest_of_wire();
            self.ask();
            if self.sent.is_empty() {
                return self.check_rest();
            }
            while !self.sent.is_empty() {
                self.execute();
            }
        }
        panic!("no rest of {} znodes", self.server.tree().len());
    }

    pub(crate) fn apply(&mut self) {
        for event in self.server.apply() {
            self.wire.push_back(Item::Event(event));
        }
    }

    pub(crate) fn ask(&mut self) {
        while let Some(request) = self.tracker.poll_request() {
            self.log.push(format!("asks {request:?}"));
            self.asked.push(request.question.clone());
            self.sent.push_back(request);
        }
    }

    pub(super) fn execute(&mut self) {
        let Some(request) = self.sent.pop_front() else {
            return;
        };
        let answer = match &request.question {
            CacheQuestion::Barrier => {
                self.server.commit_nothing();
                while self.server.applied < self.server.tip() {
                    self.apply();
                }
                Answer::Done
            }
            CacheQuestion::AddWatch if !self.is_able.tree_watches => Answer::Unsupported,
            CacheQuestion::AddWatch => {
                self.server.has_tree_watch = true;
                Answer::Done
            }
            CacheQuestion::Mark => Answer::Done,
            CacheQuestion::ReadMany(_) if !self.is_able.multi_read => Answer::Unsupported,
            CacheQuestion::ReadMany(paths) => {
                Answer::Reads(paths.iter().map(|path| (self.look_up(path), None)).collect())
            }
            CacheQuestion::Read(path) => Answer::Reads(vec![self.look_up_and_watch(path)]),
            CacheQuestion::List(path) => {
                let names = self.server.names(path).filter(|_| self.server.may_read(path));
                if names.is_some() && self.watching == TrackerWatches::OneShot {
                    self.server.held.insert((Table::Child, path.to_string()));
                }
                let pzxid = self.server.stat(path).map_or(Zxid::ZERO, |stat| stat.pzxid);
                Answer::List(names.map(|names| (names, pzxid)))
            }
        };
        self.wire.push_back(Item::Reply(request, answer, self.server.applied));
    }

    fn look_up(&self, path: &str) -> CacheRead {
        match self.server.stat(path) {
            Some(_) if !self.server.may_read(path) => CacheRead::Unreadable,
            Some(stat) => CacheRead::Found(Bytes::from_static(b"data."), stat),
            None => CacheRead::Gone,
        }
    }

    fn look_up_and_watch(&mut self, path: &str) -> (CacheRead, Option<Watch>) {
        let read = self.look_up(path);
        let leaves_watch = match read {
            CacheRead::Found(..) => true,
            CacheRead::Gone => path == ROOT,
            CacheRead::Unreadable => false,
        };
        let watch = (leaves_watch && self.watching == TrackerWatches::OneShot)
            .then(|| (Table::Data, path.to_owned()));
        self.server.held.extend(watch.clone());
        (read, watch)
    }

    /// Delivers some of the bytes on the wire at once. The client may bring in events before replies that came
    /// first, and a queue of events that is full becomes a gap.
    fn deliver(&mut self) {
        let count = index(&mut self.rng, 0..self.wire.len() + 1);
        let mut batch: Vec<Item> = self.wire.drain(..count).collect();
        if self.rng.bool() {
            batch.sort_by_key(|item| matches!(item, Item::Reply(..)));
            let is_event = |item: &Item| matches!(item, Item::Event(_));
            if self.has_faults
                && self.watching == TrackerWatches::Persistent
                && batch.iter().any(is_event)
                && self.rng.u8(..20) == 0
            {
                batch.retain(|item| !is_event(item));
                batch.insert(0, Item::Missed);
            }
        }
        for item in batch {
            self.bring_in(item);
            self.check_tree();
        }
    }

    /// Brings in all that is on the wire.
    pub(crate) fn rest_of_wire(&mut self) {
        while let Some(item) = self.wire.pop_front() {
            self.bring_in(item);
        }
    }

    pub(super) fn bring_in(&mut self, item: Item) {
        self.log.push(format!("hears {item:?}"));
        match item {
            Item::Event((path, kind, zxid)) => {
                self.registered.retain(|(table, watched), _| {
                    let is_of = match kind {
                        EventType::NODE_DELETED => true,
                        EventType::NODE_CHILDREN_CHANGED => *table == Table::Child,
                        _ => *table == Table::Data,
                    };
                    *watched != path || !is_of
                });
                let zxid = (self.is_able.named_events && zxid > 0).then(|| Zxid::new(zxid));
                if kind != EventType::NODE_CREATED || path != self.scope.left_out {
                    self.tracker.handle_change(&path, kind, zxid);
                }
            }
            Item::Missed => self.tracker.handle_missed(),
            Item::WatchesLost => self.tracker.handle_watches_lost(),
            Item::Failed(request) => self.tracker.handle_failed(&request),
            Item::Reply(request, answer, zxid) => {
                self.seen = self.seen.max(zxid);
                self.replied(&request, answer, Zxid::new(i64::try_from(zxid).expect("small")));
            }
        }
    }

    fn replied(&mut self, request: &CacheRequest, answer: Answer, zxid: Zxid) {
        let ticket = request.ticket;
        match (&request.question, answer) {
            (_, Answer::Unsupported) => {
                self.tracker.handle_unsupported(request);
                self.watching = self.tracker.watching();
            }
            (CacheQuestion::Barrier, _) => self.tracker.handle_barrier(ticket, zxid),
            (CacheQuestion::AddWatch, _) => self.tracker.handle_watch_added(ticket),
            (CacheQuestion::Mark, _) => self.tracker.handle_mark(ticket, zxid),
            (CacheQuestion::ReadMany(paths), Answer::Reads(reads)) => {
                let reads = paths.iter().cloned().zip(reads.into_iter().map(|(read, _)| read));
                self.tracker.handle_reads(ticket, reads, zxid);
            }
            (CacheQuestion::Read(path), Answer::Reads(mut reads)) => {
                let (read, watch) = reads.remove(0);
                let is_absent = read == CacheRead::Gone;
                self.registered.extend(watch.map(|watch| (watch, is_absent)));
                // A server's refusal names no transaction.
                let zxid = matches!(read, CacheRead::Found(..)).then_some(zxid);
                self.tracker.handle_read(ticket, path, read, zxid);
            }
            (CacheQuestion::List(path), Answer::List(Some((names, pzxid)))) => {
                if self.watching == TrackerWatches::OneShot {
                    self.registered.insert((Table::Child, path.to_string()), false);
                }
                let names = names.iter().map(String::as_str);
                let kept = names.filter(|name| format!("{path}/{name}") != self.scope.left_out);
                self.tracker.handle_list((ticket, path), kept, (pzxid, zxid));
            }
            (CacheQuestion::List(path), _) => self.tracker.handle_unlisted(ticket, path),
            other => panic!("{other:?}"),
        }
    }

    /// Disconnects the client: every request in flight fails; a server that has applied all that the session has
    /// seen sets the watches again.
    pub(crate) fn disconnect(&mut self) {
        let to = index(&mut self.rng, self.seen..self.server.tip() + 1);
        self.go_on_at(to);
    }

    /// Disconnects the client, whose next server has applied so much.
    pub(super) fn go_on_at(&mut self, applied: usize) {
        self.fail_all();
        self.server.applied = applied;
        if self.watching == TrackerWatches::Persistent {
            if self.server.has_tree_watch {
                self.wire.push_back(Item::Missed);
            }
            return;
        }
        for (watch, was_absent) in self.registered.clone() {
            if let Some(event) = self.server.set_watch(&watch, was_absent, self.seen) {
                let is_told = |item: &Item| matches!(item, Item::Event(other) if *other == event);
                if !self.wire.iter().any(is_told) {
                    self.wire.push_back(Item::Event(event));
                }
            }
        }
    }

    fn fail_all(&mut self) {
        let mut failed: Vec<Item> = Vec::new();
        for item in core::mem::take(&mut self.wire) {
            match item {
                Item::Reply(request, ..) | Item::Failed(request) => {
                    failed.push(Item::Failed(request));
                }
                Item::WatchesLost => failed.push(Item::WatchesLost),
                Item::Missed | Item::Event(..) => {}
            }
        }
        failed.extend(core::mem::take(&mut self.sent).into_iter().map(Item::Failed));
        self.server.held.clear();
        self.wire.extend(failed);
    }

    /// Expires the session; the next one may come to any server.
    fn expire(&mut self) {
        let to = index(&mut self.rng, 0..self.server.tip() + 1);
        self.begin_anew_at(to);
    }

    /// Lets the server start again with an older copy of its data, once the session is over for the client.
    fn restore(&mut self) {
        let last = index(&mut self.rng, 0..self.server.tip() + 1);
        let to = index(&mut self.rng, 0..last + 1);
        self.log.push(format!("the server has lost what came after {last}"));
        self.begin_anew_at(to);
        self.rest_of_wire();
        self.server.restore(last);
        self.last_moment = -1;
        self.readers.iter_mut().for_each(Reader::lost);
    }

    pub(super) fn begin_anew_at(&mut self, applied: usize) {
        self.fail_all();
        self.registered.clear();
        self.server.has_tree_watch = false;
        self.seen = 0;
        self.server.applied = applied;
        self.wire.push_back(Item::WatchesLost);
    }

    /// Lets each reader hear some changes.
    fn read(&mut self) {
        for mut reader in core::mem::take(&mut self.readers) {
            for _ in 0..index(&mut self.rng, 0..6) {
                match reader.hear(&mut self.tracker) {
                    Some(Heard::Moment(zxid)) => {
                        let tree = self.expected(usize::try_from(zxid).expect("small"));
                        assert_eq!(reader.fold, tree, "folded at {zxid}: {:#?}", self.log);
                    }
                    Some(Heard::Change) => {}
                    None => break,
                }
            }
            self.readers.push(reader);
        }
    }
}
