//! A double barrier that is entered and left.

use core::num::NonZeroU32;

use election_core::{DoubleBarrierOptions, Token, WhenUnderWay};

use super::client::Wish;
use super::search::explore;
use super::server::{Name, Tree, Znode};
use super::step::{Budget, NO_FAULTS};
use super::world::World;

const fn of(participants: u32) -> DoubleBarrierOptions {
    let Some(participants) = NonZeroU32::new(participants) else { panic!("one at least") };
    DoubleBarrierOptions { participants, when_under_way: WhenUnderWay::Wait }
}

/// Returns trees with `ready` of a round, all participants of which have died.
fn after_a_crash() -> Vec<Tree> {
    let znode = |token, version| Znode { token: Token::new(token), version, owner: None };
    vec![Tree::from([(Name::Node, znode(3, 5)), (Name::Ready, znode(7, 0))])]
}

#[test]
fn two_enter_and_leave() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("2 of 2, 1 loss", World::double(2, of(2), budget).lagging(1));
}

/// However many connections are lost at the missing node: it was never there and gone again.
#[test]
fn one_enters_over_connections_that_are_lost_at_a_missing_node() {
    let budget = Budget { losses: 5, ..NO_FAULTS };
    let world = World::double(1, of(1), budget).after(vec![Tree::new()]).lagging(0);
    explore("1 of 1, no node, 5 losses", world);
}

#[test]
fn two_enter_and_one_expires() {
    let budget = Budget { expiries: 1, ..NO_FAULTS };
    explore("2 of 2, 1 expiry", World::double(2, of(2), budget).lagging(1));
}

#[test]
fn two_enter_and_one_is_killed() {
    let budget = Budget { crashes: 1, ..NO_FAULTS };
    explore("2 of 2, 1 killed", World::double(2, of(2), budget).lagging(1));
}

#[test]
fn two_enter_and_one_gives_up() {
    let budget = Budget { withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    explore("2 of 2, 1 withdrawal, 1 deadline", World::double(2, of(2), budget).lagging(1));
}

#[test]
fn two_enter_twice() {
    explore("2 of 2, twice", World::double(2, of(2), NO_FAULTS).lagging(1).turns(2));
}

#[test]
fn two_enter_after_a_crash() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("2 of 2, stale", World::double(2, of(2), budget).after(after_a_crash()).lagging(1));
}

#[test]
fn two_enter_where_one_does_not_wait_for_the_round_under_way() {
    let [one, other] =
        [of(1), DoubleBarrierOptions { when_under_way: WhenUnderWay::GiveUp, ..of(1) }];
    let world = World::new(&[Wish::Enter(one), Wish::Enter(other)], NO_FAULTS);
    explore("2 of 1, one does not wait", world.lagging(1));
}

#[test]
fn three_enter_and_leave() {
    explore("3 of 3", World::double(3, of(3), NO_FAULTS).lagging(0));
}

#[test]
fn an_operator_deletes_an_entry() {
    let budget = Budget { deletions: 1, ..NO_FAULTS };
    explore("2 of 2, 1 deletion", World::double(2, of(2), budget).lagging(1));
}

#[test]
fn a_watch_is_lost() {
    let budget = Budget { lost_watches: 1, throttles: 1, ..NO_FAULTS };
    explore("2 of 2, 1 watch lost, 1 throttle", World::double(2, of(2), budget).lagging(1));
}

/// A participant that may not open a round, or end one, or see the others, says so, and holds up no other.
#[test]
fn a_participant_loses_a_right() {
    let budget = Budget { prohibitions: 1, ..NO_FAULTS };
    explore("2 of 2, 1 prohibition", World::double(2, of(2), budget).lagging(1));
    let budget = Budget { prohibitions: 2, ..NO_FAULTS };
    explore("2 of 2, 2 prohibitions", World::double(2, of(2), budget).lagging(0));
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn an_entry_whose_deletion_is_refused_is_deleted_in_the_end() {
    let budget = Budget { prohibitions: 1, losses: 1, ..NO_FAULTS };
    explore("2 of 2, 1 prohibition, 1 loss", World::double(2, of(2), budget).lagging(0));
    let budget = Budget { prohibitions: 1, expiries: 1, ..NO_FAULTS };
    explore("2 of 2, 1 prohibition, 1 expiry", World::double(2, of(2), budget).lagging(0));
    let budget = Budget { prohibitions: 1, withdrawals: 1, ..NO_FAULTS };
    explore("2 of 2, 1 prohibition, 1 withdrawal", World::double(2, of(2), budget).lagging(0));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_enter() {
    let budget = Budget { losses: 2, expiries: 1, ..NO_FAULTS };
    explore("2 of 2, 2 losses, 1 expiry", World::double(2, of(2), budget).lagging(1));
    let budget = Budget { losses: 1, crashes: 1, ..NO_FAULTS };
    explore("2 of 2, 1 loss, 1 killed", World::double(2, of(2), budget));
    let budget = Budget { losses: 1, deletions: 1, looks: 1, ..NO_FAULTS };
    explore("2 of 2, 1 loss, 1 deletion, 1 look", World::double(2, of(2), budget).lagging(1));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_enter_twice() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("2 of 2, twice, 1 loss", World::double(2, of(2), budget).lagging(1).turns(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_enter_and_one_gives_up() {
    let budget = Budget { losses: 1, withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    explore("2 of 2, 1 loss, 1 withdrawal, 1 deadline", World::double(2, of(2), budget).lagging(1));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_enter() {
    explore("3 of 3, lag of 1", World::double(3, of(3), NO_FAULTS).lagging(1));
    explore("3 of 2, lag of 1", World::double(3, of(2), NO_FAULTS).lagging(1));
}
