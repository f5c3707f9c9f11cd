//! The children of a transaction's node. Their names show the whole state.
//!
//! A change is a new name: one transaction creates a child and deletes another one. So a change is
//! made once, and one list shows the state. A server applies the parts of a transaction one after
//! another, and may answer a list in between, so each transaction creates before it deletes.

use core::fmt::{self, Write as _};

use heapless::String;

use crate::id::NomineeId;
use crate::site_name::SiteName;

/// The decision of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitState {
    /// The transaction has no decision yet.
    Open,
    /// It is committed.
    Committed,
    /// It is aborted.
    Aborted,
}

/// The last act of a site in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SiteState {
    /// It was asked, and has not come.
    Invited,
    /// It has come, and has not voted.
    Joined,
    /// It has voted to abort.
    VotedAbort,
    /// It has voted to commit. It is bound to the decision, and may not decide alone any more.
    VotedCommit,
}

/// The ephemeral child of a site that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SitePresence {
    /// The site has not voted. The transaction may be aborted once it is gone.
    Live,
    /// The site has voted to commit.
    Bound,
}

/// A child of a transaction's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommitChild<'a> {
    /// The decision of the transaction with this id: `open-`, `committed-`, `aborted-`.
    State(CommitState, NomineeId),
    /// The last act of a site: `invited-`, `joined-`, `commit-`, `abort-`, and the name of the
    /// site.
    Site(SiteState, &'a str),
    /// The presence of a site: `live-` and `bound-`, and its name.
    Presence(SitePresence, &'a str),
}

impl<'a> CommitChild<'a> {
    /// Parses the name of a child; `None` if it does not belong to a transaction.
    pub fn parse(name: &'a str) -> Option<Self> {
        let (kind, rest) = name.split_once('-')?;
        let state = |state| Some(Self::State(state, rest.parse().ok()?));
        let site = || SiteName::new(rest).is_ok().then_some(rest);
        match kind {
            "open" => state(CommitState::Open),
            "committed" => state(CommitState::Committed),
            "aborted" => state(CommitState::Aborted),
            "invited" => Some(Self::Site(SiteState::Invited, site()?)),
            "joined" => Some(Self::Site(SiteState::Joined, site()?)),
            "commit" => Some(Self::Site(SiteState::VotedCommit, site()?)),
            "abort" => Some(Self::Site(SiteState::VotedAbort, site()?)),
            "live" => Some(Self::Presence(SitePresence::Live, site()?)),
            "bound" => Some(Self::Presence(SitePresence::Bound, site()?)),
            _ => None,
        }
    }

    /// Returns the name, to be kept.
    pub(super) fn name(&self) -> ChildName {
        let mut name = String::new();
        // The name has room for the longest child.
        let _ = write!(name, "{self}");
        ChildName(name)
    }
}

impl fmt::Display for CommitChild<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::State(CommitState::Open, _) => "open",
            Self::State(CommitState::Committed, _) => "committed",
            Self::State(CommitState::Aborted, _) => "aborted",
            Self::Site(SiteState::Invited, _) => "invited",
            Self::Site(SiteState::Joined, _) => "joined",
            Self::Site(SiteState::VotedCommit, _) => "commit",
            Self::Site(SiteState::VotedAbort, _) => "abort",
            Self::Presence(SitePresence::Live, _) => "live",
            Self::Presence(SitePresence::Bound, _) => "bound",
        };
        match self {
            Self::State(_, id) => write!(f, "{kind}-{id}"),
            Self::Site(_, site) | Self::Presence(_, site) => write!(f, "{kind}-{site}"),
        }
    }
}

/// The name of a child.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChildName(String<80>);

impl ChildName {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let id = NomineeId::from_bytes([0xab; 16]);
        let longest = "s".repeat(SiteName::MAX_LEN);
        let states = [CommitState::Open, CommitState::Committed, CommitState::Aborted];
        let sites =
            [SiteState::Invited, SiteState::Joined, SiteState::VotedCommit, SiteState::VotedAbort];
        let children = states.map(|state| CommitChild::State(state, id)).into_iter();
        let children = children.chain(sites.map(|state| CommitChild::Site(state, &longest)));
        let here = [SitePresence::Live, SitePresence::Bound];
        let children = children.chain(here.map(|here| CommitChild::Presence(here, "a-b")));
        for child in children {
            let name = child.name();
            assert_eq!(CommitChild::parse(name.as_str()), Some(child));
        }
    }

    #[test]
    fn other_names_are_none() {
        for name in ["commit", "commit-", "commits-a", "open-a", "stray", "ready", "live-a b"] {
            assert_eq!(CommitChild::parse(name), None, "{name}");
        }
        let site = SiteName::new("a").unwrap();
        let invited = CommitChild::Site(SiteState::Invited, "a").name();
        assert_eq!(invited.as_str(), site.invitation());
    }
}
