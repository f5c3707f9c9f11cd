//! Something that changes, and its changes.

use tokio::sync::watch;

/// The latest value of something that changes, and notice of its changes. Whoever is slow sees the
/// latest value, not each.
///
/// It hands out copies and never a borrow: a borrow that is held would keep the client from going
/// on, and a call on that client from returning.
#[derive(Clone, Debug)]
pub struct Updates<T>(watch::Receiver<T>);

impl<T: Clone> Updates<T> {
    pub(crate) const fn new(receiver: watch::Receiver<T>) -> Self {
        Self(receiver)
    }

    /// The latest value. It stays unseen for [`Updates::next`].
    pub fn latest(&self) -> T {
        self.0.borrow().clone()
    }

    /// The latest value, which counts as seen from now on.
    pub fn see(&mut self) -> T {
        self.0.borrow_and_update().clone()
    }

    /// Whether there is a value that was not seen.
    pub fn has_unseen(&self) -> bool {
        self.0.has_changed().unwrap_or(false)
    }

    /// Waits for a value that was not seen, and sees it. `None`: it is over, the latest value was
    /// the last one.
    ///
    /// Cancel safe: a value is seen only when it is returned.
    pub async fn next(&mut self) -> Option<T> {
        self.0.changed().await.ok()?;
        Some(self.see())
    }

    /// Waits for a value that is as `wanted`; the latest one counts. `None`: it is over, and the
    /// last value was not.
    ///
    /// Cancel safe: asked again, it begins with the latest value.
    pub async fn until(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Option<T> {
        let mut value = self.see();
        while !wanted(&value) {
            value = self.next().await?;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_latest_value_counts_and_the_last_one_is_seen() {
        let (sender, receiver) = watch::channel(1);
        let mut updates = Updates::new(receiver);
        assert_eq!((updates.latest(), updates.has_unseen()), (1, false));
        assert_eq!(updates.until(|&value| value == 1).await, Some(1));
        sender.send_replace(2);
        sender.send_replace(3);
        assert_eq!((updates.latest(), updates.has_unseen()), (3, true));
        drop(sender);
        assert_eq!(updates.next().await, Some(3));
        assert_eq!(updates.next().await, None);
        assert_eq!(updates.until(|&value| value == 4).await, None);
        assert_eq!(updates.until(|&value| value == 3).await, Some(3));
    }
}
