//! The long form: larger worlds, which want `--release`.

use election_core::election::{ElectionNode, OnLoss, Policy};

use super::settled;
use crate::contest::{Budget, NO_FAULTS, World};
use crate::lab::ANY_NUMBER;
use crate::lab::explore;

/// The faults that need neither an operator nor a bound.
const ANY_FAULTS: Budget =
    Budget { losses: ANY_NUMBER, expiries: ANY_NUMBER, lapses: ANY_NUMBER, ..NO_FAULTS };

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_any_faults_two_withdrawals() {
    let budget = Budget { withdrawals: 2, ..ANY_FAULTS };
    explore("2 nominees, any faults, 2 withdrawals", World::nominees(2, budget).lagging(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_any_faults_far_behind() {
    explore("2 nominees, any faults, lag of 5", World::nominees(2, ANY_FAULTS).lagging(5));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_any_faults_any_deletions() {
    let budget = Budget { deletions: ANY_NUMBER, withdrawals: 1, ..ANY_FAULTS };
    explore(
        "2 nominees, any faults and deletions, 1 withdrawal",
        World::nominees(2, budget).lagging(2),
    );
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_two_handed_out_sessions() {
    let budget = Budget { losses: ANY_NUMBER, swaps: 2, ..NO_FAULTS };
    explore("2 nominees, any losses, 2 handed out sessions", World::nominees(2, budget).lagging(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_two_stragglers() {
    let budget = Budget { losses: 2, expiries: 1, swaps: 1, stragglers: 2, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, 2 losses, 1 expiry, 1 handed out session, 2 stragglers, lag of 1", world);
}

/// A process hands over at any moment.
#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_a_hand_over() {
    let budget = Budget { losses: ANY_NUMBER, withdrawals: 1, handovers: 1, ..NO_FAULTS };
    let world = World::nominees(3, budget).lagging(1);
    explore("3 nominees, any losses, 1 withdrawal, 1 hand-over, lag of 1", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_an_operator() {
    let budget =
        Budget { losses: 1, expiries: 1, deletions: 2, writes: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(2);
    explore("2 nominees, 1 loss, 1 expiry, 2 deletions, 1 write, 1 withdrawal", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_at_the_end_of_the_counter() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).counting_from(i32::MAX - 2).lagging(2);
    explore("2 nominees, end of the counter, 1 loss, 1 expiry, 1 withdrawal", world);
}

/// ZOOKEEPER-4799: candidates that may not be read go unheard.
#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_barred_candidates() {
    let budget = Budget { losses: 1, expiries: 1, bars: 2, withdrawals: 1, ..NO_FAULTS };
    let world = World::nominees(3, budget).lagging(1);
    explore("3 nominees, 2 barred, 1 loss, 1 expiry, 1 withdrawal", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_any_faults_a_barred_candidate_a_look() {
    let budget = Budget { bars: 1, deletions: 1, looks: 1, ..ANY_FAULTS };
    let world = World::nominees(2, budget).lagging(2);
    explore("2 nominees, any faults, 1 barred, 1 deletion, 1 look", world);
}

/// A server that has too much to do, and one that does not show what a search looks for.
#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_any_faults_throttled_and_refused() {
    let budget = Budget { throttles: 2, refusals: 1, withdrawals: 1, ..ANY_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, any faults, 2 throttled, 1 refused, 1 withdrawal", world);
}

/// The election node vanishes.
#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_an_operator_wipes_the_election() {
    let budget = Budget { losses: 1, wipes: 1, ..NO_FAULTS };
    explore("2 nominees, 1 loss, 1 wipe", World::nominees(2, budget).lagging(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_that_end_with_their_candidate() {
    let (on_loss, election_node) = (OnLoss::End, ElectionNode::MustExist);
    let policy = Policy { on_loss, election_node, ..Policy::default() };
    let budget = Budget { withdrawals: 2, deletions: 1, ..ANY_FAULTS };
    let world = World::with_policy(2, budget, policy).lagging(2);
    explore("2 nominees that end, any faults, 2 withdrawals, 1 deletion", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_any_losses_and_withdrawals() {
    let budget = Budget { losses: ANY_NUMBER, withdrawals: 3, ..NO_FAULTS };
    explore("3 nominees, any losses, 3 withdrawals", World::nominees(3, budget).lagging(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_any_faults() {
    explore("3 nominees, any faults", World::nominees(3, ANY_FAULTS).lagging(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_any_faults_a_withdrawal() {
    let budget = Budget { withdrawals: 1, ..ANY_FAULTS };
    let world = World::nominees(3, budget).lagging(1);
    explore("3 nominees, any faults, 1 withdrawal, lag of 1", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_settled_nominees_an_operator() {
    let budget = Budget { losses: 1, expiries: 1, deletions: 1, writes: 1, ..NO_FAULTS };
    explore("3 settled, 1 loss, 1 expiry, 1 deletion, 1 write", settled(3, budget).lagging(2));
}

/// A server hands out another session instead of refusing the old one.
#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_a_handed_out_session() {
    let budget = Budget { losses: 2, swaps: 1, ..NO_FAULTS };
    let world = World::nominees(3, budget).lagging(2);
    explore("3 nominees, 2 losses, 1 handed out session", world);
}
