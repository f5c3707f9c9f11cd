//! Operations that wait for their replies.

use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;

use slab::Slab;
use zk_jute::Request;
use zk_session::{Completion, Failure, Instant, SubmitError};

use super::Host;
use crate::telemetry::{CallKey, RequestSpan, RequestSpans};

/// Calls that wait for their replies, and callers that wait for room to make one.
///
/// A waker that is dropped goes to the caller's code, which drops it outside of the lock: that may
/// run anything, even the drop of a handle of this client.
#[derive(Debug)]
pub(crate) struct Calls {
    slots: Slab<Slot>,
    last_ticket: u64,
    waiting_for_room: BTreeMap<RoomTicket, Waker>,
    pub(crate) spans: RequestSpans,
}

#[derive(Debug)]
enum Slot {
    Waiting(Waker),
    Done(Result<Completion, Failure>),
    /// No caller waits any more. The slot is kept until the reply has come.
    Abandoned,
}

/// The place of a call among those that wait for room, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoomTicket(u64);

/// The progress of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallStage {
    Unsent,
    WaitingForRoom(RoomTicket),
    Sent(CallKey),
    Over,
}

/// The caller of a call.
pub(crate) struct Caller<'c, 'w> {
    pub(crate) stage: &'c mut CallStage,
    pub(crate) cx: &'c Context<'w>,
}

/// The result of an attempt to make a call, and the waker that was replaced. `Pending` if there is
/// no room; the caller is then woken when there is.
pub(crate) type Submitted<T> = (Poll<Result<T, SubmitError>>, Option<Waker>);

impl Calls {
    pub(crate) const fn new() -> Self {
        Self {
            slots: Slab::new(),
            last_ticket: 0,
            waiting_for_room: BTreeMap::new(),
            spans: RequestSpans::new(),
        }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.slots.shrink_to_fit();
    }

    /// Makes a call; the caller is woken when its outcome is there.
    #[inline]
    pub(crate) fn submit<Q: Request>(
        &mut self,
        host: &mut Host,
        now: Instant,
        request: &Q,
        caller: Caller<'_, '_>,
    ) -> Submitted<()> {
        self.submit_by(host, caller, |host, key| host.submit(now, key, request))
    }

    /// Makes a call by what `submit` does with its tag.
    #[inline]
    pub(crate) fn submit_by<T>(
        &mut self,
        host: &mut Host,
        caller: Caller<'_, '_>,
        submit: impl FnOnce(&mut Host, CallKey) -> Result<T, SubmitError>,
    ) -> Submitted<T> {
        match submit(host, self.slots.vacant_key()) {
            Err(SubmitError::Full) => self.wait_for_room(caller),
            submitted => self.submitted(submitted, caller),
        }
    }

    #[cold]
    fn wait_for_room<T>(&mut self, caller: Caller<'_, '_>) -> Submitted<T> {
        let Caller { stage, cx } = caller;
        let ticket = match *stage {
            CallStage::WaitingForRoom(ticket) => ticket,
            CallStage::Unsent | CallStage::Sent(_) | CallStage::Over => {
                self.last_ticket += 1;
                RoomTicket(self.last_ticket)
            }
        };
        *stage = CallStage::WaitingForRoom(ticket);
        let waker = cx.waker().clone();
        (Poll::Pending, self.waiting_for_room.insert(ticket, waker))
    }

    #[inline]
    fn submitted<T>(
        &mut self,
        submitted: Result<T, SubmitError>,
        caller: Caller<'_, '_>,
    ) -> Submitted<T> {
        let Caller { stage, cx } = caller;
        let replaced = match stage {
            CallStage::Unsent => None,
            _ => self.abandon(*stage),
        };
        *stage = match submitted {
            Ok(_) => CallStage::Sent(self.slots.insert(Slot::Waiting(cx.waker().clone()))),
            Err(_) => CallStage::Over,
        };
        (Poll::Ready(submitted), replaced)
    }

    /// The outcome of a call, once; or the waker that was replaced, to be dropped outside of the lock.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        key: CallKey,
        cx: &Context<'_>,
    ) -> Result<Result<Completion, Failure>, Option<Waker>> {
        if let Some(Slot::Waiting(waker)) = self.slots.get_mut(key) {
            let same = waker.will_wake(cx.waker());
            return Err((!same).then(|| core::mem::replace(waker, cx.waker().clone())));
        }
        match self.slots.try_remove(key) {
            Some(Slot::Done(outcome)) => Ok(outcome),
            Some(Slot::Waiting(_) | Slot::Abandoned) | None => Ok(Err(Failure::ConnectionLoss)),
        }
    }

    /// Gives up a call before it is made. Drop the waker outside of the lock.
    pub(crate) fn give_up(&mut self, stage: &mut CallStage) -> Option<Waker> {
        self.abandon(core::mem::replace(stage, CallStage::Over))
    }

    /// Notes that no caller waits for the call any more.
    #[cold]
    pub(crate) fn abandon(&mut self, stage: CallStage) -> Option<Waker> {
        let key = match stage {
            CallStage::WaitingForRoom(ticket) => return self.waiting_for_room.remove(&ticket),
            CallStage::Sent(key) => key,
            CallStage::Unsent | CallStage::Over => return None,
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
    pub(crate) fn span_of(&mut self, stage: CallStage) -> Option<RequestSpan> {
        match stage {
            CallStage::Sent(key) => self.spans.remove(key),
            CallStage::Unsent | CallStage::WaitingForRoom(_) | CallStage::Over => None,
        }
    }

    #[inline]
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
            Slot::Abandoned | Slot::Done(_) => self.remove(key),
        }
    }

    #[cold]
    fn remove(&mut self, key: CallKey) {
        self.slots.try_remove(key);
    }

    /// Hands out the calls that wait for room, since there is some: they try again.
    pub(super) fn announce_room(&mut self, wakers: &mut Vec<Waker>) {
        if self.waiting_for_room.is_empty() {
            return;
        }
        wakers.extend(core::mem::take(&mut self.waiting_for_room).into_values());
    }
}
