//! The outcome of an operation on a barrier.

use thiserror::Error;

use crate::code::{NO_AUTH, NOT_EMPTY};
use crate::event::Failure;

/// How an operation on a barrier ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierEnd {
    /// It was set at some moment since the beginning, by this client or another one.
    Set,
    /// It was not set at some moment since the beginning, lifted by this client or another one.
    Lifted,
    /// The barrier was not set at some moment since the beginning, so the wait is over.
    Passed,
    /// The state of the barrier at some moment since the beginning.
    Is(BarrierState),
    /// It was given up before there was an outcome.
    GaveUp(BarrierGaveUp),
    /// It failed in a way that trying again does not repair.
    Failed(BarrierFailure),
}

/// The state of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierState {
    /// It is set, and waiters wait.
    Set,
    /// It is not set, or never was.
    Lifted,
}

/// Why an operation was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierGaveUp {
    /// It was withdrawn.
    Withdrawn,
    /// [`Event::Deadline`](crate::Event::Deadline) came first.
    TimedOut,
}

/// Why an operation on a barrier, or on a double barrier, failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum BarrierFailure {
    /// The node does not exist, and could not be created.
    #[error("the barrier's node does not exist, and was not created")]
    NoNode,
    /// The chroot of the client does not exist.
    #[error(
        "the client's chroot does not exist: create it, or correct it in the client's list of servers"
    )]
    NoChroot,
    /// The node has children, so it cannot be deleted. It is no barrier, but perhaps a double
    /// barrier.
    #[error("the barrier's node has children, so it is no barrier and is not deleted")]
    NotEmpty,
    /// The server refused, with this error code: no permission, a quota, failed authentication.
    #[error("the server refused a request for the barrier, with error code {0}")]
    Rejected(i32),
    /// A reply does not decode, or is larger than the driver keeps.
    #[error("a reply cannot be read, or is larger than this client keeps")]
    UnreadableReply,
    /// The driver answered a command with the reply to another one.
    #[error("the reply does not belong to the request")]
    UnexpectedReply,
}

impl BarrierFailure {
    pub(crate) const fn of(failure: Failure) -> Self {
        match failure {
            Failure::NoNode => Self::NoNode,
            Failure::NoChroot => Self::NoChroot,
            Failure::NoAuth => Self::Rejected(NO_AUTH),
            Failure::Rejected(NOT_EMPTY) => Self::NotEmpty,
            Failure::Rejected(code) | Failure::Aborted { code, .. } => Self::Rejected(code),
            Failure::Unreadable => Self::UnreadableReply,
            Failure::TooLarge | Failure::HeldBack => Self::Rejected(failure.code()),
            Failure::NodeExists
            | Failure::BadVersion
            | Failure::Throttled
            | Failure::ConnectionLoss => Self::UnexpectedReply,
        }
    }
}
