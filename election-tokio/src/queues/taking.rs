//! One take: a machine from its first request to its end, and its outcome, which is not lost.

use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::{NomineeId, Taker, TakerEnd, TakerOptions};
use election_session::{RecipeKey, Site};
use zk_session::SessionEnd;

use super::QueueItem;
use super::error::TakeError;
use super::face::{Claimant, Data, TakerFace, Verdict};
use super::kept::Kept;
use crate::client::Client;
use crate::hub::Seat;

/// How many of the lowest items of a list are remembered: 8 KB.
pub(super) const WINDOW: usize = 1024;

/// A machine that takes. Dropping it makes it give up, in the background.
#[derive(Debug)]
pub(super) struct Taking {
    client: Client,
    key: RecipeKey,
    number: u64,
    slot: Arc<Slot>,
    kept: Arc<Kept>,
    verdict: Arc<Verdict>,
}

/// What a machine says.
#[derive(Debug)]
pub(super) enum Said {
    Claimed(QueueItem),
    Ended(TakerEnd<Data>),
    ClientEnded {
        end: SessionEnd,
        /// An item whose deletion was not answered.
        in_doubt: Option<QueueItem>,
    },
}

impl Said {
    /// What has become of a take.
    pub(super) fn outcome(self) -> Result<Option<QueueItem>, TakeError> {
        match self {
            Self::Ended(TakerEnd::Taken(item) | TakerEnd::Peeked(item)) => Ok(Some(item.into())),
            Self::Ended(TakerEnd::Unknown(item)) => Err(TakeError::Unknown(item.into())),
            Self::Ended(TakerEnd::Failed(failure)) => Err(TakeError::Failed(failure)),
            Self::ClientEnded { in_doubt: Some(item), .. } => Err(TakeError::Unknown(item)),
            Self::ClientEnded { end, in_doubt: None } => Err(TakeError::ClientClosed(end)),
            Self::Claimed(_) | Self::Ended(_) => Ok(None),
        }
    }

    /// What has to be told, although the future that waited for it was dropped.
    fn left_over(self) -> Option<Result<QueueItem, TakeError>> {
        match self.outcome() {
            Ok(item) => item.map(Ok),
            Err(error @ TakeError::Unknown(_)) => Some(Err(error)),
            Err(_) => None,
        }
    }
}

/// What a machine has said, for a future that may have gone. Its lock is held for single steps, under
/// which nothing of a user's runs.
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

    fn poll(&self, cx: &Context<'_>) -> Poll<Said> {
        // Cloned outside of the lock, and what it replaces is dropped there, too.
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

    /// What was said, and not heard; what is said from now on goes to the handle.
    fn leave(&self) -> VecDeque<Said> {
        let mut state = self.lock();
        state.hearer = Hearer::Gone;
        let (said, waker) = (core::mem::take(&mut state.said), state.waker.take());
        drop(state);
        drop(waker);
        said
    }
}

impl Taking {
    pub(super) fn begin(
        client: &Client,
        site: Arc<Site>,
        (id, options): (NomineeId, TakerOptions),
        kept: &Arc<Kept>,
    ) -> Self {
        let (number, window) = kept.begin();
        let taker = Taker::new(id, options, *window);
        let (slot, verdict) = (Arc::<Slot>::default(), Arc::<Verdict>::default());
        let face = TakerFace { slot: Arc::clone(&slot), kept: Arc::clone(kept) };
        let claimant = Claimant { taker, verdict: Arc::clone(&verdict) };
        let seat = <dyn Seat>::new(claimant, face);
        let key = client.shared().with(|hub, now| hub.stand(now, seat, site));
        Self { client: client.clone(), key, number, slot, kept: Arc::clone(kept), verdict }
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// What it says next.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> Poll<Said> {
        self.slot.poll(cx)
    }

    /// The claim that it holds is done.
    pub(super) fn finish(&self) {
        self.verdict.finish();
        self.withdraw();
    }

    pub(super) fn withdraw(&self) {
        self.client.shared().with(|hub, now| hub.host.withdraw(now, self.key));
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        self.kept.end(self.number);
        let mut wakers = Vec::new();
        for left in self.slot.leave().into_iter().filter_map(Said::left_over) {
            self.kept.keep(left, &mut wakers);
        }
        self.withdraw();
        wakers.into_iter().for_each(Waker::wake);
    }
}
