//! Writers that go on as readers: no writer gets in beside them, and nothing is left behind.

use election_core::lock::LockOptions;

use crate::contest::{Budget, NO_FAULTS, World};
use crate::explore::merging_loses_nothing_of;
use crate::lab::ANY_NUMBER;
use crate::lab::explore;

const WRITE: LockOptions = LockOptions::write();
const READ: LockOptions = LockOptions::read();

/// One becomes a reader, and these faults befall it.
const DOWNGRADE: Budget = Budget { own_downgrades: 1, ..NO_FAULTS };

fn settled(locks: &[LockOptions], budget: Budget) -> World {
    World::settled_locks(locks, budget)
}

#[test]
fn merging_loses_nothing_of_a_writer_that_becomes_a_reader() {
    let world = World::locks(&[WRITE], Budget { losses: 2, ..DOWNGRADE }).lagging(1);
    merging_loses_nothing_of("a writer that becomes a reader, 2 losses", world);
    let world = settled(&[WRITE, READ], Budget { withdrawals: 1, deletions: 1, ..DOWNGRADE });
    let world = world.lagging(1);
    merging_loses_nothing_of("a writer that becomes a reader before a reader", world);
}

#[test]
fn a_writer_that_becomes_a_reader() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, lapses: 1, withdrawals: 1, ..DOWNGRADE };
    let world = World::locks(&[WRITE], budget).lagging(2);
    explore("a writer that becomes a reader, any losses, 1 expiry, 1 lapse, 1 release", world);
}

#[test]
fn a_writer_that_becomes_a_reader_an_operator() {
    let budget = Budget { losses: 2, deletions: 2, writes: 1, looks: 1, ..DOWNGRADE };
    let world = settled(&[WRITE], budget).lagging(2);
    explore("a writer that becomes a reader, 2 losses, 2 deletions, 1 write, 1 look", world);
}

#[test]
fn a_writer_that_becomes_a_reader_a_handed_out_session() {
    let budget = Budget { losses: 2, swaps: 1, stragglers: 1, throttles: 1, ..DOWNGRADE };
    let world = settled(&[WRITE], budget).lagging(2);
    explore(
        "a writer that becomes a reader, 2 losses, 1 handed out session, 1 straggler, 1 throttled",
        world,
    );
}

#[test]
fn a_writer_that_becomes_a_reader_before_a_writer() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..DOWNGRADE };
    let world = settled(&[WRITE, WRITE], budget).lagging(2);
    explore(
        "settled: a writer that becomes a reader, a writer, 1 loss, 1 expiry, 1 release",
        world,
    );
}

#[test]
fn a_writer_that_becomes_a_reader_before_a_reader() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..DOWNGRADE };
    let world = settled(&[WRITE, READ], budget).lagging(2);
    explore(
        "settled: a writer that becomes a reader, a reader, 1 loss, 1 expiry, 1 release",
        world,
    );
}

#[test]
fn a_writer_that_becomes_a_reader_and_lapses() {
    let budget = Budget { losses: ANY_NUMBER, lapses: 1, throttles: 1, ..DOWNGRADE };
    let world = settled(&[WRITE, READ], budget).lagging(1);
    explore("settled: a writer that becomes a reader, a reader, any losses, 1 lapse", world);
}

#[test]
fn a_writer_that_becomes_a_reader_before_a_writer_and_a_reader() {
    let budget = Budget { losses: 1, withdrawals: 1, ..DOWNGRADE };
    let world = settled(&[WRITE, WRITE, READ], budget).lagging(1);
    explore(
        "settled: a writer that becomes a reader, a writer, a reader, 1 loss, 1 release",
        world,
    );
}

/// One request, at the writer or at the reader that it becomes.
#[test]
fn a_writer_that_becomes_a_reader_and_is_asked_to_let_go() {
    let budget = Budget { losses: 2, requests: 2, ..DOWNGRADE };
    let world = settled(&[WRITE], budget).lagging(2);
    explore("a writer that becomes a reader, 2 losses, 2 requests", world);
}

#[test]
fn two_writers_that_become_readers() {
    let budget = Budget { losses: 1, withdrawals: 1, own_downgrades: 2, ..NO_FAULTS };
    let world = World::locks(&[WRITE; 2], budget).lagging(1);
    explore("2 writers that become readers, 1 loss, 1 release", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_a_writer_that_becomes_a_reader_before_a_writer_and_a_reader() {
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, requests: 1, ..DOWNGRADE };
    let world = settled(&[WRITE, WRITE, READ], budget).lagging(1);
    explore(
        "settled: a writer that becomes a reader, a writer, a reader, 2 losses, 1 expiry, \
         1 release, 1 request, lag of 1",
        world,
    );
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_writers_that_become_readers_and_a_reader() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, own_downgrades: 2, ..NO_FAULTS };
    let world = World::locks(&[WRITE, WRITE, READ], budget).lagging(1);
    explore(
        "2 writers that become readers, a reader, 1 loss, 1 expiry, 1 release, lag of 1",
        world,
    );
}
