//! A leader that hands the leadership over: it creates the mark, waits until the candidate is the next behind
//! it, and steps down.

use election_core::election::Role;
use election_core::{Event, Token};

use super::World;
use super::client::Client;
use super::server::{Entry, Name};
use super::step::Step;

/// The leadership that is being handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandOver {
    /// The leader, and by what.
    pub leader: usize,
    pub token: Token,
    pub to: Name,
    pub stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The mark stands, and others are between.
    Asking,
    /// A list has shown none between.
    Ready,
    /// It has stepped down. Nothing more is done.
    Done,
}

impl World {
    pub fn steps_of_the_hand_over(&self, steps: &mut Vec<Step>) {
        match self.hand_over {
            Some(HandOver { stage: Stage::Asking, .. }) if !self.is_next() && self.can_go_on() => {}
            Some(HandOver { stage: Stage::Asking | Stage::Ready, .. }) => {
                steps.push(Step::HandOverGoesOn);
            }
            Some(HandOver { stage: Stage::Done, .. }) => {}
            None if self.budget.hand_overs > 0 => {
                for client in self.clients.iter().filter(|client| self.may_hand_over(client)) {
                    let own = client.candidate();
                    for znode in &self.server.tip.znodes {
                        if own.is_some_and(|own| own.sequence < znode.name.sequence) {
                            steps.push(Step::LeaderHandsOver(client.index, znode.name));
                        }
                    }
                }
            }
            None => {}
        }
    }

    /// Whether the leader may begin to hand over: it creates the mark in a transaction with a check
    /// of its candidate.
    fn may_hand_over(&self, client: &Client) -> bool {
        let stands = client.candidate().is_some_and(|own| self.server.find(own).is_some());
        matches!(client.nominee.role(), Role::Leading { .. }) && client.session_lives && stands
    }

    pub fn go_on_handing_over(&mut self, step: Step) {
        if let Step::LeaderHandsOver(leader, to) = step {
            self.budget.hand_overs -= 1;
            let token = self.token(leader);
            self.hand_over = Some(HandOver { leader, token, to, stage: Stage::Asking });
            self.server.commit(Entry::HandedOverTo(Some(to)));
            return;
        }
        let Some(mut hand_over) = self.hand_over else { return };
        if !self.can_go_on() {
            return self.give_the_hand_over_up();
        }
        match hand_over.stage {
            Stage::Asking => {
                hand_over.stage = Stage::Ready;
                self.hand_over = Some(hand_over);
            }
            Stage::Ready | Stage::Done => {
                self.server.commit(Entry::HandedOverTo(None));
                hand_over.stage = Stage::Done;
                self.hand_over = Some(hand_over);
                self.tell_leader(hand_over.leader);
            }
        }
    }

    fn give_the_hand_over_up(&mut self) {
        self.hand_over = None;
        self.server.commit(Entry::HandedOverTo(None));
    }

    fn tell_leader(&mut self, leader: usize) {
        self.tell(leader, |client| client.feed(Event::Deadline));
    }

    /// Whether the leader leads on, and the candidate stands; else the mark goes, with the leader's session or by
    /// its hand.
    fn can_go_on(&self) -> bool {
        self.hand_over.is_some_and(|HandOver { leader, token, to, stage }| {
            let leads = matches!(self.clients[leader].nominee.role(),
                Role::Leading { token: present } | Role::Suspended { token: present } if present == token);
            let stands = self.server.find(to).is_some();
            leads && self.clients[leader].session_lives && (stands || stage == Stage::Ready)
        })
    }

    /// Whether none stands between.
    fn is_next(&self) -> bool {
        let Some(HandOver { leader, to, .. }) = self.hand_over else { return false };
        let own = self.clients[leader].candidate();
        let is_between = |name: Name| {
            own.is_some_and(|own| own.sequence < name.sequence) && name.sequence < to.sequence
        };
        !self.server.tip.znodes.iter().any(|znode| is_between(znode.name))
    }

    /// Whether the client is to look, since the leadership is handed over past it.
    pub fn is_asked(&self, client: &Client) -> bool {
        let stands = client.candidate().filter(|own| self.server.find(*own).is_some());
        let to = self.server.tip.handed_over_to;
        let is_before = stands.zip(to).is_some_and(|(own, to)| own.sequence < to.sequence);
        is_before
            && self.is_quiet(client)
            && matches!(client.nominee.role(), Role::Following { .. })
    }

    /// Checks that the next to be elected is the one that the leader has stepped down for, while
    /// that stands.
    pub fn check_successor(&mut self, elected: usize) {
        if let Some(HandOver { stage: Stage::Done, to, .. }) = self.hand_over {
            self.hand_over = None;
            let own = self.clients[elected].candidate();
            if self.server.find(to).is_some() && own != Some(to) {
                self.fault = Some(format!("{elected}: elected, and {to:?} was to be"));
            }
        }
    }

    pub fn check_hand_over_at_rest(&self) -> Result<(), String> {
        match self.hand_over {
            Some(HandOver { stage: Stage::Asking | Stage::Ready, to, .. }) => {
                Err(format!("{to:?} is to lead, and nothing is on its way"))
            }
            _ => Ok(()),
        }
    }
}
