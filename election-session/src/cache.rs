//! A tree of znodes in memory, kept as the server has it.
//!
//! A server answers the requests of one connection in order, sends the events of watches in that order, too, and
//! each reply names the last transaction that the server had applied. Two rules follow. *Events tell where to look,
//! replies tell what is so*: an event only makes its znode due to be read, so what is shown never goes back, and
//! nothing is shown twice. *A value holds until an event*: it was right when it was read, and no event of it has
//! come before a later reply. So once no read is due or on its way, the tree is the server's tree at the zxid of the
//! last reply: the cache is *current*.
//!
//! A server keeps no events of persistent watches for a client that is away, and sets them again without catching
//! up. After such a gap each znode is read again, small ones many in one request, and a list of children only where
//! `pzxid` differs. One-shot watches need no such round: the server compares each with the zxid that the session
//! has seen.

mod batch;
mod counts;
mod node;
mod question;
mod reader;
mod scope;
mod slot;
mod slots;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use zk_jute::Zxid;
use zk_jute::records::EventType;

use crate::set_up::{SetUp, SetUpRequest, TrackerWatches};

use batch::Batch;
pub use counts::CacheCounts;
pub use node::{CacheChange, CacheData, CachedNode};
pub use question::{CacheQuestion, CacheRead, CacheRequest};
pub use reader::CacheReader;
use reader::Readers;
pub use scope::CacheScope;
use slots::Slots;

/// Keeps a tree of znodes. A driver makes its requests.
///
/// The driver makes each request of [`poll_request`](Self::poll_request), many at a time if it likes, and reports
/// the replies and the events of the watches. It reports every event that came before a reply on the connection
/// before that reply. It may report a later event before the reply, too; that may cost another read.
///
/// After a lost connection in the same session, the requests in flight [have failed](Self::handle_failed), a
/// persistent watch may have [missed](Self::handle_missed) changes, and one-shot watches stand, or fire. In another
/// session [all watches are lost](Self::handle_watches_lost).
#[derive(Clone, Debug)]
pub struct CacheTracker {
    set_up: SetUp,
    slots: Slots,
    readers: Readers,
    /// The request for a moment that is on its way.
    mark: Option<u64>,
    /// The zxid of the last reply. A refusal names none.
    moment: Option<Zxid>,
    /// The highest zxid of a reply.
    zxid: Zxid,
    /// How many znodes to read in one request.
    batch: usize,
    largest_batch: usize,
    last_ticket: u64,
}

/// How many znodes are read in one request.
const LARGEST_BATCH: usize = 256;

impl CacheTracker {
    /// Creates a tracker of the znodes in `scope`, with paths as the driver names them in events.
    pub fn new(scope: CacheScope, data: CacheData, watching: TrackerWatches) -> Self {
        Self {
            set_up: SetUp::new(watching),
            slots: Slots::new(scope, data),
            readers: Readers::default(),
            mark: None,
            moment: None,
            zxid: Zxid::ZERO,
            batch: LARGEST_BATCH,
            largest_batch: LARGEST_BATCH,
            last_ticket: 0,
        }
    }

    /// Returns the watches by which it hears of changes.
    pub const fn watching(&self) -> TrackerWatches {
        self.set_up.watching()
    }

    /// Returns the next request, if there is one.
    pub fn poll_request(&mut self) -> Option<CacheRequest> {
        let ticket = self.last_ticket + 1;
        let question = self.question(ticket)?;
        self.last_ticket = ticket;
        Some(CacheRequest { ticket, question })
    }

    fn question(&mut self, ticket: u64) -> Option<CacheQuestion> {
        if self.set_up.is_done() {
            return self.look_for(ticket);
        }
        Some(match self.set_up.ask(ticket)? {
            SetUpRequest::Barrier => CacheQuestion::Barrier,
            SetUpRequest::AddWatch => CacheQuestion::AddWatch,
        })
    }

