//! Operations that wait for their replies.

use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;

use slab::Slab;
use zk_jute::Request;
use zk_session::{Completion, Failure, Instant, Limits, SubmitError};

use super::{Session, Tag};
use crate::telemetry::{RequestSpan, RequestSpans};

/// Names a call; it is given again only after its reply came.
pub(crate) type CallKey = usize;

/// Calls whose replies are on their way, and who waits for room to make one.
///
/// The bounds are kept here and not in the session, since they are for calls only: a nominee has
/// one request in flight, and must not be refused it.
///
/// What drops a waker drops it into the caller's hands, to be dropped outside of the lock: that
/// may run anything, the drop of a handle of this client included.
#[derive(Debug)]
pub(crate) struct Calls {
    limits: Limits,
    in_flight: usize,
    slots: Slab<Slot>,
    last_ticket: u64,
    waiting_for_room: BTreeMap<RoomTicket, Waker>,
    pub(crate) spans: RequestSpans,
}

#[derive(Debug)]
enum Slot {
    Waiting(Waker),
    Done(Result<Completion, Failure>),
    /// Nobody waits any more; the slot is kept until the reply has come.
    Abandoned,
}

/// The place of a call among those that wait for room, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoomTicket(u64);

/// How far a call has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    Unsent,
    WaitingForRoom(RoomTicket),
    Sent(CallKey),
    Over,
}

/// Who makes a call.
pub(crate) struct Caller<'c, 'w> {
    pub(crate) stage: &'c mut Stage,
    pub(crate) cx: &'c Context<'w>,
}

/// What becomes of an attempt to make a call: `Pending` if there is no room, in which case the
/// caller is woken when there is; and the waker that was replaced.
pub(crate) type Submitted<T> = (Poll<Result<T, SubmitError>>, Option<Waker>);

impl Calls {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            in_flight: 0,
            slots: Slab::new(),
            last_ticket: 0,
            waiting_for_room: BTreeMap::new(),
            spans: RequestSpans::new(),
        }
    }

    /// Makes a call; the caller is woken when its outcome is there.
    pub(crate) fn submit<Q: Request>(
        &mut self,
        session: &mut Session,
        now: Instant,
        request: &Q,
        caller: Caller<'_, '_>,
    ) -> Submitted<()> {
        self.submit_by(session, caller, |session, tag| session.submit(now, tag, request))
    }

    /// Makes a call by what `submit` does with its tag.
    pub(crate) fn submit_by<T>(
        &mut self,
        session: &mut Session,
        caller: Caller<'_, '_>,
        submit: impl FnOnce(&mut Session, Tag) -> Result<T, SubmitError>,
    ) -> Submitted<T> {
        if !self.has_room(session) {
            return self.wait_for_room(caller);
        }
        let tag = Tag::Call(self.slots.vacant_key());
        let submitted = submit(session, tag);
        self.submitted(submitted, caller)
    }

    /// One call always has room: only the end of another one would make some.
    fn has_room(&self, session: &Session) -> bool {
        session.ended().is_some()
            || self.in_flight == 0
            || self.in_flight < self.limits.max_in_flight
                && session.queued_bytes() < self.limits.max_queued_bytes
    }

    fn wait_for_room<T>(&mut self, caller: Caller<'_, '_>) -> Submitted<T> {
        let Caller { stage, cx } = caller;
        let ticket = match *stage {
            Stage::WaitingForRoom(ticket) => ticket,
            Stage::Unsent | Stage::Sent(_) | Stage::Over => {
                self.last_ticket += 1;
                RoomTicket(self.last_ticket)
            }
        };
        *stage = Stage::WaitingForRoom(ticket);
        let waker = cx.waker().clone();
        (Poll::Pending, self.waiting_for_room.insert(ticket, waker))
    }

    fn submitted<T>(
        &mut self,
        submitted: Result<T, SubmitError>,
        caller: Caller<'_, '_>,
    ) -> Submitted<T> {
        let Caller { stage, cx } = caller;
        let replaced = self.abandon(*stage);
        *stage = match submitted {
            Ok(_) => {
                self.in_flight += 1;
                Stage::Sent(self.slots.insert(Slot::Waiting(cx.waker().clone())))
            }
            Err(_) => Stage::Over,
        };
        (Poll::Ready(submitted), replaced)
    }

    /// The outcome of a call, once; and the waker that was replaced.
    pub(crate) fn poll(
        &mut self,
        key: CallKey,
        cx: &Context<'_>,
    ) -> (Poll<Result<Completion, Failure>>, Option<Waker>) {
        match self.slots.get_mut(key) {
            Some(Slot::Waiting(waker)) => {
                let same = waker.will_wake(cx.waker());
                let replaced = (!same).then(|| core::mem::replace(waker, cx.waker().clone()));
                (Poll::Pending, replaced)
            }
            Some(Slot::Done(_)) => match self.slots.remove(key) {
                Slot::Done(outcome) => (Poll::Ready(outcome), None),
                Slot::Waiting(_) | Slot::Abandoned => {
                    (Poll::Ready(Err(Failure::ConnectionLoss)), None)
                }
            },
            Some(Slot::Abandoned) | None => (Poll::Ready(Err(Failure::ConnectionLoss)), None),
        }
    }

    /// The call is not to be made after all. The waker is to be dropped outside of the lock.
    pub(crate) fn give_up(&mut self, caller: Caller<'_, '_>) -> Option<Waker> {
        self.abandon(core::mem::replace(caller.stage, Stage::Over))
    }

    /// Nobody waits for the call any more.
    pub(crate) fn abandon(&mut self, stage: Stage) -> Option<Waker> {
        let key = match stage {
            Stage::WaitingForRoom(ticket) => return self.waiting_for_room.remove(&ticket),
            Stage::Sent(key) => key,
            Stage::Unsent | Stage::Over => return None,
        };
        match self.slots.get_mut(key) {
            Some(slot @ Slot::Waiting(_)) => match core::mem::replace(slot, Slot::Abandoned) {
                Slot::Waiting(waker) => Some(waker),
                Slot::Done(_) | Slot::Abandoned => None,
            },
            Some(Slot::Done(_)) => {
                self.slots.remove(key);
                None
            }
            Some(Slot::Abandoned) | None => None,
        }
    }

    /// Takes the span of a call, if it has one.
    pub(crate) fn span_of(&mut self, stage: Stage) -> Option<RequestSpan> {
        match stage {
            Stage::Sent(key) => self.spans.remove(key),
            Stage::Unsent | Stage::WaitingForRoom(_) | Stage::Over => None,
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
            let waiting = core::mem::take(&mut self.waiting_for_room);
            wakers.extend(waiting.into_values());
        }
    }
}
