//! What is to be done once the hub's lock is released, since it may run anything of a user's.

use core::fmt;
use core::task::Waker;

use tracing::Span;

use crate::telemetry::Journal;

/// What is dropped only.
pub(super) type Retired = Box<dyn fmt::Debug + Send>;

/// What was put off until the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Unlocked {
    /// To be told to subscribers and recorders.
    pub(crate) journal: Journal,
    /// To be woken.
    pub(crate) wakers: Vec<Waker>,
    /// To be dropped: what a recipe stands with may be a caller's, such as its data.
    pub(super) retired: Vec<Retired>,
}

impl Unlocked {
    /// Moves everything into `other`, which is empty. Swapped only for something: an empty list may
    /// have room, which is not to be lost.
    pub(super) fn move_to(&mut self, other: &mut Self) {
        if !self.wakers.is_empty() {
            core::mem::swap(&mut self.wakers, &mut other.wakers);
        }
        if !self.journal.is_empty() {
            core::mem::swap(&mut self.journal, &mut other.journal);
        }
        if !self.retired.is_empty() {
            core::mem::swap(&mut self.retired, &mut other.retired);
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.wakers.is_empty() && self.journal.is_empty() && self.retired.is_empty()
    }

    /// Gives back memory that is not in use.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.journal.shrink_to_fit();
        self.wakers.shrink_to_fit();
        self.retired.shrink_to_fit();
    }

    /// Does it. What there is to be told is told first: a task that is woken finds it told.
    pub(super) fn carry_out(&mut self, client: &Span) {
        if !self.journal.is_empty() {
            self.journal.tell(client);
        }
        self.wakers.drain(..).for_each(Waker::wake);
        if !self.retired.is_empty() {
            self.retired.clear();
        }
    }
}
