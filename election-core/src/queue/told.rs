//! What the user of a taker is told.

use thiserror::Error;

use super::format::ItemName;
use super::sibling::SiblingQueue;

/// An item of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item<D> {
    /// The name of its znode.
    pub name: ItemName,
    /// Its data.
    pub data: D,
}

/// What a taker has to tell. Feeding an event gives at most one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TakerNotice<D> {
    /// The queue is empty, or all its items are claimed: the taker waits for a change. Told again each
    /// time that it looked.
    Waiting,
    /// The taker holds a claim to this item.
    Claimed(Item<D>),
    /// The taker is over. Reported exactly once, and last.
    Ended(TakerEnd<D>),
}

/// How a taker ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TakerEnd<D> {
    /// It has taken this item: no other taker has it, or will.
    Taken(Item<D>),
    /// The item is gone, and the reply to the own deletion was lost: this taker has taken it, or
    /// another one has.
    Unknown(Item<D>),
    /// This is the next item; it was left where it is.
    Peeked(Item<D>),
    /// There was nothing to take.
    Empty,
    /// It gave up without an item, and nothing of it is left.
    Withdrawn,
    /// The claim was given up: the item is in its place, for any taker.
    GivenBack,
    /// The item that was claimed is done, and gone with its claim.
    Finished,
    /// The item that was claimed is gone, as is the session of the claim, and the reply to the own
    /// deletion was lost: it was done here, and another taker may have done it, too.
    FinishedOnce,
    /// The claim was lost, with its session or by an operator: another taker may have the item.
    ClaimLost,
    /// It ended for this reason.
    Failed(TakerFailure),
}

/// Why a taker cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum TakerFailure {
    /// The server refused a request, with this error code.
    #[error("the server refused a request of the queue, with error code {0}")]
    Rejected(i32),
    /// The list of the queue, or an item, is larger than what the driver keeps, or does not decode.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with what belongs to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
    /// At the path are items of another queue, which do not mix with those of this one. Nothing of it was
    /// taken.
    #[error("at the path of the queue are {0}")]
    Sibling(SiblingQueue),
    /// Items of this format cannot be claimed: kazoo's `Queue` takes any child for an item, and so the
    /// znode that claims one.
    #[error("items of kazoo's Queue cannot be claimed: it would take the claim for an item")]
    NotClaimable,
}
