//! The common interface of the machines of locks and semaphores.

use core::fmt;

use election_core::format::{Access, Format, Recovery};
use election_core::lock::{Lock, LockEnd, LockFailure, LockNotice, LockState};
use election_core::name::CandidateName;
use election_core::semaphore::{Semaphore, SemaphoreState};
use election_core::{NomineeId, Recipe};

/// A machine that contends for something, and then holds it until it releases or loses it.
pub(crate) trait Contending:
    Recipe<Notice = LockNotice> + fmt::Debug + Send + 'static
{
    /// The name of the recipe in errors.
    const RECIPE: &'static str;

    fn id(&self) -> NomineeId;

    /// Returns the znode by which it holds, or will hold.
    fn znode(&self) -> Option<&CandidateName>;

    /// Returns the contender that it waits for.
    fn behind(&self) -> Option<&CandidateName>;

    fn end(&self) -> Option<LockEnd>;

    /// Returns the name for metrics of what it contends for.
    fn kind(&self) -> &'static str;

    /// Returns how a create in doubt is cleared up: without an id in the names, a client has one
    /// contender at a node.
    fn recovery(&self) -> Recovery {
        Recovery::Id
    }

    /// Returns the sequential znode of another format that it reported last.
    fn foreign_child(&self) -> Option<&str>;

    /// Returns why it was refused, if a contender of another format was the reason.
    fn refusal(&self) -> Option<Refusal> {
        None
    }

    /// Returns whether another client asks it to release.
    fn is_revoke_requested(&self) -> bool {
        false
    }
}

/// Reason of a contender that was refused.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The name of the other contender's znode.
    pub(crate) other: String,
    /// The own format.
    pub(crate) format: Format,
}

impl Contending for Lock {
    const RECIPE: &'static str = "lock";

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

    fn refusal(&self) -> Option<Refusal> {
        match self.state() {
            LockState::Ended(LockEnd::Failed(LockFailure::OtherFormat)) => {
                let other = self.foreign_child()?.to_owned();
                Some(Refusal { other, format: self.format() })
            }
            _ => None,
        }
    }

    fn is_revoke_requested(&self) -> bool {
        self.is_revoke_requested()
    }
}

impl Contending for Semaphore {
    const RECIPE: &'static str = "semaphore";

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
