//! The queue and the priority queue: a taker takes an item, or claims one until it is done.
//!
//! `Taker` is one take from a queue: `Purpose::Take` deletes an item and hands it out, at most
//! once; `Purpose::Claim` holds it under ephemeral znodes until `Taker::finish`, at least once;
//! `Purpose::Peek` reads it. The driver chooses the type of an item's data: any type that is made
//! of bytes. A taker remembers the lowest items of a list in an `ItemWindow`, bounded by its
//! parameter, which goes from one taker to the next.
//!
//! - The first list leaves no watch, so that takers of one client share it. If it has nothing to
//!   take, a second one leaves a watch, and the taker tries the items of that list once more: the
//!   watch reports each item that can be taken later.
//! - A taker that came too late for an item skips some, at random by a number of its own, twice as
//!   many each time. It lists again once the window is used up.
//! - A taker by priority first asks for the node's stat, unless the window is empty: the sum of
//!   `cversion` and `numChildren` is twice the number of children that were created. If that is
//!   what it was before the list that the window is of, the lowest in the window is the lowest in
//!   the queue. Items that were passed over, skipped or claimed are missing from the window, so the
//!   next taker lists.
//! - A deletion whose reply was lost is sent again: item names do not come again, so its success
//!   says that the first was not executed. A taker that was withdrawn asks by a transaction
//!   instead, which changes nothing. If another session was handed out while the old one lives,
//!   neither answer tells, and the outcome is unknown.
//! - The claim's znode below the item has a name of this taker and this session: that it exists
//!   says that the claim was made. The claim beside the item has the same name for all takers:
//!   before a taker gives it back, it looks whether one transaction has created both, for an
//!   operator may have deleted the own one, and another taker may have claimed the item since.

mod format;
mod give_back;
mod listing;
mod machine;
mod owing;
mod sibling;
mod stage;
#[cfg(test)]
mod tests;
mod told;
mod window;

use self::stage::{TakerStage, Target};
use crate::command::{Output, Watch, Znode};
use crate::event::Event;
use crate::id::{NomineeId, SessionId};
use crate::recipe::{Phase, Recipe};
use crate::ticket::{Incarnation, Ticket};
pub use format::{ItemName, ItemPrefix, PriorityError, QueueFormat};
pub use sibling::SiblingQueue;
pub use told::{Item, TakerEnd, TakerFailure, TakerNotice};
pub use window::ItemWindow;
use window::Origin;

/// One take from a queue: it gets one item, at most, and ends.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. A `D` is made of the bytes of the item. `N` is how many of the lowest items of a list
/// it remembers; the next taker gets these by [`Taker::into_window`].
///
/// **At most once** ([`Purpose::Take`]): it reads the item, and deletes it with the version that it
/// has read. If the reply to the deletion is lost, it sends the same deletion again: if that
/// succeeds, or the item exists with another version, the first one was not executed. If the item
/// is gone, no taker can know by which of the deletions, and [`TakerEnd::Unknown`] has the item.
///
/// **At least once** ([`Purpose::Claim`]): in one transaction it creates two ephemeral znodes. One
/// is a child of the item, for which a server refuses every taker's deletion of the item. The other
/// is a child of the queue's node, which shows takers the claimed items, and wakes them.
/// [`Taker::finish`] deletes all three in one transaction; `withdraw` gives the item back, and so
/// does the end of the session. If the server refuses to delete a claim, the taker ends, and deletes
/// it as soon as the server permits that.
///
/// It fails if a list, or the data of an item, shows items of [another queue](SiblingQueue).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taker<D, const N: usize> {
    id: NomineeId,
    options: TakerOptions,
    window: ItemWindow<N>,
    session: Option<SessionId>,
    /// Sessions so far. They distinguish a claim of this session from one of an earlier session.
    incarnation: Incarnation,
    steps: u32,
    link: TakerLink,
    will: Will,
    stage: TakerStage<D>,
    /// The watch on the children of the node, from the last list.
    watch: Option<Ticket>,
    lists: Lists,
    origin: Known,
    /// The success of other takers since the last list.
    competition: Competition,
    /// The item that is being read, deleted or claimed.
    target: Option<Target>,
}

/// Options of a taker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TakerOptions {
    /// The format of the items' names.
    pub format: QueueFormat,
    /// The treatment of the item.
    pub purpose: Purpose,
    /// The reaction to an empty queue.
    pub when_empty: WhenEmpty,
}

/// The treatment of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Delete it, and return it: at most once.
    Take,
    /// Claim it until it is done: at least once.
    Claim,
    /// Read it, and leave it there.
    Peek,
}

