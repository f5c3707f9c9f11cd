//! The transaction of a handle, and operations on it.

use std::sync::Arc;

use election_core::NomineeId;
use election_core::commit::{
    BeginEnd, CommitEnd, CommitSiteNotice, CommitTask, Decision, SiteName, TwoPhaseBegin,
    TwoPhaseCommit,
};
use election_session::{RecipeEnd, Site};
use zk_session::SessionEnd;

use super::error::CommitError;
use crate::client::Client;
use crate::recipe::{RecipeUpdate, Standing};

/// The place of a transaction.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) site: Arc<Site>,
}

impl Place {
    pub(super) fn path(&self) -> String {
        self.site.path().to_owned()
    }

    /// Runs a task to its end. Cancel safe: dropping it gives up.
    pub(super) async fn run(
        &self,
        task: CommitTask,
        id: Option<NomineeId>,
    ) -> Result<CommitEnd, CommitError> {
        let mut standing = self.stand(task, id);
        loop {
            if let CommitSiteNotice::Ended(end) = told(&mut standing).await? {
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
        let site = task.site().cloned();
        match self.run(task, Some(id)).await? {
            CommitEnd::Decided(decision) => Ok(decision),
            end => Err(self.error(end, site.as_ref())),
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
        let begin = TwoPhaseBegin::new(id, sites)?;
        let mut standing = self.client.stand_at(Arc::clone(&self.site), begin);
        let path = self.path();
        match told(&mut standing).await? {
            BeginEnd::Begun => Ok(()),
            BeginEnd::Exists { id, state } => Err(CommitError::Exists { path, id, state }),
            BeginEnd::Unknown => Err(CommitError::BeginUnknown { path }),
            BeginEnd::Failed(failure) => Err(CommitError::Failed { path, failure }),
            // Only a dropped task is withdrawn.
            BeginEnd::Withdrawn => Err(CommitError::ClientClosed(SessionEnd::Abandoned)),
        }
    }

    /// Makes an error of an unexpected end.
    pub(super) fn error(&self, end: CommitEnd, site: Option<&SiteName>) -> CommitError {
        let path = self.path();
        let name = || site.map(|site| site.as_str().to_owned()).unwrap_or_default();
        match end {
            CommitEnd::Gone => CommitError::NotFound { path },
            CommitEnd::Replaced => CommitError::Replaced { path },
            CommitEnd::NoSuchSite => CommitError::NoSuchSite { path, site: name() },
            CommitEnd::Bound => CommitError::Bound { path, site: name() },
            CommitEnd::Undecided | CommitEnd::Voted | CommitEnd::Found { .. } => {
                CommitError::Undecided { path }
            }
            CommitEnd::Failed(failure) => CommitError::Failed { path, failure },
            CommitEnd::Decided(_)
            | CommitEnd::Acknowledged
            | CommitEnd::Finished
            | CommitEnd::Withdrawn => CommitError::ClientClosed(SessionEnd::Abandoned),
        }
    }
}

/// Waits for the next notice of a machine. Cancel safe.
pub(super) async fn told<N>(standing: &mut Standing<N>) -> Result<N, CommitError> {
    loop {
        match standing.next().await {
            Some(RecipeUpdate::Notice(notice)) => return Ok(notice),
            Some(RecipeUpdate::Over(RecipeEnd::HostEnded(end))) => {
                return Err(CommitError::ClientClosed(end));
            }
            Some(_) => {}
            None => return Err(CommitError::ClientClosed(SessionEnd::Abandoned)),
        }
    }
}
