//! What operators, leaders that hand over, and other libraries do.
//!
//! An operator that ends the election creates the mark, lists, and deletes each candidate that is on the list, the last
//! one first. The list is one of a server that has applied the mark. A leader that hands over creates the mark, waits
//! until the candidate is the next behind it, and steps down.

use core::fmt;

use election_core::election::Role;
use election_core::{Event, Recipe as _, Token};

use super::acts::Act;
use super::candidates::{Candidate, Kind};
use super::names::Name;
use super::worlds::FOREIGN;
use super::{Contender, REVOKE_REQUEST, World, is_quiet};
use crate::lab::{Change, Effect, Request, Znode, spend};

/// How far the operator has come that ends the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// None is at work.
    None,
    /// The mark stands, or was there already.
    Marked,
    /// These are still to be deleted, the last one first.
    Deleting(Vec<Name>),
}

/// The election's state after that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Course {
    /// It was never ended.
    Open,
    /// It was at some time, or still is; the operator may have gone before it had deleted all.
    Touched,
    /// All is done, and it was not reopened since.
    Ended,
}

/// How far a leader has come that hands the leadership over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The mark stands, and others are between.
    Asking,
    /// A list has shown none between.
    Ready,
    /// It has stepped down. Nothing more is done.
    Done,
}

/// The leadership that is being handed over.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HandOver {
    /// The leader, and by what.
    pub leader: usize,
    pub token: Token,
    pub to: Candidate,
    pub stage: Stage,
}

/// Without the leader, whom the token tells.
impl fmt::Debug for HandOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, to, stage, .. } = self;
        write!(f, "to {:?} by {token:?}, {stage:?}", Name::Candidate(*to))
    }
}

impl World {
    fn commit_all(&mut self, effects: impl IntoIterator<Item = Effect<Name>>) {
        self.server.commit(effects.into_iter().collect());
    }

    /// Creates a mark, whose token does not matter.
    fn put(&mut self, name: Name) {
        self.commit_all([Effect::Put(name, Znode::new(1, 0))]);
    }

    fn remove(&mut self, name: Name) {
        if self.tip().contains_key(&name) {
            self.commit_all([Effect::Gone(name)]);
        }
    }

    pub fn acts_of_others(&self, acts: &mut Vec<(Act, bool)>) {
        let budget = self.model.budget;
        for (name, znode) in self.candidates() {
            let is_foreign = znode.owner == Some(FOREIGN);
            if is_foreign {
                acts.push((Act::ForeignLeaves(Name::Candidate(name)), true));
            }
            if is_foreign && budget.downgrades > 0 && name.kind == Kind::Write {
                acts.push((Act::ForeignDowngrades(Name::Candidate(name)), false));
            }
            if !is_foreign && budget.requests > 0 {
                acts.push((Act::Revoke(Name::Candidate(name)), false));
            }
        }
        if budget.wipes > 0 && self.tip().contains_key(&Name::Node) {
            acts.push((Act::Wipe, false));
        }
    }

    pub fn act_of_others(&mut self, act: Act) {
        match act {
            Act::Revoke(name) => {
                spend(&mut self.model.budget.requests);
                let write = Change::Write(name, None, REVOKE_REQUEST);
                self.commit(None, None, &Request::Single(write));
            }
            Act::ForeignLeaves(name) => self.remove(name),
            Act::ForeignDowngrades(name) => {
                spend(&mut self.model.budget.downgrades);
                self.downgrade(name);
            }
            _ => self.wipe(),
        }
    }

    /// A writer that is no client of ours goes on as a reader: in two steps, as Curator does it.
    fn downgrade(&mut self, writer: Name) {
        let znode = self.tip()[&writer];
        let Name::Candidate(name) = writer else { return };
        let reader = Name::Candidate(Candidate { kind: Kind::Read, ..name });
        let token = Token::new(self.server.zxid + 1);
        self.commit_all([Effect::Put(reader, Znode { token, ..znode })]);
        self.remove(writer);
    }

