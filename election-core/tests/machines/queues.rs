//! Every order of events in small worlds of takers at one queue.
//!
//! Items are put, written to, and taken by other kinds of takers; takers take again and again.

mod laws;
mod taking;

use election_core::SessionId;
use election_core::queue::{Purpose, QueueFormat, TakerOptions, WhenEmpty};

use self::taking::{Meddling, Name, Number, Order, Queue, meddling, tree, with_puts, world};
use crate::lab::{
    Budget, Lab, NONE, Right, Tree, Znode, explore, explore_to_a_limit, holds_against_unmerged,
};

const fn options(purpose: Purpose, when_empty: WhenEmpty) -> TakerOptions {
    TakerOptions { format: QueueFormat::guide(), purpose, when_empty }
}

const TAKE: TakerOptions = options(Purpose::Take, WhenEmpty::Wait);
const TRY: TakerOptions = options(Purpose::Take, WhenEmpty::GiveUp);
const TAKE_BY_PRIORITY: TakerOptions =
    TakerOptions { format: QueueFormat::guide_with_priority(), ..TAKE };
const TRY_BY_PRIORITY: TakerOptions =
    TakerOptions { format: QueueFormat::guide_with_priority(), ..TRY };
const CLAIM: TakerOptions = options(Purpose::Claim, WhenEmpty::Wait);
const TRY_CLAIM: TakerOptions = options(Purpose::Claim, WhenEmpty::GiveUp);
const PEEK: TakerOptions = options(Purpose::Peek, WhenEmpty::GiveUp);

/// Makes a world with so many items.
fn at(items: u8, takers: &[(TakerOptions, u8)], budget: Budget) -> Lab<Queue> {
    let is_by_priority = takers[0].0.format.has_priority();
    let order = if is_by_priority { Order::ByPriority } else { Order::ByNumber };
    world(takers, tree(order, items), budget)
}

/// Gives an item a child that is no claim.
fn parent(order: Order, items: u8, number: u8) -> Tree<Name> {
    let mut tree = tree(order, items);
    tree.insert(Name::Child(Number(order, number)), Znode::new(50, 0));
    tree
}

#[test]
fn one_taker_takes_in_order() {
    let b = Budget { losses: 2, expiries: 1, ..NONE };
    explore("3 takes, 2 items, 2 losses, 1 expiry", with_puts(at(2, &[(TAKE, 3)], b), 1));
    let b = Budget { losses: 1, withdrawals: 2, throttles: 1, ..NONE };
    explore("3 takes, 1 loss, 2 withdrawals, 1 throttle", at(3, &[(TAKE, 3)], b));
    let b = Budget { writes: 2, losses: 1, ..NONE };
    explore("2 takes, 2 writes, 1 loss", at(2, &[(TAKE, 2)], b));
}

/// The deletion of the old session may be executed at any time.
#[test]
fn one_taker_a_handed_out_session() {
    let b = Budget { losses: 2, swaps: 1, withdrawals: 1, writes: 1, ..NONE };
    explore("2 takes, 2 losses, 1 swap, 1 withdrawal", at(2, &[(TAKE, 2)], b));
}

#[test]
fn two_takers_compete() {
    let b = Budget { losses: 1, ..NONE };
    explore("2 takers, 1 loss, 1 put", with_puts(at(2, &[(TAKE, 2), (TAKE, 1)], b), 1));
    let b = Budget { expiries: 1, losses: 1, withdrawals: 1, ..NONE };
    let lab = at(1, &[(TAKE, 1), (TRY, 1)], b).lagging(2);
    explore("a taker, one that tries, 1 expiry, 1 loss, 1 withdrawal", lab);
    let b = Budget { deletions: 1, losses: 1, ..NONE };
    let lab = with_puts(at(1, &[(TAKE, 1), (TRY, 1)], b), 1);
    explore("2 takers, a foreign one, 1 loss", lab);
}

#[test]
fn three_takers_compete() {
    let lab = with_puts(at(2, &[(TAKE, 1), (TAKE, 1), (TRY, 1)], NONE), 1);
    explore("3 takers, 1 put", lab);
}