    fn look_for(&mut self, ticket: u64) -> Option<CacheQuestion> {
        if let Some(path) = self.slots.ask_list(ticket) {
            return Some(CacheQuestion::List(path));
        }
        let znodes = match self.watching() {
            TrackerWatches::Persistent => self.batch,
            TrackerWatches::OneShot => 1,
        };
        if let Some(question) = self.slots.ask_reads(ticket, Batch::of(znodes)) {
            return Some(question);
        }
        if self.mark.is_some() || self.moment.is_some() || !self.slots.are_clean() {
            return None;
        }
        self.mark = Some(ticket);
        Some(CacheQuestion::Mark)
    }

    /// Reports that the barrier was passed, in the transaction `zxid`.
    pub fn handle_barrier(&mut self, ticket: u64, zxid: Zxid) {
        if self.set_up.passed_barrier(ticket) {
            // Lower than before, if the ensemble was restored from a backup.
            self.zxid = zxid;
        }
    }

    /// Reports that the persistent watch is set.
    pub fn handle_watch_added(&mut self, ticket: u64) {
        self.set_up.added_watch(ticket);
    }

    /// Reports that the server does not know what was asked for: persistent watches, in whose place come one-shot
    /// ones, or many reads in one request, in whose place come single ones.
    pub fn handle_unsupported(&mut self, request: &CacheRequest) {
        match request.question {
            CacheQuestion::AddWatch => {
                self.set_up.lacks_persistent_watches(request.ticket);
            }
            CacheQuestion::ReadMany(_) => {
                (self.batch, self.largest_batch) = (1, 1);
                self.handle_failed(request);
            }
            _ => self.handle_failed(request),
        }
    }

    /// Reports the answer to a read; without a zxid if the server refused it.
    pub fn handle_read(&mut self, ticket: u64, path: &str, read: CacheRead, zxid: Option<Zxid>) {
        if self.slots.answered((ticket, path), read, zxid, (self.watching(), &mut self.readers)) {
            self.replied(zxid);
        }
    }

    /// Reports the answers to many reads in one request, in their order.
    pub fn handle_reads(
        &mut self,
        ticket: u64,
        reads: impl Iterator<Item = (Arc<str>, CacheRead)>,
        zxid: Zxid,
    ) {
        for (path, read) in reads {
            self.handle_read(ticket, &path, read, Some(zxid));
        }
        self.batch = (self.batch * 2).min(self.largest_batch);
    }

