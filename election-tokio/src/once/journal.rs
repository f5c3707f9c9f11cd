//! The znode with the record of the last run.

use bytes::Bytes;
use election_core::once::{RunRecord, ServerTime};
use zk_jute::{ErrorCode, Version};

use super::error::OnceError;
use crate::acl::Acls;
use crate::client::{Client, CreateMode, Obstacle, OperationOutcome, TransactionError};
use crate::error::Place;
use crate::lock::LockGuard;

/// The suffix that makes the path of the record from that of the lock.
const SUFFIX: &str = ".once";

/// Reads and writes a record. Only the holder of the lock writes.
#[derive(Debug)]
pub(super) struct Journal {
    client: Client,
    lock: String,
    path: String,
    acls: Acls,
}

/// The data of the znode, and its version.
#[derive(Debug)]
pub(super) struct Entry {
    data: Bytes,
    version: Version,
}

/// The record of the last run, and the servers' time after it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) now: ServerTime,
}

/// The outcome of a write.
enum Written {
    /// It was created, or replaced at this time.
    Done(Option<ServerTime>),
    /// It may help to read again, and to write again.
    Again,
}

impl Journal {
    pub(super) fn new(client: &Client, lock: &str, acls: Acls) -> Self {
        let path = [lock, SUFFIX].concat();
        Self { client: client.clone(), lock: lock.to_owned(), path, acls }
    }

    /// Reads the znode; `None` if it does not exist.
    pub(super) async fn read(&self) -> Result<Option<Entry>, OnceError> {
        match self.client.find_data(&self.path).await {
            Ok(found) => Ok(found.map(|(data, stat)| Entry { data, version: stat.version })),
            Err(error) => Err(self.failed("read", error.into())),
        }
    }

    /// Returns the record in an entry; `None` if there was no run.
    pub(super) fn record<'e>(
        &self,
        entry: Option<&'e Entry>,
    ) -> Result<Option<RunRecord<'e>>, OnceError> {
        let data = entry.map_or(&[][..], |entry| &entry.data);
        RunRecord::parse(data).map_err(|_| OnceError::NotARecord { path: self.path.clone() })
    }

    /// Finds the last run, and the servers' time: the holder of the lock replaces the data by the same, and
    /// the reply says when.
    pub(super) async fn find(&self, guard: &LockGuard) -> Result<Found, OnceError> {
        loop {
            let found = self.read_while_held(guard).await?;
            self.record(found.as_ref())?;
            let data = found.as_ref().map_or_else(Bytes::new, |entry| entry.data.clone());
            let written = self.write(guard, data, found.as_ref()).await?;
            if let (Written::Done(Some(now)), Some(entry)) = (written, found) {
                return Ok(Found { entry, now });
            }
        }
    }

    /// Makes this the record. If a reply is lost, it reads whether that was done.
    pub(super) async fn put(
        &self,
        guard: &LockGuard,
        record: RunRecord<'_>,
    ) -> Result<(), OnceError> {
        let data = Bytes::from(record.to_string());
        loop {
            let found = self.read_while_held(guard).await?;
            self.record(found.as_ref())?;
            if found.as_ref().is_some_and(|entry| entry.data == data) {
                return Ok(());
            }
            if let Written::Done(_) = self.write(guard, data.clone(), found.as_ref()).await? {
                return Ok(());
            }
        }
    }

    async fn read_while_held(&self, guard: &LockGuard) -> Result<Option<Entry>, OnceError> {
        match guard.guard(self.read()).await {
            Ok(read) => read,
            Err(loss) => Err(OnceError::Lost { at: self.at("read"), lost: loss.lost }),
        }
    }

    async fn write(
        &self,
        guard: &LockGuard,
        data: Bytes,
        found: Option<&Entry>,
    ) -> Result<Written, OnceError> {
        let transaction = guard.transaction();
        let transaction = if let Some(entry) = found {
            transaction.set_data(&self.path, data, entry.version)
        } else {
            transaction.create_with_acl(&self.path, data, CreateMode::Persistent, &self.acls)
        };
        let error = match transaction.commit().await.as_deref() {
            Ok([OperationOutcome::DataSet(stat)]) => {
                return Ok(Written::Done(Some(ServerTime::new(stat.mtime))));
            }
            Ok(_) => return Ok(Written::Done(None)),
            Err(TransactionError::Refused {
                code: ErrorCode::BAD_VERSION | ErrorCode::NODE_EXISTS | ErrorCode::NO_NODE,
                ..
            }) => return Ok(Written::Again),
            Err(error) => error.clone(),
        };
        let passed = match &error {
            TransactionError::NotHeld => Err(guard.lost().await),
            TransactionError::Request(request) => match Obstacle::of(request) {
                Some(obstacle) => {
                    guard.guard(self.client.pass(obstacle)).await.map_err(|loss| loss.lost)
                }
                None => return Err(self.failed("record", error)),
            },
            _ => return Err(self.failed("record", error)),
        };
        match passed {
            Ok(()) => Ok(Written::Again),
            Err(lost) => Err(OnceError::Lost { at: self.at("record"), lost }),
        }
    }

    fn failed(&self, step: &'static str, error: TransactionError) -> OnceError {
        OnceError::Request { at: self.at(step), error }
    }

    fn at(&self, step: &'static str) -> Place {
        Place::new("once", &self.lock, step)
    }
}
