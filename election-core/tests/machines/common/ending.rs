//! An operator that ends the election, and reopens it: first the mark, then a list, then each candidate that
//! is on it, the last one first. The list is one of a server that has applied the mark.

use election_core::election::{Cause, End};

use super::World;
use super::client::Client;
use super::server::{Entry, Name};
use super::step::Step;

/// How far the operator has come that ends the election.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending {
    /// None is at work.
    #[default]
    None,
    /// The mark stands, or was there already.
    Marked,
    /// These are still to be deleted, the last one first.
    Deleting(Vec<Name>),
}

/// The election's state after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Course {
    /// It was never ended.
    #[default]
    Open,
    /// It was at some time, or still is; the operator may have gone before it had deleted all.
    Touched,
    /// All is done, and it was not reopened since.
    Ended,
}

impl World {
    pub fn steps_of_the_ending(&self, steps: &mut Vec<Step>) {
        let is_ended = self.server.tip.is_ended;
        match self.ending {
            Ending::None if self.budget.ends > 0 && self.server.tip.has_election_node => {
                steps.push(Step::OperatorEnds);
            }
            Ending::None => {}
            Ending::Marked | Ending::Deleting(_) => {
                steps.push(Step::OperatorGoesOn);
                if self.budget.killed_operators > 0 {
                    steps.push(Step::OperatorIsKilled);
                }
            }
        }
        if self.budget.reopens > 0 && is_ended {
            steps.push(Step::OperatorReopens);
        }
    }

    pub fn end_the_election(&mut self, step: Step) {
        match step {
            Step::OperatorEnds => {
                self.budget.ends -= 1;
                self.course = Course::Touched;
                self.ending = Ending::Marked;
                if !self.server.tip.is_ended {
                    self.server.commit(Entry::Ended);
                }
            }
            Step::OperatorGoesOn => self.go_on_ending(),
            Step::OperatorIsKilled => {
                self.budget.killed_operators -= 1;
                self.ending = Ending::None;
            }
            _ => {
                self.budget.reopens -= 1;
                self.course = Course::Touched;
                self.server.commit(Entry::Reopened);
            }
        }
    }

    fn go_on_ending(&mut self) {
        let znodes = &self.server.tip.znodes;
        let mut left = match core::mem::take(&mut self.ending) {
            // The list does not show the mark: the election was reopened meanwhile.
            Ending::Marked if !self.server.tip.is_ended => return,
            Ending::None => return,
            Ending::Marked => {
                let mut all: Vec<Name> = znodes.iter().map(|znode| znode.name).collect();
                all.sort_unstable();
                all
            }
            Ending::Deleting(mut left) => {
                if let Some(name) = left.pop()
                    && let Some(znode) = self.server.find(name)
                {
                    self.evicted.push((name, znode.token));
                    self.server.commit(Entry::Deleted(name));
                }
                left
            }
        };
        left.retain(|name| self.server.find(*name).is_some());
        if !left.is_empty() {
            self.ending = Ending::Deleting(left);
        } else if self.server.tip.is_ended {
            self.course = Course::Ended;
        }
    }

    /// Whether the election is ended for all that any operator knows.
    pub fn is_over(&self) -> bool {
        self.course == Course::Ended && self.server.tip.is_ended
    }

    pub fn check_ending_of(&self, client: &Client) -> Result<(), String> {
        match client.end() {
            Some(End::ElectionEnded) if self.course == Course::Open => {
                Err("is told of an end that never was".into())
            }
            _ => Ok(()),
        }
    }

    /// Checks a state where nothing happens any more: each nominee was told of the end by its name, and none stands.
    pub fn check_end_at_rest(&self) -> Result<(), String> {
        if !self.is_over() {
            return Ok(());
        }
        for client in &self.clients {
            match client.end() {
                None => return Err(format!("{}: stands after the end", client.index)),
                Some(End::Lost(Cause::Evicted)) if !self.has_evicted_otherwise => {
                    return Err(format!("{}: takes the end for an eviction", client.index));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}
