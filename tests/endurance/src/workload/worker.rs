//! The common part of all workers.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloc::sync::Arc;

use election_tokio::{Client, ConnectionState, Stat, TransactionError};
use tokio::sync::watch;
use zk_test_kit::history::now;

use super::super::Record;
use super::super::laws::orders::Committed;
use super::super::laws::reads::{Sighting, Snapshot, digest};
use super::super::laws::writes::{Attempt, Entry, Outcome};
use super::tracker::Patience;

/// Between two calls of one client.
const PACE: Duration = Duration::from_millis(25);

/// The tasks of a crew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Work,
    /// Nothing is written any more.
    Quiet,
    Over,
}

/// A worker's progress.
#[derive(Debug)]
pub(super) struct Pulse {
    name: String,
    patience: Option<Patience>,
    beats: AtomicU64,
}

impl Pulse {
    pub(super) fn new(name: &str, patience: Option<Patience>) -> Self {
        Self { name: name.to_owned(), patience, beats: AtomicU64::new(0) }
    }

    /// Returns the name of the worker.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns how long its sessions live; `None` for a group of both kinds.
    pub(super) const fn patience(&self) -> Option<Patience> {
        self.patience
    }

    /// Returns how many calls were answered.
    pub(super) fn count(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }
}

/// One client at work.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) patience: Patience,
    number: u32,
    written: u32,
    pulse: Arc<Pulse>,
    phase: watch::Receiver<Phase>,
    record: Record,
    sightings: Vec<Sighting>,
}

/// The end of all writers.
#[derive(Clone, Debug)]
pub(super) struct Quiet(watch::Receiver<Phase>);

impl Quiet {
    /// Waits for it.
    pub(super) async fn arrived(mut self) {
        // A crew that is gone is quiet.
        let _ = self.0.wait_for(|phase| *phase >= Phase::Quiet).await;
    }
}

/// A write that was answered.
pub(super) struct Written {
    /// Its place.
    pub(super) place: String,
    /// Its transaction, where the answer tells it.
    pub(super) zxid: Option<i64>,
}

impl Worker {
    pub(super) fn new(
        client: Client,
        patience: Patience,
        number: u32,
        (pulse, phase): (Arc<Pulse>, watch::Receiver<Phase>),
    ) -> Self {
        let (record, sightings) = (Record::default(), Vec::new());
        Self { client, patience, number, written: 0, pulse, phase, record, sightings }
    }

    /// Makes another task of the same client, which ends before this one.
    pub(super) fn beside(&self, pulse: Arc<Pulse>) -> Self {
        let shared = (pulse, self.phase.clone());
        Self::new(self.client.clone(), self.patience, self.number, shared)
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    /// Whether to go on: the writers end first.
    pub(super) fn writes_on(&self) -> bool {
        *self.phase.borrow() < Phase::Quiet
    }

    pub(super) fn observes_on(&self) -> bool {
        *self.phase.borrow() < Phase::Over
    }

    /// Waits until the writers are to end.
    pub(super) async fn until_quiet(&self) {
        self.quiet().arrived().await;
    }

    /// Returns a wait until the writers are to end that needs no worker.
    pub(super) fn quiet(&self) -> Quiet {
        Quiet(self.phase.clone())
    }

    /// Waits until all workers are to end.
    pub(super) async fn until_over(&self) {
        let _ = self.phase.clone().wait_for(|phase| *phase >= Phase::Over).await;
    }

    /// Notes that something was done.
    pub(super) fn beat(&self) {
        self.pulse.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that something was done. Rests, so that the machine is not busy with one client alone.
    pub(super) async fn beat_and_rest(&self) {
        self.beat();
        tokio::time::sleep(PACE).await;
    }

    /// Recovers from a failure: rests, and waits for a connection.
    pub(super) async fn recover(&self) {
        tokio::time::sleep(PACE).await;
        let mut connection = self.client.connection_updates();
        let connected =
            connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. }));
        tokio::select! {
            _ = connected => {}
            () = self.until_over() => {}
        }
    }

    /// Returns the session, while the client is connected.
    pub(super) fn session(&self) -> Option<i64> {
        match self.client.connection_updates().latest() {
            ConnectionState::Connected { session, .. } => Some(session.get()),
            _ => None,
        }
    }

    /// Writes the next entry, and notes down what becomes of it. `None` if it is not known to be
    /// written.
    pub(super) async fn attempt(
        &mut self,
        write: impl AsyncFnOnce(&Client, Entry) -> Result<Written, TransactionError>,
    ) -> Option<Entry> {
        self.written += 1;
        let entry = Entry { writer: self.number, number: self.written };
        let asked_at = now();
        let written = write(&self.client, entry).await;
        let answered_at = now();
        if let Ok(Written { zxid: Some(zxid), .. }) = written {
            self.record.committed.push(Committed { asked_at, answered_at, zxid });
        }
        let outcome = match written {
            Ok(Written { place, .. }) => Outcome::Done(place),
            Err(error) if error.may_have_happened() => Outcome::Unknown,
            Err(_) => Outcome::NotDone,
        };
        let done = matches!(outcome, Outcome::Done(_)).then_some(entry);
        self.record.attempts.push(Attempt { entry, asked_at, answered_at, outcome });
        done
    }

    /// Notes down what was seen of a znode that is never deleted, if it was seen in one session.
    pub(super) fn saw(&mut self, before: Option<i64>, path: &str, data: &[u8], stat: &Stat) {
        let Some(session) = before.filter(|_| self.session() == before) else {
            return;
        };
        let (version, zxid) = (stat.version.get(), stat.mzxid.get());
        let seen = Snapshot { version, zxid, digest: digest(data) };
        self.sightings.push(Sighting { session, path: path.to_owned(), seen });
    }

    pub(super) fn record(&mut self) -> &mut Record {
        &mut self.record
    }

    /// Ends: closes the session, gives what was noted down.
    pub(super) async fn finish(self) -> Record {
        // Whether ephemeral znodes are left behind is seen in the end.
        let _ = self.client.clone().close().await;
        self.into_record()
    }

    /// Ends, and leaves the session to the worker that shares it.
    pub(super) fn into_record(mut self) -> Record {
        self.record.sightings.push(self.sightings);
        self.record
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
