//! The watches of callers.

use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::Arc;

use slab::Slab;
use zk_jute::Zxid;
use zk_jute::records::EventType;

/// The key of a watch. It is used again only after its holder is done with the watch.
pub(crate) type WatchKey = usize;

/// How many changes may wait for the holder of a persistent watch. More than that removes the
/// waiting ones, and tells the holder to read again.
const LONGEST_QUEUE: usize = 4096;

/// The outcome of a one-shot watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchOutcome {
    Fired { kind: EventType, zxid: Zxid },
    Lost,
}

/// A change that a persistent watch saw, with the path on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchedChange {
    pub(crate) path: Arc<str>,
    pub(crate) kind: EventType,
    pub(crate) zxid: Zxid,
}

/// An item of a persistent watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamItem {
    Changed(WatchedChange),
    ChangesMissed,
    Lost,
}

#[derive(Debug)]
pub(crate) struct Watches {
    slots: Slab<Slot>,
}

#[derive(Debug)]
enum Slot {
    Once(Once),
    /// Boxed: it is larger, and where there are many watches, they fire once.
    Stream(Box<Stream>),
}

#[derive(Debug)]
enum Once {
    Waiting(Option<Waker>),
    Done(WatchOutcome),
}

/// Nothing follows `Lost`.
#[derive(Debug, Default)]
struct Stream {
    items: VecDeque<StreamItem>,
    waker: Option<Waker>,
    end: StreamEnd,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StreamEnd {
    #[default]
    Open,
    Lost,
    Delivered,
}

impl Watches {
    pub(crate) const fn new() -> Self {
        Self { slots: Slab::new() }
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.slots.shrink_to_fit();
    }

    pub(crate) fn open_once(&mut self) -> WatchKey {
        self.slots.insert(Slot::Once(Once::Waiting(None)))
    }

    pub(crate) fn open_stream(&mut self) -> WatchKey {
        self.slots.insert(Slot::Stream(Box::default()))
    }

    /// Returns the outcome of a one-shot watch, and the waker that was replaced, to be dropped
    /// outside of the lock.
    pub(crate) fn poll_once(
        &mut self,
        key: WatchKey,
        cx: &Context<'_>,
    ) -> (Poll<WatchOutcome>, Option<Waker>) {
        match self.slots.get_mut(key) {
            Some(Slot::Once(Once::Waiting(waker))) => {
                (Poll::Pending, waker.replace(cx.waker().clone()))
            }
            Some(Slot::Once(Once::Done(outcome))) => (Poll::Ready(*outcome), None),
            Some(Slot::Stream(_)) | None => (Poll::Ready(WatchOutcome::Lost), None),
        }
    }

    /// Returns the next item of a persistent watch, `None` after its end; and the waker that was
    /// replaced.
    pub(crate) fn poll_stream(
        &mut self,
        key: WatchKey,
        cx: &Context<'_>,
    ) -> (Poll<Option<StreamItem>>, Option<Waker>) {
        let Some(Slot::Stream(stream)) = self.slots.get_mut(key) else {
            return (Poll::Ready(None), None);
        };
        if let Some(item) = stream.items.pop_front() {
            return (Poll::Ready(Some(item)), None);
        }
        match core::mem::replace(&mut stream.end, StreamEnd::Delivered) {
            StreamEnd::Open => {
                stream.end = StreamEnd::Open;
                (Poll::Pending, stream.waker.replace(cx.waker().clone()))
            }
            StreamEnd::Lost => (Poll::Ready(Some(StreamItem::Lost)), None),
            StreamEnd::Delivered => (Poll::Ready(None), None),
        }
    }

    /// Returns whether the session still knows the watch.
    pub(crate) fn is_alive(&self, key: WatchKey) -> bool {
        match self.slots.get(key) {
            Some(Slot::Once(Once::Waiting(_))) => true,
            Some(Slot::Stream(stream)) => stream.end == StreamEnd::Open,
            Some(Slot::Once(Once::Done(_))) | None => false,
        }
    }

