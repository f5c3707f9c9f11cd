//! Values that change, with their changes.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use futures_core::Stream;

use crate::broadcast::Receiver;

/// The latest value of something that changes, with its changes. A slow caller sees the latest
/// value, not each.
///
/// It works like [`tokio::sync::watch::Receiver`], except that it returns copies and never borrows:
/// a borrow would keep the client from going on, and calls on that client from returning. So
/// `borrow` and `borrow_and_update` are [`latest`](Self::latest) and
/// [`latest_and_update`](Self::latest_and_update) here.
///
/// It is also a [`Stream`], of the same values as [`Updates::next`]: the changes from now on, the
/// latest of them if there were several since the last poll.
#[must_use = "nothing is awaited until it is polled"]
pub struct Updates<T> {
    receiver: Receiver<T>,
}

/// The watched value is over: the last value was seen, and no other follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the last value was seen, and no other will follow")]
pub struct NoMoreUpdates;

impl<T: Clone> Updates<T> {
    pub(crate) const fn new(receiver: Receiver<T>) -> Self {
        Self { receiver }
    }

    /// Returns the latest value, without marking it as seen.
    pub fn latest(&self) -> T {
        self.receiver.latest()
    }

    /// Returns the latest value, and marks it as seen: [`Updates::changed`] and [`Updates::next`]
    /// wait for another one.
    pub fn latest_and_update(&mut self) -> T {
        self.receiver.see()
    }

    /// Returns whether the latest value was not seen yet.
    pub fn has_changed(&self) -> bool {
        self.receiver.has_unseen()
    }

    /// Waits until there is a value that was not seen, and marks the latest one as seen.
    ///
    /// Cancel safe: a value is marked only when this returns.
    ///
    /// # Errors
    ///
    /// [`NoMoreUpdates`] once the last value was seen.
    pub async fn changed(&mut self) -> Result<(), NoMoreUpdates> {
        self.next().await.map(drop).ok_or(NoMoreUpdates)
    }

    /// Waits for a value that was not seen, and returns it, marked as seen. Returns `None` if the
    /// last value was seen.
    ///
    /// Cancel safe: a value is marked only when it is returned.
    pub async fn next(&mut self) -> Option<T> {
        self.receiver.next().await
    }

    /// Waits for a value that is as `wanted`, and returns it, marked as seen. It begins with the
    /// latest value, whether it was seen or not.
    ///
    /// Cancel safe: called again, it begins with the latest value.
    ///
    /// # Errors
    ///
    /// [`NoMoreUpdates`] if not even the last value was as `wanted`.
    pub async fn wait_for(
        &mut self,
        mut wanted: impl FnMut(&T) -> bool,
    ) -> Result<T, NoMoreUpdates> {
        let mut value = self.latest_and_update();
        while !wanted(&value) {
            value = self.next().await.ok_or(NoMoreUpdates)?;
        }
        Ok(value)
    }
}

impl<T: Clone> Stream for Updates<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.receiver.poll_next(cx)
    }
}

/// Copies with the same values seen.
impl<T> Clone for Updates<T> {
    fn clone(&self) -> Self {
        Self { receiver: self.receiver.clone() }
    }
}

impl<T: Clone + fmt::Debug> fmt::Debug for Updates<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Updates").field(&self.latest()).finish()
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;

    use futures_util::StreamExt as _;

    use super::*;
    use crate::broadcast::Sender;

    fn set(sender: &Sender<u32>, value: u32) {
        let mut wakers = Vec::new();
        sender.set(value, &mut wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    #[tokio::test]
    async fn the_latest_value_counts_and_the_last_one_is_seen() {
        let sender = Sender::new(1);
        let mut updates = Updates::new(sender.subscribe());
        assert_eq!((updates.latest(), updates.has_changed()), (1, false));
        assert_eq!(updates.wait_for(|&value| value == 1).await, Ok(1));
        set(&sender, 2);
        set(&sender, 3);
        assert_eq!((updates.latest(), updates.has_changed()), (3, true));
        drop(sender);
        assert_eq!(updates.changed().await, Ok(()));
        assert_eq!((updates.latest(), updates.has_changed()), (3, false));
        assert_eq!(updates.changed().await, Err(NoMoreUpdates));
        assert_eq!(updates.next().await, None);
        assert_eq!(updates.wait_for(|&value| value == 4).await, Err(NoMoreUpdates));
        assert_eq!(updates.wait_for(|&value| value == 3).await, Ok(3));
    }

    #[tokio::test]
    async fn a_stream_ends_with_the_last_value() {
        let sender = Sender::new(1);
        let collected = tokio::spawn(Updates::new(sender.subscribe()).collect::<Vec<_>>());
        tokio::task::yield_now().await;
        set(&sender, 2);
        tokio::task::yield_now().await;
        set(&sender, 3);
        set(&sender, 4);
        drop(sender);
        assert_eq!(collected.await.unwrap(), [2, 4]);
    }

    /// A call in between loses no update, nor does a poll without a result.
    #[test]
    fn a_stream_yields_no_value_twice() {
        let mut cx = Context::from_waker(Waker::noop());
        let sender = Sender::new(1);
        let mut updates = Updates::new(sender.subscribe());
        assert_eq!(updates.poll_next_unpin(&mut cx), Poll::Pending);
        set(&sender, 2);
        assert_eq!(updates.latest_and_update(), 2);
        assert_eq!(updates.poll_next_unpin(&mut cx), Poll::Pending);
        set(&sender, 3);
        assert_eq!(updates.poll_next_unpin(&mut cx), Poll::Ready(Some(3)));
        assert_eq!(updates.poll_next_unpin(&mut cx), Poll::Pending);
    }

    /// No lock is held between two polls, since the task that changes the value would wait for it.
    #[test]
    fn a_stream_that_waits_holds_no_borrow() {
        let mut cx = Context::from_waker(Waker::noop());
        let sender = Sender::new(1);
        let mut updates = Updates::new(sender.subscribe());
        assert_eq!(updates.poll_next_unpin(&mut cx), Poll::Pending);
        let changes = std::thread::spawn(move || set(&sender, 2));
        changes.join().unwrap();
        assert_eq!(updates.poll_next_unpin(&mut cx), Poll::Ready(Some(2)));
    }
}
