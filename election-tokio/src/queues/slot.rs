//! Hands the outcome of a take from the machine to the future, without losing it.

use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use election_core::queue::TakerEnd;
use zk_session::SessionEnd;

use super::error::TakeError;
use super::item::{Data, QueueItem};
use super::kept::Kept;
use crate::error::Place;

/// An outcome of the machine.
#[derive(Debug)]
pub(super) enum Said {
    Claimed(QueueItem),
    Ended(TakerEnd<Data>),
    ClientEnded {
        end: SessionEnd,
        /// An item with a deletion that was not answered.
        in_doubt: Option<QueueItem>,
    },
}

impl Said {
    /// Returns the outcome for the future, which failed at this place if it failed.
    pub(super) fn outcome(
        self,
        at: impl FnOnce() -> Place,
    ) -> Result<Option<QueueItem>, TakeError> {
        match self {
            Self::Ended(TakerEnd::Failed(failure)) => Err(TakeError::Failed { at: at(), failure }),
            Self::ClientEnded { end, in_doubt: None } => {
                Err(TakeError::ClientClosed { at: at(), end })
            }
            said => said.left_over().transpose(),
        }
    }

    /// Returns an outcome that must not be lost, although the future was dropped.
    pub(super) fn left_over(self) -> Option<Result<QueueItem, TakeError>> {
        match self {
            Self::Ended(TakerEnd::Taken(item) | TakerEnd::Peeked(item)) => {
                Some(Ok(QueueItem::of(item)))
            }
            Self::Ended(TakerEnd::Unknown(item)) => {
                Some(Err(TakeError::Unknown(QueueItem::of(item))))
            }
            Self::ClientEnded { in_doubt: Some(item), .. } => Some(Err(TakeError::Unknown(item))),
            Self::Claimed(_) | Self::Ended(_) | Self::ClientEnded { .. } => None,
        }
    }
}

/// Outcomes of a machine, for a future that may have gone. Its lock is held only for single steps,
/// in which no user code runs.
#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    said: VecDeque<Said>,
    waker: Option<Waker>,
    hearer: Hearer,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hearer {
    #[default]
    Present,
    Gone,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, SlotState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn say(&self, said: Said, kept: &Kept, wakers: &mut Vec<Waker>) {
        let mut state = self.lock();
        match state.hearer {
            Hearer::Present => {
                state.said.push_back(said);
                wakers.extend(state.waker.take());
            }
            Hearer::Gone => {
                drop(state);
                if let Some(left) = said.left_over() {
                    kept.keep(left, wakers);
                }
            }
        }
    }

    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<Said> {
        // The waker is cloned outside of the lock, and the replaced one is dropped there, too.
        let waker = cx.waker().clone();
        let mut state = self.lock();
        if let Some(said) = state.said.pop_front() {
            return Poll::Ready(said);
        }
        let replaced = state.waker.replace(waker);
        drop(state);
        drop(replaced);
        Poll::Pending
    }

    /// Returns the outcomes that the future has not taken; later ones go to the handle.
    pub(super) fn leave(&self) -> VecDeque<Said> {
        let mut state = self.lock();
        state.hearer = Hearer::Gone;
        let (said, waker) = (core::mem::take(&mut state.said), state.waker.take());
        drop(state);
        drop(waker);
        said
    }
}
