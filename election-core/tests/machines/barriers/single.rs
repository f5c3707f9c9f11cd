//! A barrier that is set, lifted and waited for.

use election_core::barrier::BarrierTask::{Ask, Lift, Set, Wait};
use election_core::barrier::{Barrier, BarrierEnd, BarrierState, BarrierTask};
use election_core::{Token, Watch, Znode as Place};

use crate::lab::{
    Actor, Answer, Budget, Client, Commit, Effect, Lab, Model, NONE, Request, Rights, Step, Tree,
    Znode, explore, explore_to_a_limit,
};

/// The barrier's node, the only znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node;

#[derive(Clone, Debug, Hash)]
pub struct Single {
    /// Whether an operator has barred a barrier: then a client may fail.
    was_barred: bool,
}

/// Since the client has begun.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Notes {
    was_set: bool,
    was_lifted: bool,
    /// How often it has deleted the barrier.
    lifts: u8,
    /// Of the barrier that it has seen first, with a watch.
    waits_for: Option<Token>,
    turns_left: u8,
}

/// A client begins again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Again(usize);

impl Notes {
    const fn at(is_set: bool, turns_left: u8) -> Self {
        Self { was_set: is_set, was_lifted: !is_set, lifts: 0, waits_for: None, turns_left }
    }
}

impl Model for Single {
    type Name = Node;
    type Machine = Barrier;
    type Role = BarrierTask;
    type Notes = Notes;
    type Act = Again;

    const NODE: Node = Node;
    const WATCHES: usize = 1;

    fn name(place: Place<'_>) -> Node {
        assert_eq!(place, Place::Node, "no barrier asks for another");
        Node
    }

    fn text(_: Node) -> String {
        "barrier".into()
    }

    fn parent(_: Node) -> Option<Node> {
        None
    }

    fn renamed(name: Node, _: &[u8]) -> Option<Node> {
        Some(name)
    }

    fn acts(lab: &Lab<Self>) -> Vec<(Again, bool)> {
        let may = |(i, client): (usize, &Client<Self>)| {
            let is_free = client.is_over() && client.is_idle() && client.in_doubt.is_empty();
            (client.notes.turns_left > 0 && is_free && client.is_up()).then_some((Again(i), true))
        };
        lab.clients.iter().enumerate().filter_map(may).collect()
    }

    fn act(lab: &mut Lab<Self>, Again(i): Again) {
        let is_set = lab.tip().contains_key(&Node);
        let client = &mut lab.clients[i];
        client.notes = Notes::at(is_set, client.notes.turns_left - 1);
        let machine = Barrier::new(client.role);
        lab.begin(i, 0, machine);
    }

    fn answered(lab: &mut Lab<Self>, i: usize, request: &Request<Node>, answer: &Answer<Node>) {
        if let (Request::Exists(_, Watch::Own | Watch::Other), Answer::Exists(stat)) =
            (request, answer)
        {
            lab.clients[i].notes.waits_for.get_or_insert(stat.token);
        }
    }

    fn suffered(lab: &mut Lab<Self>, fault: &Step<Self>) {
        lab.model.was_barred |= matches!(fault, Step::OperatorBars(_));
    }

    fn committed(lab: &mut Lab<Self>, commit: &Commit<'_, Self>) {
        let is_set = commit.after.contains_key(&Node);
        let is_news = |client: &Client<Self>| {
            if is_set { !client.notes.was_set } else { !client.notes.was_lifted }
        };
        lab.clients.change(is_news, |client| {
            client.notes.was_set |= is_set;
            client.notes.was_lifted |= !is_set;
        });
        if let (Some(i), true, false) = (commit.author, commit.before.contains_key(&Node), is_set) {
            lab.clients[i].notes.lifts += 1;
            if lab.clients[i].notes.lifts > 1 {
                lab.break_with(format!("{i}: lifts two barriers"));
            }
        }
    }

    fn told(lab: &mut Lab<Self>, i: usize, _: Actor, end: BarrierEnd) {
        let Notes { was_set, was_lifted, .. } = lab.clients[i].notes;
        let is_true = match end {
            BarrierEnd::Set | BarrierEnd::Is(BarrierState::Set) => was_set,
            BarrierEnd::Lifted | BarrierEnd::Passed | BarrierEnd::Is(BarrierState::Lifted) => {
                was_lifted
            }
            BarrierEnd::GaveUp(_) => true,
            BarrierEnd::Failed(_) => lab.clients[i].rights != Rights::All || lab.model.was_barred,
        };
        if !is_true {
            lab.break_with(format!("{i}: {end:?}, and that was never so"));
        }
    }

    fn check(_: &Lab<Self>) -> Result<(), String> {
        Ok(())
    }

    fn check_rest(lab: &Lab<Self>) -> Result<(), String> {
        let node = lab.tip().get(&Node).map(|znode| znode.token);
        for client in lab.clients.iter().filter(|client| !client.is_over()) {
            if node.is_none() || node != client.notes.waits_for {
                return Err(format!("{}: waits for a barrier that was lifted", client.index));
            }
        }
        Ok(())
    }
}

/// Makes a world with a barrier, which was set by this transaction, if it is.
fn world(tasks: &[BarrierTask], base: Option<i64>, budget: Budget) -> Lab<Single> {
    let tree: Tree<Node> = base.map(|token| (Node, Znode::new(token, 0))).into_iter().collect();
    let mut lab = Lab::new(Single { was_barred: false }, tree, budget).lagging(2);
    for task in tasks {
        lab = lab.client(*task, Notes::at(base.is_some(), 0), Some(Barrier::new(*task)));
    }
    lab
}

fn set(token: i64) -> Vec<Effect<Node>> {
    vec![Effect::Put(Node, Znode::new(token, 0))]
}

