//! A double barrier that is entered and left.

mod worlds;

use core::num::NonZeroU32;

use election_core::barrier::{
    DoubleBarrier, DoubleBarrierEnd, DoubleBarrierNotice, DoubleBarrierOptions, DoubleBarrierState,
    WhenUnderWay,
};
use election_core::{NomineeId, Znode as Place};

use crate::lab::{
    Actor, Budget, Client, Commit, Lab, Link, Model, NONE, Rights, Step, Tree, Znode,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Node,
    Ready,
    /// Of a client, by which use of the barrier.
    Entry(u8, u8),
}

fn id(client: u8, turn: u8) -> NomineeId {
    let mut bytes = [client + 1; 16];
    bytes[15] = turn;
    NomineeId::from_bytes(bytes)
}

fn entry_of(id: NomineeId) -> Name {
    let bytes = id.to_bytes();
    Name::Entry(bytes[0] - 1, bytes[15])
}

/// The sessions of which an entry makes a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counts {
    CurrentSessions,
    /// One too that lives on although its client has another one.
    AnySession,
}

/// The history so far, as an observer of the whole ensemble sees it.
#[derive(Clone, Debug, Hash)]
pub struct Double {
    /// How many make a round.
    needed: usize,
    /// Whether enough had entered at one moment since the last round ended.
    is_complete: bool,
    /// Rounds so far.
    round: u8,
    /// The entries that take part in the round.
    members: Vec<Name>,
    /// Whether something happened that may leave `ready` behind.
    may_leave_ready: bool,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct Notes {
    turn: u8,
    turns_left: u8,
    /// The round, of one that was told that it is inside, and was not told its end.
    inside: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Act {
    /// A participant that is inside leaves.
    Leave(usize),
    BeginAgain(usize),
}

impl Client<Double> {
    fn entry(&self) -> Name {
        Name::Entry(self.index, self.notes.turn)
    }

    fn state(&self) -> Option<DoubleBarrierState> {
        self.machines.get(0).map(DoubleBarrier::state)
    }
}

impl Model for Double {
    type Name = Name;
    type Machine = DoubleBarrier;
    type Role = DoubleBarrierOptions;
    type Notes = Notes;
    type Act = Act;

    const NODE: Name = Name::Node;
    const WATCHES: usize = 2;
    const STRAYS: &'static [&'static str] = &["stray", "10000000-stray"];

    fn name(place: Place<'_>) -> Name {
        match place {
            Place::Node => Name::Node,
            Place::Child(name) if name == *"ready" => Name::Ready,
            Place::Child(name) => entry_of(name.text().parse().expect("an entry")),
            other => panic!("no barrier asks for {other:?}"),
        }
    }

    fn text(name: Name) -> String {
        match name {
            Name::Node => String::new(),
            Name::Ready => "ready".into(),
            Name::Entry(client, turn) => id(client, turn).to_string(),
        }
    }

    fn parent(name: Name) -> Option<Name> {
        (name != Name::Node).then_some(Name::Node)
    }

    // No symmetry: the lowest entry is deleted last.

    fn is_operators(_: &Lab<Self>, name: Name) -> bool {
        matches!(name, Name::Entry(..))
    }

    fn acts(lab: &Lab<Self>) -> Vec<(Act, bool)> {
        let mut acts = Vec::new();
        for (i, client) in lab.clients.iter().enumerate().filter(|(_, client)| client.is_up()) {
            let is_free = client.is_over() && client.is_idle() && client.in_doubt.is_empty();
            if client.notes.turns_left > 0 && is_free {
                acts.push((Act::BeginAgain(i), true));
            }
            if client.state() == Some(DoubleBarrierState::Inside) {
                acts.push((Act::Leave(i), true));
            }
        }
        acts
    }

    fn act(lab: &mut Lab<Self>, act: Act) {
        match act {
            Act::Leave(i) => lab.withdraw(i, 0),
            Act::BeginAgain(i) => {
                let client = &mut lab.clients[i];
                client.notes.turns_left -= 1;
                client.notes.turn += 1;
                let machine = DoubleBarrier::new(id(client.index, client.notes.turn), client.role);
                lab.begin(i, 0, machine);
            }
        }
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        match *fault {
            Step::Kill(i)
            | Step::Forbid(i, _)
            | Step::Refuse(i)
            | Step::HoldBack(i)
            | Step::FindTooLarge(i) => {
                lab.clients[i].notes.inside = None;
                lab.model.may_leave_ready = true;
            }
            Step::Lie(_) | Step::Swap(_) => lab.model.may_leave_ready = true,
            _ => {}
        }
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        let Commit { before, after, .. } = commit;
        let model = &mut lab.model;
        model.may_leave_ready |= commit.author.is_none();
        let is_entry = |name: &Name| matches!(name, Name::Entry(..));
        let entries: Vec<Name> = after.keys().copied().filter(is_entry).collect();
        model.is_complete |= model.needed <= entries.len();
        match (before.contains_key(&Name::Ready), after.contains_key(&Name::Ready)) {
            (false, true) => {
                model.round += 1;
                model.members = entries;
                if !model.is_complete {
                    lab.break_with("a round is opened, and not enough have entered".into());
                }
            }
            (true, false) => {
                model.is_complete = false;
                let members = core::mem::take(&mut model.members);
                let is_present = |member: &Name| {
                    let owner = after.get(member).and_then(|znode| znode.owner);
                    let is_current = |client: &Client<Self>| Some(client.session) == owner;
                    match lab.model.counts {
                        Counts::CurrentSessions => lab.clients.iter().any(is_current),
                        Counts::AnySession => owner.is_some(),
                    }
                };
                if members.iter().any(is_present) {
                    lab.break_with("a round is ended while a member is in it".into());
                }
            }
            _ => {}
        }
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, notice: DoubleBarrierNotice) {
        let round = lab.model.round;
        let client = &mut lab.clients[i];
        if notice == DoubleBarrierNotice::Inside {
            client.notes.inside = Some(round);
            let own = client.entry();
            if !lab.model.is_complete && lab.server.tip.contains_key(&own) {
                lab.break_with(format!("{i}: passes early"));
            }
        }
        let DoubleBarrierNotice::Ended(end) = notice else { return };
        let was_inside = lab.clients[i].notes.inside.take();
        if matches!(end, DoubleBarrierEnd::Failed(_)) && lab.clients[i].rights == Rights::All {
            lab.break_with(format!("{i}: failed"));
        }
        let tip = &lab.server.tip;
        if end == DoubleBarrierEnd::Left
            && was_inside == Some(round)
            && let Some(member) = lab.model.members.iter().find(|name| tip.contains_key(name))
        {
            lab.break_with(format!("{i}: has left before {member:?}"));
        }
    }

    fn check(lab: &Lab<Self>) -> Result<(), String> {
        let tip = lab.tip();
        for client in lab.clients.iter() {
            let is_settled = client.is_idle()
                && client.in_doubt.is_empty()
                && client.applied.commits == lab.server.end();
            if client.is_over()
                && client.link == Link::Up
                && client.session_lives
                && is_settled
                && !lab.ghosts.iter().any(|ghost| ghost.author == client.index)
                && tip.contains_key(&client.entry())
            {
                return Err(format!("{}: over, and its entry stands", client.index));
            }
        }
        let inside = lab.clients.iter().filter(|client| tip.contains_key(&client.entry()));
        let mut rounds = inside.filter_map(|client| client.notes.inside);
        let first = rounds.next();
        if rounds.any(|round| Some(round) != first) {
            return Err("two rounds at one time".into());
        }
        Ok(())
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        let tip = lab.tip();
        let mut gathering = 0;
        for client in lab.clients.iter().filter(|client| !client.is_over()) {
            match client.state() {
                Some(DoubleBarrierState::Gathering) if tip.contains_key(&client.entry()) => {
                    gathering += 1;
                }
                state => return Err(format!("{}: is forgotten, {state:?}", client.index)),
            }
        }
        if lab.model.needed <= gathering {
            return Err("enough have entered, and none passes".into());
        }
        if tip.keys().filter(|name| matches!(name, Name::Entry(..))).count() != gathering {
            return Err("an entry is left".into());
        }
        if tip.contains_key(&Name::Ready) && (gathering > 0 || !lab.model.may_leave_ready) {
            return Err("`ready` is left".into());
        }
        Ok(())
    }
}

const fn of(participants: u32) -> DoubleBarrierOptions {
    let Some(participants) = NonZeroU32::new(participants) else { panic!("one at least") };
    DoubleBarrierOptions { participants, when_under_way: WhenUnderWay::Wait }
}

fn world(options: &[DoubleBarrierOptions], turns: u8, budget: Budget) -> Lab<Double> {
    let needed = options[0].participants.get();
    let model = Double {
        needed: usize::try_from(needed).expect("few"),
        is_complete: false,
        round: 0,
        members: Vec::new(),
        may_leave_ready: false,
        counts: Counts::CurrentSessions,
    };
    let mut lab = Lab::new(model, Tree::from([(Name::Node, Znode::new(7, 4))]), budget);
    for (index, options) in (0..).zip(options) {
        let notes = Notes { turns_left: turns - 1, ..Notes::default() };
        lab = lab.client(*options, notes, Some(DoubleBarrier::new(id(index, 0), *options)));
    }
    lab
}

fn two(budget: Budget) -> Lab<Double> {
    world(&[of(2); 2], 1, budget)
}

fn three(needed: u32) -> Lab<Double> {
    world(&[of(needed); 3], 1, NONE)
}

/// Adds `ready` of a round, all participants of which have died.
fn after_a_crash(mut lab: Lab<Double>) -> Lab<Double> {
    let tree = Tree::from([(Name::Node, Znode::new(3, 5)), (Name::Ready, Znode::new(7, 0))]);
    lab.server = crate::lab::Server::new(tree).into();
    lab
}
