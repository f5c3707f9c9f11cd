//! Every order of events in small worlds of nominees and contenders for locks, in the laboratory (`lab`).
//!
//! These events can happen, in any order: requests are executed; replies come, come late, or are lost with their
//! connection, the request executed before, afterwards or never; watches fire; links go down and up again at a server
//! that lags, though never behind what the session has seen; sessions expire, and their clients hear of it later;
//! servers hand out another session while the old one lives; leases lapse; nominees resign and withdraw; processes
//! hand their session and nomination to another one; an operator deletes candidates, writes to them, and deletes the
//! election node. Earlier sessions leave ghosts.
//!
//! A reply to a read that is late is one from a server that lags, so the two are one step. Of the servers that could
//! answer a read alike, the one farthest behind is taken, since it can still do whatever the others can.
//!
//! In every state (`state.rs`): never two valid leaders, where one is valid whose session lives, whose lease
//! has not lapsed, and whose znode no operator deleted; a leader's znode stands, and is watched; tokens grow from
//! leader to leader; two watches a nominee at most; one znode a session; no znode of a nominee that has ended; no two
//! followers wait for one znode; one request in flight; nothing after the end; an event that no command awaits any
//! more changes nothing. From every state: once nothing goes wrong any more, events end by themselves, in whatever
//! order they come, and leave exactly one leader with everybody else behind it, unless all have ended.
//!
//! States that differ only in how high the numbers have become, and in which nominee is which, are one
//! (`lab/alike.rs`). Therefore most faults need no bound: `ANY_NUMBER` of connections may be lost, and the
//! world is still finite. This is why the explorer is our own, and not stateright: this merging makes three nominees
//! small, and it has to see the fields of a nominee by kind; replies are borrowed, so that an action is not a value
//! that can be kept; and the graph of calm steps is needed afterwards, to show that it has no circle.

mod downgrades;
mod endings;
mod formats;
mod handing_over;
mod locks;
mod long;
mod requests;

use crate::contest::{Budget, NO_FAULTS, World};
use crate::lab::ANY_NUMBER;
use crate::lab::{explore, holds_against_unmerged};
use election_core::election::{ElectionNode, OnLoss, Policy};

/// Makes a world of connected nominees, in their order, and at rest.
fn settled(nominees: usize, budget: Budget) -> World {
    World::settled_nominees(nominees, budget)
}

/// Explores a small world, and holds it against worlds that are not merged.
fn merging_loses_nothing_of(name: &str, start: World) {
    explore(name, start.clone());
    holds_against_unmerged(start, 20_000);
}

#[test]
fn merging_loses_nothing() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    merging_loses_nothing_of("2 nominees", World::nominees(2, budget).lagging(2));
    merging_loses_nothing_of("3 nominees", World::nominees(3, NO_FAULTS).lagging(1));
    let world = World::nominees(2, Budget { losses: 1, ..NO_FAULTS }).without_create2();
    merging_loses_nothing_of("2 nominees, before 3.5", world.lagging(1));
    let budget = Budget { bars: 1, withdrawals: 1, looks: 1, ..NO_FAULTS };
    merging_loses_nothing_of("2 nominees, 1 barred", World::nominees(2, budget).lagging(1));
}

#[test]
fn two_nominees() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, lapses: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(2);
    explore("2 nominees, any losses, 1 expiry, 1 lapse", world);
}

/// However many connections are lost at a missing election node: it was never there and gone again.
#[test]
fn two_nominees_and_no_election_node() {
    let budget = Budget { losses: ANY_NUMBER, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1).without_election_node();
    explore("2 nominees, no election node, any losses", world);
}

/// Servers before 3.5 do not tell the metadata of what they create.
#[test]
fn two_nominees_without_create2() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).without_create2().lagging(2);
    explore("2 nominees before 3.5, any losses, 1 expiry", world);
    let budget = Budget { deletions: 1, writes: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).without_create2().lagging(2);
    explore("2 nominees before 3.5, 1 deletion, 1 write", world);
}

/// Followers that are not the heir have no watch on their candidate yet, or one from a look on.
#[test]
fn three_nominees_an_operator_a_look() {
    let budget = Budget { deletions: 1, looks: 1, withdrawals: 1, ..NO_FAULTS };
    explore("3 settled, 1 deletion, 1 look, 1 withdrawal", settled(3, budget).lagging(1));
}

#[test]
fn two_nominees_a_withdrawal() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    explore("2 nominees, 1 loss, 1 expiry, 1 withdrawal", World::nominees(2, budget).lagging(2));
}

