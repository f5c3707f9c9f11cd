//! The exchange of a writer's znode for a reader's: its steps, and its answers.

use thiserror::Error;

use crate::command::{
    Create, CreateMode, Delete, ExpectedVersion, Multi, NewZnode, Op, Part, Payload, Znode,
};
use crate::event::{Failure, Reply, Stat};
use crate::format::Format;
use crate::id::{SessionId, Token};
use crate::name::CandidateName;
use crate::nominee::mismatch;
use crate::outcome::NominationError;
use crate::ticket::Ticket;

/// Why a contender cannot continue as a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum DowngradeRefused {
    /// It does not hold the lock.
    #[error("the lock is not held")]
    NotHeld,
    /// It is a reader, or about to become one.
    #[error("the lock is held as a reader")]
    AlreadyShared,
    /// A writer of this format cannot become a reader, or the format has no readers.
    #[error("a holder cannot go on as a reader in {0:?}")]
    Format(Format),
}

/// A writer's way to a reader, which a contender goes at most once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Exchanging {
    None,
    UnderWay(Exchange),
    /// The reader has kept this token from its time as a writer.
    Done {
        kept: Token,
    },
}

impl Exchanging {
    pub(super) const fn present(&self) -> Option<&Exchange> {
        match self {
            Self::UnderWay(exchange) => Some(exchange),
            Self::None | Self::Done { .. } => None,
        }
    }

    pub(super) const fn present_mut(&mut self) -> Option<&mut Exchange> {
        match self {
            Self::UnderWay(exchange) => Some(exchange),
            Self::None | Self::Done { .. } => None,
        }
    }

    /// Ends an exchange that was not made, or not known to be made.
    pub(super) fn give_up(&mut self) {
        if let Self::UnderWay(_) = self {
            *self = Self::None;
        }
    }
}

/// The exchange of a writer's znode for a reader's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    pub(super) reader: CandidateName,
    pub(super) step: Step,
    /// The step at which the last request was sent.
    pub(super) sent: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// It begins once the writer is not in doubt.
    Asked,
    /// The transaction is in flight.
    Commit,
    /// It is in doubt. A barrier comes first: a server that is behind would show the writer's
    /// znode, and the writer would go on beside readers.
    Barrier,
    /// The reader's znode is looked for.
    Find,
    /// It was applied: the reader's znode is read, and watched.
    Verify,
    /// The contender leaves with the transaction in doubt. The writer's znode goes first, so that a
    /// doubtful transaction can no longer be applied; then the reader's.
    Retract,
}

/// The answer to a request of the exchange.
#[derive(Clone, Copy)]
pub(super) struct Answered {
    pub(super) session: SessionId,
    pub(super) ticket: Ticket,
    pub(super) answer: ExchangeAnswer,
}

#[derive(Clone, Copy)]
pub(super) enum ExchangeAnswer {
    Committed,
    BarrierPassed,
    Read(Stat),
    Deleted,
    Failed(Failure),
    Other(NominationError),
}

pub(super) fn exchange_of<'a>(writer: &'a CandidateName, reader: &'a CandidateName) -> Op<'a> {
    let znode = NewZnode::Named(Znode::Child(reader.into()));
    let create = Create { znode, mode: CreateMode::Ephemeral, data: Payload::Kept(0) };
    Op::Multi(Multi::of([Part::Create(create), Part::Delete(delete(writer))]))
}

pub(super) fn delete(znode: &CandidateName) -> Delete<'_> {
    Delete { znode: Znode::Child(znode.into()), version: ExpectedVersion::Any }
}

impl ExchangeAnswer {
    pub(super) fn of(result: &Result<Reply<'_>, Failure>) -> Self {
        match result {
            Ok(Reply::Committed(_)) => Self::Committed,
            Ok(Reply::BarrierPassed) => Self::BarrierPassed,
            Ok(Reply::Read { stat, .. }) => Self::Read(*stat),
            Ok(Reply::Deleted) => Self::Deleted,
            Err(failure) => Self::Failed(*failure),
            Ok(_) => Self::Other(mismatch(result)),
        }
    }

    pub(super) fn error(self) -> NominationError {
        match self {
            Self::Other(error) => error,
            Self::Failed(Failure::Aborted { code, .. }) => NominationError::Rejected(code),
            Self::Failed(failure) => mismatch(&Err(failure)),
            Self::Committed | Self::BarrierPassed | Self::Read(_) | Self::Deleted => {
                NominationError::UnexpectedReply
            }
        }
    }
}
