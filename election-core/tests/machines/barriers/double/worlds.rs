//! The worlds of a double barrier.

use super::*;
use crate::lab::{Right, Server, explore, explore_to_a_limit, holds_against_unmerged};

#[test]
fn two_enter_and_leave() {
    explore("2 of 2, 1 loss", two(Budget { losses: 1, ..NONE }));
}

/// However many connections are lost at the missing node: it was never there and gone again.
#[test]
fn one_enters_over_connections_that_are_lost_at_a_missing_node() {
    let mut lab = world(&[of(1)], 1, Budget { losses: 5, ..NONE }).lagging(0);
    lab.server = Server::new(Tree::new()).into();
    explore("1 of 1, no node, 5 losses", lab);
}

#[test]
fn two_enter_and_one_expires() {
    explore("2 of 2, 1 expiry", two(Budget { expiries: 1, ..NONE }));
}

#[test]
fn two_enter_and_one_is_killed() {
    explore("2 of 2, 1 killed", two(Budget { crashes: 1, ..NONE }));
}

#[test]
fn two_enter_and_one_gives_up() {
    let budget = Budget { withdrawals: 1, deadlines: 1, ..NONE };
    explore("2 of 2, 1 withdrawal, 1 deadline", two(budget));
}

#[test]
fn two_enter_twice() {
    explore("2 of 2, twice", world(&[of(2); 2], 2, NONE));
}

#[test]
fn two_enter_after_a_crash() {
    explore("2 of 2, stale", after_a_crash(two(Budget { losses: 1, ..NONE })));
}

#[test]
fn two_enter_where_one_does_not_wait_for_the_round_under_way() {
    let [one, other] =
        [of(1), DoubleBarrierOptions { when_under_way: WhenUnderWay::GiveUp, ..of(1) }];
    explore("2 of 1, one does not wait", world(&[one, other], 1, NONE));
}

#[test]
fn three_enter_and_leave() {
    explore("3 of 3", three(3).lagging(0));
}

#[test]
fn an_operator_deletes_an_entry() {
    explore("2 of 2, 1 deletion", two(Budget { deletions: 1, ..NONE }));
}

#[test]
fn a_watch_is_lost() {
    let budget = Budget { lost_watches: 1, throttles: 1, ..NONE };
    explore("2 of 2, 1 watch lost, 1 throttle", two(budget));
}

/// An entry, or what opens a round, is held back or too large: its participant fails, and holds up no other.
#[test]
fn what_a_participant_says_is_held_back_or_too_large() {
    explore("2 of 2, 1 held back, 1 loss", two(Budget { held_back: 1, losses: 1, ..NONE }));
    let budget = Budget { too_large: 1, throttles: 1, ..NONE };
    explore("2 of 2, 1 too large, 1 throttle", two(budget));
    let budget = Budget { held_back: 1, expiries: 1, ..NONE };
    explore("2 of 2, 1 held back, 1 expiry", two(budget).lagging(0));
}

