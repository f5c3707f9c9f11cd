//! An election that is ended while nominees stand and join, and reopened: all are told, none stands after it.

use election_core::election::{ElectionNode, OnLoss, Policy};

use super::settled;
use crate::contest::{Budget, NO_FAULTS, World};
use crate::explore::merging_loses_nothing_of;
use crate::lab::explore;

#[test]
fn merging_loses_nothing_of_endings() {
    let budget = Budget { losses: 1, ends: 1, ..NO_FAULTS };
    merging_loses_nothing_of("a nominee, ended", World::nominees(1, budget).lagging(1));
    let budget = Budget { ends: 1, reopens: 1, ..NO_FAULTS };
    merging_loses_nothing_of("2 settled, ended, reopened", settled(2, budget).lagging(1));
}

/// A nominee that joins sees the mark, or is on the list that comes after the mark.
#[test]
fn two_nominees_that_join_while_the_election_is_ended() {
    let budget = Budget { losses: 1, ends: 1, ..NO_FAULTS };
    explore("2 nominees, ended, 1 loss", World::nominees(2, budget).lagging(2));
}

/// A nominee that stands again after an expiry looks again.
#[test]
fn nominees_whose_sessions_expire_while_the_election_is_ended() {
    let budget = Budget { losses: 1, expiries: 1, ends: 1, ..NO_FAULTS };
    explore("2 nominees, ended, 1 loss, 1 expiry", World::nominees(2, budget).lagging(1));
    let budget = Budget { losses: 2, swaps: 1, lapses: 1, ends: 1, ..NO_FAULTS };
    explore("a nominee, ended, a handed out session", World::nominees(1, budget).lagging(2));
}

#[test]
fn three_settled_nominees_whose_election_is_ended() {
    let budget = Budget { losses: 1, ends: 1, looks: 1, ..NO_FAULTS };
    explore("3 settled, ended, 1 loss, 1 look", settled(3, budget).lagging(1));
}

/// An operator that is killed leaves some that stand; the next one finishes it.
#[test]
fn operators_that_are_killed_while_they_end_the_election() {
    let budget = Budget { losses: 1, ends: 2, killed_operators: 1, ..NO_FAULTS };
    explore("2 settled, ended twice, 1 operator killed", settled(2, budget).lagging(1));
    let budget = Budget { ends: 2, killed_operators: 1, withdrawals: 1, ..NO_FAULTS };
    explore("2 nominees, ended twice, 1 operator killed", World::nominees(2, budget).lagging(1));
}

#[test]
fn an_election_that_is_ended_and_reopened() {
    let budget = Budget { losses: 1, ends: 2, reopens: 1, ..NO_FAULTS };
    explore("2 nominees, ended twice, reopened", World::nominees(2, budget).lagging(1));
}

/// Nominees that would end for an eviction are told of the end by its name.
#[test]
fn nominees_that_end_with_their_candidate_are_told_of_the_end() {
    for (on_loss, lag) in [(OnLoss::End, 2), (OnLoss::StandUntilElected, 1)] {
        let policy =
            Policy { on_loss, election_node: ElectionNode::MustExist, ..Policy::default() };
        let budget = Budget { losses: 1, ends: 1, throttles: 1, ..NO_FAULTS };
        let world = World::with_policy(2, budget, policy).lagging(lag);
        explore(&format!("2 nominees, {on_loss:?}, ended, 1 loss, 1 throttled"), world);
        // The mark and the deletion are all that a server may lack.
        let world = World::with_policy(1, budget, policy).lagging(2);
        explore(&format!("a nominee, {on_loss:?}, ended, 1 loss, 1 throttled"), world);
    }
}

/// The node may be deleted once all is done, or before.
#[test]
fn an_election_that_is_ended_and_deleted() {
    let budget = Budget { ends: 1, wipes: 1, losses: 1, ..NO_FAULTS };
    explore("2 settled, ended, wiped, 1 loss", settled(2, budget).lagging(1));
}

#[test]
fn an_operator_that_ends_the_election_and_one_that_evicts() {
    let budget = Budget { ends: 1, deletions: 1, withdrawals: 1, ..NO_FAULTS };
    explore("2 nominees, ended, 1 deletion, 1 withdrawal", World::nominees(2, budget).lagging(1));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_nominees_that_stand_until_they_are_elected_are_told_of_the_end() {
    let (on_loss, election_node) = (OnLoss::StandUntilElected, ElectionNode::MustExist);
    let policy = Policy { on_loss, election_node, ..Policy::default() };
    let budget = Budget { losses: 1, ends: 1, throttles: 1, ..NO_FAULTS };
    let world = World::with_policy(2, budget, policy).lagging(2);
    explore("2 nominees, StandUntilElected, ended, 1 loss, 1 throttled, lag of 2", world);
}
