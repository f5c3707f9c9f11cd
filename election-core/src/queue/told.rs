//! Reports of a taker.

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

/// A report of a taker. An event gives at most one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TakerNotice<D> {
    /// The queue is empty, or all its items are claimed: the taker waits for a change. Reported
    /// again after each look.
    Waiting,
    /// The taker holds a claim to this item.
    Claimed(Item<D>),
    /// The taker has ended. Reported exactly once, and last.
    Ended(TakerEnd<D>),
}

/// How a taker ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TakerEnd<D> {
    /// It has taken this item. No other taker has it, or will get it.
    Taken(Item<D>),
    /// The item is gone, and the reply to this taker's deletion was lost: this taker has taken it,
    /// or another one has. The item may still be there if a session that lives on beside the
    /// taker's has sent the deletion, or if the server refuses to show it.
    Unknown(Item<D>),
    /// This is the next item. It was left there.
    Peeked(Item<D>),
    /// The queue was empty.
    Empty,
    /// It gave up without an item, and nothing of it is left.
    Withdrawn,
    /// The claim was given up: the item is in its place, for any taker.
    GivenBack,
    /// The claimed item is done, and gone with its claim.
    Finished,
    /// The claimed item is gone, and so is the session of the claim, and the reply to this taker's
    /// deletion was lost: the item was done here, and another taker may have done it, too.
    FinishedOnce,
    /// The claim was lost, with its session or by an operator: another taker may have the item.
    ClaimLost,
    /// It failed.
    Failed(TakerFailure),
}

/// Why a taker cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum TakerFailure {
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The server refused a request, with this error code.
    #[error("the server refused a request of the queue, with error code {0}")]
    Rejected(i32),
    /// The list of the queue, or an item, is larger than the driver keeps, or does not decode.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
    /// The path has items of another queue, which do not mix with those of this one. None was
    /// taken.
    #[error("at the path of the queue are {0}")]
    Sibling(SiblingQueue),
    /// Items of this format cannot be claimed: kazoo's `Queue` takes any child for an item, and so
    /// the znode of a claim.
    #[error("items of kazoo's Queue cannot be claimed: it would take the claim for an item")]
    NotClaimable,
}