/// The reaction to an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenEmpty {
    /// The taker waits for one.
    Wait,
    /// It ends.
    GiveUp,
}

/// The state of the connection, and the request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TakerLink {
    Down,
    Idle,
    InFlight(Ticket),
    /// The server did not handle the last request.
    Throttled,
}

/// The caller's will: an item, or none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Will {
    Take,
    Leave,
}

/// The lists of this taker since it began, or since an event woke it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lists {
    None,
    Some,
}

/// The knowledge of the queue's node, for the next list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Known {
    /// It is not known whether a window with items is out of date.
    NotYet,
    /// The node was in this state before the list, at the same server.
    Since(Origin),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Competition {
    Unnoticed,
    Noticed,
}

impl<D, const N: usize> Taker<D, N> {
    /// Makes a taker that has not been connected yet. Use a new id for each taker, as for a
    /// nominee. It begins with the items that an earlier taker has left in the window. With
    /// priorities, an item that goes first may have come meanwhile: a taker asks for that first,
    /// and one that claims, and so changes the node, lists anew. So does one that only peeks,
    /// because another client may have claimed the first item meanwhile, and no answer would show
    /// it.
    pub fn new(id: NomineeId, options: TakerOptions, mut window: ItemWindow<N>) -> Self {
        let origin = match (options.format.has_priority(), options.purpose) {
            (_, Purpose::Peek) | (true, Purpose::Claim) => {
                window.clear();
                Known::Nothing
            }
            (true, Purpose::Take) => Known::NotYet,
            (false, _) => Known::Nothing,
        };
        Self {
            id,
            options,
            window,
            session: None,
            incarnation: Incarnation::FIRST,
            steps: 0,
            link: TakerLink::Down,
            will: Will::Take,
            stage: TakerStage::Choosing,
            watch: None,
            lists: Lists::None,
            origin,
            competition: Competition::Unnoticed,
            target: None,
        }
    }

    /// Returns its knowledge of the queue, for the next taker with the same options.
    pub const fn window(&self) -> &ItemWindow<N> {
        &self.window
    }

    /// Returns its knowledge of the queue, for the next taker with the same options.
    pub fn into_window(self) -> ItemWindow<N> {
        self.window
    }

    /// Returns the item that it is taking, has taken, or holds a claim to.
    pub fn target(&self) -> Option<ItemName> {
        self.target.as_ref().map(|target| self.options.format.name_of(target.key))
    }

    /// Returns the item of a deletion that was not answered yet: it may be gone. It is for a driver
    /// that ends.
    pub fn in_doubt(&self) -> Option<&D> {
        match &self.stage {
            TakerStage::Deleting { data, .. } | TakerStage::Checking { data, .. } => Some(data),
            _ => None,
        }
    }

    /// Returns whether it holds a claim.
    pub const fn holds_claim(&self) -> bool {
        matches!(self.stage, TakerStage::Holding)
    }
}

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    /// Deletes the claimed item, which is done, with the claim. It changes nothing if no claim is
    /// held.
    pub fn finish(&mut self) -> Output<'_, TakerNotice<D>> {
        if self.holds_claim() {
            self.stage = TakerStage::Finishing(stage::Earlier::None);
        }
        self.output(None)
    }
}

impl<D: for<'a> From<&'a [u8]>, const N: usize> Recipe for Taker<D, N> {
    type Notice = TakerNotice<D>;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, TakerNotice<D>> {
        let notice = self.take_in(event);
        self.output(notice)
    }

    /// Gives up, and gives a claimed item back. The answer to a deletion on its way is reported
    /// when it comes: the item may be taken, or [unknown](TakerEnd::Unknown).
    fn withdraw(&mut self) -> Output<'_, TakerNotice<D>> {
        let notice = self.leave();
        self.output(notice)
    }

    fn phase(&self) -> Phase {
        match (&self.stage, self.will) {
            (TakerStage::Over, _) => Phase::Over,
            (TakerStage::Owing(_), _) => Phase::CleaningUp,
            (
                TakerStage::GivingBack(..) | TakerStage::Finishing(_) | TakerStage::Settling(_),
                _,
            )
            | (_, Will::Leave) => Phase::Leaving,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        self.watch == Some(ticket)
            || matches!(self.stage, TakerStage::Listing(Watch::Other))
                && self.link == TakerLink::InFlight(ticket)
    }

    fn waits_for_look(&self) -> bool {
        self.link == TakerLink::Throttled
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        None
    }
}
