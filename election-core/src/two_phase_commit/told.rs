//! Reports of a party of a two-phase commit.

use thiserror::Error;

use super::child::CommitState;
use crate::event::Failure;
use crate::id::NomineeId;

/// A decision. Each transaction has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// All sites have voted to commit, and each of them commits.
    Commit,
    /// No site commits.
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

/// How the task of a party ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitEnd {
    /// This transaction is at the path, in this state.
    Found {
        /// Its id.
        id: NomineeId,
        /// Its decision, if there is one.
        state: CommitState,
    },
    /// The site's vote to commit stands, and there is no decision yet, as far as is known.
    Voted,
    /// This is the decision.
    Decided(Decision),
    /// The site has voted to commit and cannot vote to abort any more: the decision binds it.
    Bound,
    /// The site has acknowledged the decision.
    Acknowledged,
    /// The transaction has no decision yet, so nothing is removed.
    Undecided,
    /// The transaction is removed.
    Finished,
    /// No such transaction exists: it was removed after each bound site had acknowledged, or was
    /// never begun. This says nothing of its decision.
    Gone,
    /// Another transaction is at the path, so the one that was meant is gone.
    Replaced,
    /// The transaction has no child for this site: the site was not invited, or has acknowledged.
    NoSuchSite,
    /// It was given up. A write on its way may still be made.
    Withdrawn,
    /// It failed in a way that trying again does not repair.
    Failed(CommitFailure),
}

impl CommitEnd {
    /// Returns the end of a party that could not remove its znode for this reason.
    pub(super) const fn or_failed(self, failure: CommitFailure) -> Self {
        match self {
            Self::Withdrawn => Self::Failed(failure),
            end => end,
        }
    }
}

/// A report to a site that takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitSiteNotice {
    /// It takes part in the transaction with this id. Reported once.
    Joined(NomineeId),
    /// It has ended. Reported once, and last.
    Ended(CommitEnd),
}

/// Why a party failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CommitFailure {
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The node exists, and holds no transaction.
    #[error("the node exists and is no transaction: its children do not say so")]
    NotATransaction,
    /// The transaction's node has children of another kind. These are not deleted, and so neither
    /// is the node.
    #[error("the node has children that are not the transaction's: delete them")]
    ForeignChildren,
    /// The server refused, with this error code.
    #[error("the server refused a request of the two-phase commit, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

impl CommitFailure {
    pub(super) const fn of<R>(result: &Result<R, Failure>) -> Self {
        match result {
            Ok(_) => Self::UnexpectedReply,
            Err(Failure::Unreadable) => Self::UnreadableReply,
            Err(Failure::NoChroot) => Self::NoChroot,
            Err(failure) => Self::Rejected(failure.code()),
        }
    }
}