/// A participant that may not open a round, or end one, or see the others, says so, and holds up no other.
#[test]
fn a_participant_loses_a_right() {
    explore("2 of 2, 1 prohibition", two(Budget { prohibitions: 1, ..NONE }));
    let budget = Budget { prohibitions: 2, ..NONE };
    explore("2 of 2, 2 prohibitions", two(budget).lagging(0));
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn an_entry_whose_deletion_is_refused_is_deleted_in_the_end() {
    let budget = Budget { prohibitions: 1, losses: 1, ..NONE };
    explore("2 of 2, 1 prohibition, 1 loss", two(budget).lagging(0));
    let budget = Budget { prohibitions: 1, expiries: 1, ..NONE };
    explore("2 of 2, 1 prohibition, 1 expiry", two(budget).lagging(0));
    let budget = Budget { prohibitions: 1, withdrawals: 1, ..NONE };
    explore("2 of 2, 1 prohibition, 1 withdrawal", two(budget).lagging(0));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_enter() {
    let budget = Budget { losses: 2, expiries: 1, ..NONE };
    explore("2 of 2, 2 losses, 1 expiry", two(budget));
    let budget = Budget { losses: 1, crashes: 1, ..NONE };
    explore("2 of 2, 1 loss, 1 killed", two(budget).lagging(2));
    let budget = Budget { losses: 1, deletions: 1, looks: 1, ..NONE };
    explore("2 of 2, 1 loss, 1 deletion, 1 look", two(budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_enter_twice() {
    let budget = Budget { losses: 1, ..NONE };
    explore("2 of 2, twice, 1 loss", world(&[of(2); 2], 2, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_enter_and_one_gives_up() {
    let budget = Budget { losses: 1, withdrawals: 1, deadlines: 1, ..NONE };
    explore("2 of 2, 1 loss, 1 withdrawal, 1 deadline", two(budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_enter() {
    explore("3 of 3, lag of 1", three(3));
    explore("3 of 2, lag of 1", three(2));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_fault_befalls_a_double_barrier() {
    let b = Budget { halves: 1, ..NONE };
    explore("2 of 2, 1 half", two(b));
    let b = Budget { halves: 2, losses: 1, ..NONE };
    explore("2 of 2, 2 halves, 1 loss", two(b));
    let b = Budget { halves: 1, expiries: 1, ..NONE };
    explore("2 of 2, 1 half, 1 expiry", two(b));
    let b = Budget { halves: 1, withdrawals: 1, deadlines: 1, ..NONE };
    explore("2 of 2, 1 half, 1 withdrawal, 1 deadline", two(b));
    let b = Budget { halves: 2, ..NONE };
    explore("2 of 2 twice, 2 halves", world(&[of(2); 2], 2, b));
    explore("3 of 2, 1 half", world(&[of(2); 3], 1, Budget { halves: 1, ..NONE }));
    let b = Budget { refusals: 1, ..NONE };
    explore("2 of 2, 1 refusal", two(b));
    let b = Budget { refusals: 2, losses: 1, ..NONE };
    explore("2 of 2, 2 refusals, 1 loss", two(b).lagging(0));
    let b = Budget { prohibitions: 1, ..NONE };
    explore("2 of 2, not to create", two(b).forbidding(&[Right::Create]));
    let b = Budget { lies: 1, ..NONE };
    explore("2 of 2, 1 lie", two(b));
    let b = Budget { lies: 1, losses: 1, ..NONE };
    explore("2 of 2, 1 lie, 1 loss, no lag", two(b).lagging(0));
    let b = Budget { swaps: 1, losses: 1, ..NONE };
    explore("2 of 2, 1 swap, 1 loss", two(b));
    let b = Budget { stragglers: 1, losses: 1, ..NONE };
    explore("2 of 2, 1 straggler, 1 loss", two(b));
    let b = Budget { dropped_watches: 1, ..NONE };
    explore("2 of 2, 1 watch dropped", two(b));
    let b = Budget { dropped_watches: 1, losses: 1, halves: 1, ..NONE };
    explore("2 of 2, 1 watch dropped, 1 loss, 1 half", two(b));
    let b = Budget { bars: 1, ..NONE };
    explore("2 of 2, 1 bar", two(b));
    let b = Budget { writes: 1, ..NONE };
    explore("2 of 2, 1 write", two(b));
    let b = Budget { throttles: 1, refusals: 1, halves: 1, ..NONE };
    explore("2 of 2, 1 throttle, 1 refusal, 1 half", two(b));
    let b = Budget { expiries: 1, losses: 1, ..NONE };
    explore("2 of 2, local sessions, 1 expiry, 1 loss", two(b).with_local_sessions());
    let b = Budget { lies: 1, ..NONE };
    explore("2 of 2, local sessions, 1 lie", two(b).with_local_sessions());
    let b = Budget { halves: 2, expiries: 1, losses: 1, ..NONE };
    explore("2 of 2, 2 halves, 1 expiry, 1 loss", two(b).lagging(2));
    let b = Budget { halves: 2, losses: 2, withdrawals: 1, ..NONE };
    explore("2 of 2, 2 halves, 2 losses, 1 withdrawal", two(b));
    let b = Budget { halves: 1, losses: 1, deletions: 1, ..NONE };
    explore("2 of 2, 1 half, 1 loss, 1 deletion", two(b));
    let b = Budget { crashes: 1, losses: 1, halves: 1, ..NONE };
    explore("2 of 2, 1 half, 1 loss, 1 killed", two(b));
    let b = Budget { prohibitions: 1, losses: 1, dropped_watches: 1, ..NONE };
    explore("2 of 2, 1 prohibition, 1 loss, 1 watch dropped", two(b));
}

/// The creation of an entry by an earlier session is executed after the participant has looked for it: the round is
/// ended beside it.
#[test]
fn an_entry_of_an_earlier_session_may_outlast_a_round() {
    let mut lab = two(Budget { lies: 1, ..NONE });
    lab.model.counts = Counts::AnySession;
    explore_to_a_limit("2 of 2, 1 lie, any entry counts", "a member is in it", lab);
}

/// Worlds that count as one are alike.
#[test]
fn worlds_are_merged_by_right() {
    let budget = Budget { losses: 1, halves: 1, lies: 1, ..NONE };
    holds_against_unmerged(two(budget), 20_000);
}