    /// Ends a watch for its holder. Drop its waker outside of the lock.
    pub(crate) fn close(&mut self, key: WatchKey) -> Option<Waker> {
        match self.slots.try_remove(key) {
            Some(Slot::Once(Once::Waiting(waker))) => waker,
            Some(Slot::Stream(stream)) => stream.waker,
            Some(Slot::Once(Once::Done(_))) | None => None,
        }
    }

    pub(super) fn fired(&mut self, key: WatchKey, outcome: WatchOutcome, wakers: &mut Vec<Waker>) {
        if let Some(Slot::Once(once @ Once::Waiting(_))) = self.slots.get_mut(key)
            && let Once::Waiting(Some(waker)) = core::mem::replace(once, Once::Done(outcome))
        {
            wakers.push(waker);
        }
    }

    pub(super) fn changed(
        &mut self,
        key: WatchKey,
        change: WatchedChange,
        wakers: &mut Vec<Waker>,
    ) {
        if let Some(Slot::Stream(stream)) = self.slots.get_mut(key) {
            if stream.items.len() < LONGEST_QUEUE {
                stream.items.push_back(StreamItem::Changed(change));
            } else {
                stream.items.clear();
                stream.items.push_back(StreamItem::ChangesMissed);
            }
            wakers.extend(stream.waker.take());
        }
    }

    pub(super) fn changes_missed(&mut self, key: WatchKey, wakers: &mut Vec<Waker>) {
        if let Some(Slot::Stream(stream)) = self.slots.get_mut(key) {
            if stream.items.back() != Some(&StreamItem::ChangesMissed) {
                stream.items.push_back(StreamItem::ChangesMissed);
            }
            wakers.extend(stream.waker.take());
        }
    }

    pub(super) fn lost(&mut self, key: WatchKey, wakers: &mut Vec<Waker>) {
        match self.slots.get_mut(key) {
            Some(Slot::Stream(stream)) => {
                stream.end = StreamEnd::Lost;
                wakers.extend(stream.waker.take());
            }
            Some(Slot::Once(_)) | None => self.fired(key, WatchOutcome::Lost, wakers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(watches: &mut Watches, key: WatchKey) -> Poll<Option<StreamItem>> {
        watches.poll_stream(key, &Context::from_waker(Waker::noop())).0
    }

    fn change(zxid: usize) -> WatchedChange {
        let zxid = Zxid::new(i64::try_from(zxid).unwrap());
        WatchedChange { path: "/a".into(), kind: EventType::NODE_DATA_CHANGED, zxid }
    }

    /// A slow holder costs bounded memory, and receives a gap in place of the changes that it missed.
    #[test]
    fn a_queue_that_is_full_becomes_a_gap() {
        let mut watches = Watches::new();
        let key = watches.open_stream();
        for zxid in 0..LONGEST_QUEUE + 2 {
            watches.changed(key, change(zxid), &mut Vec::new());
        }
        assert_eq!(poll(&mut watches, key), Poll::Ready(Some(StreamItem::ChangesMissed)));
        let last = StreamItem::Changed(change(LONGEST_QUEUE + 1));
        assert_eq!(poll(&mut watches, key), Poll::Ready(Some(last)));
        assert_eq!(poll(&mut watches, key), Poll::Pending);
    }

    #[test]
    fn what_came_before_the_end_is_told_before_the_end() {
        let mut watches = Watches::new();
        let key = watches.open_stream();
        let mut wakers = Vec::new();
        watches.changed(key, change(1), &mut wakers);
        watches.changes_missed(key, &mut wakers);
        watches.changes_missed(key, &mut wakers);
        watches.lost(key, &mut wakers);
        let told = [StreamItem::Changed(change(1)), StreamItem::ChangesMissed, StreamItem::Lost];
        for item in told {
            assert_eq!(poll(&mut watches, key), Poll::Ready(Some(item)));
        }
        assert_eq!(poll(&mut watches, key), Poll::Ready(None));
        assert!(!watches.is_alive(key));
    }
}