/// Replies and changes of the old connection come when the new one is at work (CURATOR-653).
#[test]
fn two_nominees_a_straggler() {
    let budget = Budget { losses: 1, stragglers: 1, ..NO_FAULTS };
    explore("2 nominees, 1 loss, 1 straggler", World::nominees(2, budget).lagging(2));
}

/// A server hands out another session instead of refusing the old one (`ClickHouse` #116690).
#[test]
fn two_nominees_a_handed_out_session() {
    let budget = Budget { losses: 1, swaps: 1, ..NO_FAULTS };
    explore("2 nominees, 1 loss, 1 handed out session", World::nominees(2, budget).lagging(2));
}

/// Creates in doubt in two sessions, of which the first lives on.
#[test]
fn one_nominee_a_handed_out_session_a_straggler() {
    let budget = Budget { losses: 2, swaps: 1, stragglers: 1, ..NO_FAULTS };
    let world = World::nominees(1, budget).lagging(2);
    explore("1 nominee, 2 losses, 1 handed out session, 1 straggler", world);
}

/// A process hands over at any moment, while its create is on its way or in doubt, too.
#[test]
fn two_nominees_a_hand_over() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, handovers: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, 1 hand-over, 1 loss, 1 expiry, 1 withdrawal", world);
}

/// The session that was handed over is replaced by another one while the old one lives.
#[test]
fn one_nominee_two_hand_overs_a_handed_out_session() {
    let budget = Budget { losses: 1, swaps: 1, handovers: 2, ..NO_FAULTS };
    let world = World::nominees(1, budget).lagging(2);
    explore("1 nominee, 2 hand-overs, 1 loss, 1 handed out session", world);
}

/// A leader gives up what it has, at any moment, and stands again behind the others.
#[test]
fn three_settled_nominees_of_which_leaders_step_down() {
    let budget = Budget { losses: 1, deadlines: 2, ..NO_FAULTS };
    explore("3 settled, 1 loss, 2 step down", settled(3, budget).lagging(1));
    let budget = Budget { losses: 1, expiries: 1, deadlines: 1, ..NO_FAULTS };
    explore("3 settled, 1 loss, 1 expiry, 1 steps down", settled(3, budget).lagging(1));
}

