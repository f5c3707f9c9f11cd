//! The queue and the priority queue: a taker that takes one item, or claims one until it is done.

mod format;
mod listing;
mod machine;
mod sibling;
mod stage;
#[cfg(test)]
mod tests;
mod told;
mod window;

use self::stage::{Stage, Target};
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

/// One take from a queue: it has one item, at most, and ends.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and carry out what it answers. A `D` is
/// made of the bytes of the item; `N` is how many of the lowest items it remembers of a list. What it
/// remembers is handed from one taker to the next: [`Taker::into_window`].
///
/// **At most once** ([`Purpose::Take`]): it reads the item, and deletes it with the version that it has
/// read. Where the reply to the deletion is lost, the same deletion is sent again: if it succeeds, or
/// the item stands with another version, the first one has not been executed. If the item is gone, no
/// taker can know by which of the deletions, and [`TakerEnd::Unknown`] has the item.
///
/// **At least once** ([`Purpose::Claim`]): in one transaction it creates two ephemeral znodes, a child
/// of the item, by which a server refuses to delete the item for any taker, and a child of the queue's
/// node, by which takers see, and hear, which items are claimed. [`Taker::finish`] deletes all three in
/// one transaction; `withdraw` gives the item back, and so does the end of the session.
///
/// Where a list shows items of [another queue](SiblingQueue), or the data of an item does, it fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taker<D, const N: usize> {
    id: NomineeId,
    options: TakerOptions,
    window: ItemWindow<N>,
    session: Option<SessionId>,
    /// Sessions so far: a claim of an earlier one is not mistaken for one of this session.
    incarnation: Incarnation,
    steps: u32,
    link: Link,
    will: Will,
    stage: Stage<D>,
    /// The watch on the children of the node that the last list has left.
    watch: Option<Ticket>,
    lists: Lists,
    origin: Known,
    /// Whether another taker was faster since the last list.
    competition: Competition,
    /// The item that is read, deleted or claimed.
    target: Option<Target>,
}

/// How an item is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TakerOptions {
    /// How the items are called.
    pub format: QueueFormat,
    /// What is to become of the item.
    pub purpose: Purpose,
    /// What follows when there is none.
    pub when_empty: WhenEmpty,
}

/// What is to become of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It is deleted, and handed out: at most once.
    Take,
    /// It is claimed until it is done: at least once.
    Claim,
    /// It is read, and left where it is.
    Peek,
}

/// What follows when there is no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenEmpty {
    /// The taker waits for one.
    Wait,
    /// It ends.
    GiveUp,
}

/// The connection, and what is on its way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Link {
    Down,
    Idle,
    InFlight(Ticket),
    /// The server did not look at the last request.
    Throttled,
}

/// Whether an item is wanted still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Will {
    Take,
    Leave,
}

/// Whether this taker has listed since it began, or since it was woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lists {
    None,
    Some,
}

/// What is known of the queue's node, for the next list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Known {
    /// Whether the window is out of date, where it has items.
    NotYet,
    /// It was so at most before the list, by the same server.
    Since(Origin),
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Competition {
    Unnoticed,
    Noticed,
}

impl<D, const N: usize> Taker<D, N> {
    /// A taker that has not been connected yet. The id is new for each taker, as that of a nominee. It
    /// begins with what an earlier one has left in the window. Where items have priorities, one that goes
    /// first may have come meanwhile: a taker asks for that first, and one that claims, and so makes the
    /// node another one, lists anew. One that is to peek does so, too: another client may have claimed the
    /// first item meanwhile, and no answer would tell.
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
            link: Link::Down,
            will: Will::Take,
            stage: Stage::Choosing,
            watch: None,
            lists: Lists::None,
            origin,
            competition: Competition::Unnoticed,
            target: None,
        }
    }

    /// What it knows of the queue, for the next taker of the same options.
    pub const fn window(&self) -> &ItemWindow<N> {
        &self.window
    }

    /// What it knows of the queue, for the next taker of the same options.
    pub fn into_window(self) -> ItemWindow<N> {
        self.window
    }

    /// The item that it is taking, has taken, or holds a claim to.
    pub fn target(&self) -> Option<ItemName> {
        self.target.as_ref().map(|target| self.options.format.name_of(target.key))
    }

    /// The item whose deletion was asked for, if that was not answered yet: it may be gone. For a driver
    /// that ends.
    pub fn in_doubt(&self) -> Option<&D> {
        match &self.stage {
            Stage::Deleting { data, .. } | Stage::Checking { data, .. } => Some(data),
            _ => None,
        }
    }

    /// Whether it holds a claim.
    pub const fn holds_claim(&self) -> bool {
        matches!(self.stage, Stage::Holding)
    }
}

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    /// The item that it holds a claim to is done: it is deleted, with the claim. Changes nothing where
    /// no claim is held.
    pub fn finish(&mut self) -> Output<'_, TakerNotice<D>> {
        if self.holds_claim() {
            self.stage = Stage::Finishing(stage::Earlier::None);
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

    /// Gives up, and gives back what is claimed. An item whose deletion is on its way is told of when
    /// that is answered: it may be taken, or [unknown](TakerEnd::Unknown).
    fn withdraw(&mut self) -> Output<'_, TakerNotice<D>> {
        let notice = self.leave();
        self.output(notice)
    }

    fn phase(&self) -> Phase {
        match (&self.stage, self.will) {
            (Stage::Over, _) => Phase::Over,
            (Stage::GivingBack(_) | Stage::Finishing(_) | Stage::Settling(_), _)
            | (_, Will::Leave) => Phase::Leaving,
            _ => Phase::Standing,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        self.watch == Some(ticket)
            || matches!(self.stage, Stage::Listing(Watch::Other))
                && self.link == Link::InFlight(ticket)
    }

    fn waits_for_look(&self) -> bool {
        self.link == Link::Throttled
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        None
    }
}
