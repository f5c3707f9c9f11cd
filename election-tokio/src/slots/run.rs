//! Runs work on each slot that a member holds.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use std::sync::Arc;

use futures_core::Stream as _;
use futures_util::stream::FuturesUnordered;

use super::{SlotEvent, SlotGuard, Slots, SlotsError};

impl Slots {
    /// Joins as a member of this name, and runs `work` on each slot that it holds, until `shutdown`:
    ///
    /// - When a slot is to be given up, [`SlotGuard::give_up_requested`] tells its work, which has
    ///   until then to end. The slot is released once the work has returned and all clones of the guard
    ///   are dropped.
    /// - When the lock of a slot is lost, or its work has not ended in time, the work is dropped, at
    ///   an await point. Tasks that it has spawned go on: let them hold a clone of the guard, or
    ///   write by its transactions or its token.
    /// - When the work returns by itself, the slot is released, and asked for again a second later.
    /// - At `shutdown` all slots are given up in order.
    ///
    /// Cancel safe: dropping the future drops all work, and the member leaves in the background.
    ///
    /// # Errors
    ///
    /// Those of [`Slots::join`] and [`SlotMember::next`](super::SlotMember::next); then all work is
    /// dropped.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn run<F: Future>(
        &self,
        member: &str,
        shutdown: impl Future,
        mut work: impl FnMut(Arc<SlotGuard>) -> F,
    ) -> Result<(), SlotsError> {
        let mut member = self.join(member)?;
        let mut shutdown = pin!(shutdown);
        let mut is_shut_down = false;
        let mut works = FuturesUnordered::new();
        poll_fn(|cx| {
            if !is_shut_down && shutdown.as_mut().poll(cx).is_ready() {
                is_shut_down = true;
                member.leave();
            }
            loop {
                // Works end before others begin.
                while let Poll::Ready(Some(())) = Pin::new(&mut works).poll_next(cx) {}
                match Pin::new(&mut member).poll_next(cx) {
                    Poll::Ready(Some(Ok(SlotEvent::Gained(guard)))) => {
                        let guard = Arc::new(guard);
                        works.push(until_lost(work(Arc::clone(&guard)), guard));
                    }
                    // The guard tells it.
                    Poll::Ready(Some(Ok(SlotEvent::GiveUp { .. }))) => {}
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }
}

async fn until_lost<F: Future>(work: F, guard: Arc<SlotGuard>) {
    // Lost or ended: in either case the guard is dropped behind the work.
    let _ = guard.guard(work).await;
}