/// A taker overlooks no item that was put before its take began, and that goes first, whatever an earlier list has
/// shown.
#[test]
fn takers_by_priority_overlook_nothing() {
    let b = Budget { losses: 1, expiries: 1, ..NONE };
    let lab = with_puts(at(3, &[(TAKE_BY_PRIORITY, 3)], b), 2);
    explore("3 takes by priority, 2 puts, 1 loss, 1 expiry", lab.lagging(2));
    let b = Budget { deletions: 1, withdrawals: 1, throttles: 1, ..NONE };
    let lab = with_puts(at(2, &[(TRY_BY_PRIORITY, 3)], b), 1);
    explore("3 tries by priority, 1 put, a foreign taker, 1 withdrawal, 1 throttle", lab);
    let b = Budget { losses: 1, ..NONE };
    let lab = with_puts(at(2, &[(TRY_BY_PRIORITY, 2), (TRY_BY_PRIORITY, 1)], b), 1);
    explore("2 takers by priority, 1 put, 1 loss", lab);
    let lab = world(&[(TRY_BY_PRIORITY, 3)], parent(Order::ByPriority, 2, 1), b);
    explore("by priority, an item with a child", with_puts(lab, 1));
}

/// The put may come between the list and its watch.
#[test]
fn takers_that_wait_are_woken() {
    let b = Budget { losses: 1, looks: 1, ..NONE };
    let lab = with_puts(at(0, &[(TAKE, 1), (TAKE, 1)], b), 2);
    explore("2 takers of nothing, 2 puts, 1 loss, 1 look", lab);
    let b = Budget { losses: 1, ..NONE };
    explore("2 takers without a node", world(&[(TAKE, 1), (TRY, 1)], Tree::new(), b));
}

#[test]
fn a_peek_takes_nothing() {
    let b = Budget { losses: 1, deletions: 1, withdrawals: 1, ..NONE };
    explore("a peek, a taker", at(2, &[(PEEK, 1), (TAKE, 1)], b));
}

/// A taker passes over the items that it may not delete, without a circle.
#[test]
fn what_cannot_be_had_is_passed_over() {
    let b = Budget { losses: 1, looks: 1, ..NONE };
    let lab = world(&[(TAKE, 1), (TRY, 1)], parent(Order::ByNumber, 1, 0), b);
    explore("an item with a child", with_puts(lab, 1));
    let mut ephemeral = tree(Order::ByNumber, 1);
    ephemeral.values_mut().last().expect("an item").owner = Some(SessionId::new(1));
    let lab = world(&[(CLAIM, 1), (TRY_CLAIM, 1)], ephemeral, b);
    explore("an ephemeral item", with_puts(lab, 1));
}

#[test]
fn one_claims() {
    let b = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NONE };
    explore("2 claims of one item, 2 losses, 1 expiry, 1 withdrawal", at(1, &[(CLAIM, 2)], b));
    let b = Budget { losses: 2, swaps: 1, withdrawals: 1, ..NONE };
    explore("2 claims, 2 losses, 1 swap, 1 withdrawal", at(2, &[(TRY_CLAIM, 2)], b));
    let b = Budget { losses: 1, withdrawals: 1, throttles: 2, ..NONE };
    explore("1 claim, 1 loss, 1 withdrawal, 2 throttles", at(1, &[(TRY_CLAIM, 1)], b));
}

#[test]
fn two_claim() {
    let two = [(CLAIM, 1), (CLAIM, 1)];
    let b = Budget { losses: 1, expiries: 1, ..NONE };
    explore("2 claims of one item, 1 loss, 1 expiry", at(1, &two, b));
    let b = Budget { losses: 1, withdrawals: 2, ..NONE };
    explore("2 claims, 1 loss, 2 withdrawals", at(1, &[(CLAIM, 1), (TRY_CLAIM, 1)], b));
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn a_claim_whose_deletion_is_refused_is_deleted_in_the_end() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, refusals: 2, ..NONE };
    let lab = at(1, &[(TRY_CLAIM, 1)], b);
    explore("1 claim, 1 loss, 1 expiry, 1 withdrawal, 2 refusals", lab);
    let b = Budget { losses: 1, withdrawals: 1, throttles: 1, refusals: 2, ..NONE };
    let lab = at(1, &[(TRY_CLAIM, 1)], b);
    explore("1 claim, 1 loss, 1 withdrawal, 1 throttle, 2 refusals", lab);
    let b = Budget { losses: 1, swaps: 1, refusals: 1, withdrawals: 1, ..NONE };
    let lab = at(1, &[(TRY_CLAIM, 1)], b);
    explore("1 claim, 1 loss, 1 swap, 1 withdrawal, 1 refusal", lab);
    let b = Budget { withdrawals: 1, refusals: 2, ..NONE };
    explore("2 claims, 1 withdrawal, 2 refusals", at(1, &[(CLAIM, 1), (TRY_CLAIM, 1)], b));
}

