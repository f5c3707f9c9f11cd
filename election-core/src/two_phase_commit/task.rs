//! What may be asked of a party of a two-phase commit.

use super::told::Decision;
use crate::site_name::SiteName;

/// What a party is to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommitTask {
    /// Find out which transaction stands there.
    Find,
    /// Take part for a site, and be there until [`withdraw`](crate::Recipe::withdraw) is called.
    Join(SiteName),
    /// Vote for a site. A vote to abort decides.
    Vote(SiteName, Decision),
    /// Watch the sites, and decide: to commit once all have voted so, to abort once one of them is gone
    /// that had not voted.
    Decide,
    /// Wait for the decision of another party.
    Learn,
    /// Decide to abort, unless something was decided.
    Abort,
    /// Take note of the decision, for a site.
    Acknowledge(SiteName),
    /// Wait until each site that is bound or there has acknowledged, and remove the transaction.
    Finish,
}

impl CommitTask {
    /// The site that it is done for.
    pub const fn site(&self) -> Option<&SiteName> {
        match self {
            Self::Join(site) | Self::Vote(site, _) | Self::Acknowledge(site) => Some(site),
            Self::Find | Self::Decide | Self::Learn | Self::Abort | Self::Finish => None,
        }
    }
}
