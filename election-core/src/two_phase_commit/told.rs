//! What a party of a two-phase commit tells its user.

use thiserror::Error;

use super::child::CommitState;
use crate::event::Failure;
use crate::id::NomineeId;

/// What was decided. It is decided once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// All sites have voted to commit: each of them does.
    Commit,
    /// None does.
    Abort,
}

impl Decision {
    pub(super) const fn of(state: CommitState) -> Option<Self> {
        match state {
            CommitState::Open => None,
            CommitState::Committed => Some(Self::Commit),
            CommitState::Aborted => Some(Self::Abort),
        }
    }
}

/// How it ended what was asked of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitEnd {
    /// This transaction stands there, in this state.
    Found {
        /// Its id.
        id: NomineeId,
        /// What was decided of it.
        state: CommitState,
    },
    /// The site's vote to commit stands, and nothing is decided yet as far as is known.
    Voted,
    /// This was decided.
    Decided(Decision),
    /// The site has voted to commit and may not vote to abort any more: the decision binds it.
    Bound,
    /// The site has taken note of the decision.
    Acknowledged,
    /// Nothing is decided yet, so nothing is removed.
    Undecided,
    /// The transaction is removed.
    Finished,
    /// There is no such transaction: it was removed after each bound site had acknowledged, or was never
    /// begun. That says nothing of its decision.
    Gone,
    /// Another transaction stands there, so the one that was meant is gone.
    Replaced,
    /// The transaction has no child of this site: it was not asked, or has acknowledged.
    NoSuchSite,
    /// It was given up. A write that was on its way may be made.
    Withdrawn,
    /// Something that asking again does not repair.
    Failed(CommitFailure),
}

/// What a site that takes part is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitSiteNotice {
    /// It takes part in the transaction with this id. Told once.
    Joined(NomineeId),
    /// It is over. Told once, and last.
    Ended(CommitEnd),
}

/// Why a party failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CommitFailure {
    /// The node exists, and holds no transaction.
    #[error("the node exists and is no transaction: its children do not say so")]
    NotATransaction,
    /// The node of the transaction has children of another kind: they are not deleted, and so is it not.
    #[error("the node has children that are not the transaction's: delete them")]
    ForeignChildren,
    /// The server refused, with this error code.
    #[error("the server refused a request of the two-phase commit, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than what the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with what belongs to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

impl CommitFailure {
    pub(super) const fn of<R>(result: &Result<R, Failure>) -> Self {
        match result {
            Ok(_) => Self::UnexpectedReply,
            Err(Failure::Unreadable) => Self::UnreadableReply,
            Err(failure) => Self::Rejected(failure.code()),
        }
    }
}
