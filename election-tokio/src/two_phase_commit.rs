//! Two-phase commit: sites vote, and all of them learn one decision.

mod coordinator;
mod error;
mod participant;
mod place;
mod status;

use core::fmt;

use bytes::Bytes;
use election_core::NomineeId;
use election_core::commit::{CommitEnd, CommitSiteNotice, CommitTask, SiteName};
use election_core::election::{ElectionNode, NodeKind};
use election_session::AclList;
use zk_session::{SessionEnd, ZnodePath};

pub use coordinator::CommitCoordinator;
pub use error::CommitError;
pub use participant::CommitParticipant;
pub use status::{CommitStatus, SiteStatus};

use self::place::{Place, told};
use crate::acl::Acls;
use crate::client::Client;
use crate::site::site;

/// A transaction at a path, which sites agree to commit or to abort; made by
/// [`Client::two_phase_commit`]. It holds the content, and a child for each site.
#[derive(Clone)]
#[must_use = "a two-phase commit does nothing until it is begun or joined"]
pub struct TwoPhaseCommit {
    client: Client,
    path: String,
    acls: Acls,
}

impl Client {
    /// Returns the transaction at a path, which sites agree to commit or to abort.
    /// [`Client::transaction`] is something else: a list of writes for one request.
    pub fn two_phase_commit(&self, path: &str) -> TwoPhaseCommit {
        TwoPhaseCommit { client: self.clone(), path: path.to_owned(), acls: Acls::open() }
    }
}

impl TwoPhaseCommit {
    /// Begins a transaction, with its content and its sites, in one step. It uses an empty node at
    /// the path, and creates missing ancestors.
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
        let place = self.place(content.into())?;
        let sites: Result<Vec<SiteName>, CommitError> =
            sites.into_iter().map(|name| site_name(name.as_ref())).collect();
        let id = NomineeId::from_bytes(
            self.client.shared().ids.draw().map_err(CommitError::Randomness)?,
        );
        place.begin(id, sites?).await?;
        Ok(CommitCoordinator::new(place, id))
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
        let place = self.place(Bytes::new())?;
        let site = site_name(site)?;
        let mut presence = place.stand(CommitTask::Join(site.clone()), None);
        match told(&mut presence).await? {
            CommitSiteNotice::Joined(id) => Ok(CommitParticipant::new(place, site, id, presence)),
            CommitSiteNotice::Ended(end) => Err(place.error(end, Some(&site))),
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
        let place = self.place(Bytes::new())?;
        match place.run(CommitTask::Find, None).await? {
            CommitEnd::Found { id, .. } => Ok(CommitCoordinator::new(place, id)),
            CommitEnd::Withdrawn => Err(CommitError::ClientClosed(SessionEnd::Abandoned)),
            end => Err(place.error(end, None)),
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
        self.place(Bytes::new())?.status(None).await
    }

    fn place(&self, content: Bytes) -> Result<Place, CommitError> {
        let invalid = |error| CommitError::InvalidPath { path: self.path.clone(), error };
        let path: ZnodePath = self.path.parse().map_err(invalid)?;
        let invalid = |error| CommitError::InvalidAcl { path: self.path.clone(), error };
        let acl = AclList::new(&self.acls.checked().map_err(invalid)?);
        let node = ElectionNode::Create(NodeKind::Persistent);
        let site = site(&self.client, &path, content, acl, node);
        Ok(Place { client: self.client.clone(), site })
    }
}

/// Settings.
impl TwoPhaseCommit {
    /// Sets the access list of all znodes that are created (default: every client may do
    /// everything). Every party needs to read, create, write and delete.
    pub fn acls(mut self, acls: Acls) -> Self {
        self.acls = acls;
        self
    }
}

fn site_name(name: &str) -> Result<SiteName, CommitError> {
    let invalid = |error| CommitError::InvalidSite { name: name.to_owned(), error };
    SiteName::new(name).map_err(invalid)
}

impl fmt::Debug for TwoPhaseCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwoPhaseCommit").field("path", &self.path).finish_non_exhaustive()
    }
}
