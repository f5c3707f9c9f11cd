//! Contenders that are asked to let go: each is told once, and none is overlooked.

use election_core::lock::{LockOptions, WhenBusy};

use crate::contest::{Budget, NO_FAULTS, World};
use crate::explore::merging_loses_nothing_of;
use crate::lab::ANY_NUMBER;
use crate::lab::explore;

const LOCK: LockOptions = LockOptions::exclusive();
const WRITE: LockOptions = LockOptions::write();
const READ: LockOptions = LockOptions::read();
const TRY: LockOptions = LockOptions { when_busy: WhenBusy::GiveUp, ..LOCK };

#[test]
fn merging_loses_nothing_of_requests() {
    let budget = Budget { losses: 1, requests: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK], budget).lagging(1);
    merging_loses_nothing_of("a lock, 1 request", world);
    let budget = Budget { requests: 2, writes: 1, ..NO_FAULTS };
    let world = World::settled_locks(&[LOCK; 2], budget).lagging(1);
    merging_loses_nothing_of("2 settled locks, 2 requests, 1 write", world);
}

#[test]
fn a_lock_that_is_asked_for() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, requests: 2, lapses: 1, ..NO_FAULTS };
    explore("a lock, any losses, 1 expiry, 2 requests", World::locks(&[LOCK], budget).lagging(2));
}

/// The request may be written to a contender that waits, and is then told at the latest once it holds.
#[test]
fn two_locks_that_are_asked_for() {
    let budget = Budget { losses: 1, withdrawals: 1, requests: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK; 2], budget).lagging(1);
    explore("2 locks, 1 loss, 1 withdrawal, 1 request", world);
    let budget = Budget { expiries: 1, withdrawals: 1, requests: 2, ..NO_FAULTS };
    let world = World::locks(&[LOCK; 2], budget).lagging(1);
    explore("2 locks, 1 expiry, 1 withdrawal, 2 requests", world);
}

/// An operator takes a request back by what it writes, and another client asks again.
#[test]
fn two_settled_locks_that_are_asked_for_again() {
    let budget = Budget { losses: 1, requests: 2, writes: 1, deletions: 1, ..NO_FAULTS };
    let world = World::settled_locks(&[LOCK; 2], budget).lagging(1);
    explore("2 settled locks, 1 loss, 2 requests, 1 write, 1 deletion, lag of 1", world);
}

#[test]
fn two_settled_locks_that_are_asked_for_and_look() {
    let budget = Budget { requests: 1, lost_watches: 1, looks: 2, withdrawals: 1, ..NO_FAULTS };
    let world = World::settled_locks(&[LOCK; 2], budget).lagging(2);
    explore("2 settled locks, 1 request, 1 lost watch, 2 looks, 1 withdrawal", world);
}

#[test]
fn a_lock_that_is_found_again_with_a_request() {
    let budget = Budget { losses: 2, swaps: 1, stragglers: 1, requests: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK], budget).lagging(1);
    explore("a lock, 2 losses, 1 handed out session, 1 straggler, 1 request", world);
}

#[test]
fn a_lock_and_one_that_does_not_wait_that_are_asked_for() {
    let budget = Budget { losses: 1, requests: 1, throttles: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, TRY], budget).lagging(1);
    explore("a lock, one that tries, 1 loss, 1 request, 1 throttled", world);
}

#[test]
fn readers_and_a_writer_that_are_asked_for() {
    let budget = Budget { losses: 1, requests: 2, withdrawals: 1, ..NO_FAULTS };
    let world = World::settled_locks(&[READ, WRITE, READ], budget).lagging(1);
    explore("settled: a reader, a writer, a reader, 1 loss, 2 requests, 1 withdrawal", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_locks_that_are_asked_for() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, requests: 2, ..NO_FAULTS };
    let world = World::locks(&[LOCK; 2], budget).lagging(1);
    explore("2 locks, 1 loss, 1 expiry, 1 withdrawal, 2 requests", world);
    let budget = Budget { losses: 1, requests: 2, writes: 1, deletions: 1, ..NO_FAULTS };
    let world = World::settled_locks(&[LOCK; 2], budget).lagging(2);
    explore("2 settled locks, 1 loss, 2 requests, 1 write, 1 deletion", world);
}
