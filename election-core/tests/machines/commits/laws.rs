//! The laws that have to hold, whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use election_core::{
    BeginEnd, CommitChild, CommitEnd, CommitFailure, CommitSiteNotice, CommitState, CommitTask,
    Decision, NomineeId, SiteName, SiteState,
};

use super::client::{Client, Course, Errand, Told};
use super::server::{Owned, Tree};
use super::world::World;

/// The history so far, as an observer of the whole ensemble sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Laws {
    /// The first that was broken.
    pub fault: Option<String>,
    /// The sites that take part in each transaction.
    pub sites: BTreeMap<NomineeId, Vec<String>>,
    begun: BTreeSet<NomineeId>,
    removed: BTreeSet<NomineeId>,
    decided: BTreeMap<NomineeId, Decision>,
    voted: BTreeSet<(NomineeId, String)>,
    acknowledged: BTreeSet<(NomineeId, String)>,
    /// The transaction that each client means, and whether it did not stand at some moment since.
    meant: BTreeMap<usize, (NomineeId, bool)>,
    permissions: Permissions,
}

/// Whether a server may refuse something, so that a party may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permissions {
    Kept,
    Change,
}

fn standing(tree: &Tree) -> Option<(CommitState, NomineeId)> {
    let mut found = None;
    for name in tree.keys() {
        if let Some(CommitChild::State(state, id)) = CommitChild::parse(name)
            && found.is_none_or(|(found, _)| found == CommitState::Open)
        {
            found = Some((state, id));
        }
    }
    found
}

fn has(tree: &Tree, state: SiteState, site: &str) -> bool {
    tree.contains_key(&CommitChild::Site(state, site).to_string())
}

impl Laws {
    pub fn new(
        sites: BTreeMap<NomineeId, Vec<String>>,
        tip: &Tree,
        permissions: Permissions,
    ) -> Self {
        let mut laws = Self {
            fault: None,
            sites,
            begun: BTreeSet::new(),
            removed: BTreeSet::new(),
            decided: BTreeMap::new(),
            voted: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            meant: BTreeMap::new(),
            permissions,
        };
        laws.begun.extend(standing(tip).map(|(_, id)| id));
        laws
    }

