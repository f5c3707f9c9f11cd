//! Reports of an observer.

use thiserror::Error;

use crate::code::NO_AUTH;
use crate::event::Failure;
use crate::id::{SessionId, Token, Version};
use crate::name::{CandidateName, ChildName};

/// The last observation. Each was true at one moment, and they come in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Observed<D> {
    /// No candidate stands, or the mark does not exist.
    Absent,
    /// This candidate leads, or this is the mark.
    Present(Present<D>),
    /// A candidate is the first, and a sequential child of another format stands beside it, which is
    /// ephemeral and another session's. Its nominee waits for the end of that child, unless it led
    /// before the child came.
    Blocked {
        /// The candidate.
        first: Present<D>,
        /// The first such child by name; `None` if its name is longer than 64 bytes. Then the observer
        /// looks again at each [`Event::Look`](crate::Event::Look).
        by: Option<ChildName>,
    },
    /// A leader exists, but its candidate may not be read, or its name is longer than 64 bytes. The
    /// observer looks again at each [`Event::Look`](crate::Event::Look).
    Hidden,
    /// The observer has ended.
    Ended(ObserverEnd),
}

/// A znode that an observer has read: the candidate that leads, or the mark.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Present<D> {
    /// The name of the candidate; a mark has none.
    pub candidate: Option<CandidateName>,
    /// Its `czxid`: for a candidate, the token with which it leads.
    pub token: Token,
    /// The version of its data.
    pub version: Version,
    /// The session that it goes with, unless it is persistent.
    pub owner: Option<SessionId>,
    /// Its data.
    pub data: D,
}

/// Why an observer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObserverEnd {
    /// It was withdrawn.
    Withdrawn,
    /// It failed in a way that trying again does not repair.
    Failed(ObserverFailure),
}

/// Why an observer failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum ObserverFailure {
    /// The server refused, with this error code: failed authentication, say.
    #[error("the server refused a request of the observer, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

impl ObserverFailure {
    pub(super) const fn of(failure: Failure) -> Self {
        match failure {
            Failure::NoAuth => Self::Rejected(NO_AUTH),
            Failure::Rejected(code) | Failure::Aborted { code, .. } => Self::Rejected(code),
            Failure::Unreadable => Self::UnreadableReply,
            Failure::TooLarge | Failure::HeldBack => Self::Rejected(failure.code()),
            Failure::NoNode
            | Failure::NodeExists
            | Failure::BadVersion
            | Failure::Throttled
            | Failure::NoChroot
            | Failure::ConnectionLoss => Self::UnexpectedReply,
        }
    }
}
