//! What goes wrong in a two-phase commit.

use core::fmt;

use election_core::{CommitFailure, CommitState, InvalidSites, NomineeId, SiteNameError};
use zk_jute::ErrorCode;
use zk_session::SessionEnd;

use crate::acl::AclError;
use crate::error::{Error, SharedError};
use crate::path::PathError;

/// Why something that was asked of a two-phase commit was not done, or is not known to be.
///
/// None of these is a decision. A site that has voted to commit may not abort because of one: it asks
/// again, until it is told [`Decision`](crate::Decision).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The path of the transaction is invalid.
    #[error("invalid path of a transaction {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        #[source]
        error: PathError,
    },
    /// The access list is one that no server would take.
    #[error("invalid access list: {0}")]
    InvalidAcl(#[from] AclError),
    /// This is no name of a site.
    #[error("invalid name of a site {name:?}: {error}")]
    InvalidSite {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        error: SiteNameError,
    },
    /// There is no site, or one is there twice.
    #[error(transparent)]
    InvalidSites(#[from] InvalidSites),
    /// The operating system gave no random numbers for the id of the transaction.
    #[error("no random numbers from the operating system: {0}")]
    Randomness(#[source] SharedError),
    /// Another transaction stands there, so none was begun: recover it, or take another path.
    #[error("another transaction stands at {path}, and is {}: recover it, or take another path",
        named(*.state))]
    Exists {
        /// The path.
        path: String,
        /// Its id.
        id: NomineeId,
        /// What was decided of it.
        state: CommitState,
    },
    /// The reply to the beginning was lost, and there is no transaction: it was not begun, or is over and
    /// removed already. Its sites know.
    #[error("the transaction at {path} was not begun, or is over and removed already")]
    BeginUnknown {
        /// The path.
        path: String,
    },
    /// There is no transaction: it was not begun, or each site that had to has acknowledged its
    /// decision, and it was removed. A site that has not voted to commit may take it for aborted; to any
    /// other party it says nothing.
    #[error("there is no transaction at {path}: it was not begun, or is over and removed")]
    NotFound {
        /// The path.
        path: String,
    },
    /// Another transaction was begun at the path: the one that was meant is over and removed. As
    /// [`CommitError::NotFound`], it says nothing of the decision.
    #[error("the transaction at {path} is over and removed, and another one was begun there")]
    Replaced {
        /// The path.
        path: String,
    },
    /// The transaction has no child for the site: it does not take part, or has acknowledged the
    /// decision already.
    #[error(
        "the transaction at {path} does not wait for the site {site}: it takes no part in it, or has \
        acknowledged"
    )]
    NoSuchSite {
        /// The path.
        path: String,
        /// The site.
        site: String,
    },
    /// The site has voted to commit, and may not vote to abort any more: wait for the decision.
    #[error(
        "the site {site} has voted to commit at {path} and is bound to the decision: wait for it"
    )]
    Bound {
        /// The path.
        path: String,
        /// The site.
        site: String,
    },
    /// Nothing is decided yet: decide first, or wait.
    #[error("nothing is decided yet of the transaction at {path}: decide or wait")]
    Undecided {
        /// The path.
        path: String,
    },
    /// Something that asking again does not repair.
    #[error("the transaction at {path}: {}", Named(*.failure))]
    Failed {
        /// The path.
        path: String,
        /// What it is.
        failure: CommitFailure,
    },
    /// A read failed.
    #[error(transparent)]
    Request(#[from] Error),
    /// The client ended. What was asked for may be done, or not.
    #[error("{0}")]
    ClientClosed(SessionEnd),
}

impl CommitError {
    /// Whether there is no such transaction any more, or never was.
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

/// With the name of the server's error code, of which the machine knows the number alone.
struct Named(CommitFailure);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(failure) = self;
        match *failure {
            CommitFailure::Rejected(code) => write!(f, "{failure}: {}", ErrorCode::new(code)),
            _ => failure.fmt(f),
        }
    }
}