    /// Deletes the election node with all that is in it; its successor counts from 0 again.
    fn wipe(&mut self) {
        spend(&mut self.model.budget.wipes);
        let all: Vec<Name> = self.tip().keys().copied().rev().collect();
        for name in all {
            if name.candidate().is_some() {
                self.evict(name);
            } else {
                self.remove(name);
            }
        }
    }

    /// Deletes a candidate as an operator.
    fn evict(&mut self, name: Name) {
        self.commit(None, None, &Request::Single(Change::Delete(name, None)));
    }

    pub fn acts_of_the_ending(&self, acts: &mut Vec<(Act, bool)>) {
        let budget = self.model.budget;
        match self.model.ending {
            Ending::None if budget.ends > 0 && self.tip().contains_key(&Name::Node) => {
                acts.push((Act::End, false));
            }
            Ending::None => {}
            Ending::Marked | Ending::Deleting(_) => {
                acts.push((Act::GoOnEnding, true));
                if budget.killed_operators > 0 {
                    acts.push((Act::KillOperator, false));
                }
            }
        }
        if budget.reopens > 0 && self.tip().contains_key(&Name::Ended) {
            acts.push((Act::Reopen, false));
        }
    }

    pub fn end_the_election(&mut self, act: Act) {
        let model = &mut self.model;
        match act {
            Act::End => {
                spend(&mut model.budget.ends);
                (model.course, model.ending) = (Course::Touched, Ending::Marked);
                if !self.tip().contains_key(&Name::Ended) {
                    self.put(Name::Ended);
                }
            }
            Act::GoOnEnding => self.go_on_ending(),
            Act::KillOperator => {
                spend(&mut model.budget.killed_operators);
                model.ending = Ending::None;
            }
            _ => {
                spend(&mut model.budget.reopens);
                model.course = Course::Touched;
                self.remove(Name::Ended);
            }
        }
    }

    fn go_on_ending(&mut self) {
        let is_ended = self.tip().contains_key(&Name::Ended);
        let mut left = match core::mem::replace(&mut self.model.ending, Ending::None) {
            // The list does not show the mark: the election was reopened meanwhile.
            Ending::Marked if !is_ended => return,
            Ending::None => return,
            Ending::Marked => self.candidates().map(|(name, _)| Name::Candidate(name)).collect(),
            Ending::Deleting(mut left) => {
                if let Some(name) = left.pop() {
                    self.evict(name);
                }
                left
            }
        };
        left.retain(|name| self.tip().contains_key(name));
        if !left.is_empty() {
            self.model.ending = Ending::Deleting(left);
        } else if is_ended {
            self.model.course = Course::Ended;
        }
    }

    /// Whether the election is ended for all that any operator knows.
    pub fn is_ended_for_all(&self) -> bool {
        self.model.course == Course::Ended && self.tip().contains_key(&Name::Ended)
    }

    pub fn acts_of_the_hand_over(&self, acts: &mut Vec<(Act, bool)>) {
        match self.model.hand_over {
            Some(HandOver { stage: Stage::Asking, .. }) if !self.is_next() && self.can_go_on() => {}
            Some(HandOver { stage: Stage::Asking | Stage::Ready, .. }) => {
                acts.push((Act::GoOnHandingOver, true));
            }
            Some(HandOver { stage: Stage::Done, .. }) => {}
            None if self.model.budget.hand_overs > 0 => {
                for (i, client) in self.clients.iter().enumerate() {
                    let own = client.candidate().filter(|_| self.may_hand_over(client));
                    let behind = |(name, _): &(Candidate, _)| {
                        own.is_some_and(|own| own.sequence < name.sequence)
                    };
                    for (name, _) in self.candidates().filter(behind) {
                        acts.push((Act::HandOver(i, Name::Candidate(name)), false));
                    }
                }
            }
            None => {}
        }
    }

    /// Whether the leader may begin to hand over: it creates the mark in a transaction with a check of its candidate.
    fn may_hand_over(&self, client: &Contender) -> bool {
        let stands = client.candidate().is_some_and(|own| self.find(own).is_some());
        matches!(client.role(), Role::Leading { .. }) && client.session_lives && stands
    }

