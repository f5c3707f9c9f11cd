//! Operations that wait for their replies.

use core::task::{Context, Poll, Waker};

use slab::Slab;
use zk_jute::Request;
use zk_session::{Completion, Failure, Instant, Limits, SubmitError, WatchId, Watching};

use super::{Session, Tag, Watcher};

/// Names a call; it is given again only after its reply came.
pub(crate) type CallKey = usize;

/// Calls whose replies are on their way, and who waits for room to make one.
///
/// The bounds are kept here and not in the session, since they are for calls only: a nominee has
/// one request in flight, and must not be refused it.
#[derive(Debug)]
pub(crate) struct Calls {
    limits: Limits,
    in_flight: usize,
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
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            in_flight: 0,
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
        self.wait_for_room(session, cx)?;
        let key = self.slots.vacant_key();
        session.submit(now, Tag::Call(key), request)?;
        self.submitted(cx);
        Ok(key)
    }

    /// Makes a call that leaves a watch.
    pub(crate) fn submit_watching(
        &mut self,
        session: &mut Session,
        now: Instant,
        (read, watcher): (Watching<'_>, Watcher),
        cx: &Context<'_>,
    ) -> Result<(CallKey, WatchId), CallError> {
        self.wait_for_room(session, cx)?;
        let key = self.slots.vacant_key();
        let watch = session.submit_watching(now, Tag::Call(key), read, watcher)?;
        self.submitted(cx);
        Ok((key, watch))
    }

    fn wait_for_room(&mut self, session: &Session, cx: &Context<'_>) -> Result<(), CallError> {
        if self.has_room(session) {
            return Ok(());
        }
        self.waiting_for_room.push(cx.waker().clone());
        Err(CallError::WaitForRoom)
    }

    fn has_room(&self, session: &Session) -> bool {
        session.ended().is_some()
            || self.in_flight < self.limits.max_in_flight
                && session.queued_bytes() < self.limits.max_queued_bytes
    }

    fn submitted(&mut self, cx: &Context<'_>) {
        self.in_flight += 1;
        self.slots.insert(Slot::Waiting(cx.waker().clone()));
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
        self.in_flight = self.in_flight.saturating_sub(1);
        match core::mem::replace(slot, Slot::Done(outcome)) {
            Slot::Waiting(waker) => wakers.push(waker),
            Slot::Abandoned | Slot::Done(_) => {
                self.slots.remove(key);
            }
        }
    }

    /// Hands out those who wait for room, if there is any: they try again.
    pub(super) fn announce_room(&mut self, session: &Session, wakers: &mut Vec<Waker>) {
        if self.has_room(session) {
            wakers.append(&mut self.waiting_for_room);
        }
    }
}

impl From<SubmitError> for CallError {
    fn from(error: SubmitError) -> Self {
        Self::Refused(error)
    }
}
