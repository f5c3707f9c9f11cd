//! The transaction of a handle, and operations on it.

use std::sync::Arc;

use election_core::NomineeId;
use election_core::commit::{
    BeginEnd, CommitEnd, CommitSiteNotice, CommitTask, Decision, SiteName, TwoPhaseBegin,
    TwoPhaseCommit,
};
use election_session::Site;
use zk_session::SessionEnd;

use super::error::CommitError;
use crate::client::Client;
use crate::error::Place;
use crate::recipe::Standing;

/// The recipe that errors name.
pub(super) const RECIPE: &str = "two-phase commit";
/// The first step.
pub(super) const BEGIN: &str = "begin";

/// Where a transaction is, and what to ask of it.
#[derive(Clone)]
pub(super) struct Course {
    pub(super) client: Client,
    pub(super) site: Arc<Site>,
}

impl Course {
    /// Returns the place of an error.
    pub(super) fn at(&self, step: &'static str) -> Place {
        Place::new(RECIPE, self.site.path(), step)
    }

    /// Runs a task to its end. Cancel safe: dropping it gives up.
    pub(super) async fn run(
        &self,
        task: CommitTask,
        id: Option<NomineeId>,
    ) -> Result<CommitEnd, CommitError> {
        let step = step(&task);
        let mut standing = self.stand(task, id);
        loop {
            if let CommitSiteNotice::Ended(end) = self.told(&mut standing, step).await? {
                return Ok(end);
            }
        }
    }

    /// Runs a task that ends with a decision.
    pub(super) async fn decision(
        &self,
        task: CommitTask,
        id: NomineeId,
    ) -> Result<Decision, CommitError> {
        let (site, step) = (task.site().cloned(), step(&task));
        match self.run(task, Some(id)).await? {
            CommitEnd::Decided(decision) => Ok(decision),
            end => Err(self.error(end, site.as_ref(), step)),
        }
    }

    pub(super) fn stand(
        &self,
        task: CommitTask,
        id: Option<NomineeId>,
    ) -> Standing<CommitSiteNotice> {
        self.client.stand_at(Arc::clone(&self.site), TwoPhaseCommit::new(task, id))
    }

    pub(super) async fn begin(
        &self,
        id: NomineeId,
        sites: Vec<SiteName>,
    ) -> Result<(), CommitError> {
        let at = self.at(BEGIN);
        let begin = match TwoPhaseBegin::new(id, sites) {
            Ok(begin) => begin,
            Err(error) => return Err(CommitError::InvalidSites { at, error }),
        };
        let mut standing = self.client.stand_at(Arc::clone(&self.site), begin);
        match self.told(&mut standing, BEGIN).await? {
            BeginEnd::Begun => Ok(()),
            BeginEnd::Exists { id, state } => Err(CommitError::Exists { at, id, state }),
            BeginEnd::Unknown => Err(CommitError::BeginUnknown { at }),
            BeginEnd::Failed(failure) => Err(CommitError::Failed { at, failure }),
            // Only a dropped task is withdrawn.
            BeginEnd::Withdrawn => {
                Err(CommitError::ClientClosed { at, end: SessionEnd::Abandoned })
            }
        }
    }

    /// Makes an error of an unexpected end.
    pub(super) fn error(
        &self,
        end: CommitEnd,
        site: Option<&SiteName>,
        step: &'static str,
    ) -> CommitError {
        let at = self.at(step);
        let name = || site.map(|site| site.as_str().to_owned()).unwrap_or_default();
        match end {
            CommitEnd::Gone => CommitError::NotFound { at },
            CommitEnd::Replaced => CommitError::Replaced { at },
            CommitEnd::NoSuchSite => CommitError::NoSuchSite { at, site: name() },
            CommitEnd::Bound => CommitError::Bound { at, site: name() },
            CommitEnd::Undecided | CommitEnd::Voted | CommitEnd::Found { .. } => {
                CommitError::Undecided { at }
            }
            CommitEnd::Failed(failure) => CommitError::Failed { at, failure },
            CommitEnd::Decided(_)
            | CommitEnd::Acknowledged
            | CommitEnd::Finished
            | CommitEnd::Withdrawn => CommitError::ClientClosed { at, end: SessionEnd::Abandoned },
        }
    }

    /// Waits for the next notice of a machine. Cancel safe.
    pub(super) async fn told<N>(
        &self,
        standing: &mut Standing<N>,
        step: &'static str,
    ) -> Result<N, CommitError> {
        let ended = |end| CommitError::ClientClosed { at: self.at(step), end };
        standing.notice().await.map_err(ended)
    }
}

/// Returns the step that errors of a task name.
pub(super) const fn step(task: &CommitTask) -> &'static str {
    match task {
        CommitTask::Find => "recover",
        CommitTask::Join(_) => "join",
        CommitTask::Vote(..) => "vote",
        CommitTask::Decide => "decide",
        CommitTask::Learn => "learn the decision",
        CommitTask::Abort => "abort",
        CommitTask::Acknowledge(_) => "acknowledge",
        CommitTask::Finish => "finish",
    }
}
