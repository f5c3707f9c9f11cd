//! The laws that have to hold, whatever happens.

use election_core::{BarrierEnd, BarrierState, DoubleBarrierState, Token};

use super::client::{Client, Link, Machine, Told, Wish};
use super::server::{Name, Tree};
use super::world::{World, is_inside, is_left};

/// The history so far, as an observer of the whole ensemble sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Laws {
    /// The first that was broken.
    pub fault: Option<String>,
    /// Since each client has begun: whether the barrier's node was there, and whether it was not.
    was_set: Vec<bool>,
    was_lifted: Vec<bool>,
    /// How often each has deleted it.
    lifts: Vec<u8>,
    /// Whether enough had entered at one moment since the last round ended.
    is_complete: bool,
    /// Rounds so far.
    round: u8,
    /// The entries that take part in the round.
    members: Vec<Name>,
    /// Of each client that was told that it is inside, and was not told its end.
    inside: Vec<Option<u8>>,
    /// Whether something happened that may leave `ready` behind.
    may_leave_ready: bool,
}

impl Laws {
    pub fn new(clients: usize, tip: &Tree) -> Self {
        let is_set = tip.contains_key(&Name::Node);
        Self {
            fault: None,
            was_set: vec![is_set; clients],
            was_lifted: vec![!is_set; clients],
            lifts: vec![0; clients],
            is_complete: false,
            round: 0,
            members: Vec::new(),
            inside: vec![None; clients],
            may_leave_ready: false,
        }
    }

    pub fn break_with(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    pub fn begin(&mut self, i: usize, tip: &Tree) {
        let is_set = tip.contains_key(&Name::Node);
        (self.was_set[i], self.was_lifted[i], self.lifts[i]) = (is_set, !is_set, 0);
    }

    pub fn left(&mut self, i: usize) {
        self.inside[i] = None;
        self.may_leave_ready = true;
    }

    /// Notes a commit, with the trees before and after it.
    pub fn committed(&mut self, author: Option<usize>, trees: &[Tree], clients: &[Client]) {
        let [before, after] = trees else { panic!("one commit") };
        let is_set = after.contains_key(&Name::Node);
        for i in 0..clients.len() {
            self.was_set[i] |= is_set;
            self.was_lifted[i] |= !is_set;
        }
        if let (Some(i), true, false) = (author, before.contains_key(&Name::Node), is_set) {
            self.lifts[i] += 1;
            if self.lifts[i] > 1 {
                self.break_with(format!("{i}: lifts two barriers"));
            }
        }
        self.may_leave_ready |= author.is_none();
        let entries: Vec<Name> = after.keys().copied().filter(|name| name.is_entry()).collect();
        let needed = clients.iter().find_map(|client| match client.wish {
            Wish::Enter(options) => usize::try_from(options.participants.get()).ok(),
            Wish::Task(_) => None,
        });
        self.is_complete |= needed.is_some_and(|needed| needed <= entries.len());
        match (before.contains_key(&Name::Ready), after.contains_key(&Name::Ready)) {
            (false, true) => {
                self.round += 1;
                self.members = entries;
                if !self.is_complete {
                    self.break_with("a round is opened, and not enough have entered".into());
                }
            }
            (true, false) => {
                self.is_complete = false;
                if self.members.iter().any(|member| after.contains_key(member)) {
                    self.break_with("a round is ended while a member is in it".into());
                }
                self.members.clear();
            }
            _ => {}
        }
    }

    pub fn told(&mut self, client: &Client, told: Told, tip: &Tree) {
        let i = usize::from(client.index);
        if is_inside(told) {
            self.inside[i] = Some(self.round);
            let is_gone = !tip.contains_key(&client.entry());
            if !self.is_complete && !is_gone {
                self.break_with(format!("{i}: passes early"));
            }
        }
        if is_left(told)
            && self.inside[i] == Some(self.round)
            && let Some(member) = self.members.iter().find(|name| tip.contains_key(name))
        {
            self.break_with(format!("{i}: has left before {member:?}"));
        }
        if client.has_ended() {
            self.inside[i] = None;
        }
        let Told::Single(end) = told else { return };
        let (was_set, was_lifted) = (self.was_set[i], self.was_lifted[i]);
        let is_true = match end {
            BarrierEnd::Set | BarrierEnd::Is(BarrierState::Set) => was_set,
            BarrierEnd::Lifted | BarrierEnd::Passed | BarrierEnd::Is(BarrierState::Lifted) => {
                was_lifted
            }
            BarrierEnd::GaveUp(_) => true,
            BarrierEnd::Failed(_) => false,
        };
        if !is_true {
            self.break_with(format!("{i}: {end:?}, and that was never so"));
        }
    }
}

impl World {
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.laws.fault {
            return Err(fault.clone());
        }
        for client in &self.clients {
            let i = client.index;
            let most = match client.machine {
                _ if client.has_ended() => 0,
                Machine::Barrier(_) => 1,
                Machine::Double(_) => 2,
            };
            if client.watches.len() > most {
                return Err(format!("{i}: {} watches", client.watches.len()));
            }
            let own = client.entry();
            let settled = client.request.is_none() && client.due.is_none();
            if client.is_over()
                && client.link == Link::Up
                && client.session_lives
                && settled
                && client.applied == self.server.end()
                && client.in_doubt.is_none()
                && self.server.tip().contains_key(&own)
            {
                return Err(format!("{i}: over, and its entry stands"));
            }
        }
        let tip = self.server.tip();
        let inside = self.clients.iter().filter(|client| tip.contains_key(&client.entry()));
        let mut rounds = inside.filter_map(|client| self.laws.inside[usize::from(client.index)]);
        let first = rounds.next();
        if rounds.any(|round| Some(round) != first) {
            return Err("two rounds at one time".into());
        }
        Ok(())
    }

    /// Checks the laws of a state at rest: nothing is on its way any more, and nothing goes wrong
    /// any more.
    pub fn check_rest(&self) -> Result<(), String> {
        let tip = self.server.tip();
        let mut gathering = 0;
        for client in self.clients.iter().filter(|client| !client.is_over()) {
            let i = client.index;
            match (&client.machine, client.state()) {
                (Machine::Barrier(_), _) => {
                    let node: Option<Token> = tip.get(&Name::Node).map(|znode| znode.token);
                    if node.is_none() || node != client.waits_for {
                        return Err(format!("{i}: waits for a barrier that was lifted"));
                    }
                }
                (_, Some(DoubleBarrierState::Gathering)) if tip.contains_key(&client.entry()) => {
                    gathering += 1;
                }
                (_, state) => return Err(format!("{i}: is forgotten, {state:?}")),
            }
        }
        if let Some(Wish::Enter(options)) = self.clients.first().map(|client| client.wish)
            && options.participants.get() <= gathering
        {
            return Err("enough have entered, and none passes".into());
        }
        let entries = tip.keys().filter(|name| name.is_entry()).count();
        if entries != usize::try_from(gathering).unwrap_or(0) {
            return Err("an entry is left".into());
        }
        if tip.contains_key(&Name::Ready) && (gathering > 0 || !self.laws.may_leave_ready) {
            return Err("`ready` is left".into());
        }
        Ok(())
    }
}
