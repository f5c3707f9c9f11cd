//! Operations that wait for their replies.

use core::task::{Context, Poll, Waker};

use slab::Slab;
use zk_jute::Request;
use zk_session::{Completion, Failure, Instant, SubmitError, WatchId, Watching};

use super::{Hub, Session, Tag, Watcher};

/// Names a call; it is given again only after its reply came.
pub(crate) type CallKey = usize;

/// Calls whose replies are on their way, and who waits for room to make one.
#[derive(Debug)]
pub(crate) struct Calls {
    slots: Slab<Slot>,
    waiting_for_room: Vec<Waker>,
}

#[derive(Debug)]
enum Slot {
    Waiting(Waker),
    Done(Result<Completion, Failure>),
    /// Nobody waits any more; the slot is kept until the reply has come.
    Abandoned,
}

/// Why a call was not made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallError {
    /// There is no room; the caller will be woken when there is.
    WaitForRoom,
    /// It will not be made.
    Refused(SubmitError),
}

impl Calls {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Slab::new(),
            waiting_for_room: Vec::new(),
        }
    }

    /// Makes a call; whoever is behind `cx` is woken when its outcome is there.
    pub(crate) fn submit<Q: Request>(
        &mut self,
        session: &mut Session,
        now: Instant,
        request: &Q,
        cx: &Context<'_>,
    ) -> Result<CallKey, CallError> {
        let key = self.slots.vacant_key();
        let submitted = session.submit(now, Tag::Call(key), request);
        self.submitted(submitted, cx).map(|()| key)
    }

    /// Makes a call that leaves a watch.
    pub(crate) fn submit_watching(
        &mut self,
        session: &mut Session,
        now: Instant,
        (read, watcher): (Watching<'_>, Watcher),
        cx: &Context<'_>,
    ) -> Result<(CallKey, WatchId), CallError> {
        let key = self.slots.vacant_key();
        let submitted = session.submit_watching(now, Tag::Call(key), read, watcher);
        self.submitted(submitted, cx).map(|watch| (key, watch))
    }

    fn submitted<T>(
        &mut self,
        submitted: Result<T, SubmitError>,
        cx: &Context<'_>,
    ) -> Result<T, CallError> {
        match submitted {
            Ok(value) => {
                self.slots.insert(Slot::Waiting(cx.waker().clone()));
                Ok(value)
            }
            Err(SubmitError::Full) => {
                self.waiting_for_room.push(cx.waker().clone());
                Err(CallError::WaitForRoom)
            }
            Err(error) => Err(CallError::Refused(error)),
        }
    }

    /// The outcome of a call, once.
    pub(crate) fn poll(
        &mut self,
        key: CallKey,
        cx: &Context<'_>,
    ) -> Poll<Result<Completion, Failure>> {
        match self.slots.get_mut(key) {
            Some(Slot::Waiting(waker)) => {
                waker.clone_from(cx.waker());
                Poll::Pending
            }
            Some(Slot::Done(_)) => match self.slots.remove(key) {
                Slot::Done(outcome) => Poll::Ready(outcome),
                Slot::Waiting(_) | Slot::Abandoned => Poll::Ready(Err(Failure::ConnectionLoss)),
            },
            Some(Slot::Abandoned) | None => Poll::Ready(Err(Failure::ConnectionLoss)),
        }
    }

    /// Nobody waits for the call any more.
    pub(crate) fn abandon(&mut self, key: CallKey) {
        match self.slots.get_mut(key) {
            Some(slot @ Slot::Waiting(_)) => *slot = Slot::Abandoned,
            Some(Slot::Done(_)) => {
                self.slots.remove(key);
            }
            Some(Slot::Abandoned) | None => {}
        }
    }

    pub(super) fn complete(
        &mut self,
        key: CallKey,
        outcome: Result<Completion, Failure>,
        wakers: &mut Vec<Waker>,
    ) {
        let Some(slot) = self.slots.get_mut(key) else {
            return;
        };
        match core::mem::replace(slot, Slot::Done(outcome)) {
            Slot::Waiting(waker) => wakers.push(waker),
            Slot::Abandoned | Slot::Done(_) => {
                self.slots.remove(key);
            }
        }
    }

    /// There is room again: whoever waits for it tries again.
    pub(super) fn make_room(&mut self, wakers: &mut Vec<Waker>) {
        wakers.append(&mut self.waiting_for_room);
    }
}

impl Hub {
    /// Wakes those who wait for room, if there is any.
    pub(super) fn announce_room(&mut self) {
        if !self.session.is_full() || self.session.ended().is_some() {
            self.calls.make_room(&mut self.wakers);
        }
    }
}
