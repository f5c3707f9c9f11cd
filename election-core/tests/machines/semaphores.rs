//! Every order of events in small worlds of contenders for a semaphore.
//!
//! From every state, once nothing goes wrong any more, events end by themselves, and leave as many holders as there
//! are permits, or contenders.

mod anything;
mod broken;
mod contending;
mod laws;

use election_core::lock::WhenBusy;

use self::contending::{Contending, Name, joined, prepared, reaped, world};
use crate::lab::{Budget, Lab, NONE, Right, Tree, Znode, explore, holds_against_unmerged};

/// Makes contenders that are about to connect.
fn new(clients: u8, permits: u32, budget: Budget) -> Lab<Contending> {
    world(clients, permits, prepared(), budget)
}

/// Makes a world of connected contenders at rest: as many hold as the semaphore has permits, the next one waits for
/// one, and the others for their turn.
fn settled(clients: u8, permits: u32, budget: Budget) -> Lab<Contending> {
    new(clients, permits, budget).settled()
}

/// Adds one that does not wait.
fn and_one_that_tries(lab: Lab<Contending>) -> Lab<Contending> {
    joined(lab, WhenBusy::GiveUp)
}

#[test]
fn two_for_one() {
    let b = Budget { withdrawals: 1, ..NONE };
    explore("2 for 1, 1 withdrawal", new(2, 1, b));
    let b = Budget { losses: 1, ..NONE };
    explore("2 for 1, 1 loss", new(2, 1, b).lagging(0));
}

#[test]
fn one_for_one() {
    let b = Budget { losses: 2, withdrawals: 1, ..NONE };
    explore("1 for 1, bare, 2 losses, 1 withdrawal", world(1, 1, Tree::new(), b));
    let b = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NONE };
    explore("1 for 1, 2 losses, 1 expiry, 1 withdrawal", new(1, 1, b));
    let b = Budget { losses: 2, swaps: 1, withdrawals: 1, ..NONE };
    explore("1 for 1, 2 losses, 1 handed out session, 1 withdrawal", new(1, 1, b));
}

#[test]
fn two_for_one_where_nothing_is_prepared() {
    explore("2 for 1, bare", world(2, 1, Tree::new(), NONE).lagging(0));
}

#[test]
fn one_for_one_nodes_that_are_reaped() {
    let b = Budget { deletions: 3, withdrawals: 1, ..NONE };
    explore("1 for 1, 3 reaped, 1 withdrawal", reaped(new(1, 1, b)));
}

#[test]
fn one_and_one_that_tries_for_one() {
    let b = Budget { withdrawals: 1, ..NONE };
    explore("1 and 1 that tries for 1, 1 withdrawal", and_one_that_tries(new(1, 1, b)));
}

#[test]
fn one_that_tries_beside_a_holder_a_loss() {
    let b = Budget { losses: 1, withdrawals: 1, ..NONE };
    let lab = and_one_that_tries(settled(1, 1, b));
    explore("1 that tries beside a holder, 1 loss, 1 withdrawal", lab);
}

#[test]
fn two_settled_for_one() {
    let b = Budget { losses: 2, withdrawals: 2, ..NONE };
    explore("settled: 2 for 1, 2 losses, 2 withdrawals", settled(2, 1, b));
    let b = Budget { deletions: 2, losses: 1, ..NONE };
    explore("settled: 2 for 1, 2 deletions, 1 loss", settled(2, 1, b));
}

#[test]
fn two_settled_for_one_an_expiry() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NONE };
    explore("settled: 2 for 1, 1 loss, 1 expiry, 1 withdrawal", settled(2, 1, b));
}

#[test]
fn two_settled_for_one_a_lapse() {
    let b = Budget { lapses: 1, losses: 2, deadlines: 1, ..NONE };
    explore("settled: 2 for 1, 1 lapse, 2 losses, 1 deadline", settled(2, 1, b));
}

#[test]
fn two_settled_for_one_a_handed_out_session() {
    let b = Budget { losses: 2, swaps: 1, withdrawals: 1, ..NONE };
    let lab = settled(2, 1, b).lagging(0);
    explore("settled: 2 for 1, 2 losses, 1 handed out session, 1 withdrawal", lab);
}

/// Among what an operator deletes is the znode of the turn.
#[test]
fn three_settled_for_one_a_deletion() {
    let b = Budget { deletions: 1, withdrawals: 1, ..NONE };
    explore("settled: 3 for 1, 1 deletion, 1 withdrawal", settled(3, 1, b));
}

