//! Errors of two-phase commits.

use election_core::NomineeId;
use election_core::commit::{CommitFailure, CommitState, InvalidSites, SiteNameError};
use zk_session::SessionEnd;

use crate::Error;
use crate::acl::AclError;
use crate::error::{Place, Refusable, SharedError};
use crate::path::PathError;
use crate::spot::misplaced;

/// Why an operation of a two-phase commit failed, or may have failed.
///
/// None of these is a decision. A site that has voted to commit must not abort because of one: it
/// asks again, until it gets a [`Decision`](crate::commit::Decision).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The path of the transaction is invalid.
    #[error("invalid path of a transaction {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The fault in the path.
        error: PathError,
    },
    /// No server would accept the access list.
    #[error("{at}: invalid access list: {error}")]
    InvalidAcl {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault in the list.
        error: AclError,
    },
    /// The name is not that of a site.
    #[error("{at}: invalid name of a site {name:?}: {error}")]
    InvalidSite {
        /// The recipe, its path and the step.
        at: Place,
        /// The name.
        name: String,
        /// The fault in the name.
        error: SiteNameError,
    },
    /// The transaction has no site, or one is named twice.
    #[error("{at}: {error}")]
    InvalidSites {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault in the sites.
        error: InvalidSites,
    },
    /// The operating system gave no random numbers for the id of the transaction.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
    /// Another transaction is there, so none was begun: recover it, or use another path.
    #[error("{at}: another transaction stands there, and is {}: recover it, or take another path",
        named(*.state))]
    Exists {
        /// The recipe, its path and the step.
        at: Place,
        /// Its id.
        id: NomineeId,
        /// Its decision, if there is one.
        state: CommitState,
    },
    /// The reply to the beginning was lost, and there is no transaction: it was not begun, or is
    /// over and removed already. Its sites know.
    #[error("{at}: the transaction was not begun, or is over and removed already")]
    BeginUnknown {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// No transaction exists: it was not begun, or all sites that had to have acknowledged its
    /// decision, and it was removed. A site that has not voted to commit may take it for aborted;
    /// other parties learn nothing from this.
    #[error("{at}: there is no transaction: it was not begun, or is over and removed")]
    NotFound {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// Another transaction was begun at the path. The one that was meant is over and removed. Like
    /// [`CommitError::NotFound`], this says nothing of the decision.
    #[error("{at}: the transaction is over and removed, and another one was begun there")]
    Replaced {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The transaction has no child for the site: the site does not take part, or has acknowledged
    /// the decision already.
    #[error(
        "{at}: the transaction does not wait for the site {site}: it takes no part in it, or has \
        acknowledged"
    )]
    NoSuchSite {
        /// The recipe, its path and the step.
        at: Place,
        /// The site.
        site: String,
    },
    /// The site has voted to commit, and cannot vote to abort any more: wait for the decision.
    #[error("{at}: the site {site} has voted to commit and is bound to the decision: wait for it")]
    Bound {
        /// The recipe, its path and the step.
        at: Place,
        /// The site.
        site: String,
    },
    /// The transaction has no decision yet: decide first, or wait.
    #[error("{at}: nothing is decided yet: decide or wait")]
    Undecided {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// It failed in a way that trying again does not repair.
    #[error("{at}: {}", Refusable(*.failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: CommitFailure,
    },
    /// A read failed.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
    /// The client ended. The operation may have been executed, or not.
    #[error("{at}: {end}")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
}

misplaced!(CommitError);

impl CommitError {
    /// Returns whether there is no such transaction any more, or never was.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. } | Self::Replaced { .. })
    }
}

pub(super) const fn named(state: CommitState) -> &'static str {
    match state {
        CommitState::Open => "open",
        CommitState::Committed => "committed",
        CommitState::Aborted => "aborted",
    }
}
