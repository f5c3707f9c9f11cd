//! Views of a group: its members and their data, as they were at one moment.
//!
//! A server answers the requests of one connection in order, and sends what watches see in that order,
//! too: what was read, and not reported as changed since, is still so when a later reply comes. So a view
//! that is put together from many reads is true at the moment of the last one, if no event has touched
//! what was read before. Where members change all the time there may be no such moment: then a moment is
//! *pinned*, and what has to be read for it counts if its `mzxid` is not higher than the zxid that the
//! server had applied at that moment.

mod format;
mod pin;
mod read;
mod slots;
mod view;

use alloc::string::String;
use alloc::sync::Arc;

use zk_jute::Zxid;
use zk_jute::records::EventType;

pub use format::GroupFormat;
use pin::Pin;
pub use read::GroupRead;
use slots::{Fresh, Slots, Touch};
pub use view::{Continuity, GroupMember, GroupSnapshot, GroupView, MemberData};

/// Keeps a view of the children of a znode, whose requests a driver makes.
///
/// The driver makes each request that [`poll_request`](Self::poll_request) hands out, many at a time if
/// it likes, and brings in what comes of them and of the watches. Before a reply it brings in every
/// event that came before it on the connection; an event that came after it may be brought in before
/// it, too, at the price of another read. Then it asks for [`poll_snapshot`](Self::poll_snapshot).
///
/// After a lost connection in the same session, the requests that were in flight
/// [have failed](Self::handle_failed); a persistent watch may have [missed](Self::handle_missed)
/// changes, and one-shot watches stand, or fire. After another session [all watches are
/// lost](Self::handle_watches_lost).
#[derive(Debug)]
pub struct GroupTracker {
    path: String,
    format: GroupFormat,
    watching: GroupWatching,
    setup: Setup,
    listing: Listing,
    slots: Slots,
    pin: Option<Pin>,
    /// Moments that were pinned in vain since the last view.
    failures: u32,
    /// What changed unseen so often.
    gaps: u64,
    last: Option<GroupSnapshot>,
    /// The latest zxid that a reply has brought.
    zxid: Zxid,
    last_ticket: u64,
}

/// By what watches the tracker hears of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupWatching {
    /// By one persistent recursive watch on the node: servers since 3.6.
    Persistent,
    /// By one-shot watches on the list of children, and on each member.
    OneShot,
}

/// What a driver is to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRequest {
    /// To be handed back with the reply: one that came too late counts no more.
    pub ticket: u64,
    /// What to ask.
    pub question: GroupQuestion,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupQuestion {
    /// Have a quorum commit something, as [`Op::Barrier`](election_core::Op::Barrier) does: what is read
    /// from now on is not older than what another session has shown.
    Barrier,
    /// Set a persistent recursive watch on the node.
    AddWatch,
    /// List the children; with one-shot watches, leave one, or, where the node does not exist, one for
    /// its creation.
    List,
    /// Read the member with this name; with one-shot watches, leave one.
    Read(Arc<str>),
}

/// Before the first list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setup {
    Barrier(Asked),
    AddWatch(Asked),
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Due,
    InFlight(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    Due,
    InFlight(u64),
    /// One is on its way that may be too old.
    Outdated(u64),
    Known,
}

/// How many moments are pinned in vain before a view is told that leaves out what cannot be read.
const PATIENCE: u32 = 8;

impl GroupTracker {
    /// Of the node at this path, as the driver names it in events.
    pub const fn new(path: String, format: GroupFormat, watching: GroupWatching) -> Self {
        Self {
            path,
            format,
            watching,
            setup: match watching {
                GroupWatching::Persistent => Setup::AddWatch(Asked::Due),
                GroupWatching::OneShot => Setup::Done,
            },
            listing: Listing::Due,
            slots: Slots::new(),
            pin: None,
            failures: 0,
            gaps: 0,
            last: None,
            zxid: Zxid::ZERO,
            last_ticket: 0,
        }
    }

    /// By what watches it hears of changes.
    pub const fn watching(&self) -> GroupWatching {
        self.watching
    }

    /// What to ask for next, if anything.
    pub fn poll_request(&mut self) -> Option<GroupRequest> {
        let ticket = self.last_ticket + 1;
        let question = self.question(ticket)?;
        self.last_ticket = ticket;
        Some(GroupRequest { ticket, question })
    }

    fn question(&mut self, ticket: u64) -> Option<GroupQuestion> {
        let (asked, question) = match &mut self.setup {
            Setup::Barrier(asked) => (asked, GroupQuestion::Barrier),
            Setup::AddWatch(asked) => (asked, GroupQuestion::AddWatch),
            Setup::Done if self.listing == Listing::Due => {
                self.listing = Listing::InFlight(ticket);
                return Some(GroupQuestion::List);
            }
            Setup::Done => return self.slots.ask(ticket).map(GroupQuestion::Read),
        };
        if *asked != Asked::Due {
            return None;
        }
        *asked = Asked::InFlight(ticket);
        Some(question)
    }