    /// Reports the names of a znode's children, and its `pzxid`.
    pub fn handle_list<'a>(
        &mut self,
        (ticket, path): (u64, &str),
        names: impl Iterator<Item = &'a str>,
        (pzxid, zxid): (Zxid, Zxid),
    ) {
        if self.slots.listed(ticket, path, names, pzxid) {
            self.replied(Some(zxid));
        }
    }

    /// Reports that the znode to be listed does not exist, or may not be read.
    pub fn handle_unlisted(&mut self, ticket: u64, path: &str) {
        if self.slots.unlisted(ticket, path) {
            self.replied(None);
        }
    }

    /// Reports the zxid of the reply to a mark.
    pub fn handle_mark(&mut self, ticket: u64, zxid: Zxid) {
        if self.mark == Some(ticket) {
            self.mark = None;
            self.replied(Some(zxid));
        }
    }

    fn replied(&mut self, zxid: Option<Zxid>) {
        self.zxid = self.zxid.max(zxid.unwrap_or(Zxid::ZERO));
        self.moment = zxid.map(|_| self.zxid);
    }

    /// Reports that a request for many reads was too large, or its reply. The tracker makes it again in smaller parts.
    /// After the next gap it tries larger ones.
    pub fn handle_too_large(&mut self, request: &CacheRequest) {
        self.batch = (self.batch / 2).clamp(1, self.largest_batch);
        self.handle_failed(request);
    }

    /// Reports that a request failed with its connection. The tracker makes it again.
    pub fn handle_failed(&mut self, request: &CacheRequest) {
        let CacheRequest { ticket, question } = request;
        self.set_up.failed(*ticket);
        match question {
            CacheQuestion::Read(path) => self.slots.read_failed(*ticket, path),
            CacheQuestion::ReadMany(paths) => {
                for path in paths {
                    self.slots.read_failed(*ticket, path);
                }
            }
            CacheQuestion::List(path) => self.slots.list_failed(*ticket, path),
            CacheQuestion::Mark => {
                self.mark.take_if(|mark| mark == ticket);
            }
            CacheQuestion::Barrier | CacheQuestion::AddWatch => {}
        }
    }

    /// Reports that a watch saw a change of the znode at this path, in the transaction `zxid` if the server names it.
    pub fn handle_change(&mut self, path: &str, kind: EventType, zxid: Option<Zxid>) {
        match (self.watching(), kind) {
            (TrackerWatches::Persistent, EventType::NODE_CREATED) => {
                self.slots.appeared(path, zxid);
            }
            (TrackerWatches::Persistent, EventType::NODE_DELETED) => {
                self.slots.child_changed(path, zxid);
                self.slots.due(path, zxid);
            }
            (TrackerWatches::OneShot, EventType::NODE_CHILDREN_CHANGED) => self.slots.relist(path),
            (TrackerWatches::OneShot, EventType::NODE_DELETED) => {
                // It ends both watches of the znode, which may have been made again.
                self.slots.forget_names(path);
                self.slots.due(path, zxid);
            }
            _ => self.slots.due(path, zxid),
        }
    }

    /// Reports that a persistent watch is set again, and may have missed changes.
    pub fn handle_missed(&mut self) {
        self.slots.all_due();
        self.gap();
    }

    /// Reports that the watches are gone, with their session or because a server does not know them. No request
    /// that was made counts any more.
    pub fn handle_watches_lost(&mut self) {
        self.slots.all_void();
        self.gap();
        self.set_up.begin_anew();
    }

    const fn gap(&mut self) {
        self.moment = None;
        self.mark = None;
        self.batch = self.largest_batch;
    }

    /// Reads again what the client may not read, as a change of its access list causes no event. Call this seldom,
    /// for example once a minute.
    pub fn look(&mut self) {
        self.slots.unreadable_due();
    }

    /// Returns the zxid at which the tree is the server's; `None` while changes are being read.
    pub fn current(&self) -> Option<Zxid> {
        let is_known = self.set_up.is_done() && self.slots.are_clean();
        self.moment.filter(|_| is_known)
    }

    /// Returns how much has changed since the cache began.
    pub const fn counts(&self) -> CacheCounts {
        self.slots.counts()
    }

    /// Returns a znode of the tree.
    pub fn get(&self, path: &str) -> Option<&Arc<CachedNode>> {
        self.slots.node(path)
    }

    /// Returns the znodes of the tree, in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<CachedNode>)> {
        self.slots.nodes()
    }

    /// Returns the names of a znode's children in the tree.
    pub fn children(&self, path: &str) -> Vec<String> {
        let in_tree = self.slots.children(path).filter(|(_, child)| self.get(child).is_some());
        in_tree.map(|(name, _)| String::from(name)).collect()
    }

    /// Returns the paths of znodes that the client may not read, or whose data is longer than it keeps. They are
    /// not in the tree, and nothing below them is.
    pub fn unreadable(&self) -> impl Iterator<Item = &Arc<str>> {
        self.slots.unreadable()
    }

    /// Begins to tell of changes. At first all of the tree is new.
    pub fn open_reader(&mut self) -> CacheReader {
        self.readers.open(self.slots.shown())
    }

    /// Ends a reader.
    pub fn close_reader(&mut self, reader: CacheReader) {
        self.readers.close(reader);
    }

    /// Returns the next difference between what the reader knows and the tree. A reader that is slow hears of
    /// several changes of a znode as one.
    pub fn poll_change(&mut self, reader: CacheReader) -> Option<CacheChange> {
        let current = self.current();
        self.readers.poll(reader, |path| self.slots.look(path), current)
    }
}
