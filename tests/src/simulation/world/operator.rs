//! What the operator does to the elections.

use zk_jute::records::Permissions;

use super::World;
use crate::simulation::checker::Broken;
use crate::simulation::client::Chore;
use crate::simulation::election::Election;
use crate::simulation::incident::{Ban, Place, What};

impl World<'_> {
    pub(super) fn operate(&mut self, what: What) -> Result<(), Broken> {
        let chores: Vec<Chore> = match what {
            What::Evict(place) => {
                let candidate = self.candidate_at(place);
                candidate.map(|(election, name)| self.evict(election, &name)).into_iter().collect()
            }
            What::WriteCandidate(place) => {
                let candidate = self.candidate_at(place);
                let write = |(election, name): (Election, String)| election.child(name);
                candidate.map(|it| Chore::Write(write(it))).into_iter().collect()
            }
            What::Hide(place) => {
                let candidate = self.candidate_at(place);
                candidate.map(|(election, name)| self.hide(election, &name)).into_iter().collect()
            }
            What::Forbid(election, ban) => {
                let election = Election::nth(election, self.plan.elections);
                self.bans.push((election, ban));
                vec![self.access_to(election)]
            }
            What::RemoveElectionNode(election) => {
                self.remove(Election::nth(election, self.plan.elections))
            }
            What::CreateStranger(number) => {
                let election = Election::nth(number, self.plan.elections);
                vec![Chore::Create(election.child(format_args!("stranger-{number}")))]
            }
            _ => Vec::new(),
        };
        self.give(&chores)
    }

    /// The candidate that is meant, if there is any.
    fn candidate_at(&self, Place { election, number }: Place) -> Option<(Election, String)> {
        let election = Election::nth(election, self.plan.elections);
        let candidates = self.candidates.in_order(election);
        let index = usize::from(number) % candidates.len().max(1);
        candidates.get(index).map(|name| (election, (*name).to_owned()))
    }

    fn evict(&mut self, election: Election, candidate: &str) -> Chore {
        self.candidates.condemn(election, candidate);
        Chore::Delete(election.child(candidate))
    }

    fn hide(&mut self, election: Election, candidate: &str) -> Chore {
        self.candidates.hide(election, candidate);
        Chore::Permit(election.child(candidate), all_but(Permissions::READ))
    }

    /// The operator deletes the candidates that nobody may read.
    pub(super) fn evict_hidden(&mut self) -> Result<(), Broken> {
        let hidden = self.candidates.hidden();
        let chores: Vec<_> =
            hidden.into_iter().map(|(election, name)| self.evict(election, &name)).collect();
        self.give(&chores)
    }

    /// The operator lets everybody do this again, unless it is forbidden for another reason.
    pub(super) fn permit(&mut self, election: Election, ban: Ban) -> Result<(), Broken> {
        let lifted = self.bans.iter().position(|other| *other == (election, ban));
        if let Some(index) = lifted {
            self.bans.remove(index);
        }
        let chore = self.access_to(election);
        self.give(&[chore])
    }

    /// The access list that the election node is to have at the moment.
    fn access_to(&self, election: Election) -> Chore {
        let bans = self.bans.iter().filter(|(banned, _)| *banned == election);
        let banned = bans.fold(Permissions::NONE, |banned, (_, ban)| banned | permission(*ban));
        Chore::Permit(election.node().to_owned(), all_but(banned))
    }

    /// An election node, with the candidates in it.
    fn remove(&mut self, election: Election) -> Vec<Chore> {
        let candidates = self.candidates.in_order(election);
        let candidates: Vec<_> = candidates.into_iter().map(str::to_owned).collect();
        let evicted = candidates.iter().map(|name| self.evict(election, name));
        let mut chores: Vec<_> = evicted.collect();
        chores.push(Chore::Delete(election.node().to_owned()));
        chores
    }

    pub(super) fn create_resources(&mut self) {
        let resources = Election::ALL.map(|election| Chore::Create(election.resource().to_owned()));
        let created = self.give(&resources);
        debug_assert!(created.is_ok(), "nothing has happened yet");
    }

    fn give(&mut self, chores: &[Chore]) -> Result<(), Broken> {
        let operator = self.operator();
        if let Some(process) = self.processes.get_mut(operator) {
            let now = process.now(self.now);
            if let Some(client) = &mut process.client {
                for chore in chores {
                    client.operate(now, chore);
                }
            }
        }
        self.settle_client(operator)
    }
}

const fn permission(ban: Ban) -> Permissions {
    match ban {
        Ban::List => Permissions::READ,
        Ban::Create => Permissions::CREATE,
    }
}

fn all_but(banned: Permissions) -> Permissions {
    Permissions::new(Permissions::ALL.get() & !banned.get())
}
