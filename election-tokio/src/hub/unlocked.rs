//! Work for after the hub's lock is released, since it may run user code.

use core::fmt;
use core::task::Waker;

use tracing::Span;

use crate::telemetry::Journal;

/// A value to be dropped only.
pub(super) type Retired = Box<dyn fmt::Debug + Send>;

/// The work that was postponed until the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Unlocked {
    /// To be reported to subscribers and recorders.
    pub(crate) journal: Journal,
    /// To be woken.
    pub(crate) wakers: Vec<Waker>,
    /// To be dropped: a recipe's parts may be a caller's, such as its data.
    pub(super) retired: Vec<Retired>,
}

impl Unlocked {
    /// Moves everything into `other`, which is empty. It swaps lists only if they are not empty:
    /// the capacity of an empty one is worth keeping.
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

    /// Frees unused memory.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.journal.shrink_to_fit();
        self.wakers.shrink_to_fit();
        self.retired.shrink_to_fit();
    }

    /// Does the work. Reports come first, so that a task that is woken finds them made.
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