/// Its candidate is to go first, so that there is never a second one of the session.
#[test]
fn two_nominees_of_which_leaders_step_down() {
    let budget = Budget { losses: 1, deadlines: 2, withdrawals: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, 1 loss, 2 step down, 1 withdrawal", world);
}

/// An operator deletes the candidate that the leader is about to delete itself.
#[test]
fn two_settled_nominees_a_step_down_an_operator() {
    let budget = Budget { losses: 1, deadlines: 1, deletions: 1, throttles: 1, ..NO_FAULTS };
    let world = settled(2, budget).lagging(2);
    explore("2 settled, 1 loss, 1 steps down, 1 deletion, 1 throttled", world);
}

/// An operator deletes a candidate and writes to one.
#[test]
fn two_nominees_an_operator() {
    let budget = Budget { deletions: 1, writes: 1, ..NO_FAULTS };
    explore("2 nominees, 1 deletion, 1 write", World::nominees(2, budget).lagging(2));
}

/// The second gets a number that every later candidate gets too, or the first one's next.
#[test]
fn two_nominees_at_the_end_of_the_counter() {
    let budget = Budget { losses: 1, lapses: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).counting_from(i32::MAX - 1).lagging(1);
    explore("2 nominees, end of the counter, 1 loss, 1 lapse", world);
}

/// The change that the lost watch would have reported may have come before.
#[test]
fn three_settled_nominees_two_lost_watches() {
    let budget = Budget { lost_watches: 2, withdrawals: 1, deletions: 1, ..NO_FAULTS };
    explore("3 settled, 2 lost watches, 1 withdrawal, 1 deletion", settled(3, budget).lagging(1));
}

/// ZOOKEEPER-4799: a candidate that may not be read goes unheard.
#[test]
fn two_nominees_a_barred_candidate() {
    let budget = Budget { losses: 1, bars: 1, withdrawals: 1, ..NO_FAULTS };
    explore("2 nominees, 1 barred, 1 loss, 1 withdrawal", World::nominees(2, budget).lagging(1));
}

/// The same, with an operator that deletes it, and looks at any time.
#[test]
fn two_settled_nominees_a_barred_candidate_an_operator_two_looks() {
    let budget = Budget { bars: 1, deletions: 1, looks: 2, ..NO_FAULTS };
    explore("2 settled, 1 barred, 1 deletion, 2 looks", settled(2, budget).lagging(2));
}

/// A ghost that may not be read, and a create in doubt behind it.
#[test]
fn one_nominee_a_handed_out_session_a_barred_ghost() {
    let budget = Budget { losses: 2, swaps: 1, bars: 1, ..NO_FAULTS };
    let world = World::nominees(1, budget).lagging(2);
    explore("1 nominee, 2 losses, 1 handed out session, 1 barred", world);
}

/// What it may not read may be its own, and may not be deleted either: that is owed, and asked for at the next look.
#[test]
fn one_nominee_a_barred_candidate_a_refusal() {
    let budget = Budget { losses: 1, bars: 1, refusals: 1, ..NO_FAULTS };
    explore("1 nominee, 1 loss, 1 barred, 1 refused", World::nominees(1, budget).lagging(1));
}

/// A server that has too much to do, and one that does not show what a search looks for.
#[test]
fn two_nominees_throttled_and_refused() {
    let budget = Budget { losses: 1, throttles: 1, refusals: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, 1 loss, 1 throttled, 1 refused, 1 withdrawal", world);
}

/// Connections were lost over a request as long, or no server takes one as long.
#[test]
fn what_a_candidate_says_is_held_back_or_too_large() {
    let budget = Budget { held_back: 2, losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, 2 held back, 1 loss, 1 withdrawal", world);
    let budget = Budget { held_back: 1, expiries: 1, deletions: 1, ..NO_FAULTS };
    explore("2 nominees, 1 held back, 1 expiry, 1 deletion", World::nominees(2, budget).lagging(0));
    let budget = Budget { too_large: 1, throttles: 1, losses: 1, ..NO_FAULTS };
    let world = World::nominees(2, budget).lagging(1);
    explore("2 nominees, 1 too large, 1 throttled, 1 loss", world);
}

#[test]
fn three_settled_nominees_an_expiry_two_looks() {
    let budget = Budget { losses: 1, expiries: 1, looks: 2, ..NO_FAULTS };
    explore("3 settled, 1 loss, 1 expiry, 2 looks", settled(3, budget).lagging(1));
}

/// The election node vanishes.
#[test]
fn two_settled_nominees_an_operator_wipes_the_election() {
    let budget = Budget { wipes: 1, withdrawals: 1, ..NO_FAULTS };
    explore("2 settled, 1 wipe, 1 withdrawal", settled(2, budget).lagging(1));
}

/// A write that a candidate guards is applied after none with a greater token, however late it comes: no name recurs.
#[test]
fn two_settled_nominees_that_write_while_an_operator_wipes_the_election() {
    let budget = Budget { wipes: 1, guarded: 2, ..NO_FAULTS };
    explore("2 settled, 1 wipe, 2 guarded writes", settled(2, budget).lagging(1));
    let budget = Budget { losses: 1, wipes: 2, guarded: 2, ..NO_FAULTS };
    explore("1 settled, 2 wipes, 1 loss, 2 guarded writes", settled(1, budget).lagging(1));
}

#[test]
fn two_nominees_that_end_with_their_candidate() {
    let (on_loss, election_node) = (OnLoss::End, ElectionNode::MustExist);
    let policy = Policy { on_loss, election_node, ..Policy::default() };
    let budget = Budget { losses: 1, expiries: 1, lapses: 1, ..NO_FAULTS };
    let world = World::with_policy(2, budget, policy).lagging(2);
    explore("2 nominees that end, 1 loss, 1 expiry, 1 lapse", world);
}

#[test]
fn three_nominees() {
    let budget = Budget { losses: ANY_NUMBER, ..NO_FAULTS };
    explore("3 nominees, any losses", World::nominees(3, budget).lagging(2));
}

#[test]
fn three_nominees_an_expiry() {
    let budget = Budget { losses: 1, expiries: 1, ..NO_FAULTS };
    explore("3 nominees, 1 loss, 1 expiry", World::nominees(3, budget).lagging(1));
}

#[test]
fn three_settled_nominees_a_withdrawal() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    explore("3 settled, 1 loss, 1 expiry, 1 withdrawal", settled(3, budget).lagging(2));
}

/// An operator deletes a candidate and writes to one.
#[test]
fn three_settled_nominees_an_operator() {
    let budget = Budget { deletions: 1, writes: 1, ..NO_FAULTS };
    explore("3 settled, 1 deletion, 1 write", settled(3, budget).lagging(2));
}
