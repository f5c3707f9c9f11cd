//! A run of a job.

use election_core::election::Departure;
use election_core::once::{RunRecord, RunState, ServerTime};

use super::error::OnceError;
use super::journal::Journal;
use crate::lock::{LockGuard, ReleaseError};
use crate::telemetry::work_metrics::RunMeter;

/// A run of a job, recorded as begun. It holds the job's lock.
///
/// Do the work by [`LockGuard::guard`] of [`OnceRun::lock`], and then say how it ended. Dropping it releases
/// the lock in the background, and the run counts as interrupted.
#[derive(Debug)]
#[must_use = "a run that is dropped counts as interrupted"]
pub struct OnceRun {
    guard: LockGuard,
    journal: Journal,
    began: ServerTime,
    by: String,
    meter: RunMeter,
}

impl OnceRun {
    pub(super) fn new(guard: LockGuard, journal: Journal, began: ServerTime, by: String) -> Self {
        Self { guard, journal, began, by, meter: RunMeter::start() }
    }

    /// Returns the lock: its token, its lease, transactions that are applied only under it.
    pub const fn lock(&self) -> &LockGuard {
        &self.guard
    }

    /// Records that the run has succeeded, and releases the lock.
    ///
    /// Cancel safe: the lock is released, and the run may count as interrupted.
    ///
    /// # Errors
    ///
    /// [`OnceError`]. Unless [`OnceError::may_have_happened`], the run counts as interrupted.
    pub async fn succeeded(self) -> Result<(), OnceError> {
        self.ended(RunState::Succeeded).await
    }

    /// Records that the run has failed, and releases the lock.
    ///
    /// Cancel safe, as [`OnceRun::succeeded`].
    ///
    /// # Errors
    ///
    /// Those of [`OnceRun::succeeded`].
    pub async fn failed(self) -> Result<(), OnceError> {
        self.ended(RunState::Failed).await
    }

    /// Releases the lock, and records nothing: the run counts as interrupted. Waits until the next contender can
    /// have the lock.
    ///
    /// Cancel safe: the lock is released with the call.
    ///
    /// # Errors
    ///
    /// Those of [`LockGuard::release`].
    pub async fn give_up(self) -> Result<Departure, ReleaseError> {
        self.guard.release().await
    }

    async fn ended(self, state: RunState) -> Result<(), OnceError> {
        let recorded = self.record(state).await;
        self.meter.finished(match (&recorded, state) {
            (Err(_), _) => "unrecorded",
            (Ok(()), RunState::Succeeded) => "succeeded",
            (Ok(()), _) => "failed",
        });
        recorded?;
        match self.guard.release().await {
            // A loss came after the end, since the record was written under the lock.
            Ok(_) | Err(ReleaseError::AlreadyLost { .. }) => Ok(()),
            Err(error) => Err(OnceError::NotReleased(error)),
        }
    }

    pub(super) async fn record(&self, state: RunState) -> Result<(), OnceError> {
        let record = RunRecord { state, began: self.began, by: &self.by };
        self.journal.put(&self.guard, record).await
    }
}
