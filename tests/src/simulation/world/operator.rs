//! What the operator does to the elections.

use super::World;
use crate::simulation::checker::Broken;
use crate::simulation::client::Chore;
use crate::simulation::election::Election;
use crate::simulation::incident::{Place, What};

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