#[test]
fn three_settled_for_one_a_deadline() {
    let b = Budget { deadlines: 1, withdrawals: 1, losses: 1, ..NONE };
    let lab = settled(3, 1, b).lagging(0);
    explore("settled: 3 for 1, 1 deadline, 1 withdrawal, 1 loss", lab);
}

#[test]
fn two_permits() {
    let b = Budget { withdrawals: 2, ..NONE };
    explore("settled: 3 for 2, 2 withdrawals", settled(3, 2, b));
    let b = Budget { withdrawals: 1, ..NONE };
    let lab = joined(joined(settled(1, 2, b), WhenBusy::Wait), WhenBusy::Wait);
    explore("2 join 1 holder of 2, 1 withdrawal", lab.lagging(0));
}

/// The turn may come back before the znode of the permit is gone.
#[test]
fn two_settled_for_one_throttled() {
    let b = Budget { throttles: 2, withdrawals: 1, looks: 1, ..NONE };
    explore("settled: 2 for 1, 2 throttled, 1 look, 1 withdrawal", settled(2, 1, b));
    let b = Budget { throttles: 2, deletions: 1, ..NONE };
    explore("settled: 2 for 1, 2 throttled, 1 deletion", settled(2, 1, b));
}

#[test]
fn one_beside_a_foreign_child() {
    let b = Budget { deletions: 1, losses: 1, ..NONE };
    let mut tree = prepared();
    tree.insert(Name::Foreign, Znode::new(9, 0));
    let lab = world(1, 1, tree, b).settled();
    explore("settled: 1 for 1 beside a foreign child, 1 deletion, 1 loss", lab);
}

const FAULTS: [(&str, Budget); 20] = [
    ("1 expiry", Budget { expiries: 1, ..NONE }),
    ("1 lie", Budget { lies: 1, ..NONE }),
    ("1 swap", Budget { swaps: 1, losses: 1, ..NONE }),
    ("1 killed", Budget { crashes: 1, ..NONE }),
    ("1 withdrawal", Budget { withdrawals: 1, ..NONE }),
    ("1 deadline", Budget { deadlines: 1, ..NONE }),
    ("1 lapse", Budget { lapses: 1, losses: 1, ..NONE }),
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
    ("1 bar", Budget { bars: 1, ..NONE }),
];

#[test]
fn each_fault_befalls_one_contender() {
    for (fault, budget) in FAULTS {
        let budget = Budget { losses: budget.losses + 1, ..budget };
        let lab = new(1, 1, budget).forbidding(&[Right::Create, Right::List, Right::Delete]);
        explore(&format!("1 for 1, {fault}, 1 loss"), lab);
    }
}

#[test]
fn each_fault_befalls_two_contenders() {
    for (fault, budget) in FAULTS {
        let budget = Budget { withdrawals: budget.withdrawals + 1, ..budget };
        let lab = settled(2, 1, budget).forbidding(&[Right::Create, Right::List, Right::Delete]);
        explore(&format!("settled: 2 for 1, {fault}, 1 withdrawal"), lab);
    }
}

/// Worlds that count as one are alike.
#[test]
fn worlds_are_merged_by_right() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NONE };
    holds_against_unmerged(settled(2, 1, b), 20_000);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_for_one() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NONE };
    explore("2 for 1, 1 loss, 1 expiry, 1 withdrawal", new(2, 1, b));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_for_two() {
    let b = Budget { withdrawals: 1, ..NONE };
    explore("3 for 2, 1 withdrawal", new(3, 2, b).lagging(0));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_settled_for_one() {
    let b = Budget { losses: 1, expiries: 1, deletions: 1, withdrawals: 1, ..NONE };
    let lab = settled(3, 1, b).lagging(0);
    explore("settled: 3 for 1, 1 loss, 1 expiry, 1 deletion, 1 withdrawal", lab);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_settled_for_two() {
    let b = Budget { losses: 1, expiries: 1, withdrawals: 1, deadlines: 1, ..NONE };
    let lab = settled(3, 2, b);
    explore("settled: 3 for 2, 1 loss, 1 expiry, 1 deadline, 1 withdrawal", lab);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_fault_befalls_two_contenders() {
    for (fault, budget) in FAULTS {
        let budget =
            Budget { losses: budget.losses + 1, withdrawals: budget.withdrawals + 1, ..budget };
        let lab = settled(2, 1, budget).forbidding(&[Right::Create, Right::List, Right::Delete]);
        explore(&format!("settled: 2 for 1, {fault}, 1 withdrawal, 1 loss more"), lab);
    }
}
