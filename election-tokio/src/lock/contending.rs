//! What the machines of locks and semaphores have in common.

use core::fmt;

use election_core::{
    Access, CandidateName, Lock, LockEnd, LockNotice, LockState, NomineeId, Recipe, Recovery,
    Semaphore, SemaphoreState,
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

    /// How a create in doubt is cleared up: without an id in the names, a client has one at a node.
    fn recovery(&self) -> Recovery {
        Recovery::Id
    }

    /// The sequential znode of another format that it told of last.
    fn foreign_child(&self) -> Option<&str>;

    /// Whether another client asks it to let go.
    fn is_revoke_requested(&self) -> bool {
        false
    }
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

    fn recovery(&self) -> Recovery {
        self.format().recovery()
    }

    fn foreign_child(&self) -> Option<&str> {
        self.foreign_child()
    }

    fn is_revoke_requested(&self) -> bool {
        self.is_revoke_requested()
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

    fn foreign_child(&self) -> Option<&str> {
        self.foreign_child()
    }
}
