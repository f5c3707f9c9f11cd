//! The worlds of nominees with a lock delay.

use super::*;
use crate::lab::{explore, holds_against_unmerged};

#[test]
fn leaders_that_resign_and_expire() {
    let budget = Budget { expiries: 1, ..NONE };
    explore("1, 1 expiry, 1 withdrawal", world(1, withdrawals(1), budget));
    explore("2 settled, 1 expiry, 1 withdrawal", world(2, withdrawals(1), budget));
    let budget = Budget { expiries: 2, ..NONE };
    explore("2 settled, 2 expiries", world(2, withdrawals(0), budget));
}

#[test]
fn leaders_whose_connections_are_lost() {
    let budget = Budget { losses: 1, ..NONE };
    explore("2 settled, 1 loss, 1 withdrawal", world(2, withdrawals(1), budget));
    let budget = Budget { losses: 1, expiries: 1, ..NONE };
    explore("2 settled, 1 loss, 1 expiry, 1 withdrawal", world(2, withdrawals(1), budget));
    let budget = Budget { losses: 2, expiries: 1, ..NONE };
    explore("1, 2 losses, 1 expiry", world(1, withdrawals(0), budget));
}

#[test]
fn leaders_that_step_down() {
    let model = |steps_down| Delays { steps_down, ..Delays::default() };
    let budget = Budget { losses: 1, ..NONE };
    explore("2 settled, 2 step down, 1 loss", world(2, model(2), budget));
    let budget = Budget { expiries: 1, ..NONE };
    explore("2 settled, 1 steps down, 1 expiry", world(2, model(1), budget));
}

#[test]
fn leaders_whose_leases_lapse() {
    let budget = Budget { lapses: 1, losses: 1, ..NONE };
    explore("2 settled, 1 lapse, 1 loss, 1 withdrawal", world(2, withdrawals(1), budget));
    let lab = with_policy(2, OnLoss::StandUntilElected, withdrawals(1), budget);
    explore("2 settled that end, 1 lapse, 1 loss, 1 withdrawal", lab);
}

#[test]
fn leaders_that_are_evicted_or_whose_mark_is_deleted() {
    let budget = Budget { deletions: 1, losses: 1, ..NONE };
    explore("2 settled, 1 evicted, 1 withdrawal", world(2, withdrawals(1), budget));
    let budget = Budget { expiries: 1, ..NONE };
    let model = Delays { erasures: 1, ..withdrawals(1) };
    explore("2 settled, 1 mark deleted, 1 expiry", world(2, model, budget));
}

#[test]
fn leaders_whose_work_did_not_end() {
    let budget = Budget { losses: 1, ..NONE };
    let model = Delays { unclean: 1, ..withdrawals(1) };
    explore("2 settled, 1 unclean, 1 withdrawal", world(2, model, budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_fault_befalls_a_lock_delay() {
    let two = |n, budget| world(2, withdrawals(n), budget).lagging(2);
    let b = Budget { halves: 2, losses: 1, ..NONE };
    explore("1 withdrawal, 2 halves, 1 loss", two(1, b));
    let b = Budget { halves: 1, losses: 1, expiries: 1, ..NONE };
    explore("1 withdrawal, 1 half, 1 loss, 1 expiry", two(1, b));
    let b = Budget { looks: 2, losses: 1, ..NONE };
    explore("1 withdrawal, 2 looks, 1 loss", two(1, b));
    let b = Budget { lost_watches: 2, losses: 1, ..NONE };
    explore("1 withdrawal, 2 watches lost, 1 loss", two(1, b));
    let b = Budget { dropped_watches: 2, losses: 1, ..NONE };
    explore("1 withdrawal, 2 watches dropped, 1 loss", two(1, b));
    let b = Budget { throttles: 2, losses: 1, ..NONE };
    explore("1 withdrawal, 2 throttles, 1 loss", two(1, b));
    let b = Budget { throttles: 1, expiries: 1, ..NONE };
    explore("1 withdrawal, 1 throttle, 1 expiry", two(1, b));
    let b = Budget { refusals: 1, ..NONE };
    explore("1 withdrawal, 1 refusal", two(1, b));
    let b = Budget { refusals: 1, losses: 1, expiries: 1, ..NONE };
    explore("1 refusal, 1 loss, 1 expiry", two(0, b));
    let b = Budget { lies: 1, losses: 1, ..NONE };
    explore("1 withdrawal, 1 lie, 1 loss", two(1, b));
    let b = Budget { swaps: 1, losses: 1, ..NONE };
    explore("1 withdrawal, 1 swap, 1 loss", two(1, b));
    let b = Budget { stragglers: 1, losses: 1, ..NONE };
    explore("1 withdrawal, 1 straggler, 1 loss", two(1, b));
    let b = Budget { bars: 1, expiries: 1, ..NONE };
    explore("1 withdrawal, 1 bar, 1 expiry", two(1, b));
    let b = Budget { crashes: 1, losses: 1, ..NONE };
    explore("1 withdrawal, 1 killed, 1 loss", two(1, b));
    let model = Delays { steps_down: 1, ..withdrawals(0) };
    let b = Budget { halves: 1, losses: 1, looks: 1, ..NONE };
    explore("1 steps down, 1 half, 1 loss, 1 look", world(2, model.clone(), b).lagging(2));
    let b = Budget { lies: 1, throttles: 1, ..NONE };
    explore("1 steps down, 1 lie, 1 throttle", world(2, model, b).lagging(2));
}

/// Worlds that count as one are alike.
#[test]
fn worlds_are_merged_by_right() {
    let budget = Budget { losses: 1, expiries: 1, throttles: 1, ..NONE };
    holds_against_unmerged(world(2, withdrawals(1), budget).lagging(2), 20_000);
}
