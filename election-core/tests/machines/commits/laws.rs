//! A transaction: its znodes, its parties, and the laws that have to hold, whatever happens.

use std::collections::{BTreeMap, BTreeSet};

use election_core::NomineeId;
use election_core::commit::{
    BeginEnd, CommitEnd, CommitFailure, CommitSiteNotice, CommitState, CommitTask, Decision,
    SiteName, SiteState, TwoPhaseBegin, TwoPhaseCommit,
};

use crate::lab::{Actor, Client, Either, EitherNotice, Rights, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Node,
    /// Of the transaction with this id: open, committed, aborted.
    State(u8, u8),
    Site(SiteState, u8),
    Live(u8),
    Bound(u8),
}

pub fn id(number: u8) -> NomineeId {
    NomineeId::from_bytes([number; 16])
}

pub fn site(number: u8) -> SiteName {
    SiteName::new(site_text(number)).expect("a name")
}

pub fn site_text(number: u8) -> &'static str {
    ["a", "b", "c"][usize::from(number)]
}

pub const STATES: [CommitState; 3] =
    [CommitState::Open, CommitState::Committed, CommitState::Aborted];

/// A client's calls, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Errand {
    /// Begins this transaction with so many sites.
    Begin(u8, u8),
    Task(CommitTask, u8),
}

impl Errand {
    const fn id(&self) -> u8 {
        let (Self::Begin(id, _) | Self::Task(_, id)) = self;
        *id
    }

