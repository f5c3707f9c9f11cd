//! Every order of events in small worlds of takers at one queue.
//!
//! Requests are executed at once, late or never; replies are lost with their connections; servers lag, but never
//! behind what a session has seen; sessions expire, and others are handed out while the old ones live; takers are
//! withdrawn; items are put, written to, and taken by other kinds of takers. The laws: no item is taken twice, none
//! is lost that no taker was told of, one taker takes in order, nothing is left of a taker that has ended, none waits
//! while there is something for it, and all comes to rest.

mod laws;
mod search;
mod server;
mod take;
mod told;
mod world;

use election_core::SessionId;
use election_core::queue::{Purpose, QueueFormat, TakerOptions, WhenEmpty};
use search::{explore, explore_long};
use world::{Account, Budget, FORMAT, World};

const NO_FAULTS: Budget = Budget {
    puts: 0,
    losses: 0,
    expiries: 0,
    swaps: 0,
    withdrawals: 0,
    throttles: 0,
    writes: 0,
    foreign: 0,
    looks: 0,
    returns: 0,
    refusals: 0,
    evictions: 0,
};

const fn options(purpose: Purpose, when_empty: WhenEmpty) -> TakerOptions {
    TakerOptions { format: FORMAT, purpose, when_empty }
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

#[test]
fn one_taker_takes_in_order() {
    let budget = Budget { losses: 2, expiries: 1, puts: 1, ..NO_FAULTS };
    explore("3 takes, 2 items, 2 losses, 1 expiry", World::new(&[(TAKE, 3)], 2, budget));
    let budget = Budget { losses: 1, withdrawals: 2, throttles: 1, ..NO_FAULTS };
    explore("3 takes, 1 loss, 2 withdrawals, 1 throttle", World::new(&[(TAKE, 3)], 3, budget));
    let budget = Budget { writes: 2, losses: 1, ..NO_FAULTS };
    explore("2 takes, 2 writes, 1 loss", World::new(&[(TAKE, 2)], 2, budget));
}

/// The deletion of the old session may be executed at any time.
#[test]
fn one_taker_a_handed_out_session() {
    let budget = Budget { losses: 2, swaps: 1, withdrawals: 1, writes: 1, ..NO_FAULTS };
    explore("2 takes, 2 losses, 1 swap, 1 withdrawal", World::new(&[(TAKE, 2)], 2, budget));
}

#[test]
fn two_takers_compete() {
    let budget = Budget { losses: 1, puts: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 2), (TAKE, 1)], 2, budget);
    explore("2 takers, 1 loss, 1 put", world);
    let budget = Budget { expiries: 1, losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TRY, 1)], 1, budget).lagging(2);
    explore("a taker, one that tries, 1 expiry, 1 loss, 1 withdrawal", world);
    let budget = Budget { foreign: 1, losses: 1, puts: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TRY, 1)], 1, budget);
    explore("2 takers, a foreign one, 1 loss", world);
}

#[test]
fn three_takers_compete() {
    let budget = Budget { puts: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TAKE, 1), (TRY, 1)], 2, budget);
    explore("3 takers, 1 put", world);
}

/// A taker overlooks no item that was put before its take began, and that goes first, whatever an earlier list has
/// shown.
#[test]
fn takers_by_priority_overlook_nothing() {
    let budget = Budget { puts: 2, losses: 1, expiries: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE_BY_PRIORITY, 3)], 3, budget);
    explore("3 takes by priority, 2 puts, 1 loss, 1 expiry", world.lagging(2));
    let budget = Budget { puts: 1, foreign: 1, withdrawals: 1, throttles: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_BY_PRIORITY, 3)], 2, budget);
    explore("3 tries by priority, 1 put, a foreign taker, 1 withdrawal, 1 throttle", world);
    let budget = Budget { puts: 1, losses: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_BY_PRIORITY, 2), (TRY_BY_PRIORITY, 1)], 2, budget);
    explore("2 takers by priority, 1 put, 1 loss", world);
    let budget = Budget { puts: 1, losses: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_BY_PRIORITY, 3)], 2, budget);
    explore("an item with a child", world.with(|tree| tree.items[1].is_parent = true));
}

/// The put may come between the list and its watch.
#[test]
fn takers_that_wait_are_woken() {
    let budget = Budget { puts: 2, losses: 1, looks: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TAKE, 1)], 0, budget);
    explore("2 takers of nothing, 2 puts, 1 loss, 1 look", world);
    let world = World::new(&[(TAKE, 1), (TRY, 1)], 0, Budget { puts: 0, losses: 1, ..NO_FAULTS });
    explore("2 takers without a node", world.with(|tree| tree.has_node = false));
}

