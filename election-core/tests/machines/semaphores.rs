//! Every interleaving of small worlds of contenders for a semaphore, and an ensemble with servers that lag.
//!
//! In every state ([`common::check`]): no more valid holders than permits, each by a znode that stands; tokens that
//! are given once, and grow where the semaphore has one permit; one znode a session in each place; three watches and
//! one request in flight at most; nothing left after the end, and nothing told. From every state: once nothing goes
//! wrong any more, events end by themselves, and leave as many holders as there are permits, or contenders.

mod anything;
mod common;
mod laws;
#[path = "explore/search.rs"]
#[allow(dead_code, reason = "of the nominees' explorer")]
mod search;

use common::{Budget, World};
use search::{explore, explore_long};

const NONE: Budget = Budget {
    losses: 0,
    expiries: 0,
    swaps: 0,
    lapses: 0,
    withdrawals: 0,
    deadlines: 0,
    looks: 0,
    throttles: 0,
    deletions: 0,
    reaps: 0,
};

/// Makes a world of connected contenders at rest: as many hold as the semaphore has permits, the next one waits for
/// one, and the others for their turn.
fn settled(clients: usize, permits: u32, budget: Budget) -> World {
    World::new(clients, permits, NONE).settled(budget)
}

#[test]
fn two_for_one_a_withdrawal() {
    let budget = Budget { withdrawals: 1, ..NONE };
    explore("2 for 1, 1 withdrawal", World::new(2, 1, budget));
}

#[test]
fn two_for_one_a_loss() {
    explore("2 for 1, 1 loss", World::new(2, 1, Budget { losses: 1, ..NONE }).lagging(0));
}

#[test]
fn one_for_one_two_losses_where_nothing_is_prepared() {
    let budget = Budget { losses: 2, withdrawals: 1, ..NONE };
    explore("1 for 1, bare, 2 losses, 1 withdrawal", World::new(1, 1, budget).bare());
}

#[test]
fn one_for_one_a_loss_without_create2() {
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NONE };
    let world = World::new(1, 1, budget).without_create2();
    explore("1 for 1, 2 losses, 1 expiry, 1 withdrawal, no create2", world);
}

#[test]
fn two_for_one_where_nothing_is_prepared() {
    explore("2 for 1, bare", World::new(2, 1, NONE).bare().lagging(0));
}

#[test]
fn one_for_one_nodes_that_are_reaped() {
    let budget = Budget { reaps: 3, withdrawals: 1, ..NONE };
    explore("1 for 1, 3 reaped, 1 withdrawal", World::new(1, 1, budget));
}

#[test]
fn one_and_one_that_tries_for_one() {
    let budget = Budget { withdrawals: 1, ..NONE };
    let world = World::new(2, 1, budget).with_one_that_tries();
    explore("1 and 1 that tries for 1, 1 withdrawal", world);
}

#[test]
fn one_that_tries_beside_a_holder_a_loss() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NONE };
    let world = settled(1, 1, budget).joined_by_one_that_tries();
    explore("1 that tries beside a holder, 1 loss, 1 withdrawal", world);
}

#[test]
fn two_settled_for_one_a_loss_and_a_release() {
    let budget = Budget { losses: 2, withdrawals: 2, ..NONE };
    explore("settled: 2 for 1, 2 losses, 2 withdrawals", settled(2, 1, budget));
}

#[test]
fn two_settled_for_one_an_expiry() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NONE };
    explore("settled: 2 for 1, 1 loss, 1 expiry, 1 withdrawal", settled(2, 1, budget));
}

#[test]
fn two_settled_for_one_a_lapse() {
    let budget = Budget { lapses: 1, losses: 2, deadlines: 1, ..NONE };
    explore("settled: 2 for 1, 1 lapse, 2 losses, 1 deadline", settled(2, 1, budget));
}

#[test]
fn two_settled_for_one_a_handed_out_session() {
    let budget = Budget { losses: 2, swaps: 1, withdrawals: 1, ..NONE };
    let world = settled(2, 1, budget).lagging(0);
    explore("settled: 2 for 1, 2 losses, 1 handed out session, 1 withdrawal", world);
}

#[test]
fn one_for_one_a_handed_out_session() {
    let budget = Budget { losses: 2, swaps: 1, withdrawals: 1, ..NONE };
    explore("1 for 1, 2 losses, 1 handed out session, 1 withdrawal", World::new(1, 1, budget));
}

/// Among what an operator deletes is the znode of the turn.
#[test]
fn three_settled_for_one_a_deletion() {
    let budget = Budget { deletions: 1, withdrawals: 1, ..NONE };
    explore("settled: 3 for 1, 1 deletion, 1 withdrawal", settled(3, 1, budget));
}

#[test]
fn two_settled_for_one_two_deletions() {
    let budget = Budget { deletions: 2, losses: 1, ..NONE };
    explore("settled: 2 for 1, 2 deletions, 1 loss", settled(2, 1, budget));
}

#[test]
fn three_settled_for_one_a_deadline() {
    let budget = Budget { deadlines: 1, withdrawals: 1, losses: 1, ..NONE };
    let world = settled(3, 1, budget).lagging(0);
    explore("settled: 3 for 1, 1 deadline, 1 withdrawal, 1 loss", world);
}

#[test]
fn three_settled_for_two_releases() {
    let budget = Budget { withdrawals: 2, ..NONE };
    explore("settled: 3 for 2, 2 withdrawals", settled(3, 2, budget));
}

#[test]
fn two_join_one_holder_of_two() {
    let world = settled(1, 2, Budget { withdrawals: 1, ..NONE }).joined_by(2).lagging(0);
    explore("2 join 1 holder of 2, 1 withdrawal", world);
}

#[test]
fn two_settled_for_one_throttled() {
    let budget = Budget { throttles: 2, withdrawals: 1, looks: 1, ..NONE };
    explore("settled: 2 for 1, 2 throttled, 1 look, 1 withdrawal", settled(2, 1, budget));
}

/// The turn may come back before the znode of the permit is gone.
#[test]
fn two_settled_for_one_a_deletion_throttled() {
    let budget = Budget { throttles: 2, deletions: 1, ..NONE };
    let world = settled(2, 1, budget);
    explore("settled: 2 for 1, 2 throttled, 1 deletion", world);
}

#[test]
fn one_beside_a_foreign_child() {
    let budget = Budget { deletions: 1, losses: 1, ..NONE };
    let world = World::new(1, 1, NONE).with_foreign_child().settled(budget);
    explore("settled: 1 for 1 beside a foreign child, 1 deletion, 1 loss", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_for_one() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NONE };
    explore_long("2 for 1, 1 loss, 1 expiry, 1 withdrawal", World::new(2, 1, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_for_two() {
    let budget = Budget { withdrawals: 1, ..NONE };
    explore_long("3 for 2, 1 withdrawal", World::new(3, 2, budget).lagging(0));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_settled_for_one() {
    let budget = Budget { losses: 1, expiries: 1, deletions: 1, withdrawals: 1, ..NONE };
    let world = settled(3, 1, budget).lagging(0);
    explore_long("settled: 3 for 1, 1 loss, 1 expiry, 1 deletion, 1 withdrawal", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_settled_for_two() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, deadlines: 1, ..NONE };
    let world = settled(3, 2, budget);
    explore_long("settled: 3 for 2, 1 loss, 1 expiry, 1 deadline, 1 withdrawal", world);
}