    pub fn machine(&self) -> Machine {
        match self {
            Self::Begin(number, sites) => {
                let sites = (0..*sites).map(site).collect();
                Either::One(TwoPhaseBegin::new(id(*number), sites).expect("a set"))
            }
            Self::Task(task, number) => {
                Either::Other(TwoPhaseCommit::new(task.clone(), Some(id(*number))))
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Role {
    /// It takes part for this site meanwhile.
    pub site: Option<u8>,
    pub errands: Vec<Errand>,
}

impl Role {
    /// The number of the machine of its errand.
    pub const fn errand_actor(&self) -> Actor {
        if self.site.is_some() { 1 } else { 0 }
    }

    /// Its first machine: it joins, or begins with the first errand.
    pub fn first(&self) -> Machine {
        let id = self.errands.first().map(|errand| id(errand.id()));
        match self.site {
            Some(number) => Either::Other(TwoPhaseCommit::new(CommitTask::Join(site(number)), id)),
            None => self.errands[0].machine(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Course {
    /// It is at this errand.
    At(usize),
    Done,
    /// It was withdrawn, and begins again.
    GivenUp,
}

/// The number of the participant that the client has dropped, among its machines.
pub const DROPPED: Actor = 2;

pub type Machine = Either<TwoPhaseBegin<Vec<SiteName>>, TwoPhaseCommit>;

/// The history so far, as an observer of the whole ensemble sees it.
#[derive(Clone, Debug, Hash)]
pub struct Laws {
    /// How often users may still give up, and begin again.
    pub withdrawals: u8,
    /// The number of sites of each transaction.
    pub sites: BTreeMap<u8, u8>,
    begun: BTreeSet<u8>,
    removed: BTreeSet<u8>,
    decided: BTreeMap<u8, Decision>,
    voted: BTreeSet<(u8, u8)>,
    acknowledged: BTreeSet<(u8, u8)>,
    /// The transaction that each client means, and whether it did not stand at some moment since.
    meant: BTreeMap<usize, (u8, bool)>,
}

pub fn standing(tree: &Tree<Name>) -> Option<(CommitState, u8)> {
    let mut found = None;
    for name in tree.keys() {
        if let Name::State(state, id) = name
            && found.is_none_or(|(found, _)| found == CommitState::Open)
        {
            found = Some((STATES[usize::from(*state)], *id));
        }
    }
    found
}

impl Laws {
    pub fn new(withdrawals: u8, sites: BTreeMap<u8, u8>, tip: &Tree<Name>) -> Self {
        Self {
            withdrawals,
            sites,
            begun: standing(tip).map(|(_, id)| id).into_iter().collect(),
            removed: BTreeSet::new(),
            decided: BTreeMap::new(),
            voted: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            meant: BTreeMap::new(),
        }
    }

    /// Notes that a client begins with an errand.
    pub fn begin(&mut self, i: usize, id: u8, tip: &Tree<Name>) {
        let is_absent = standing(tip).map(|(_, id)| id) != Some(id);
        self.meant.insert(i, (id, is_absent));
    }

    /// Notes a commit, and returns the law that it breaks.
    pub fn committed(
        &mut self,
        author: Option<u8>,
        before: &Tree<Name>,
        after: &Tree<Name>,
    ) -> Option<String> {
        let mut faults = Vec::new();
        let (was, is) = (standing(before), standing(after));
        for (meant, was_absent) in self.meant.values_mut() {
            *was_absent |= is.map(|(_, id)| id) != Some(*meant);
        }
        if let Some((state, id)) = is {
            if was.map(|(_, id)| id) != Some(id) && !self.begun.insert(id) {
                faults.push(format!("{id} is begun twice"));
            }
            let decision = match state {
                CommitState::Open => None,
                CommitState::Committed => Some(Decision::Commit),
                CommitState::Aborted => Some(Decision::Abort),
            };
            let sites = 0..self.sites.get(&id).copied().unwrap_or(0);
            let has = |tree: &Tree<Name>, state, site| tree.contains_key(&Name::Site(state, site));
            match (self.decided.get(&id).copied(), decision) {
                (Some(first), now) if now != Some(first) => {
                    faults.push(format!("{first:?}, and then {now:?}"));
                }
                (None, Some(decision)) => {
                    let voted = sites.clone().all(|site| has(after, SiteState::VotedCommit, site));
                    if decision == Decision::Commit && !voted {
                        faults.push("committed without a vote".into());
                    }
                    self.decided.insert(id, decision);
                }
                _ => {}
            }
            let is_there = |site: u8| {
                use SiteState::{Invited, Joined, VotedCommit};
                [Invited, Joined, VotedCommit].iter().any(|state| has(after, *state, site))
            };
            if state == CommitState::Open && !sites.clone().all(is_there) {
                faults.push(format!("{id} is open, and a site of it is gone"));
            }
            let was_open = was.is_some_and(|(state, _)| state == CommitState::Open);
            faults.extend(self.vote_on(id, author, was_open, [before, after]));
        }
        if let (Some((state, id)), None) = (was, is) {
            self.removed.insert(id);
            if state == CommitState::Open {
                faults.push("removed, and nothing is decided".into());
            }
            if self.voted.iter().any(|vote| vote.0 == id && !self.acknowledged.contains(vote)) {
                faults.push("removed, and a site that is bound has not acknowledged".into());
            }
        }
        faults.into_iter().next()
    }

    /// Notes the votes that were cast and removed, and returns the laws that this breaks.
    fn vote_on(
        &mut self,
        id: u8,
        author: Option<u8>,
        was_open: bool,
        trees: [&Tree<Name>; 2],
    ) -> Vec<String> {
        let mut faults = Vec::new();
        for site in 0..self.sites.get(&id).copied().unwrap_or(0) {
            let [was_cast, stands] =
                trees.map(|tree| tree.contains_key(&Name::Site(SiteState::VotedCommit, site)));
            if stands {
                self.voted.insert((id, site));
            }
            if was_cast && !stands {
                if was_open {
                    faults.push(format!("{site} takes back its vote"));
                }
                if author != Some(site) {
                    faults.push(format!("the vote of {site} is removed by another party"));
                }
                self.acknowledged.insert((id, site));
            }
        }
        faults
    }

    pub fn is_true(&self, client: &Client<Self>, actor: Actor, id: u8, told: Told) -> bool {
        let vote = client.role.site.map(|site| (id, site));
        let has_voted = vote.is_some_and(|vote| self.voted.contains(&vote));
        let has_acknowledged = vote.is_some_and(|vote| self.acknowledged.contains(&vote));
        let is_free = !has_voted || has_acknowledged;
        let has_begun = |id: NomineeId| self.begun.contains(&id.to_bytes()[0]);
        let end = match told {
            EitherNotice::One(BeginEnd::Begun) => return self.begun.contains(&id),
            EitherNotice::One(BeginEnd::Exists { id: other, .. }) => {
                return other != super::laws::id(id) && has_begun(other);
            }
            EitherNotice::One(BeginEnd::Unknown | BeginEnd::Withdrawn) => return true,
            EitherNotice::One(BeginEnd::Failed(_)) => return client.rights != Rights::All,
            EitherNotice::Other(CommitSiteNotice::Joined(joined)) => {
                return joined == super::laws::id(id);
            }
            EitherNotice::Other(CommitSiteNotice::Ended(end)) => end,
        };
        match end {
            CommitEnd::Found { id, .. } => has_begun(id),
            CommitEnd::Voted | CommitEnd::Bound => has_voted,
            CommitEnd::Decided(decision) => self.decided.get(&id) == Some(&decision),
            CommitEnd::Acknowledged => self.decided.contains_key(&id) && is_free,
            CommitEnd::Finished => self.removed.contains(&id),
            // A site that is bound and has not acknowledged never finds nothing.
            CommitEnd::NoSuchSite => is_free && self.decided.contains_key(&id),
            CommitEnd::Gone | CommitEnd::Replaced => {
                let meant = self.meant.get(&usize::from(client.index));
                is_free && meant.is_some_and(|meant| meant.1)
            }
            CommitEnd::Withdrawn => true,
            CommitEnd::Failed(CommitFailure::Rejected(-102)) => {
                client.rights != Rights::All && joins(client, actor)
            }
            CommitEnd::Undecided | CommitEnd::Failed(_) => false,
        }
    }
}

pub type Told = EitherNotice<BeginEnd, CommitSiteNotice>;

pub fn joins(client: &Client<Laws>, actor: Actor) -> bool {
    match client.machines.get(actor) {
        Some(Either::Other(party)) => matches!(party.task(), CommitTask::Join(_)),
        _ => false,
    }
}

impl Client<Laws> {
    /// The transaction that it means.
    pub fn id(&self) -> u8 {
        let at = if let Course::At(at) = self.notes { at } else { 0 };
        self.role.errands[at].id()
    }

    /// Returns the errand after such an end.
    pub fn after(&self, at: usize, told: Told) -> usize {
        let errands = &self.role.errands;
        match told {
            EitherNotice::Other(CommitSiteNotice::Ended(CommitEnd::Decided(_))) => {
                let rest = errands.iter().skip(at + 1);
                let is_last = |errand: &Errand| {
                    matches!(
                        errand,
                        Errand::Task(CommitTask::Acknowledge(_) | CommitTask::Finish, _)
                    )
                };
                at + 1 + rest.take_while(|errand| !is_last(errand)).count()
            }
            EitherNotice::Other(CommitSiteNotice::Ended(
                CommitEnd::Gone | CommitEnd::Replaced | CommitEnd::NoSuchSite,
            )) => errands.len(),
            EitherNotice::One(_) | EitherNotice::Other(_) => at + 1,
        }
    }
}