    pub fn go_on_handing_over(&mut self, act: Act) {
        if let Act::HandOver(leader, to) = act {
            spend(&mut self.model.budget.hand_overs);
            let token = self.token(leader);
            let to = to.candidate().expect("a candidate");
            self.model.hand_over = Some(HandOver { leader, token, to, stage: Stage::Asking });
            self.put(Name::HandOver(to.sequence));
            return;
        }
        let Some(mut hand_over) = self.model.hand_over else { return };
        let mark = Name::HandOver(hand_over.to.sequence);
        if !self.can_go_on() {
            self.model.hand_over = None;
            return self.remove(mark);
        }
        let is_asking = hand_over.stage == Stage::Asking;
        hand_over.stage = if is_asking { Stage::Ready } else { Stage::Done };
        self.model.hand_over = Some(hand_over);
        if !is_asking {
            self.remove(mark);
            self.feed(hand_over.leader, 0, Event::Deadline);
        }
    }

    /// Whether the leader leads on, and the candidate stands; else the mark goes, with the leader's session or by its
    /// hand.
    fn can_go_on(&self) -> bool {
        self.model.hand_over.is_some_and(|HandOver { leader, token, to, stage }| {
            let leader = &self.clients[leader];
            let leads = matches!(leader.role(),
                Role::Leading { token: present } | Role::Suspended { token: present } if present == token);
            let stands = self.find(to).is_some();
            leads && leader.session_lives && (stands || stage == Stage::Ready)
        })
    }

    /// Whether none stands between.
    fn is_next(&self) -> bool {
        let Some(HandOver { leader, to, .. }) = self.model.hand_over else { return false };
        let own = self.clients[leader].candidate();
        let is_between = |name: Candidate| {
            own.is_some_and(|own| own.sequence < name.sequence) && name.sequence < to.sequence
        };
        !self.candidates().any(|(name, _)| is_between(name))
    }

    /// Whether the client is to look, since the leadership is handed over past it.
    pub fn is_asked(&self, client: &Contender) -> bool {
        let stands = || client.candidate().filter(|own| self.find(*own).is_some());
        let marks = self.tip().keys().filter_map(|name| match name {
            Name::HandOver(to) => Some(*to),
            _ => None,
        });
        let mut marks = marks.peekable();
        marks.peek().is_some()
            && marks.any(|to| stands().is_some_and(|own| own.sequence < to))
            && matches!(client.role(), Role::Following { .. })
            && is_quiet(self, client)
    }

    /// Checks that the next to be elected is the one that the leader has stepped down for, while that stands.
    pub fn check_successor(&mut self, elected: usize) {
        if let Some(HandOver { stage: Stage::Done, to, .. }) = self.model.hand_over {
            self.model.hand_over = None;
            let own = self.clients[elected].candidate();
            if self.find(to).is_some() && own != Some(to) {
                self.break_with(format!("{elected}: elected, and {to:?} was to be"));
            }
        }
    }

    pub fn token(&self, i: usize) -> Token {
        self.clients[i].machine().hold().token().expect("it leads")
    }

    /// A write may be applied long after it was sent, and in another order than the nominee's requests. The law is that
    /// of tokens: none is applied after one with a greater token.
    pub fn write_guarded(&mut self, act: Act) {
        if let Act::WriteGuarded(i) = act {
            spend(&mut self.model.budget.guarded);
            let own = self.clients[i].candidate().expect("a candidate");
            self.clients[i].notes.guarded = Some((Name::Candidate(own), self.token(i)));
        } else if let Act::ApplyGuarded(i) = act {
            let (name, token) = self.clients[i].notes.guarded.take().expect("it was sent");
            if !self.tip().contains_key(&name) {
                return;
            }
            let before = self.model.written_by;
            if token < before {
                self.break_with(format!("{i}: writes by {token} after {before}"));
            }
            self.model.written_by = token;
        }
    }

    /// Whether the client is a follower that has no watch on its own candidate yet, which an operator has deleted.
    pub fn is_evicted_unheard(&self, client: &Contender) -> bool {
        let Role::Following { .. } = client.role() else { return false };
        let Some(own) = client.candidate().map(Name::Candidate) else { return false };
        !client.watches.iter().any(|watch| watch.name == own)
            && !self.tip().contains_key(&own)
            && is_quiet(self, client)
    }
}
