//! Putting items.

use bytes::Bytes;
use election_core::queue::ItemName;
use zk_jute::{ErrorCode, Version};

use super::error::PutError;
use super::queue::Queue;
use crate::Error;
use crate::client::{Client, CreateMode, OperationOutcome, TransactionError};
use crate::spot::Spot;
use crate::telemetry::recipe_metrics;

/// The step that errors name.
const PUT: &str = "put";
/// How often to create the node again because it is missing.
const ROUNDS: usize = 4;

fn outcome_of<T>(put: &Result<T, PutError>) -> &'static str {
    match put {
        Ok(_) => "put",
        Err(error) if error.may_have_happened() => "unknown",
        Err(_) => "failed",
    }
}

impl Queue {
    /// Puts an item at the end of the queue, and returns its name. It creates a missing queue.
    ///
    /// Cancel safe: the item may still be put.
    ///
    /// # Errors
    ///
    /// [`PutError::may_have_happened`] says whether the item may be in the queue: it may if the
    /// connection was lost before the reply. This never puts an item again by itself, since that
    /// could put it twice; without a connection it fails at once. Give the items an id of their own
    /// if you repeat puts.
    pub async fn put(&self, data: impl Into<Bytes>) -> Result<ItemName, PutError> {
        self.put_as(0, data.into(), CreateMode::PersistentSequential).await
    }

    /// Puts an item that goes with the session of this client, unless it is taken before. It cannot
    /// be [claimed](Queue::claim).
    ///
    /// Cancel safe, as [`Queue::put`].
    ///
    /// # Errors
    ///
    /// Those of [`Queue::put`].
    pub async fn put_ephemeral(&self, data: impl Into<Bytes>) -> Result<ItemName, PutError> {
        self.put_as(0, data.into(), CreateMode::EphemeralSequential).await
    }

    /// Puts items at the end of the queue, in their order, all or none. One transaction puts them,
    /// so no other item comes between. The whole must be smaller than a server's largest frame, a
    /// megabyte by default.
    ///
    /// Cancel safe: the items may still be put.
    ///
    /// # Errors
    ///
    /// Those of [`Queue::put`].
    pub async fn put_many<I>(&self, items: I) -> Result<Vec<ItemName>, PutError>
    where
        I: IntoIterator<Item: Into<Bytes>>,
    {
        self.put_many_as(0, items.into_iter().map(Into::into).collect()).await
    }

    pub(super) async fn put_as(
        &self,
        priority: u16,
        data: Bytes,
        mode: CreateMode,
    ) -> Result<ItemName, PutError> {
        let mut span = self.span("put");
        let put = span.within(self.put_one(priority, data, mode)).await;
        span.finished(outcome_of(&put));
        recipe_metrics::items_put(1, outcome_of(&put));
        put
    }

    async fn put_one(
        &self,
        priority: u16,
        data: Bytes,
        mode: CreateMode,
    ) -> Result<ItemName, PutError> {
        let path = self.path_to_put(priority)?;
        let (client, acls) = (&self.spot.client, self.spot.acls());
        let created = client.create_with_parents(&path, data, mode, acls).await;
        let created = created.map_err(|error| self.request_failed(error))?;
        match self.name_of(&created.path) {
            Some(name) => Ok(name),
            None => Err(self.take_back(&[created.path]).await),
        }
    }

    pub(super) async fn put_many_as(
        &self,
        priority: u16,
        items: Vec<Bytes>,
    ) -> Result<Vec<ItemName>, PutError> {
        let count = items.len();
        let mut span = self.span("put");
        let put = span.within(self.put_all(priority, items)).await;
        span.finished(outcome_of(&put));
        recipe_metrics::items_put(count, outcome_of(&put));
        put
    }

    async fn put_all(&self, priority: u16, items: Vec<Bytes>) -> Result<Vec<ItemName>, PutError> {
        let path = self.path_to_put(priority)?;
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let mut round = 0;
        let outcomes = loop {
            let mode = CreateMode::PersistentSequential;
            let transaction =
                items.iter().fold(self.spot.client.transaction(), |transaction, data| {
                    transaction.create_with_acl(&path, data.clone(), mode, self.spot.acls())
                });
            match transaction.commit().await {
                Err(error) if error.is_no_node() && round < ROUNDS => {
                    round += 1;
                    self.create_node().await?;
                }
                outcomes => break outcomes.map_err(|error| self.transaction_failed(error))?,
            }
        };
        let created = outcomes.into_iter().filter_map(|outcome| match outcome {
            OperationOutcome::Created(path) => Some(path),
            _ => None,
        });
        let paths: Vec<String> = created.collect();
        let names: Option<Vec<ItemName>> = paths.iter().map(|path| self.name_of(path)).collect();
        match names {
            Some(names) => Ok(names),
            None => Err(self.take_back(&paths).await),
        }
    }

    async fn create_node(&self) -> Result<(), PutError> {
        let Spot { client, path, .. } = &self.spot;
        let (mode, acls) = (CreateMode::Persistent, self.spot.acls());
        match client.create_with_parents(path, Bytes::new(), mode, acls).await {
            Err(error) if error.code() != Some(ErrorCode::NODE_EXISTS) => {
                Err(self.request_failed(error))
            }
            _ => Ok(()),
        }
    }

    fn request_failed(&self, error: Error) -> PutError {
        PutError::Request { at: self.place(PUT), error }
    }

    fn transaction_failed(&self, error: TransactionError) -> PutError {
        PutError::Transaction { at: self.place(PUT), error }
    }

    fn path_to_put(&self, priority: u16) -> Result<String, PutError> {
        let invalid = |error| PutError::Priority { at: self.place(PUT), error };
        let prefix = self.format.prefix(priority).map_err(invalid)?;
        let slash = if self.spot.path.ends_with('/') { "" } else { "/" };
        Ok(format!("{}{slash}{}", self.spot.path, prefix))
    }

    fn name_of(&self, path: &str) -> Option<ItemName> {
        self.format.item(path.rsplit_once('/').map_or(path, |(_, name)| name))
    }

    /// Takes the items back, so that nothing is put: servers give such numbers more than once, and
    /// no taker would touch the items.
    async fn take_back(&self, paths: &[String]) -> PutError {
        let transaction = |client: &Client| {
            let start = client.transaction();
            paths.iter().fold(start, |all, path| all.delete(path, Version::new(0)))
        };
        match transaction(&self.spot.client).commit().await {
            Ok(_) => PutError::SequenceExhausted { at: self.place(PUT) },
            Err(error) => self.transaction_failed(error),
        }
    }
}