#[test]
fn a_peek_takes_nothing() {
    let budget = Budget { losses: 1, foreign: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::new(&[(PEEK, 1), (TAKE, 1)], 2, budget);
    let rest = explore("a peek, a taker", world);
    assert!(rest.clients[0].taken.is_empty());
}

/// A taker passes over the items that it may not delete, without a circle.
#[test]
fn what_cannot_be_had_is_passed_over() {
    let budget = Budget { losses: 1, puts: 1, looks: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TRY, 1)], 1, budget);
    explore("an item with a child", world.with(|tree| tree.items[0].is_parent = true));
    let foreign = Some(SessionId::new(1));
    let world = World::new(&[(CLAIM, 1), (TRY_CLAIM, 1)], 1, budget);
    explore("an ephemeral item", world.with(|tree| tree.items[0].owner = foreign));
}

#[test]
fn one_claims() {
    let budget = Budget { losses: 2, expiries: 1, returns: 1, ..NO_FAULTS };
    let world = World::new(&[(CLAIM, 2)], 1, budget);
    explore("2 claims of one item, 2 losses, 1 expiry, 1 return", world);
    let budget = Budget { losses: 2, swaps: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_CLAIM, 2)], 2, budget);
    explore("2 claims, 2 losses, 1 swap, 1 withdrawal", world);
    let budget = Budget { losses: 1, withdrawals: 1, throttles: 2, ..NO_FAULTS };
    explore("1 claim, 1 loss, 2 throttles", World::new(&[(TRY_CLAIM, 1)], 1, budget));
}

#[test]
fn two_claim() {
    let budget = Budget { losses: 1, expiries: 1, ..NO_FAULTS };
    let world = World::new(&[(CLAIM, 1), (CLAIM, 1)], 1, budget);
    explore("2 claims of one item, 1 loss, 1 expiry", world);
    let budget = Budget { losses: 1, returns: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::new(&[(CLAIM, 1), (TRY_CLAIM, 1)], 1, budget);
    explore("2 claims, 1 loss, 1 return, 1 withdrawal", world);
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn a_claim_whose_deletion_is_refused_is_deleted_in_the_end() {
    let budget = Budget { losses: 1, expiries: 1, returns: 1, refusals: 2, ..NO_FAULTS };
    let world = World::new(&[(TRY_CLAIM, 1)], 1, budget);
    explore("1 claim, 1 loss, 1 expiry, 1 return, 2 refusals", world);
    let budget = Budget { losses: 1, withdrawals: 1, throttles: 1, refusals: 2, ..NO_FAULTS };
    let world = World::new(&[(TRY_CLAIM, 1)], 1, budget);
    explore("1 claim, 1 loss, 1 withdrawal, 1 throttle, 2 refusals", world);
    let budget = Budget { losses: 1, swaps: 1, refusals: 1, returns: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_CLAIM, 1)], 1, budget);
    explore("1 claim, 1 loss, 1 swap, 1 return, 1 refusal", world);
    let budget = Budget { returns: 1, refusals: 2, ..NO_FAULTS };
    let world = World::new(&[(CLAIM, 1), (TRY_CLAIM, 1)], 1, budget);
    explore("2 claims, 1 return, 2 refusals", world);
}

/// An operator has deleted the claim of one, and the other has claimed the item since.
#[test]
fn a_taker_leaves_the_claim_of_another_alone() {
    let budget = Budget { evictions: 1, returns: 1, losses: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_CLAIM, 1), (TRY_CLAIM, 1)], 1, budget).lagging(0);
    explore("2 claims, 1 eviction, 1 return, 1 loss", world);
    let budget = Budget { evictions: 1, returns: 1, refusals: 1, ..NO_FAULTS };
    let world = World::new(&[(TRY_CLAIM, 1), (TRY_CLAIM, 1)], 1, budget).lagging(0);
    explore("2 claims, 1 eviction, 1 return, 1 refusal", world);
}

/// A server refuses to delete an item that is claimed.
#[test]
fn a_claim_keeps_takers_away() {
    let budget = Budget { losses: 1, expiries: 1, returns: 1, ..NO_FAULTS };
    let world = World::new(&[(CLAIM, 1), (TAKE, 1)], 1, budget);
    let rest = explore("a claim, a taker, 1 loss, 1 expiry, 1 return", world);
    assert!(!rest.accounted.iter().any(|(_, account)| *account == Account::Foreign));
}

#[test]
#[ignore = "long form: run with --release"]
fn long() {
    let budget = Budget { losses: 2, expiries: 1, puts: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TAKE, 1)], 2, budget).lagging(2);
    explore_long("2 takers, 2 losses, 1 expiry, 1 put, 1 withdrawal", world);
    let budget = Budget { losses: 1, puts: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TAKE, 1), (TAKE, 1)], 2, budget);
    explore_long("3 takers, 1 loss, 1 put", world);
    let budget = Budget { losses: 2, expiries: 1, returns: 1, ..NO_FAULTS };
    let world = World::new(&[(CLAIM, 1), (CLAIM, 1)], 2, budget).lagging(2);
    explore_long("2 claims, 2 losses, 1 expiry, 1 return", world);
    let budget = Budget { losses: 2, swaps: 1, expiries: 1, ..NO_FAULTS };
    let world = World::new(&[(TAKE, 1), (TRY, 1)], 2, budget);
    explore_long("2 takers, 2 losses, 1 swap, 1 expiry", world);
}
