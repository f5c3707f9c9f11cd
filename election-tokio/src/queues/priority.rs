//! Queues whose items have priorities.

use bytes::Bytes;
use election_core::{ItemName, QueueFormat};
use tokio::time::Instant;

use super::claimed::Claimed;
use super::error::{PutError, TakeError};
use super::item::QueueItem;
use super::queue::Queue;
use crate::acl::Acls;
use crate::client::{Client, CreateMode};
use crate::error::Error;

/// A queue at a path, of items that are taken by their priority, the lowest number first, and among
/// those of one priority in the order in which they were put; made by
/// [`Client::priority_queue`].
///
/// A priority is at most 99, or what [`QueueFormat::greatest_priority`] says of another format. A
/// take asks whether an item has come that may go first, and lists all items only then.
#[derive(Clone, Debug)]
#[must_use = "a queue does nothing until it is asked for something"]
pub struct PriorityQueue(Queue);

impl Client {
    /// The priority queue at a path, of which ZooKeeper's guide says how its items are called:
    /// `queue-`, the priority, `-` and a number.
    pub fn priority_queue(&self, path: &str) -> PriorityQueue {
        PriorityQueue(Queue::new(self.clone(), path, QueueFormat::guide_with_priority()))
    }
}

impl PriorityQueue {
    /// How the items are called (default: [`QueueFormat::guide_with_priority`]).
    pub fn format(self, format: QueueFormat) -> Self {
        Self(self.0.format(format))
    }

    /// As [`Queue::acls`].
    pub fn acls(self, acls: Acls) -> Self {
        Self(self.0.acls(acls))
    }

    /// As [`Queue::data`].
    pub fn data(self, data: impl Into<Bytes>) -> Self {
        Self(self.0.data(data))
    }

    /// Puts an item with a priority, as [`Queue::put`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::put`], and [`PutError::Priority`].
    pub async fn put(&self, priority: u16, data: impl Into<Bytes>) -> Result<ItemName, PutError> {
        self.0.put_as(priority, data.into(), CreateMode::PersistentSequential).await
    }

    /// As [`Queue::put_ephemeral`].
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

    /// Puts items of one priority, all or none, as [`Queue::put_many`].
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

    /// As [`Queue::take`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn take(&self) -> Result<QueueItem, TakeError> {
        self.0.take().await
    }

    /// As [`Queue::try_take`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn try_take(&self) -> Result<Option<QueueItem>, TakeError> {
        self.0.try_take().await
    }

    /// As [`Queue::take_until`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::take`].
    pub async fn take_until(&self, deadline: Instant) -> Result<Option<QueueItem>, TakeError> {
        self.0.take_until(deadline).await
    }

    /// As [`Queue::claim`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::claim`].
    pub async fn claim(&self) -> Result<Claimed, TakeError> {
        self.0.claim().await
    }

    /// As [`Queue::try_claim`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::claim`].
    pub async fn try_claim(&self) -> Result<Option<Claimed>, TakeError> {
        self.0.try_claim().await
    }

    /// As [`Queue::peek`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::peek`].
    pub async fn peek(&self) -> Result<Option<QueueItem>, TakeError> {
        self.0.peek().await
    }

    /// As [`Queue::len`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::len`].
    pub async fn len(&self) -> Result<usize, Error> {
        self.0.len().await
    }

    /// As [`Queue::is_empty`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::len`].
    pub async fn is_empty(&self) -> Result<bool, Error> {
        self.0.is_empty().await
    }
}
