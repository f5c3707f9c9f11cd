//! The state that clones of a handle share: their knowledge of the queue, and the items of dropped
//! takes.

use core::task::{Context, Poll, Waker};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use election_core::queue::ItemWindow;

use super::error::TakeError;
use super::item::QueueItem;
use crate::ids::Ids;

/// How many of the lowest items of a list are remembered: 8 KB.
pub(super) const WINDOW: usize = 1024;

/// The knowledge of a queue: the lowest items of the last list.
pub(super) type Window = ItemWindow<WINDOW>;

/// The lock is held only for single steps, in which no user code runs.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_number: u64,
    /// At most one for each take that was in flight at the same time.
    windows: Vec<Box<Window>>,
    outcomes: VecDeque<Result<QueueItem, TakeError>>,
    /// Takes that wait, by their numbers.
    waiting: BTreeMap<u64, Waker>,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a number for a take, and what an earlier one knew of the queue.
    pub(super) fn begin(&self, ids: &Ids) -> (u64, Box<Window>) {
        let mut state = self.lock();
        state.last_number += 1;
        let (number, window) = (state.last_number, state.windows.pop());
        drop(state);
        let fresh = || {
            // Takers with equal numbers only come too late more often.
            let seed = ids.draw().map_or(1, u32::from_ne_bytes);
            Box::new(Window::new(seed))
        };
        (number, window.unwrap_or_else(fresh))
    }

    pub(super) fn put_back(&self, window: Window) {
        self.lock().windows.push(Box::new(window));
    }

    /// Keeps an outcome for a taker that has gone.
    pub(super) fn keep(
        &self,
        outcome: Result<QueueItem, TakeError>,
        wakers: &mut impl Extend<Waker>,
    ) {
        let mut state = self.lock();
        state.outcomes.push_back(outcome);
        wakers.extend(core::mem::take(&mut state.waiting).into_values());
    }

    pub(super) fn pop(&self) -> Option<Result<QueueItem, TakeError>> {
        self.lock().outcomes.pop_front()
    }

    /// Returns the outcome of a dropped take, or registers for one.
    pub(super) fn poll(&self, number: u64, cx: &Context<'_>) -> Poll<Result<QueueItem, TakeError>> {
        // The waker is cloned outside of the lock, and the replaced one is dropped there, too.
        let waker = cx.waker().clone();
        let mut state = self.lock();
        if let Some(outcome) = state.outcomes.pop_front() {
            return Poll::Ready(outcome);
        }
        let replaced = state.waiting.insert(number, waker);
        drop(state);
        drop(replaced);
        Poll::Pending
    }

    /// Ends a take.
    pub(super) fn end(&self, number: u64) {
        let waker = self.lock().waiting.remove(&number);
        drop(waker);
    }
}
