//! Views of a group: its members and their data at one moment.
//!
//! A server answers the requests of one connection in order, and sends watch events in that order,
//! too. So a value that was read, and was not reported as changed since, is still right when a
//! later reply comes. A view of many reads is therefore true at the moment of the last read, if no
//! event has touched an earlier one. If members change all the time there may be no such moment.
//! Then the tracker *pins* a moment: a later read counts for it if its `mzxid` is not higher than
//! the zxid that the server had applied at that moment.

mod format;
mod pin;
mod read;
mod slots;
mod view;

use alloc::string::String;
use alloc::sync::Arc;

use zk_jute::Zxid;
use zk_jute::records::EventType;

use crate::set_up::{SetUp, SetUpRequest, TrackerWatches};

pub use format::GroupFormat;
use pin::Pin;
pub use read::GroupRead;
use slots::{Fresh, Slots, Touch};
pub use view::{Continuity, GroupMember, GroupSnapshot, GroupView, MemberData};

/// Keeps a view of the children of a znode. A driver makes its requests.
///
/// The driver makes each request of [`poll_request`](Self::poll_request), many at a time if it
/// likes, and reports the replies and the events of the watches. It reports every event that came
/// before a reply on the connection before that reply. It may report a later event before the
/// reply, too; that costs another read. Then it calls [`poll_snapshot`](Self::poll_snapshot).
///
/// After a lost connection in the same session, the requests in flight [have
/// failed](Self::handle_failed), a persistent watch may have [missed](Self::handle_missed) changes,
/// and one-shot watches stand, or fire. In another session [all watches are
/// lost](Self::handle_watches_lost).
#[derive(Debug)]
pub struct GroupTracker {
    path: String,
    format: GroupFormat,
    set_up: SetUp,
    listing: Listing,
    slots: Slots,
    pin: Option<Pin>,
    /// Moments that were pinned in vain since the last view.
    failures: u32,
    /// How many times changes may have been missed.
    gaps: u64,
    last: Option<GroupSnapshot>,
    /// The highest zxid of a reply in this session.
    zxid: Zxid,
    last_ticket: u64,
    /// The last request that was asked for before an event by which a member is gone, until a later one is answered:
    /// the session's next server need not have applied what the event told.
    ahead_of: Option<u64>,
}

/// A request for the driver to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRequest {
    /// The ticket, to be returned with the reply. It makes the tracker ignore a reply that comes
    /// too late.
    pub ticket: u64,
    /// The question.
    pub question: GroupQuestion,
}

/// The question of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupQuestion {
    /// Have a quorum commit something, as [`Op::Barrier`](election_core::Op::Barrier) does. Later
    /// reads are then not older than what another session has shown.
    Barrier,
    /// Set a persistent recursive watch on the node.
    AddWatch,
    /// List the children. With one-shot watches, leave one on the list, or, if the node does not
    /// exist, one for its creation.
    List,
    /// Read the member with this name. With one-shot watches, leave one.
    Read(Arc<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Due,
    InFlight(u64),
    /// A list is on its way, and may be out of date.
    Outdated(u64),
    Known,
}

/// How many moments to pin in vain before the tracker returns a view without the data that it
/// cannot read.
const PATIENCE: u32 = 8;

impl GroupTracker {
    /// Creates a tracker of the node at this path, as the driver names it in events.
    pub const fn new(path: String, format: GroupFormat, watching: TrackerWatches) -> Self {
        Self {
            path,
            format,
            set_up: SetUp::new(watching),
            listing: Listing::Due,
            slots: Slots::new(),
            pin: None,
            failures: 0,
            gaps: 0,
            last: None,
            zxid: Zxid::ZERO,
            last_ticket: 0,
            ahead_of: None,
        }
    }

    /// Returns the watches by which it hears of changes.
    pub const fn watching(&self) -> TrackerWatches {
        self.set_up.watching()
    }

    /// Returns the next request, if there is one.
    pub fn poll_request(&mut self) -> Option<GroupRequest> {
        let ticket = self.last_ticket + 1;
        let question = self.question(ticket)?;
        self.last_ticket = ticket;
        Some(GroupRequest { ticket, question })
    }

    fn question(&mut self, ticket: u64) -> Option<GroupQuestion> {
        if !self.set_up.is_done() {
            return Some(match self.set_up.ask(ticket)? {
                SetUpRequest::Barrier => GroupQuestion::Barrier,
                SetUpRequest::AddWatch => GroupQuestion::AddWatch,
            });
        }
        if self.listing == Listing::Due {
            self.listing = Listing::InFlight(ticket);
            return Some(GroupQuestion::List);
        }
        self.slots.ask(ticket).map(GroupQuestion::Read)
    }

    /// Reports that the barrier was passed.
    pub fn handle_barrier(&mut self, ticket: u64) {
        self.set_up.passed_barrier(ticket);
    }

    /// Reports that the persistent watch is set.
    pub fn handle_watch_added(&mut self, ticket: u64) {
        self.set_up.added_watch(ticket);
    }

    /// Reports that the server knows no persistent watches. The tracker goes on with one-shot ones.
    pub fn handle_unsupported(&mut self, ticket: u64) {
        self.set_up.lacks_persistent_watches(ticket);
    }