/// Servers may still show the barrier before it, which was lifted.
fn set_again(tasks: &[BarrierTask], budget: Budget) -> Lab<Single> {
    world(tasks, Some(5), budget).after(vec![vec![Effect::Gone(Node)], set(7)])
}

/// Servers may still show that it is not set.
#[test]
fn one_waits_and_one_lifts() {
    let budget = Budget { losses: 2, expiries: 1, ..NONE };
    let mut lab = world(&[Wait, Lift], None, budget).after(vec![set(7)]);
    lab.clients.change(|_| true, |client| client.notes = Notes::at(true, 0));
    explore("wait, lift", lab);
}

#[test]
fn one_waits_for_a_barrier_that_was_set_again() {
    let budget = Budget { losses: 2, lost_watches: 1, looks: 1, ..NONE };
    explore("wait, lagging", set_again(&[Wait, Wait], budget));
}

#[test]
fn one_waits_while_it_is_lifted_and_set_again() {
    let budget = Budget { losses: 1, expiries: 1, ..NONE };
    explore("wait, lift, set", world(&[Wait, Lift, Set], Some(7), budget));
}

#[test]
fn two_lift_it_and_one_sets_it() {
    let budget = Budget { losses: 1, throttles: 1, ..NONE };
    explore("lift, lift, set", world(&[Lift, Lift, Set], Some(7), budget).lagging(1));
    let mut lab = world(&[Lift, Set], Some(7), budget);
    lab.clients.change(|_| true, |client| client.notes.turns_left = 1);
    explore("lift, set, again", lab);
}

#[test]
fn what_is_asked_was_so() {
    let budget = Budget { losses: 1, ..NONE };
    explore("ask, lift, set", set_again(&[Ask, Lift, Set], budget));
}

#[test]
fn waits_are_given_up() {
    let budget = Budget { losses: 1, withdrawals: 1, deadlines: 1, ..NONE };
    explore("wait, wait, lift", world(&[Wait, Wait, Lift], Some(7), budget).lagging(1));
}

#[test]
fn each_fault_befalls_a_barrier() {
    let b = Budget { bars: 1, losses: 1, ..NONE };
    explore("wait, lift, set, 1 bar, 1 loss", world(&[Wait, Lift, Set], Some(7), b));
    let b = Budget { stragglers: 1, losses: 2, ..NONE };
    explore("wait, lift, set, 1 straggler, 2 losses", world(&[Wait, Lift, Set], Some(7), b));
    let b = Budget { refusals: 2, losses: 1, ..NONE };
    explore("wait, lift, set, 2 refusals, 1 loss", world(&[Wait, Lift, Set], Some(7), b));
    let b = Budget { dropped_watches: 2, losses: 1, ..NONE };
    explore("wait, lift, set, 2 watches dropped, 1 loss", world(&[Wait, Lift, Set], Some(7), b));
    let b = Budget { deletions: 1, losses: 1, ..NONE };
    explore("wait, set, lift, 1 deletion, 1 loss", world(&[Wait, Set, Lift], Some(7), b));
    let b = Budget { writes: 1, losses: 1, ..NONE };
    explore("wait, set, lift, 1 write, 1 loss", world(&[Wait, Set, Lift], Some(7), b));
    let b = Budget { crashes: 1, losses: 1, ..NONE };
    explore("wait, set, lift, 1 killed, 1 loss", world(&[Wait, Set, Lift], Some(7), b));
    let b = Budget { looks: 2, throttles: 2, losses: 1, ..NONE };
    explore("wait, set, lift, 2 looks, 2 throttles, 1 loss", world(&[Wait, Set, Lift], Some(7), b));
    let b = Budget { held_back: 1, throttles: 1, losses: 1, ..NONE };
    explore("wait, set, lift, 1 held back, 1 throttle, 1 loss", world(&[Wait, Set, Lift], None, b));
    let b = Budget { too_large: 1, losses: 1, ..NONE };
    explore("wait, set, lift, 1 too large, 1 loss", world(&[Wait, Set, Lift], None, b));
    let b = Budget { expiries: 1, losses: 1, ..NONE };
    explore(
        "wait, lift, set, local sessions",
        world(&[Wait, Lift, Set], Some(7), b).with_local_sessions(),
    );
    explore(
        "ask, lift, set, local sessions",
        world(&[Ask, Lift, Set], Some(7), b).with_local_sessions(),
    );
}

#[test]
#[ignore = "long form: run with --release"]
fn long_an_operator_deletes_a_barrier() {
    let b = Budget { deletions: 2, losses: 1, writes: 1, ..NONE };
    explore("wait, set, lift, 2 deletions, 1 write, 1 loss", world(&[Wait, Set, Lift], Some(7), b));
}

/// A deletion of a session that lives on although its client has another one comes when the barrier is set again.
#[test]
fn an_earlier_session_may_lift_the_next_barrier() {
    let limit = |name, lab| explore_to_a_limit(name, "lifts two barriers", lab);
    let b = Budget { lies: 1, losses: 1, ..NONE };
    limit("wait, lift, set, 1 lie, 1 loss", world(&[Wait, Lift, Set], Some(7), b));
    let b = Budget { swaps: 1, losses: 2, ..NONE };
    limit("wait, lift, set, 1 swap, 2 losses", world(&[Wait, Lift, Set], Some(7), b));
}

/// Worlds that count as one are alike, those too in which two that do the same are exchanged.
#[test]
fn worlds_are_merged_by_right() {
    let budget = Budget { losses: 1, expiries: 1, ..NONE };
    crate::lab::holds_against_unmerged(world(&[Wait, Wait, Lift], Some(7), budget), 20_000);
}
