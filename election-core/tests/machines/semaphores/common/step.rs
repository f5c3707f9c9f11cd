//! The next possible steps.

use election_core::{Hold, Phase, Recipe as _};

use super::World;
use super::tree::Home;

/// By the index of the client, where it is about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its link comes up, by the server that lags most of those that may serve it; or its client learns
    /// that its session is gone.
    Connect(usize),
    /// The next request is executed.
    Execute(usize),
    /// The next reply or change comes in.
    Hear(usize),
    /// Its server applies one more change.
    Apply(usize),
    /// The server executes a write late, or never, after its connection was lost.
    Orphan(usize, Fate),
    /// The server of a session that is gone closes the connection.
    Close(usize),
    Look(usize),
    /// A session that its client has given up ends.
    EndAbandoned(usize),
    Fault(Fault),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Executed,
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Lose(usize),
    Expire(usize),
    /// A server hands out another session while the old one lives.
    Swap(usize),
    Lapse(usize),
    Withdraw(usize),
    Deadline(usize),
    Look(usize),
    Throttle(usize),
    /// An operator deletes the znode with this index.
    Delete(usize),
    /// A home is deleted that is empty, or the node without any.
    Reap(Option<Home>),
}

impl Step {
    pub const fn is_calm(self, _: &World) -> bool {
        !matches!(self, Self::Fault(_))
    }
}

impl World {
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, client) in self.clients.iter().enumerate() {
            let lives = client.session.is_some_and(|session| self.sessions.contains(&session));
            let is_over = client.machine.phase() == Phase::Over;
            if client.is_up {
                let next = client.requests.front();
                if next.is_some_and(|(_, request)| lives || !request.is_write()) {
                    steps.push(Step::Execute(index));
                }
                if !client.inbox.is_empty() {
                    steps.push(Step::Hear(index));
                }
                if client.behind > 0 {
                    steps.push(Step::Apply(index));
                } else if !lives {
                    steps.push(Step::Close(index));
                }
                if client.machine.waits_for_look() {
                    steps.push(Step::Look(index));
                }
            } else if !is_over {
                steps.push(Step::Connect(index));
            }
            if !client.orphans.is_empty() {
                steps.push(Step::Orphan(index, Fate::Executed));
                steps.push(Step::Orphan(index, Fate::Dropped));
            }
            self.faults_of(index, &mut steps);
        }
        let abandoned = self.sessions.iter().enumerate();
        let is_given_up =
            |session: &i64| self.clients.iter().all(|client| client.session != Some(*session));
        steps.extend(
            abandoned
                .filter(|(_, session)| is_given_up(session))
                .map(|(at, _)| Step::EndAbandoned(at)),
        );
        let budget = self.budget;
        if budget.deletions > 0 {
            let znodes = 0..self.newest().znodes.len();
            steps.extend(znodes.map(|index| Step::Fault(Fault::Delete(index))));
        }
        if budget.reaps > 0 {
            let tree = self.newest();
            let empty =
                Home::ALL.into_iter().filter(|home| tree.has(*home) && tree.is_empty(*home));
            steps.extend(empty.map(|home| Step::Fault(Fault::Reap(Some(home)))));
            if tree.has_node && Home::ALL.iter().all(|home| !tree.has(*home)) {
                steps.push(Step::Fault(Fault::Reap(None)));
            }
        }
        steps
    }

    fn faults_of(&self, index: usize, steps: &mut Vec<Step>) {
        let (client, budget) = (&self.clients[index], self.budget);
        let lives = client.session.is_some_and(|session| self.sessions.contains(&session));
        let is_standing = client.machine.phase() == Phase::Standing;
        let waits = is_standing && client.machine.hold() == Hold::None;
        let faults = [
            (budget.losses > 0 && client.is_up, Fault::Lose(index)),
            (budget.expiries > 0 && lives, Fault::Expire(index)),
            (budget.swaps > 0 && lives && !client.is_up, Fault::Swap(index)),
            (budget.lapses > 0 && client.holds(), Fault::Lapse(index)),
            (budget.withdrawals > 0 && is_standing, Fault::Withdraw(index)),
            (budget.deadlines > 0 && waits, Fault::Deadline(index)),
            (budget.looks > 0 && client.is_up && is_standing, Fault::Look(index)),
            (
                budget.throttles > 0 && client.is_up && !client.requests.is_empty() && lives,
                Fault::Throttle(index),
            ),
        ];
        steps.extend(
            faults.into_iter().filter(|(may, _)| *may).map(|(_, fault)| Step::Fault(fault)),
        );
    }
}
