//! What the operator does to the elections.

use zk_embedded::Znode;
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

    /// The operator looks what is left to be put in order: candidates that nobody may read, what is
    /// forbidden, election nodes without a number left.
    pub(super) fn tidy(&mut self) -> Result<(), Broken> {
        let hidden = self.candidates.hidden();
        let mut chores: Vec<_> =
            hidden.into_iter().map(|(election, name)| self.evict(election, &name)).collect();
        for election in core::mem::take(&mut self.exhausted) {
            let strangers = self.strangers(election);
            chores.extend(self.remove(election));
            chores.extend(strangers);
            chores.push(Chore::Delete(election.node().to_owned()));
        }
        if self.conduct.reasons().access_changes() {
            chores.extend(Election::ALL.map(|election| self.access_to(election)));
        }
        self.give(&chores)
    }

    /// What would keep an election node from being removed.
    fn strangers(&self, election: Election) -> Vec<Chore> {
        let newest = self.hosts.iter().max_by_key(|host| host.database().last_zxid());
        let node = newest.and_then(|host| host.database().znode(election.node()));
        let children = node.into_iter().flat_map(Znode::children);
        children.map(|name| Chore::Delete(election.child(name))).collect()
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

    pub(super) fn give(&mut self, chores: &[Chore]) -> Result<(), Broken> {
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
