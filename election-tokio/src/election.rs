//! Elections: standing, leading, observing, and operating them.
//!
//! Begin with [`Client::election`]. What an operator does: [operating](https://github.com/zk-election/zk-election/blob/main/docs/operating.md).
//!
//! ```no_run
//! # async fn work() {}
//! # async fn example(client: election_tokio::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let mut nomination = client.election("/app/leader").data("host-7").nominate()?;
//! let leadership = nomination.elected().await?;
//! leadership.guard(work()).await?;
//! leadership.resign().await?;
//! # Ok(())
//! # }
//! ```

// rustdoc shows the methods of a type in the order of modules: first the essential ones.
mod leadership;
mod nominating;
mod nomination;

mod acknowledgement;
mod blocker;
mod candidates;
mod course;
mod ending;
mod epoch;
mod eviction;
mod face;
mod facts;
mod hand_over;
mod inner;
mod leaderless;
mod observation;
mod observer;
mod position;
mod preferring;
mod probe;
mod run;
mod settings;
mod status;
mod step_down_request;
mod suspension;
mod verdict;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use election_core::election::Policy;
use election_core::format::Format;

pub use election_core::election::{
    Cause, Departure, ElectionNode, NodeKind, NominationError, ObserverFailure, Obstacle, OnLoss,
    WhenAsked, WhenPromoted,
};
pub use election_core::name::{CandidateName, Sequence};

pub use blocker::Blocker;
pub use candidates::{Candidate, Candidates};
pub use ending::{EndError, Reopening};
pub use epoch::Epoch;
pub use hand_over::{HandOver, HandOverError};
pub use inner::{LeadershipLost, NominationEnded, WithdrawError};
pub use leadership::Leadership;
pub use nomination::Nomination;
pub use observation::{Acknowledgement, Follow, ForeignZnode, Observation, ObservedLeader};
pub use observer::Observer;
pub use position::Position;
pub use preferring::{BetterCandidate, GaveWay, Idle, PreferBetter, Preference};
pub use probe::NominationProbe;
pub use run::{
    CancelReason, Cancellation, Cancelled, CheckFailure, Checked, Checks, Condition,
    ConditionChange, OnStepDownRequest, Resignation, RunEnd, RunError, RunOptions, RunReport,
    RunWhileWellError, Term, TermEnd, Terms, WorkEnd,
};
pub use status::{EndReason, LostReason, Role, Status};
pub use step_down_request::{
    StepDownRequest, StepDownRequestError, StepDownRequested, StepDownRequests,
};
pub use suspension::WhileSuspended;
pub use verdict::{Verdict, VerifyError};

use self::settings::NominationSettings;
use crate::acl::AclError;
use crate::client::Client;
use crate::error::{Place, SharedError};
use crate::path::PathError;
use crate::spot::{Misplaced, Spot};
use crate::telemetry::ElectionLabel;

/// An election, held at a path; made by [`Client::election`].
///
/// One client may stand in any number of elections, and several times in one; [`Election::format`]
/// has exceptions.
#[derive(Clone, Debug)]
#[must_use = "an election does nothing until it is used"]
pub struct Election {
    /// Its data is that of a candidate: the caller's, and the preference behind it.
    spot: Spot,
    data: Bytes,
    preference: Option<Preference>,
    policy: Policy,
    when_asked: WhenAsked,
    when_promoted: WhenPromoted,
    format: Format,
    /// Shared by all nominations that are made alike.
    settings: OnceLock<Arc<NominationSettings>>,
    label: ElectionLabel,
    while_suspended: WhileSuspended,
}

/// Why a nomination could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// The path of the election is invalid, or it is `/` and the client has a chroot
    /// ([`PathError::Chroot`]): an election keeps znodes beside its node.
    #[error("invalid election path {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The fault in the path.
        error: PathError,
    },
    /// No server would accept the access list.
    #[error("election {path}: invalid access list: {error}")]
    InvalidAcl {
        /// The path.
        path: String,
        /// The fault in the list.
        error: AclError,
    },
    /// The names of the format have no id, and this client has a nomination or a lock at the path
    /// already, or one that has ended while its znode remains. Nothing would tell their znodes
    /// apart.
    #[error(
        "this client stands at {path} already, and the names of its format do not tell one candidate of \
         a session from another: wait until the first one's znode is gone, or use another client"
    )]
    AlreadyStanding {
        /// The path of the election.
        path: String,
    },
    /// The operating system gave no random numbers for the nominee's id.
    #[error("{at}: no random numbers from the operating system")]
    Randomness {
        /// The recipe, its path and the step.
        at: Place,
        /// What the operating system returned.
        #[source]
        error: SharedError,
    },
}

impl From<Misplaced> for ElectionError {
    fn from(error: Misplaced) -> Self {
        match error {
            Misplaced::Path { path, error } => Self::InvalidPath { path, error },
            Misplaced::Acl { at, error } => Self::InvalidAcl { path: at.path().to_owned(), error },
        }
    }
}

impl Client {
    /// Returns an election at this path, to stand in or to observe. The znodes that belong to it are
    /// below that path, and beside it: `/app/leader.step-down` and the like.
    pub fn election(&self, path: &str) -> Election {
        Election::new(self.clone(), path)
    }
}