    pub fn break_with(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// Notes that a client begins with an errand.
    pub fn begin(&mut self, i: usize, id: NomineeId, tip: &Tree) {
        let is_absent = standing(tip).map(|(_, id)| id) != Some(id);
        self.meant.insert(i, (id, is_absent));
    }

    /// Notes a commit, with the trees before and after it.
    pub fn committed(&mut self, author: Option<&SiteName>, before: &Tree, after: &Tree) {
        let (was, is) = (standing(before), standing(after));
        for (meant, was_absent) in self.meant.values_mut() {
            *was_absent |= is.map(|(_, id)| id) != Some(*meant);
        }
        if let Some((state, id)) = is {
            if was.map(|(_, id)| id) != Some(id) && !self.begun.insert(id) {
                self.break_with(format!("{id} is begun twice"));
            }
            let decision = match state {
                CommitState::Open => None,
                CommitState::Committed => Some(Decision::Commit),
                CommitState::Aborted => Some(Decision::Abort),
            };
            let sites = self.sites.get(&id).cloned().unwrap_or_default();
            match (self.decided.get(&id).copied(), decision) {
                (Some(first), now) if now != Some(first) => {
                    self.break_with(format!("{first:?}, and then {now:?}"));
                }
                (None, Some(decision)) => {
                    let voted = sites.iter().all(|site| has(after, SiteState::VotedCommit, site));
                    if decision == Decision::Commit && !voted {
                        self.break_with("committed without a vote".into());
                    }
                    self.decided.insert(id, decision);
                }
                _ => {}
            }
            let is_there = |site: &String| {
                use SiteState::{Invited, Joined, VotedCommit};
                [Invited, Joined, VotedCommit].iter().any(|state| has(after, *state, site))
            };
            if state == CommitState::Open && !sites.iter().all(is_there) {
                self.break_with(format!("{id} is open, and a site of it is gone"));
            }
            for site in sites {
                let [was_cast, stands] =
                    [before, after].map(|tree| has(tree, SiteState::VotedCommit, &site));
                if stands {
                    self.voted.insert((id, site.clone()));
                }
                if was_cast && !stands {
                    if was.is_some_and(|(state, _)| state == CommitState::Open) {
                        self.break_with(format!("{site} takes back its vote"));
                    }
                    if author.map(SiteName::as_str) != Some(&site) {
                        self.break_with(format!("the vote of {site} is removed by another party"));
                    }
                    self.acknowledged.insert((id, site));
                }
            }
        }
        if let (Some((state, id)), None) = (was, is) {
            self.removed.insert(id);
            if state == CommitState::Open {
                self.break_with("removed, and nothing is decided".into());
            }
            if self.voted.iter().any(|vote| vote.0 == id && !self.acknowledged.contains(vote)) {
                self.break_with("removed, and a site that is bound has not acknowledged".into());
            }
        }
    }

    /// Notes that a participant that a client has dropped deletes its znode.
    pub fn dropped_deletes(&mut self, client: &Client, before: &Tree) {
        if client.takes_part() && matches!(standing(before), Some((CommitState::Open, _))) {
            self.break_with(format!("{}: deletes the znode of its next one", client.index));
        }
    }

    pub fn told(&mut self, client: &Client, task: Option<&CommitTask>, id: NomineeId, told: Told) {
        let site = client.site.as_ref().map(|site| (id, site.as_str().to_owned()));
        let has_voted = site.as_ref().is_some_and(|site| self.voted.contains(site));
        let has_acknowledged = site.as_ref().is_some_and(|site| self.acknowledged.contains(site));
        let is_free = !has_voted || has_acknowledged;
        let is_true = match told {
            Told::Begin(BeginEnd::Begun) => self.begun.contains(&id),
            Told::Begin(BeginEnd::Exists { id: other, .. }) => {
                other != id && self.begun.contains(&other)
            }
            Told::Begin(BeginEnd::Unknown | BeginEnd::Withdrawn) => true,
            Told::Begin(BeginEnd::Failed(_)) => false,
            Told::Party(CommitSiteNotice::Joined(joined)) => joined == id,
            Told::Party(CommitSiteNotice::Ended(end)) => match end {
                CommitEnd::Found { id, .. } => self.begun.contains(&id),
                CommitEnd::Voted | CommitEnd::Bound => has_voted,
                CommitEnd::Decided(decision) => self.decided.get(&id) == Some(&decision),
                CommitEnd::Acknowledged => self.decided.contains_key(&id) && is_free,
                CommitEnd::Finished => self.removed.contains(&id),
                // A site that is bound and has not acknowledged never finds nothing.
                CommitEnd::NoSuchSite => is_free && self.decided.contains_key(&id),
                CommitEnd::Gone | CommitEnd::Replaced => {
                    is_free && self.meant.get(&client.index).is_some_and(|meant| meant.1)
                }
                CommitEnd::Withdrawn => true,
                CommitEnd::Failed(CommitFailure::Rejected(-102)) => {
                    self.permissions == Permissions::Change
                        && matches!(task, Some(CommitTask::Join(_)))
                }
                CommitEnd::Undecided | CommitEnd::Failed(_) => false,
            },
        };
        if !is_true {
            self.break_with(format!("{}: {told:?} of {task:?} is not so", client.index));
        }
    }
}

impl World {
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.laws.fault {
            return Err(fault.clone());
        }
        for client in &self.clients {
            for actor in client.actors() {
                let watches = client.watches.iter().filter(|watch| watch.0 == actor).count();
                if watches > 1 {
                    return Err(format!("{}: {watches} watches", client.index));
                }
            }
        }
        Ok(())
    }

    /// Checks the laws of a state at rest: nothing is on its way any more, and nothing goes wrong
    /// any more.
    pub fn check_rest(&self) -> Result<(), String> {
        for client in &self.clients {
            if client.course != Course::Done || !client.is_over() {
                return Err(format!("{}: is forgotten at {:?}", client.index, client.course));
            }
        }
        for client in &self.clients {
            let is_its = |owned: &&Owned| owned.is_by(client.session);
            if self.server.tip().values().any(|owned| is_its(&owned)) {
                return Err(format!("{}: its znode is left", client.index));
            }
        }
        let finishes = |errand: &Errand| matches!(errand, Errand::Task(CommitTask::Finish, _));
        let mut last = self.clients.iter().filter_map(|client| client.errands.last());
        let begins = |errand: &Errand| matches!(errand, Errand::Begin(..));
        let all_is_over = last.clone().any(finishes) && !last.any(begins);
        if all_is_over && !self.server.tip().is_empty() {
            return Err("something is left".into());
        }
        Ok(())
    }
}