    /// Reports the names of all children; none if the node does not exist.
    pub fn handle_list<'a>(
        &mut self,
        ticket: u64,
        names: impl Iterator<Item = &'a str>,
        zxid: Zxid,
    ) {
        let is_outdated = match self.listing {
            Listing::InFlight(awaited) if awaited == ticket => false,
            Listing::Outdated(awaited) if awaited == ticket => true,
            _ => return,
        };
        self.replied(ticket, zxid);
        self.slots.list(names.filter(|name| self.format.is_member(name)));
        self.listing = if is_outdated { Listing::Due } else { Listing::Known };
        // The list had all names at this moment, whatever has come since.
        self.pin_if_free(zxid);
    }

    /// Reports the answer to a read.
    pub fn handle_read(&mut self, ticket: u64, name: &str, read: GroupRead, zxid: Zxid) {
        let is_fresh = self.slots.awaits(ticket, name);
        if let Some(pin) = &mut self.pin
            && (is_fresh || pin.precedes(ticket))
            && pin.fill(name, &read).is_err()
        {
            self.unpin();
        }
        self.slots.answered(ticket, name, read);
        self.replied(ticket, zxid);
        if self.is_listed() {
            self.pin_if_free(zxid);
        }
    }

    fn replied(&mut self, ticket: u64, zxid: Zxid) {
        self.zxid = self.zxid.max(zxid);
        self.ahead_of.take_if(|last| *last < ticket);
    }

    /// Reports that a request failed with its connection. The tracker makes it again.
    pub fn handle_failed(&mut self, request: &GroupRequest) {
        let GroupRequest { ticket, question } = request;
        self.set_up.failed(*ticket);
        match (self.listing, question) {
            (Listing::InFlight(awaited) | Listing::Outdated(awaited), _) if awaited == *ticket => {
                self.listing = Listing::Due;
            }
            (_, GroupQuestion::Read(name)) => self.slots.failed(*ticket, name),
            _ => {}
        }
    }

    /// Reports that a watch saw a change of the znode at this path.
    pub fn handle_change(&mut self, path: &str, kind: EventType) {
        let child = match path.strip_prefix(self.path.as_str()) {
            Some("") => return self.node_changed(kind),
            Some(below) if self.path == "/" => below,
            Some(below) => match below.strip_prefix('/') {
                Some(below) => below,
                None => return,
            },
            None => return,
        };
        if child.is_empty() || child.contains('/') || !self.format.is_member(child) {
            return;
        }
        let is_listing = matches!(self.listing, Listing::InFlight(_) | Listing::Outdated(_));
        match (self.watching(), kind) {
            (TrackerWatches::Persistent, EventType::NODE_DELETED) => {
                if is_listing {
                    self.slots.touch(child, Touch::Went);
                }
                self.slots.remove(child);
                self.ahead_of = Some(self.last_ticket);
                if self.pin.as_ref().is_some_and(|pin| pin.waits_for(child)) {
                    self.unpin();
                }
            }
            (TrackerWatches::Persistent, EventType::NODE_CREATED) => {
                if is_listing {
                    self.slots.touch(child, Touch::Came);
                }
                self.slots.due(child);
            }
            // A one-shot watch on a member says nothing of the list, which has its own watch.
            _ => self.slots.due_if_known(child),
        }
    }

    fn node_changed(&mut self, kind: EventType) {
        // A recursive watch reports each child.
        if (self.watching(), kind) == (TrackerWatches::Persistent, EventType::NODE_DATA_CHANGED) {
            return;
        }
        self.relist();
    }

    fn relist(&mut self) {
        self.listing = match self.listing {
            Listing::InFlight(ticket) | Listing::Outdated(ticket) => Listing::Outdated(ticket),
            Listing::Due | Listing::Known => Listing::Due,
        };
    }

    /// Reports that a persistent watch is set again, and may have missed changes.
    pub fn handle_missed(&mut self) {
        self.gaps += 1;
        self.unpin();
        self.relist();
        self.slots.all_due();
        if self.ahead_of.take().is_some() {
            self.set_up.wait_for_barrier();
        }
    }

    /// Reports that the watches are gone, with their session or because a server does not know
    /// them.
    pub fn handle_watches_lost(&mut self) {
        self.handle_missed();
        // Requests in flight went to a server that may be behind the last view, and the ensemble may have been
        // restored from a copy, so that the next zxids are lower.
        self.listing = Listing::Due;
        self.zxid = Zxid::ZERO;
        self.set_up.begin_anew();
    }

    /// Checks whether an event was lost: a server drops the event of a znode that the client may
    /// not read. Call this seldom, for example once a minute.
    pub fn look(&mut self) {
        self.relist();
        self.slots.unreadable_due();
    }

    fn is_listed(&self) -> bool {
        self.set_up.is_done() && self.listing == Listing::Known
    }

    fn unpin(&mut self) {
        if self.pin.take().is_some() {
            self.failures += 1;
        }
    }

    fn pin_if_free(&mut self, zxid: Zxid) {
        if self.pin.is_none() && !self.slots.are_clean() {
            self.pin = Some(Pin::new((zxid, self.last_ticket), &self.slots));
        }
    }

    /// Returns the view, if it is known now and differs from the last one.
    pub fn poll_snapshot(&mut self) -> Option<GroupSnapshot> {
        let is_known = self.is_listed();
        let members = if is_known && self.slots.are_clean() {
            self.pin = None;
            self.slots.members(Fresh::is_clean)
        } else if let Some(pin) = self.pin.take_if(|pin| pin.is_full()) {
            if is_known {
                self.pin_if_free(self.zxid);
            }
            pin.into_members()
        } else if is_known && self.failures > PATIENCE && self.slots.names_are_certain() {
            self.pin = None;
            self.slots.members(Fresh::is_clean)
        } else {
            return None;
        };
        self.failures = 0;
        let snapshot = GroupSnapshot { members: Arc::new(members), gaps: self.gaps };
        if self.last.as_ref().is_some_and(|last| last.shows_the_same(&snapshot)) {
            return None;
        }
        self.last = Some(snapshot.clone());
        Some(snapshot)
    }
}
