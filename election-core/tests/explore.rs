//! Every interleaving of a small world, breadth-first: requests, replies, changes, lost
//! connections with creates and deletes that are applied late or never, reconnects, expiries,
//! withdrawals, lapsed leases, an operator who deletes and writes.
//!
//! The machine is `Clone`, `Eq` and `Hash`, so a state is simply kept. A broken rule is reported
//! with the shortest way that leads to it. `--nocapture` shows how many states were seen.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a test tool: it fails by panicking"
)]

mod common;

use core::hash::{Hash, Hasher};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashSet, VecDeque};

use common::step::Step;
use common::{Budget, World};
use election_core::{ElectionNode, OnLoss, Policy};

const NO_FAULTS: Budget = Budget {
    losses: 0,
    expiries: 0,
    swaps: 0,
    withdrawals: 0,
    lapses: 0,
    deletions: 0,
    writes: 0,
    wipes: 0,
    stragglers: 0,
};

fn explore(name: &str, start: World) {
    explore_up_to(500_000, name, start);
}

fn explore_long(name: &str, start: World) {
    explore_up_to(30_000_000, name, start);
}

/// Every world is finite, since its faults are: more states than `limit` are a nominee that never
/// comes to rest (C-39).
fn explore_up_to(limit: usize, name: &str, start: World) {
    let mut seen = HashSet::from([fingerprint(&start)]);
    let mut ways: Vec<(usize, Option<Step>)> = vec![(0, None)];
    let mut queue = VecDeque::from([(start, 0)]);
    while let Some((world, way)) = queue.pop_front() {
        if let Err(fault) = world.check() {
            panic!("{name}: {fault}, after {:#?}", way_to(way, &ways));
        }
        assert!(seen.len() <= limit, "{name}: comes to no end");
        for step in world.steps() {
            let mut next = world.clone();
            next.take(step);
            if seen.insert(fingerprint(&next)) {
                ways.push((way, Some(step)));
                queue.push_back((next, ways.len() - 1));
            }
        }
    }
    println!("{name}: {} states", seen.len());
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

fn way_to(mut way: usize, ways: &[(usize, Option<Step>)]) -> Vec<Step> {
    let mut steps = Vec::new();
    while let (from, Some(step)) = ways[way] {
        steps.push(step);
        way = from;
    }
    steps.reverse();
    steps
}

#[test]
fn two_nominees_one_loss_one_withdrawal() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    explore("1 loss, 1 withdrawal", World::new(2, budget));
}

/// C-1, C-3: replies and changes of the old connection come when the new one is at work.
#[test]
fn two_nominees_one_loss_one_expiry_one_straggler() {
    let budget = Budget { losses: 1, expiries: 1, stragglers: 1, ..NO_FAULTS };
    explore("1 loss, 1 expiry, 1 straggler", World::new(2, budget));
}

/// C-15.
#[test]
fn two_nominees_one_handed_out_session() {
    let budget = Budget { losses: 1, swaps: 1, ..NO_FAULTS };
    explore("1 loss, 1 handed out session", World::new(2, budget));
}

/// C-11, C-36.
#[test]
fn two_nominees_an_operator_deletes_and_writes() {
    let budget = Budget { deletions: 1, writes: 1, ..NO_FAULTS };
    explore("1 deletion, 1 write", World::new(2, budget));
}

#[test]
fn two_nominees_two_lapsed_leases_one_loss() {
    let budget = Budget { lapses: 2, losses: 1, ..NO_FAULTS };
    explore("2 lapses, 1 loss", World::new(2, budget));
}

/// C-8, C-77: the counter wraps between the two.
#[test]
fn two_nominees_at_the_wrap_of_the_counter() {
    let budget = Budget { losses: 1, lapses: 1, ..NO_FAULTS };
    explore("wrap, 1 loss, 1 lapse", World::new(2, budget).counting_from(i32::MAX));
}

/// C-30: the election node vanishes.
#[test]
fn two_settled_nominees_an_operator_wipes_the_election() {
    let budget = Budget { wipes: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::settled(2, Policy::default()).facing(budget);
    explore("2 settled nominees, 1 wipe, 1 withdrawal", world);
}

#[test]
fn two_nominees_that_end_with_their_candidate() {
    let policy = Policy { on_loss: OnLoss::End, election_node: ElectionNode::MustExist };
    let budget = Budget { losses: 1, expiries: 1, lapses: 1, ..NO_FAULTS };
    explore("end on loss: 1 loss, 1 expiry, 1 lapse", World::with_policy(2, budget, policy));
}

#[test]
fn three_settled_nominees_one_loss_one_withdrawal() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::settled(3, Policy::default()).facing(budget);
    explore("3 settled nominees, 1 loss, 1 withdrawal", world);
}

/// C-11, C-36.
#[test]
fn three_settled_nominees_an_operator_and_a_withdrawal() {
    let budget = Budget { deletions: 1, writes: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::settled(3, Policy::default()).facing(budget);
    explore("3 settled nominees, 1 deletion, 1 write, 1 withdrawal", world);
}

/// C-2, C-3, C-19: creates in doubt in two sessions, of which the first lives on.
#[test]
fn one_nominee_two_losses_one_handed_out_session_one_straggler() {
    let budget = Budget { losses: 2, swaps: 1, stragglers: 1, ..NO_FAULTS };
    explore("1 nominee, 2 losses, 1 handed out session, 1 straggler", World::new(1, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_two_losses_one_expiry_two_withdrawals() {
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 2, ..NO_FAULTS };
    explore_long("2 losses, 1 expiry, 2 withdrawals", World::new(2, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_losses_stragglers_and_a_handed_out_session() {
    let budget = Budget { losses: 2, swaps: 1, stragglers: 1, ..NO_FAULTS };
    explore_long("2 losses, 1 handed out session, 1 straggler", World::new(2, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_an_operator_a_loss_and_a_withdrawal() {
    let budget = Budget { losses: 1, withdrawals: 1, deletions: 2, writes: 1, ..NO_FAULTS };
    explore_long("1 loss, 1 withdrawal, 2 deletions, 1 write", World::new(2, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_at_the_wrap_with_a_loss_an_expiry_and_a_withdrawal() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    explore_long(
        "wrap, 1 loss, 1 expiry, 1 withdrawal",
        World::new(2, budget).counting_from(i32::MAX),
    );
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_one_loss_one_withdrawal() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    explore_long("3 nominees, 1 loss, 1 withdrawal", World::new(3, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_one_withdrawal() {
    let budget = Budget { withdrawals: 1, ..NO_FAULTS };
    explore_long("3 nominees, 1 withdrawal", World::new(3, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_two_deletions() {
    let budget = Budget { deletions: 2, ..NO_FAULTS };
    explore_long("3 nominees, 2 deletions", World::new(3, budget));
}
