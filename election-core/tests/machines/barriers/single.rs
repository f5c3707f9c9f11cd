//! A barrier that is set, lifted and waited for.

use election_core::BarrierTask::{Ask, Lift, Set, Wait};
use election_core::Token;

use super::search::explore;
use super::server::{Name, Tree, Znode};
use super::step::{Budget, NO_FAULTS};
use super::world::World;

fn set(token: i64) -> Tree {
    Tree::from([(Name::Node, Znode { token: Token::new(token), version: 0, owner: None })])
}

/// Servers may still show that it is not set.
#[test]
fn one_waits_and_one_lifts() {
    let budget = Budget { losses: 2, expiries: 1, ..NO_FAULTS };
    let trees = vec![Tree::new(), set(7)];
    explore("wait, lift", World::single(&[Wait, Lift], budget).after(trees));
}

/// Servers may still show the barrier before it, which was lifted.
#[test]
fn one_waits_for_a_barrier_that_was_set_again() {
    let budget = Budget { losses: 2, lost_watches: 1, looks: 1, ..NO_FAULTS };
    let trees = vec![set(5), Tree::new(), set(7)];
    explore("wait, lagging", World::single(&[Wait, Wait], budget).after(trees));
}

#[test]
fn one_waits_while_it_is_lifted_and_set_again() {
    let budget = Budget { losses: 1, expiries: 1, ..NO_FAULTS };
    explore("wait, lift, set", World::single(&[Wait, Lift, Set], budget));
}

#[test]
fn two_lift_it_and_one_sets_it() {
    let budget = Budget { losses: 1, throttles: 1, ..NO_FAULTS };
    explore("lift, lift, set", World::single(&[Lift, Lift, Set], budget).lagging(1));
    explore("lift, set, again", World::single(&[Lift, Set], budget).turns(2));
}

#[test]
fn what_is_asked_was_so() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    let trees = vec![set(5), Tree::new(), set(7)];
    explore("ask, lift, set", World::single(&[Ask, Lift, Set], budget).after(trees));
}

#[test]
fn waits_are_given_up() {
    let budget = Budget { losses: 1, withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    explore("wait, wait, lift", World::single(&[Wait, Wait, Lift], budget).lagging(1));
}
