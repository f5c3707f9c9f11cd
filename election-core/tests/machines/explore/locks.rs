//! Locks and shared locks: the same laws, where readers hold together.

use election_core::lock::{LockOptions, WhenBusy};

use crate::contest::candidates::{Candidate, Kind};
use crate::contest::worlds::FOREIGN;
use crate::contest::{Budget, NO_FAULTS, World};
use crate::explore::merging_loses_nothing_of;
use crate::lab::ANY_NUMBER;
use crate::lab::explore;

const LOCK: LockOptions = LockOptions::exclusive();
const WRITE: LockOptions = LockOptions::write();
const READ: LockOptions = LockOptions::read();

const fn trying(options: LockOptions) -> LockOptions {
    LockOptions { when_busy: WhenBusy::GiveUp, ..options }
}

/// Makes a world of connected contenders, in their order, and at rest.
fn settled(locks: &[LockOptions], budget: Budget) -> World {
    World::settled_locks(locks, budget)
}

/// Makes a world in which a writer that is no client of it has the lock.
fn behind_a_foreign_writer(locks: &[LockOptions], budget: Budget) -> World {
    let name = Candidate { sequence: 0, client: 9, attempt: 0, kind: Kind::Write };
    World::locks(locks, budget).beside(name, Some(FOREIGN))
}

#[test]
fn merging_loses_nothing_of_readers_and_writers() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, READ], budget).lagging(1);
    merging_loses_nothing_of("a writer, a reader", world);
    let budget = Budget { withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    let world = World::locks(&[READ, WRITE], budget).lagging(1);
    merging_loses_nothing_of("a reader, a writer, 1 deadline", world);
    let budget = Budget { downgrades: 1, ..NO_FAULTS };
    let world = behind_a_foreign_writer(&[WRITE], budget).lagging(1);
    merging_loses_nothing_of("a writer behind another library's", world);
}

#[test]
fn two_locks() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, lapses: 1, ..NO_FAULTS };
    explore("2 locks, any losses, 1 expiry, 1 lapse", World::locks(&[LOCK; 2], budget).lagging(2));
}

#[test]
fn three_locks_one_released() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK; 3], budget).lagging(1);
    explore("3 locks, 1 loss, 1 released or given up", world);
}

/// A lock that was held and is lost ends, and is not held again.
#[test]
fn two_settled_locks_an_operator() {
    let budget = Budget { losses: 1, deletions: 1, writes: 1, lapses: 1, ..NO_FAULTS };
    let world = settled(&[LOCK; 2], budget).lagging(2);
    explore("2 settled locks, 1 loss, 1 deletion, 1 write, 1 lapse", world);
}

#[test]
fn two_locks_that_pass_their_deadlines() {
    let budget = Budget { losses: 1, expiries: 1, deadlines: 2, ..NO_FAULTS };
    let world = World::locks(&[LOCK; 2], budget).lagging(1);
    explore("2 locks, 1 loss, 1 expiry, 2 deadlines", world);
}

#[test]
fn a_lock_and_one_that_does_not_wait() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, trying(LOCK)], budget).lagging(2);
    explore("a lock, one that tries, 1 loss, 1 expiry, 1 withdrawal", world);
}

#[test]
fn two_locks_that_do_not_wait() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, ..NO_FAULTS };
    let world = World::locks(&[trying(LOCK); 2], budget).lagging(2);
    explore("2 locks that try, any losses, 1 expiry", world);
}

/// The session is replaced by another one while the old one lives, with the znode.
#[test]
fn a_lock_and_one_that_does_not_wait_a_handed_out_session() {
    let budget = Budget { losses: 1, swaps: 1, stragglers: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, trying(LOCK)], budget).lagging(1);
    explore("a lock, one that tries, 1 loss, 1 handed out session, 1 straggler", world);
}

#[test]
fn a_writer_and_a_reader() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, lapses: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, READ], budget).lagging(2);
    explore("a writer, a reader, any losses, 1 expiry, 1 lapse", world);
}

