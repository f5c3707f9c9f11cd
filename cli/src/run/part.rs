//! The nominee's part in its election, as others see it.

use core::fmt;
use std::time::SystemTime;

/// The nominee's part in its election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It has no candidate.
    Outside,
    Following {
        predecessor: String,
    },
    /// A znode keeps it from leading that does not go by the rules of its own format.
    Blocked {
        by: String,
    },
    /// It is the first, and its lease is not in force.
    AwaitingLease,
    /// It is the first, and the previous leader did not confirm that it has ended.
    AwaitingLockDelay,
    Leading {
        term: Term,
        command: CommandState,
    },
    /// It leads as far as it knows, but the connection is lost or the lease not proved.
    Suspended {
        term: Term,
    },
    /// Its checks fail. It does not stand, or is about to withdraw.
    Unwell {
        term: Option<Term>,
        reason: String,
    },
    /// The nomination is over, or being withdrawn.
    Ending,
}

/// A leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Term {
    pub(super) token: i64,
    pub(super) since: SystemTime,
}

/// The state of COMMAND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandState {
    Absent,
    /// COMMAND runs, and has not written the line yet by which it takes over.
    TakingOver,
    /// COMMAND runs; if it takes over by a line, it has written that line.
    Ready,
}

impl Part {
    /// Returns the leadership, as far as the nominee knows.
    pub(super) const fn term(&self) -> Option<Term> {
        match self {
            Self::Leading { term, .. } | Self::Suspended { term } => Some(*term),
            Self::Unwell { term, .. } => *term,
            _ => None,
        }
    }

    /// Returns whether the nominee does its work: it stands, and if it leads, COMMAND has taken
    /// over.
    pub(super) const fn is_ready(&self) -> bool {
        match self {
            Self::Following { .. }
            | Self::Blocked { .. }
            | Self::AwaitingLease
            | Self::AwaitingLockDelay => true,
            Self::Leading { command, .. } => matches!(command, CommandState::Ready),
            Self::Outside | Self::Suspended { .. } | Self::Unwell { .. } | Self::Ending => false,
        }
    }

    /// Returns whether it leads, and COMMAND has taken over.
    pub(super) const fn is_active(&self) -> bool {
        matches!(self, Self::Leading { command: CommandState::Ready, .. })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside => f.write_str("does not stand for election yet"),
            Self::Following { predecessor } => write!(f, "follows {predecessor}"),
            Self::Blocked { by } => write!(f, "stands, blocked by {by}"),
            Self::AwaitingLease => f.write_str("is the first, and waits to be elected"),
            Self::AwaitingLockDelay => {
                f.write_str("is the first, and waits for the lock delay to pass")
            }
            Self::Leading { term: Term { token, .. }, command } => {
                write!(f, "leads with token {token}; COMMAND {command}")
            }
            Self::Suspended { term: Term { token, .. } } => {
                write!(f, "has led with token {token}, and the connection is lost")
            }
            Self::Unwell { term: None, reason } => {
                write!(f, "is not well, and does not stand: {reason}")
            }
            Self::Unwell { term: Some(_), reason } => {
                write!(f, "is not well, and gives the lead up: {reason}")
            }
            Self::Ending => f.write_str("stands no more"),
        }
    }
}

impl fmt::Display for CommandState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "does not run",
            Self::TakingOver => "has not said yet that it has taken over",
            Self::Ready => "is at work",
        })
    }
}
