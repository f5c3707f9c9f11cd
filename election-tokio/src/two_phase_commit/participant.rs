//! Sites that take part in a transaction.

use core::fmt;

use bytes::Bytes;
use election_core::NomineeId;
use election_core::commit::{CommitEnd, CommitSiteNotice, CommitTask, Decision, SiteName};

use super::course::{Course, step};
use super::error::CommitError;
use super::status::CommitStatus;
use crate::recipe::Standing;

/// The step that errors name.
const CONTENT: &str = "read the content";

/// A site that takes part in a transaction. It is present while this lives, also over expired
/// sessions.
///
/// Dropping it makes the site absent: if the site has not voted, the transaction may be aborted for
/// that. A site that has voted to commit stays bound, and [joins](crate::commit::TwoPhaseCommit::join)
/// again by its name to learn the decision.
#[must_use = "a participant that is dropped is gone"]
pub struct CommitParticipant {
    course: Course,
    site: SiteName,
    id: NomineeId,
    /// Its ephemeral child.
    _presence: Standing<CommitSiteNotice>,
}

impl CommitParticipant {
    pub(super) const fn new(
        course: Course,
        site: SiteName,
        id: NomineeId,
        presence: Standing<CommitSiteNotice>,
    ) -> Self {
        Self { course, site, id, _presence: presence }
    }

    /// Returns the name of the site.
    pub fn site(&self) -> &str {
        self.site.as_str()
    }

    /// Returns the id of the transaction.
    pub const fn id(&self) -> NomineeId {
        self.id
    }

    /// Reads the content that the transaction was begun with.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] if the transaction was removed, and the errors of reading.
    pub async fn content(&self) -> Result<Bytes, CommitError> {
        match self.course.client.get_data(self.course.site.path()).await {
            Ok((content, _)) => Ok(content),
            Err(error) if error.is_no_node() => {
                Err(CommitError::NotFound { at: self.course.at(CONTENT) })
            }
            Err(error) => Err(CommitError::Request { at: self.course.at(CONTENT), error }),
        }
    }

    /// Votes to commit. From here on the site is bound: it executes the decision, whatever that is.
    /// Before this call, write down everything that it needs to do so.
    ///
    /// The vote is cast once, whatever is lost on the way, so calling this again is fine. If there
    /// is a decision already, it is returned.
    ///
    /// Cancel safe: the vote may still be cast, so a site that dropped the future counts itself as
    /// bound.
    ///
    /// # Errors
    ///
    /// After an error the vote may have been cast: the site counts itself as bound until it knows
    /// better.
    pub async fn vote_commit(&self) -> Result<Option<Decision>, CommitError> {
        let task = CommitTask::Vote(self.site.clone(), Decision::Commit);
        let step = step(&task);
        match self.course.run(task, Some(self.id)).await? {
            CommitEnd::Voted => Ok(None),
            CommitEnd::Decided(decision) => Ok(Some(decision)),
            end => Err(self.course.error(end, Some(&self.site), step)),
        }
    }

    /// Votes to abort, which decides. Returns the decision: to abort.
    ///
    /// Cancel safe: it may still be decided.
    ///
    /// # Errors
    ///
    /// [`CommitError::Bound`] if the site has voted to commit, and nothing is decided yet.
    pub async fn vote_abort(&self) -> Result<Decision, CommitError> {
        let task = CommitTask::Vote(self.site.clone(), Decision::Abort);
        self.course.decision(task, self.id).await
    }

    /// Waits for the decision of another party: the coordinator watches all sites, and this watches
    /// one znode. If no party decides, this waits: see [`CommitParticipant::decide`].
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] among others. No error is a decision.
    pub async fn decision(&self) -> Result<Decision, CommitError> {
        self.course.decision(CommitTask::Learn, self.id).await
    }

    /// Watches all sites and decides like a coordinator, so that none is needed. If every site does
    /// so, the number of messages grows with the square of the number of sites.
    ///
    /// Cancel safe: dropping the future leaves the decision to another call, or another party.
    ///
    /// # Errors
    ///
    /// [`CommitError::NotFound`] among others. No error is a decision.
    pub async fn decide(&self) -> Result<Decision, CommitError> {
        self.course.decision(CommitTask::Decide, self.id).await
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

    /// Reports that the site has executed the decision, and does not need the transaction any more.
    /// Once all bound sites have done so, it can be removed.
    ///
    /// Cancel safe: it may still be reported. Joining again and calling this again is fine; if it
    /// was reported, joining returns [`CommitError::NoSuchSite`], or [`CommitError::NotFound`].
    ///
    /// # Errors
    ///
    /// [`CommitError::Undecided`] if nothing is decided yet.
    pub async fn acknowledge(self) -> Result<(), CommitError> {
        let task = CommitTask::Acknowledge(self.site.clone());
        let step = step(&task);
        match self.course.run(task, Some(self.id)).await? {
            CommitEnd::Acknowledged => Ok(()),
            end => Err(self.course.error(end, Some(&self.site), step)),
        }
    }
}

impl fmt::Debug for CommitParticipant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitParticipant")
            .field("path", &self.course.site.path())
            .field("site", &self.site)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
