//! Tasks of a party of a two-phase commit.

use super::told::Decision;
use crate::site_name::SiteName;

/// The task of a party.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommitTask {
    /// Find out which transaction is at the path.
    Find,
    /// Take part for a site, and stay present until [`withdraw`](crate::Recipe::withdraw) is
    /// called.
    Join(SiteName),
    /// Vote for a site. A vote to abort decides.
    Vote(SiteName, Decision),
    /// Watch the sites, and decide: to commit once all have voted so, to abort once a site is gone
    /// that had joined and not voted.
    Decide,
    /// Wait for the decision of another party.
    Learn,
    /// Decide to abort, unless there is a decision already.
    Abort,
    /// Acknowledge the decision, for a site.
    Acknowledge(SiteName),
    /// Wait until each site that is bound or present has acknowledged, and remove the transaction.
    Finish,
}

impl CommitTask {
    /// Returns the site of the task.
    pub const fn site(&self) -> Option<&SiteName> {
        match self {
            Self::Join(site) | Self::Vote(site, _) | Self::Acknowledge(site) => Some(site),
            Self::Find | Self::Decide | Self::Learn | Self::Abort | Self::Finish => None,
        }
    }
}