#[test]
fn a_writer_and_a_reader_one_leaves() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, READ], budget).lagging(1);
    explore("a writer, a reader, 1 loss, 1 expiry, 1 withdrawal, 1 deadline, lag of 1", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_a_writer_and_a_reader_one_leaves() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, READ], budget).lagging(2);
    explore("a writer, a reader, 1 loss, 1 expiry, 1 withdrawal, 1 deadline", world);
}

#[test]
fn a_writer_and_two_readers() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, READ, READ], budget).lagging(1);
    explore("a writer, 2 readers, 1 loss, 1 withdrawal", world);
}

#[test]
fn two_writers_and_a_reader() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, WRITE, READ], budget).lagging(1);
    explore("2 writers, a reader, 1 loss, 1 withdrawal", world);
}

/// The reader waits for the writer, which waits for a reader, and gives up.
#[test]
fn a_reader_behind_a_writer_that_gives_up() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 2, ..NO_FAULTS };
    let world = settled(&[READ, WRITE, READ], budget).lagging(2);
    explore("settled: a reader, a writer, a reader, 1 loss, 1 expiry, 2 withdrawals", world);
}

#[test]
fn a_reader_behind_two_writers() {
    let budget = Budget { losses: 1, withdrawals: 2, deadlines: 1, ..NO_FAULTS };
    let world = settled(&[WRITE, WRITE, READ], budget).lagging(2);
    explore("settled: 2 writers, a reader, 1 loss, 2 withdrawals, 1 deadline", world);
}

#[test]
fn a_writer_behind_two_readers() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 2, ..NO_FAULTS };
    let world = settled(&[READ, READ, WRITE], budget).lagging(2);
    explore("settled: 2 readers, a writer, 1 loss, 1 expiry, 2 withdrawals", world);
}

#[test]
fn settled_readers_and_a_writer_an_operator() {
    let budget = Budget { deletions: 1, writes: 1, ..NO_FAULTS };
    let world = settled(&[READ, WRITE, READ], budget).lagging(2);
    explore("settled: a reader, a writer, a reader, 1 deletion, 1 write", world);
}

#[test]
fn a_reader_and_a_writer_a_barred_znode() {
    let budget = Budget { losses: 1, bars: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[READ, WRITE], budget).lagging(1);
    explore("a reader, a writer, 1 barred, 1 loss, 1 withdrawal", world);
}

#[test]
fn a_reader_that_does_not_wait() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = settled(&[READ, WRITE], budget).lagging(2).joined_by(trying(READ));
    explore("settled: a reader, a writer; a reader that tries, 1 loss, 1 withdrawal", world);
}

/// CURATOR-621: the reader that a writer of Curator's becomes stands in the writer's place.
#[test]
fn contenders_behind_a_writer_that_becomes_a_reader() {
    let budget = Budget { losses: 1, withdrawals: 1, downgrades: 1, ..NO_FAULTS };
    let world = behind_a_foreign_writer(&[WRITE], budget).lagging(2);
    explore("a writer behind a foreign writer that becomes a reader", world);
    let world = behind_a_foreign_writer(&[WRITE, READ], budget).lagging(1);
    explore("a writer and a reader behind a foreign writer that becomes a reader", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_a_writer_and_two_readers() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, READ, READ], budget).lagging(1);
    explore("a writer, 2 readers, 1 loss, 1 expiry, 1 withdrawal, lag of 1", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_writers_and_a_reader() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[WRITE, WRITE, READ], budget).lagging(1);
    explore("2 writers, a reader, 1 loss, 1 expiry, 1 withdrawal, lag of 1", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_locks_and_one_that_does_not_wait() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, LOCK, trying(LOCK)], budget).lagging(1);
    explore("2 locks, one that tries, 1 loss, 1 expiry, 1 withdrawal, 1 deadline, lag of 1", world);
}
