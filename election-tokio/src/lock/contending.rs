//! What the machines of locks and semaphores have in common.

use core::fmt;

use election_core::{
    Access, CandidateName, Lock, LockEnd, LockNotice, LockState, NomineeId, Recipe, Semaphore,
    SemaphoreState,
};

/// A machine that contends for something that it then holds until it lets go of it, or loses it.
pub(crate) trait Contending:
    Recipe<Notice = LockNotice> + fmt::Debug + Send + 'static
{
    fn id(&self) -> NomineeId;

    /// By which it holds, or is to hold.
    fn znode(&self) -> Option<&CandidateName>;

    /// The contender that it waits for.
    fn behind(&self) -> Option<&CandidateName>;

    fn end(&self) -> Option<LockEnd>;

    /// What it contends for, as metrics call it.
    fn kind(&self) -> &'static str;
}

impl Contending for Lock {
    fn id(&self) -> NomineeId {
        self.id()
    }

    fn znode(&self) -> Option<&CandidateName> {
        self.znode()
    }

    fn behind(&self) -> Option<&CandidateName> {
        match self.state() {
            LockState::Waiting { behind } => Some(behind),
            _ => None,
        }
    }

    fn end(&self) -> Option<LockEnd> {
        match self.state() {
            LockState::Ended(end) => Some(end),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self.access() {
            Access::Exclusive => "exclusive",
            Access::Shared => "shared",
        }
    }
}

impl Contending for Semaphore {
    fn id(&self) -> NomineeId {
        self.id()
    }

    fn znode(&self) -> Option<&CandidateName> {
        self.znode()
    }

    fn behind(&self) -> Option<&CandidateName> {
        match self.state() {
            SemaphoreState::Waiting { behind } => Some(behind),
            _ => None,
        }
    }

    fn end(&self) -> Option<LockEnd> {
        match self.state() {
            SemaphoreState::Ended(end) => Some(end),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        "permit"
    }
}
