//! Two-phase commit: sites vote, and all of them learn one decision.

mod coordinator;
mod course;
mod error;
mod participant;
mod status;

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use election_core::commit::{CommitEnd, CommitSiteNotice, CommitTask, SiteName};

pub use coordinator::CommitCoordinator;
pub use error::CommitError;
pub use participant::CommitParticipant;
pub use status::{CommitStatus, SiteStatus};

use self::course::{BEGIN, Course, RECIPE, step};
use crate::acl::Acls;
use crate::client::Client;
use crate::spot::Spot;

/// The step of joining, which errors name.
const JOIN: &str = "join";

/// A transaction at a path, which sites agree to commit or to abort; made by
/// [`Client::two_phase_commit`]. It holds the content, and a child for each site.
#[derive(Clone)]
#[must_use = "a two-phase commit does nothing until it is begun or joined"]
pub struct TwoPhaseCommit {
    spot: Spot,
}

impl Client {
    /// Returns the transaction at a path, which sites agree to commit or to abort.
    /// [`Client::transaction`] is something else: a list of writes for one request.
    pub fn two_phase_commit(&self, path: &str) -> TwoPhaseCommit {
        TwoPhaseCommit { spot: Spot::new(self.clone(), RECIPE, path) }
    }
}

impl TwoPhaseCommit {
    /// Begins a transaction, with its content and its sites, in one step. It creates the node and missing
    /// ancestors. A node at the path without children is replaced, with its data and its access list.
    ///
    /// Cancel safe: it may still be begun; [recover](Self::recover) it.
    ///
    /// # Errors
    ///
    /// [`CommitError::Exists`] if a transaction is there; [`CommitError::BeginUnknown`] if the
    /// reply was lost and there is none.
    pub async fn begin<I>(
        &self,
        content: impl Into<Bytes>,
        sites: I,
    ) -> Result<CommitCoordinator, CommitError>
    where
        I: IntoIterator<Item: AsRef<str>>,
    {
        let course = self.course(content.into(), BEGIN)?;
        let sites: Result<Vec<SiteName>, CommitError> =
            sites.into_iter().map(|name| self.site_name(name.as_ref(), BEGIN)).collect();
        let failed = |error| CommitError::Randomness { at: self.spot.place(BEGIN), error };
        let id = self.spot.client.shared().ids.nominee().map_err(failed)?;
        course.begin(id, sites?).await?;
        Ok(CommitCoordinator::new(course, id))
    }

    /// Takes part for a site, which is present until the participant is dropped. A site that comes
    /// back, by its name, continues: if it has voted, the vote stands.
    ///
    /// Only one process at a time is present for a site: while the session of another one lives,
    /// this waits.
    ///
    /// Cancel safe: the site may have become present, and is gone again, for which the transaction
    /// may be aborted.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`], [`CommitError::NoSuchSite`].
    pub async fn join(&self, site: &str) -> Result<CommitParticipant, CommitError> {
        let course = self.course(Bytes::new(), JOIN)?;
        let site = self.site_name(site, JOIN)?;
        let mut presence = course.stand(CommitTask::Join(site.clone()), None);
        match course.told(&mut presence, JOIN).await? {
            CommitSiteNotice::Joined(id) => Ok(CommitParticipant::new(course, site, id, presence)),
            CommitSiteNotice::Ended(end) => Err(course.error(end, Some(&site), JOIN)),
        }
    }

    /// Finds the transaction at the path, to decide it in place of a coordinator that is gone, and
    /// to clean up.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] if a quorum knows of none.
    pub async fn recover(&self) -> Result<CommitCoordinator, CommitError> {
        let task = CommitTask::Find;
        let step = step(&task);
        let course = self.course(Bytes::new(), step)?;
        match course.run(task, None).await? {
            CommitEnd::Found { id, .. } => Ok(CommitCoordinator::new(course, id)),
            end => Err(course.error(end, None, step)),
        }
    }

    /// Returns the state of the transaction: which sites it waits for, and since when.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] if there is none, and the errors of reading.
    pub async fn status(&self) -> Result<CommitStatus, CommitError> {
        self.course(Bytes::new(), "status")?.status(None).await
    }

    fn course(&self, content: Bytes, step: &'static str) -> Result<Course, CommitError> {
        let mut spot = self.spot.clone();
        spot.set_data(content);
        let site = Arc::clone(spot.site(step)?);
        Ok(Course { client: spot.client, site })
    }

    fn site_name(&self, name: &str, step: &'static str) -> Result<SiteName, CommitError> {
        let invalid = |error| CommitError::InvalidSite {
            at: self.spot.place(step),
            name: name.to_owned(),
            error,
        };
        SiteName::new(name).map_err(invalid)
    }
}

/// Settings.
impl TwoPhaseCommit {
    /// Sets the access list of all znodes that are created (default: every client may do
    /// everything). Every party needs to read, create, write and delete.
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }
}

impl fmt::Debug for TwoPhaseCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwoPhaseCommit").field("path", &self.spot.path).finish_non_exhaustive()
    }
}
