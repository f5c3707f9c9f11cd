//! Values that change under the hub's lock, and are awaited outside of it.
//!
//! The code that changes a value collects the wakers of the waiting tasks, and wakes none. A waker
//! may run anything, even a call on the same client, so it is woken, and dropped, where no lock is
//! held.

mod waiters;

use core::fmt;
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waiters::{WaiterId, Waiters};

/// The end that changes the value. Dropping it ends the value.
pub(crate) struct Sender<T> {
    channel: Arc<Channel<T>>,
}

/// An end that sees the latest value.
pub(crate) struct Receiver<T> {
    channel: Arc<Channel<T>>,
    /// The last version that was seen.
    seen: u64,
    waiter: WaiterId,
}

struct Channel<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    value: T,
    version: u64,
    last_waiter: WaiterId,
    waiting: Waiters,
}

impl<T> Channel<T> {
    /// Locks the state for a few steps that run no code of a caller.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn changed(&mut self, wakers: &mut Vec<Waker>) {
        self.version += 1;
        self.take_waiting(wakers);
    }

    fn take_waiting(&mut self, wakers: &mut Vec<Waker>) {
        let after = if self.is_over() { Waiters::Over } else { Waiters::Nobody };
        core::mem::replace(&mut self.waiting, after).hand_out(wakers);
    }

    const fn is_over(&self) -> bool {
        matches!(self.waiting, Waiters::Over)
    }

    fn new_waiter(&mut self) -> WaiterId {
        self.last_waiter = self.last_waiter.next();
        self.last_waiter
    }
}

impl<T> Sender<T> {
    pub(crate) fn new(value: T) -> Self {
        let state =
            State { value, version: 0, last_waiter: WaiterId::FIRST, waiting: Waiters::Nobody };
        Self { channel: Arc::new(Channel { state: Mutex::new(state) }) }
    }

    /// Makes a receiver that has seen the latest value.
    pub(crate) fn subscribe(&self) -> Receiver<T> {
        let mut state = self.channel.lock();
        let (seen, waiter) = (state.version, state.new_waiter());
        drop(state);
        Receiver { channel: Arc::clone(&self.channel), seen, waiter }
    }

    /// Replaces the value; the caller has to wake `wakers`. After the [end](Sender::end) it changes
    /// nothing. Returns the value that is not needed any more.
    pub(crate) fn set(&self, value: T, wakers: &mut Vec<Waker>) -> T {
        let mut state = self.channel.lock();
        if state.is_over() {
            return value;
        }
        let before = core::mem::replace(&mut state.value, value);
        state.changed(wakers);
        before
    }

    /// Like [`Sender::set`], but an equal value is no change.
    pub(crate) fn show(&self, value: T, wakers: &mut Vec<Waker>)
    where
        T: PartialEq,
    {
        if self.channel.lock().value != value {
            self.set(value, wakers);
        }
    }

    /// Changes the value in place, and returns the result of `change`; the caller has to wake
    /// `wakers`.
    pub(crate) fn modify<R>(&self, change: impl FnOnce(&mut T) -> R, wakers: &mut Vec<Waker>) -> R {
        let mut state = self.channel.lock();
        let result = change(&mut state.value);
        state.changed(wakers);
        result
    }

    /// Reads the value.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.channel.lock().value)
    }

    /// Makes the latest value the last one; the caller has to wake `wakers`.
    pub(crate) fn end(&self, wakers: &mut Vec<Waker>) {
        let mut state = self.channel.lock();
        core::mem::replace(&mut state.waiting, Waiters::Over).hand_out(wakers);
    }
}

/// Ends the value for senders that are dropped with their owners, so that no receiver waits for
/// ever. Code that drops a sender under a lock [ends](Sender::end) it first.
impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut wakers = Vec::new();
        self.end(&mut wakers);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T: Clone> Receiver<T> {
    /// Returns the latest value, which stays unseen.
    pub(crate) fn latest(&self) -> T {
        self.channel.lock().value.clone()
    }

    /// Returns the latest value, and marks it as seen.
    pub(crate) fn see(&mut self) -> T {
        let state = self.channel.lock();
        self.seen = state.version;
        state.value.clone()
    }

    /// Returns a value that was not seen, and marks it as seen; `None` if the last one was.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<T>> {
        // The waker is cloned outside of the lock, and the replaced one is dropped there, too.
        let waker = cx.waker().clone();
        let mut state = self.channel.lock();
        if state.version != self.seen {
            self.seen = state.version;
            return Poll::Ready(Some(state.value.clone()));
        }
        if state.is_over() {
            return Poll::Ready(None);
        }
        let replaced = state.waiting.wait(self.waiter, waker);
        drop(state);
        drop(replaced);
        Poll::Pending
    }

    /// Waits for the next value. Cancel safe: a value is seen only when it is returned, and no
    /// waker stays behind.
    pub(crate) async fn next(&mut self) -> Option<T> {
        let waiting = Waiting(self);
        poll_fn(|cx| waiting.0.poll_next(cx)).await
    }
}

