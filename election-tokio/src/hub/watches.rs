//! Watches that callers wait for.

use core::task::{Context, Poll, Waker};

use slab::Slab;
use zk_jute::Zxid;
use zk_jute::records::EventType;

/// Names a watch; it is given again only after its holder is done with it.
pub(crate) type WatchKey = usize;

/// What became of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchOutcome {
    Fired { kind: EventType, zxid: Zxid },
    Lost,
}

#[derive(Debug)]
pub(crate) struct Watches {
    slots: Slab<Slot>,
}

#[derive(Debug)]
enum Slot {
    Waiting(Option<Waker>),
    Done(WatchOutcome),
}

impl Watches {
    pub(crate) const fn new() -> Self {
        Self { slots: Slab::new() }
    }

    pub(crate) fn open(&mut self) -> WatchKey {
        self.slots.insert(Slot::Waiting(None))
    }

    /// What became of a watch; and the waker that was replaced, to be dropped outside of the lock.
    pub(crate) fn poll(
        &mut self,
        key: WatchKey,
        cx: &Context<'_>,
    ) -> (Poll<WatchOutcome>, Option<Waker>) {
        match self.slots.get_mut(key) {
            Some(Slot::Waiting(waker)) => (Poll::Pending, waker.replace(cx.waker().clone())),
            Some(Slot::Done(outcome)) => (Poll::Ready(*outcome), None),
            None => (Poll::Ready(WatchOutcome::Lost), None),
        }
    }

    /// The holder is done with the watch. Its waker is to be dropped outside of the lock.
    pub(crate) fn close(&mut self, key: WatchKey) -> Option<Waker> {
        match self.slots.try_remove(key) {
            Some(Slot::Waiting(waker)) => waker,
            Some(Slot::Done(_)) | None => None,
        }
    }

    pub(super) fn settle(&mut self, key: WatchKey, outcome: WatchOutcome, wakers: &mut Vec<Waker>) {
        if let Some(slot @ Slot::Waiting(_)) = self.slots.get_mut(key)
            && let Slot::Waiting(Some(waker)) = core::mem::replace(slot, Slot::Done(outcome))
        {
            wakers.push(waker);
        }
    }
}
