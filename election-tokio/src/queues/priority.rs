//! Queues with priorities for their items.

use bytes::Bytes;
use election_core::queue::{ItemName, QueueFormat};
use tokio::time::Instant;

use super::claimed::Claimed;
use super::error::{PutError, TakeError};
use super::item::QueueItem;
use super::queue::Queue;
use crate::Error;
use crate::acl::Acls;
use crate::client::{Client, CreateMode};

/// A queue at a path with priorities; made by [`Client::priority_queue`]. Items with the lowest
/// number are taken first, and items of one priority in the order in which they were put.
///
/// A priority is at most 99, or the [`QueueFormat::greatest_priority`] of another format. A take
/// asks whether an item has come that may go first, and lists all items only then.
#[derive(Clone, Debug)]
#[must_use = "a queue does nothing until it is asked for something"]
pub struct PriorityQueue(Queue);

impl Client {
    /// Returns the priority queue at a path, with the item names of ZooKeeper's guide: `queue-`,
    /// the priority, `-` and a number.
    pub fn priority_queue(&self, path: &str) -> PriorityQueue {
        PriorityQueue(Queue::new(self.clone(), path, QueueFormat::guide_with_priority()))
    }
}

impl PriorityQueue {
    /// Sets the format of the items' names (default: [`QueueFormat::guide_with_priority`]).
    pub fn format(self, format: QueueFormat) -> Self {
        Self(self.0.format(format))
    }

    /// Sets the access list, like [`Queue::acls`].
    pub fn acls(self, acls: Acls) -> Self {
        Self(self.0.acls(acls))
    }

    /// Sets the data of claims, like [`Queue::data`].
    pub fn data(self, data: impl Into<Bytes>) -> Self {
        Self(self.0.data(data))
    }

    /// Puts an item with a priority, like [`Queue::put`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::put`], and [`PutError::Priority`].
    pub async fn put(&self, priority: u16, data: impl Into<Bytes>) -> Result<ItemName, PutError> {
        self.0.put_as(priority, data.into(), CreateMode::PersistentSequential).await
    }

    /// Puts an item that goes with the session, like [`Queue::put_ephemeral`].
    ///
    /// # Errors
    ///
    /// Those of [`PriorityQueue::put`].
    pub async fn put_ephemeral(
        &self,
        priority: u16,
        data: impl Into<Bytes>,
    ) -> Result<ItemName, PutError> {
        self.0.put_as(priority, data.into(), CreateMode::EphemeralSequential).await
    }

    /// Puts items of one priority, all or none, like [`Queue::put_many`].
    ///
    /// # Errors
    ///
    /// Those of [`PriorityQueue::put`].
    pub async fn put_many<I>(&self, priority: u16, items: I) -> Result<Vec<ItemName>, PutError>
    where
        I: IntoIterator<Item: Into<Bytes>>,
    {
        self.0.put_many_as(priority, items.into_iter().map(Into::into).collect()).await
    }

    /// Takes the first item, like [`Queue::take`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn take(&self) -> Result<QueueItem, TakeError> {
        self.0.take().await
    }

    /// Takes the first item, if there is one, like [`Queue::try_take`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn try_take(&self) -> Result<Option<QueueItem>, TakeError> {
        self.0.try_take().await
    }

    /// Takes the first item until a deadline, like [`Queue::take_until`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn take_until(&self, deadline: Instant) -> Result<Option<QueueItem>, TakeError> {
        self.0.take_until(deadline).await
    }

    /// Claims the first item, like [`Queue::claim`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::claim`].
    pub async fn claim(&self) -> Result<Claimed, TakeError> {
        self.0.claim().await
    }

    /// Claims the first item, if there is one, like [`Queue::try_claim`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::claim`].
    pub async fn try_claim(&self) -> Result<Option<Claimed>, TakeError> {
        self.0.try_claim().await
    }

    /// Reads the first item, like [`Queue::peek`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::peek`].
    pub async fn peek(&self) -> Result<Option<QueueItem>, TakeError> {
        self.0.peek().await
    }

    /// Counts the items, like [`Queue::len`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::len`].
    pub async fn len(&self) -> Result<usize, Error> {
        self.0.len().await
    }

    /// Returns whether the queue has no items, like [`Queue::is_empty`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::len`].
    pub async fn is_empty(&self) -> Result<bool, Error> {
        self.0.is_empty().await
    }
}