impl<T> Receiver<T> {
    pub(crate) fn has_unseen(&self) -> bool {
        self.channel.lock().version != self.seen
    }

    fn stop_waiting(&self) {
        let waker = self.channel.lock().waiting.stop(self.waiter);
        drop(waker);
    }
}

/// Copies with the same values seen.
impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let waiter = self.channel.lock().new_waiter();
        Self { channel: Arc::clone(&self.channel), seen: self.seen, waiter }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.stop_waiting();
    }
}

/// A receiver that waits for as long as a future lives.
struct Waiting<'a, T>(&'a mut Receiver<T>);

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        self.0.stop_waiting();
    }
}

#[cfg(test)]
mod tests {
    use core::pin::pin;
    use std::task::Wake;

    use super::*;

    /// Reads the value when it is woken, and when it is dropped.
    struct Reader(Receiver<u32>, Mutex<Vec<u32>>);

    impl Wake for Reader {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0.latest());
        }
    }

    impl Drop for Reader {
        fn drop(&mut self) {
            self.0.latest();
        }
    }

    fn wake_all(wakers: &mut Vec<Waker>) -> usize {
        let count = wakers.len();
        wakers.drain(..).for_each(Waker::wake);
        count
    }

    #[test]
    fn a_change_hands_out_each_waker_once() {
        let sender = Sender::new(1);
        let mut receivers = [sender.subscribe(), sender.subscribe()];
        let reader = Arc::new(Reader(sender.subscribe(), Mutex::default()));
        let waker = Waker::from(Arc::clone(&reader));
        let mut cx = Context::from_waker(&waker);
        for receiver in &mut receivers {
            for _ in 0..2 {
                assert_eq!(receiver.poll_next(&cx), Poll::Pending);
            }
        }
        let mut wakers = Vec::new();
        sender.show(1, &mut wakers);
        assert_eq!(wake_all(&mut wakers), 0, "nothing has changed");
        sender.show(2, &mut wakers);
        assert_eq!(wake_all(&mut wakers), 2);
        assert_eq!(*reader.1.lock().unwrap(), [2, 2], "the value is there before the waker runs");
        sender.modify(|value| *value += 1, &mut wakers);
        assert_eq!(wake_all(&mut wakers), 0, "nobody waits any more");
        for receiver in &mut receivers {
            assert_eq!(receiver.poll_next(&cx), Poll::Ready(Some(3)));
            let mut next = pin!(receiver.next());
            assert!(next.as_mut().poll(&mut cx).is_pending());
        }
        sender.end(&mut wakers);
        assert_eq!(wake_all(&mut wakers), 0, "who gave up waits no more");
        assert!(receivers.iter_mut().all(|receiver| receiver.poll_next(&cx) == Poll::Ready(None)));
    }

    #[test]
    fn a_sender_that_is_dropped_leaves_nobody_waiting() {
        let sender = Sender::new(1);
        let mut receiver = sender.subscribe();
        let mut copy = receiver.clone();
        let reader = Arc::new(Reader(receiver.clone(), Mutex::default()));
        let waker = Waker::from(Arc::clone(&reader));
        let cx = Context::from_waker(&waker);
        assert_eq!(receiver.poll_next(&cx), Poll::Pending);
        sender.set(2, &mut Vec::new());
        assert_eq!(receiver.poll_next(&cx), Poll::Ready(Some(2)));
        assert_eq!(receiver.poll_next(&cx), Poll::Pending);
        drop(sender);
        assert_eq!(*reader.1.lock().unwrap(), [2]);
        assert_eq!(receiver.poll_next(&cx), Poll::Ready(None));
        assert_eq!(copy.poll_next(&cx), Poll::Ready(Some(2)), "the last value is seen");
        assert_eq!(copy.poll_next(&cx), Poll::Ready(None));
    }

    /// Code that runs when a waker is dropped may read the value.
    #[test]
    fn wakers_are_dropped_outside_of_the_lock() {
        let sender = Sender::new(1);
        let mut receiver = sender.subscribe();
        for _ in 0..3 {
            let reader = Arc::new(Reader(sender.subscribe(), Mutex::default()));
            let waker = Waker::from(reader);
            assert_eq!(receiver.poll_next(&Context::from_waker(&waker)), Poll::Pending);
        }
        drop(receiver);
    }
}