/// An operator has deleted the claim of one, and the other has claimed the item since.
#[test]
fn a_taker_leaves_the_claim_of_another_alone() {
    let two = [(TRY_CLAIM, 1), (TRY_CLAIM, 1)];
    let b = Budget { deletions: 1, withdrawals: 1, losses: 1, ..NONE };
    let lab = meddling(at(1, &two, b).lagging(0), Meddling::HeldClaims);
    explore("2 claims, 1 eviction, 1 withdrawal, 1 loss", lab);
    let b = Budget { deletions: 1, withdrawals: 1, refusals: 1, ..NONE };
    let lab = meddling(at(1, &two, b).lagging(0), Meddling::HeldClaims);
    explore("2 claims, 1 eviction, 1 withdrawal, 1 refusal", lab);
}

/// A server refuses to delete an item that is claimed.
#[test]
fn a_claim_keeps_takers_away() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NONE };
    let lab = at(1, &[(CLAIM, 1), (TAKE, 1)], b);
    explore("a claim, a taker, 1 loss, 1 expiry, 1 withdrawal", lab);
}

/// What goes wrong once in each world below; a taker awaits no deadline, and needs no lease.
const FAULTS: [(&str, Budget); 17] = [
    ("1 expiry", Budget { expiries: 1, ..NONE }),
    ("1 lie", Budget { lies: 1, ..NONE }),
    ("1 swap", Budget { swaps: 1, losses: 1, ..NONE }),
    ("1 killed", Budget { crashes: 1, ..NONE }),
    ("1 withdrawal", Budget { withdrawals: 1, ..NONE }),
    ("1 look", Budget { looks: 1, ..NONE }),
    ("1 watch lost", Budget { lost_watches: 1, ..NONE }),
    ("1 watch dropped", Budget { dropped_watches: 1, ..NONE }),
    ("1 throttle", Budget { throttles: 1, ..NONE }),
    ("1 held back", Budget { held_back: 1, ..NONE }),
    ("1 too large", Budget { too_large: 1, ..NONE }),
    ("1 refusal", Budget { refusals: 1, ..NONE }),
    ("1 prohibition", Budget { prohibitions: 1, ..NONE }),
    ("1 half", Budget { halves: 1, ..NONE }),
    ("1 straggler", Budget { stragglers: 1, losses: 1, ..NONE }),
    ("1 deletion", Budget { deletions: 1, ..NONE }),
    ("1 write", Budget { writes: 1, ..NONE }),
];

type Takers = &'static [(TakerOptions, u8)];

/// Takers, and how many items are put beside the first.
const ALONE: [(&str, Takers, u8); 5] = [
    ("takes", &[(TAKE, 3)], 1),
    ("tries by priority", &[(TRY_BY_PRIORITY, 3)], 1),
    ("claims", &[(CLAIM, 2)], 1),
    ("tries to claim", &[(TRY_CLAIM, 2)], 1),
    ("peeks", &[(PEEK, 2)], 1),
];

const TOGETHER: [(&str, Takers, u8); 5] = [
    ("takes, and tries", &[(TAKE, 1), (TRY, 1)], 1),
    ("takes and tries by priority", &[(TAKE_BY_PRIORITY, 1), (TRY_BY_PRIORITY, 1)], 1),
    ("claims, and tries to claim", &[(CLAIM, 1), (TRY_CLAIM, 1)], 0),
    ("claims, and takes", &[(TRY_CLAIM, 1), (TAKE, 1)], 0),
    ("peeks, and claims", &[(PEEK, 1), (CLAIM, 1)], 1),
];

