//! The party that decides a transaction and cleans up.

use core::fmt;

use election_core::NomineeId;
use election_core::commit::{CommitEnd, CommitTask, Decision};

use super::course::{Course, step};
use super::error::CommitError;
use super::status::CommitStatus;

/// A party that decides: the one that has begun the transaction, or any that recovers it. There may
/// be several at a time; there is one decision.
///
/// Dropping it changes nothing.
#[derive(Clone)]
#[must_use = "without a party that decides the sites wait"]
pub struct CommitCoordinator {
    course: Course,
    id: NomineeId,
}

impl CommitCoordinator {
    pub(super) const fn new(course: Course, id: NomineeId) -> Self {
        Self { course, id }
    }

    /// Returns the id of the transaction.
    pub const fn id(&self) -> NomineeId {
        self.id
    }

    /// Watches the sites until the transaction is decided, and decides: to commit once all sites
    /// have voted so; to abort once a site is gone that had come and not voted. A vote to abort
    /// decides by itself. Lost connections and expired sessions do not end the wait.
    ///
    /// It waits without end for a site that has not come: set a deadline around this and
    /// [abort](Self::abort).
    ///
    /// Cancel safe: dropping the future leaves the decision to another call, or another party.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] among others. No error is a decision.
    pub async fn decided(&self) -> Result<Decision, CommitError> {
        self.course.decision(CommitTask::Decide, self.id).await
    }

    /// Decides to abort, unless there is a decision already; returns the decision.
    ///
    /// Cancel safe: it may still be decided.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] among others. No error is a decision.
    pub async fn abort(&self) -> Result<Decision, CommitError> {
        self.course.decision(CommitTask::Abort, self.id).await
    }

    /// Returns the state of the transaction.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] if it was removed.
    pub async fn status(&self) -> Result<CommitStatus, CommitError> {
        self.course.status(Some(self.id)).await
    }

    /// Waits until each site that has voted to commit, or is present, has acknowledged the
    /// decision, and removes the transaction. If it is removed already, this succeeds.
    ///
    /// Cancel safe: a part may be removed; another call continues.
    ///
    /// # Errors
    ///
    /// [`CommitError::Undecided`] if nothing is decided yet.
    pub async fn finish(&self) -> Result<(), CommitError> {
        let task = CommitTask::Finish;
        let step = step(&task);
        match self.course.run(task, Some(self.id)).await? {
            CommitEnd::Finished => Ok(()),
            end => Err(self.course.error(end, None, step)),
        }
    }
}

impl fmt::Debug for CommitCoordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitCoordinator")
            .field("path", &self.course.site.path())
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
