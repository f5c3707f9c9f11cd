//! What users do, and what another process or another client does.

use core::fmt;

use election_core::Event;
use election_core::election::Role;

use super::Downgrade;
use super::candidates::Kind;
use super::names::Name;
use super::told::Told;
use super::{Contender, World};
use crate::lab::{Link, spend};

#[derive(Clone, Copy, PartialEq)]
pub enum Act {
    /// The time has passed that the user of a lock gave, or a leader steps down.
    Deadline(usize),
    /// The user of a writer that holds has it go on as a reader.
    Downgrade(usize),
    /// The client's process ends without a word, and another one goes on with its session and its nominee's id.
    TakeOver(usize),
    /// Another client asks a contender to let go.
    Revoke(Name),
    /// A writer that is no client of the world's goes on as a reader.
    ForeignDowngrades(Name),
    /// A contender that is no client of the world's lets go.
    ForeignLeaves(Name),
    /// An operator deletes the election node and all in it.
    Wipe,
    /// An operator begins to end the election.
    End,
    /// It lists, or deletes the next candidate.
    GoOnEnding,
    KillOperator,
    Reopen,
    /// A leader begins to hand the leadership over to this candidate.
    HandOver(usize, Name),
    GoOnHandingOver,
    /// A client that believes to lead sends a write that its candidate guards.
    WriteGuarded(usize),
    /// The write reaches ZooKeeper's leader, however late.
    ApplyGuarded(usize),
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, of): (_, &dyn fmt::Debug) = match self {
            Self::Deadline(i) => ("deadline", i),
            Self::Downgrade(i) => ("downgrade", i),
            Self::TakeOver(i) => ("another process takes over", i),
            Self::Revoke(name) => ("asked to let go", name),
            Self::ForeignDowngrades(name) => ("goes on as a reader", name),
            Self::ForeignLeaves(name) => ("lets go", name),
            Self::Wipe => ("wipe", &""),
            Self::End => ("end", &""),
            Self::GoOnEnding => ("go on ending", &""),
            Self::KillOperator => ("kill the operator", &""),
            Self::Reopen => ("reopen", &""),
            Self::HandOver(_, to) => ("hand over to", to),
            Self::GoOnHandingOver => ("go on handing over", &""),
            Self::WriteGuarded(i) => ("guarded write", i),
            Self::ApplyGuarded(i) => ("guarded write applied", i),
        };
        write!(f, "{what} {of:?}")
    }
}

impl World {
    pub fn act_of(&mut self, i: usize, act: Act) {
        match act {
            Act::Deadline(i) => {
                spend(&mut self.model.budget.deadlines);
                let client = &mut self.clients[i];
                let is_lock = client.machine().is_lock();
                client.notes.is_withdrawn |= !client.leads() && is_lock;
                self.feed(i, 0, Event::Deadline);
                if !is_lock && self.clients[i].leads() {
                    self.break_with(format!("{i}: leads on, and was to step down"));
                }
            }
            Act::Downgrade(i) => {
                spend(&mut self.model.budget.own_downgrades);
                let client = &mut self.clients[i];
                client.machines.get_mut(0).expect("a contender").downgrade();
                client.notes.downgrade = Downgrade::Wanted;
                self.feed(i, 0, Event::Deadline);
            }
            _ => {
                spend(&mut self.model.budget.handovers);
                if self.clients[i].is_up() {
                    self.disconnect(i);
                }
                let client = &mut self.clients[i];
                let next = client.machine().returning(client.role);
                client.machines.insert(0, next);
                client.late.clear();
                (client.notes.told, client.notes.has_created) = (Told::NotLeading, false);
                // As its incarnations, its creates are counted anew.
                if let Some(record) = &mut self.model.record {
                    record.creates.retain(|of| *of != i);
                }
            }
        }
    }

    pub fn acts_of(&self, i: usize, client: &Contender, acts: &mut Vec<(Act, bool)>) {
        let budget = self.model.budget;
        let mut offer = |is_possible: bool, act| {
            if is_possible {
                acts.push((act, false));
            }
        };
        let stands = !client.notes.is_withdrawn && !client.is_ended();
        let has_deadline = stands && (client.machine().is_lock() || client.leads());
        offer(has_deadline && budget.deadlines > 0, Act::Deadline(i));
        let is_writer = client.leads() && client.kind() == Kind::Write;
        offer(is_writer && budget.own_downgrades > 0, Act::Downgrade(i));
        let has_session = client.link != Link::New;
        offer(has_session && stands && budget.handovers > 0, Act::TakeOver(i));
        let may_write = client.is_up()
            && matches!(client.role(), Role::Leading { .. })
            && !client.kind().format().names_recur();
        let is_free = client.notes.guarded.is_none();
        offer(is_free && may_write && budget.guarded > 0, Act::WriteGuarded(i));
        if !is_free {
            acts.push((Act::ApplyGuarded(i), true));
        }
    }
}