fn faulty(budget: Budget, takers: Takers, puts: u8) -> Lab<Queue> {
    with_puts(at(1, takers, budget), puts).forbidding(&[Right::Create, Right::List, Right::Delete])
}

#[test]
fn each_fault_befalls_one_taker() {
    for (what, takers, puts) in ALONE {
        for (fault, budget) in FAULTS {
            let budget = Budget { losses: budget.losses + 1, ..budget };
            explore(&format!("one {what}, {fault}, 1 loss"), faulty(budget, takers, puts));
        }
    }
}

#[test]
fn each_fault_befalls_two_takers() {
    for (what, takers, puts) in TOGETHER {
        for (fault, budget) in FAULTS {
            explore(&format!("one {what}, {fault}"), faulty(budget, takers, puts));
        }
    }
}

#[test]
fn each_fault_befalls_takers_as_an_operator_or_a_new_session_has_it() {
    for (what, takers, puts) in TOGETHER {
        let b = Budget { bars: 1, ..NONE };
        explore(&format!("one {what}, 1 bar"), faulty(b, takers, puts));
        let b = Budget { deletions: 1, losses: 1, ..NONE };
        let lab = with_puts(at(0, takers, b), puts);
        explore(&format!("one {what}, a node deleted, 1 loss"), meddling(lab, Meddling::Node));
        let b = Budget { expiries: 1, ..NONE };
        let lab = faulty(b, takers, puts).with_local_sessions();
        explore(&format!("one {what}, 1 expiry, local sessions"), lab);
    }
}

/// An operator deletes the claim of one, and another claims the item, after the look at the claim.
#[test]
fn a_claim_that_changes_hands_after_the_look_is_given_back_by_another() {
    let b = Budget { deletions: 1, withdrawals: 1, ..NONE };
    let lab = meddling(at(1, &[(TRY_CLAIM, 1), (TRY_CLAIM, 1)], b), Meddling::Claims);
    explore_to_a_limit("2 claims, 1 claim deleted", "gives back the claim of another", lab);
}

/// The claim beside the item stands until the session of its taker is over.
#[test]
fn an_operator_that_deletes_half_of_a_claim_leaves_the_other_half() {
    let b = Budget { deletions: 1, ..NONE };
    let lab = meddling(at(1, &[(TRY_CLAIM, 1)], b), Meddling::Pins);
    explore_to_a_limit("1 claim, 1 pin deleted", "is left by", lab);
}

/// Worlds that count as one are alike.
#[test]
fn worlds_are_merged_by_right() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, throttles: 1, ..NONE };
    for takers in [&[(TAKE, 2), (TRY, 1)], &[(CLAIM, 1), (TAKE, 1)]] {
        holds_against_unmerged(with_puts(at(1, takers, b), 1), 15_000);
    }
    let takers = [(TAKE_BY_PRIORITY, 2), (TRY_BY_PRIORITY, 1)];
    holds_against_unmerged(with_puts(at(1, &takers, b), 2), 15_000);
}

#[test]
#[ignore = "long form: run with --release"]
fn long() {
    let b = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NONE };
    let lab = with_puts(at(2, &[(TAKE, 1), (TAKE, 1)], b), 1).lagging(2);
    explore("2 takers, 2 losses, 1 expiry, 1 put, 1 withdrawal", lab);
    let b = Budget { losses: 1, ..NONE };
    let lab = with_puts(at(2, &[(TAKE, 1), (TAKE, 1), (TAKE, 1)], b), 1);
    explore("3 takers, 1 loss, 1 put", lab);
    let b = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NONE };
    explore(
        "2 claims, 2 losses, 1 expiry, 1 withdrawal",
        at(2, &[(CLAIM, 1), (CLAIM, 1)], b).lagging(2),
    );
    let b = Budget { losses: 2, swaps: 1, expiries: 1, ..NONE };
    explore("2 takers, 2 losses, 1 swap, 1 expiry", at(2, &[(TAKE, 1), (TRY, 1)], b));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_fault_befalls_two_takers() {
    for (what, takers, puts) in TOGETHER {
        for (fault, budget) in FAULTS {
            let budget = Budget { losses: budget.losses + 1, ..budget };
            explore(&format!("one {what}, {fault}, 1 loss more"), faulty(budget, takers, puts));
        }
    }
}