    /// The barrier was passed.
    pub fn handle_barrier(&mut self, ticket: u64) {
        if self.setup == Setup::Barrier(Asked::InFlight(ticket)) {
            self.setup = match self.watching {
                GroupWatching::Persistent => Setup::AddWatch(Asked::Due),
                GroupWatching::OneShot => Setup::Done,
            };
        }
    }

    /// The persistent watch stands.
    pub fn handle_watch_added(&mut self, ticket: u64) {
        if self.setup == Setup::AddWatch(Asked::InFlight(ticket)) {
            self.setup = Setup::Done;
        }
    }

    /// The server knows no persistent watches: one-shot ones will do.
    pub fn handle_unsupported(&mut self, ticket: u64) {
        self.watching = GroupWatching::OneShot;
        self.handle_watch_added(ticket);
    }

    /// The names of all children; none if the node does not exist.
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
        self.zxid = self.zxid.max(zxid);
        self.slots.list(names.filter(|name| self.format.is_member(name)));
        self.listing = if is_outdated { Listing::Due } else { Listing::Known };
        // These were all the names at this moment, whatever has come since.
        self.pin_if_free(zxid);
    }

    /// A read was answered.
    pub fn handle_read(&mut self, ticket: u64, name: &str, read: GroupRead, zxid: Zxid) {
        let is_fresh = self.slots.awaits(ticket, name);
        if let Some(pin) = &mut self.pin
            && (is_fresh || pin.precedes(ticket))
            && pin.fill(name, &read).is_err()
        {
            self.unpin();
        }
        self.slots.answered(ticket, name, read);
        self.zxid = self.zxid.max(zxid);
        if (self.setup, self.listing) == (Setup::Done, Listing::Known) {
            self.pin_if_free(zxid);
        }
    }

    /// A request failed, so that it is to be made again: the connection was lost.
    pub fn handle_failed(&mut self, request: &GroupRequest) {
        let GroupRequest { ticket, question } = request;
        match &mut self.setup {
            Setup::Barrier(asked) | Setup::AddWatch(asked) => {
                if *asked == Asked::InFlight(*ticket) {
                    *asked = Asked::Due;
                }
            }
            Setup::Done => {}
        }
        match (self.listing, question) {
            (Listing::InFlight(awaited) | Listing::Outdated(awaited), _) if awaited == *ticket => {
                self.listing = Listing::Due;
            }
            (_, GroupQuestion::Read(name)) => self.slots.failed(*ticket, name),
            _ => {}
        }
    }

    /// A watch saw a change of the znode at this path.
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
        match (self.watching, kind) {
            (GroupWatching::Persistent, EventType::NODE_DELETED) => {
                if is_listing {
                    self.slots.touch(child, Touch::Went);
                }
                self.slots.remove(child);
                if self.pin.as_ref().is_some_and(|pin| pin.waits_for(child)) {
                    self.unpin();
                }
            }
            (GroupWatching::Persistent, EventType::NODE_CREATED) => {
                if is_listing {
                    self.slots.touch(child, Touch::Came);
                }
                self.slots.due(child);
            }
            // One-shot watches on members alone say nothing of the list, which has its own.
            _ => self.slots.due_if_known(child),
        }
    }

    fn node_changed(&mut self, kind: EventType) {
        // A recursive watch tells of each child.
        if (self.watching, kind) == (GroupWatching::Persistent, EventType::NODE_DATA_CHANGED) {
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

    /// A persistent watch stands again, and may have missed changes.
    pub fn handle_missed(&mut self) {
        self.gaps += 1;
        self.unpin();
        self.relist();
        self.slots.all_due();
    }

    /// The watches are gone, with their session or because a server does not know them.
    pub fn handle_watches_lost(&mut self) {
        self.handle_missed();
        // What is on its way was asked of a server that may lag behind what was shown.
        self.listing = Listing::Due;
        self.setup = Setup::Barrier(Asked::Due);
    }

    /// Lets it look whether an event was lost: servers drop that of a znode which the client may not
    /// read. To be called seldom, once a minute, say.
    pub fn look(&mut self) {
        self.relist();
        self.slots.unreadable_due();
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

    /// What the group is, if that can be said now and is not what was said last.
    pub fn poll_snapshot(&mut self) -> Option<GroupSnapshot> {
        let is_known = (self.setup, self.listing) == (Setup::Done, Listing::Known);
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
