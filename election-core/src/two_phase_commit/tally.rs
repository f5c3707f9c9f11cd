//! The transaction that one list shows.

use super::child::{CommitChild, CommitState, SitePresence, SiteState};
use super::plan::{Plan, Step};
use crate::id::NomineeId;
use crate::site_name::SiteName;

/// The children of a transaction's node, counted.
#[derive(Debug)]
pub(super) struct Tally {
    /// A decision counts more than `open-`, which is deleted after the decision was created.
    pub(super) state: Option<(CommitState, NomineeId)>,
    invited: u32,
    joined: u32,
    aborts: u32,
    pub(super) commits: u32,
    pub(super) live: u32,
    pub(super) bound: u32,
    /// Children that do not belong to a transaction.
    pub(super) foreign: u32,
    /// The last act of the site that asks.
    pub(super) own: Option<SiteState>,
    pub(super) own_is: Option<SitePresence>,
    /// Deletes some children of sites that are not bound.
    pub(super) unbound: Plan,
}

impl Tally {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>, own: Option<&SiteName>) -> Self {
        let mut tally = Self {
            state: None,
            invited: 0,
            joined: 0,
            aborts: 0,
            commits: 0,
            live: 0,
            bound: 0,
            foreign: 0,
            own: None,
            own_is: None,
            unbound: Plan::NONE,
        };
        for name in names {
            match CommitChild::parse(name) {
                None => tally.foreign = tally.foreign.saturating_add(1),
                Some(child) => tally.add(child, own.map(SiteName::as_str)),
            }
        }
        tally
    }

    fn add(&mut self, child: CommitChild<'_>, own: Option<&str>) {
        match child {
            CommitChild::State(CommitState::Open, _) if self.state.is_some() => {}
            CommitChild::State(state, id) => self.state = Some((state, id)),
            CommitChild::Site(state, site) => {
                let count = match state {
                    SiteState::Invited => &mut self.invited,
                    SiteState::Joined => &mut self.joined,
                    SiteState::VotedAbort => &mut self.aborts,
                    SiteState::VotedCommit => &mut self.commits,
                };
                *count = count.saturating_add(1);
                if own == Some(site) {
                    // The later one, where its predecessor is not deleted yet.
                    self.own = self.own.max(Some(state));
                }
                if state != SiteState::VotedCommit {
                    self.unbound.add_if_there_is_room(Step::Delete, child);
                }
            }
            CommitChild::Presence(presence, site) => {
                let count = match presence {
                    SitePresence::Live => &mut self.live,
                    SitePresence::Bound => &mut self.bound,
                };
                *count = count.saturating_add(1);
                if own == Some(site) {
                    self.own_is = Some(presence);
                }
            }
        }
    }

    /// Returns whether each site has voted to commit.
    pub(super) const fn is_unanimous(&self) -> bool {
        self.commits > 0 && self.invited == 0 && self.joined == 0 && self.aborts == 0
    }

    /// Returns whether a site that has joined is gone without a vote. `live-` is created before
    /// `joined-` and deleted after it, so there are fewer of them only if a session has ended.
    pub(super) const fn lacks_a_site(&self) -> bool {
        self.live < self.joined
    }
}
