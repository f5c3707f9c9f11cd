//! Formats with names that do not tell the own znode from others, and mixes of formats.

use election_core::SessionId;
use election_core::format::Format;
use election_core::lock::{LockOptions, WhenBusy};

use crate::contest::candidates::{Candidate, Kind, UNTOLD};
use crate::contest::worlds::FOREIGN;
use crate::contest::{Budget, NO_FAULTS, World};
use crate::explore::merging_loses_nothing_of;
use crate::lab::ANY_NUMBER;
use crate::lab::explore;

const PLAIN: Format = Format::leader_election_support();
const SESSION: Format = Format::zookeeper_write_lock();
const LATCH: Format = Format::curator_latch();
const LOCK: LockOptions = LockOptions::exclusive();
const READ: LockOptions = LockOptions::read();
const WRITE: LockOptions = LockOptions::write();

const fn lock_in(format: Format) -> LockOptions {
    LockOptions { format, ..LOCK }
}

/// Puts a sequential child of another format into the world.
fn beside(kind: Kind, owner: Option<SessionId>, world: World) -> World {
    let client = if kind == Kind::Plain { UNTOLD } else { 9 };
    world.beside(Candidate { sequence: 0, client, attempt: 0, kind }, owner)
}

#[test]
fn merging_loses_nothing_of_formats_without_ids() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    for format in [PLAIN, SESSION] {
        let world = World::in_format(2, format, budget).lagging(2);
        merging_loses_nothing_of("2 nominees without ids", world);
    }
    let budget = Budget { losses: 1, expiries: 1, ..NO_FAULTS };
    let world = beside(Kind::Plain, Some(FOREIGN), World::in_format(2, LATCH, budget)).lagging(1);
    merging_loses_nothing_of("2 nominees beside one of another format", world);
}

#[test]
fn two_nominees_without_ids() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, lapses: 1, ..NO_FAULTS };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, any losses, 1 expiry, 1 lapse");
        explore(&name, World::in_format(2, format, budget).lagging(2));
    }
}

/// Servers before 3.5 do not tell the metadata of what they create.
#[test]
fn two_nominees_without_ids_and_without_create2() {
    let budget = Budget { losses: ANY_NUMBER, expiries: 1, ..NO_FAULTS };
    let world = World::in_format(2, PLAIN, budget).without_create2().lagging(1);
    explore("2 nominees in n_ before 3.5, any losses, 1 expiry", world);
}

#[test]
fn three_nominees_without_ids() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("3 nominees in n_, 1 loss", World::in_format(3, PLAIN, budget).lagging(1));
}

#[test]
fn two_nominees_without_ids_a_withdrawal() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, 1 loss, 1 expiry, 1 withdrawal");
        explore(&name, World::in_format(2, format, budget).lagging(1));
    }
}

/// Replies and changes of the old connection come when the new one is at work.
#[test]
fn two_nominees_without_ids_a_straggler() {
    let budget = Budget { losses: 2, stragglers: 1, ..NO_FAULTS };
    explore(
        "2 nominees in n_, 2 losses, 1 straggler",
        World::in_format(2, PLAIN, budget).lagging(1),
    );
}

/// The znode of the former session is another's now, and stands until that session ends.
#[test]
fn two_nominees_without_ids_a_handed_out_session() {
    let budget = Budget { losses: 1, swaps: 1, withdrawals: 1, ..NO_FAULTS };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, 1 loss, 1 handed out session, 1 withdrawal");
        explore(&name, World::in_format(2, format, budget).lagging(1));
    }
}

/// The session's znode is the nomination's; another process may have created it.
#[test]
fn two_nominees_without_ids_a_hand_over() {
    let budget = Budget { losses: 1, expiries: 1, handovers: 1, ..NO_FAULTS };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, 1 hand-over, 1 loss, 1 expiry");
        explore(&name, World::in_format(2, format, budget).lagging(1));
    }
}

#[test]
fn two_nominees_without_ids_an_operator() {
    let budget = Budget { losses: 1, deletions: 1, writes: 1, ..NO_FAULTS };
    let world = World::in_format(2, PLAIN, budget).lagging(1);
    explore("2 nominees in n_, 1 loss, 1 deletion, 1 write", world);
    let budget = Budget { losses: 1, deletions: 1, bars: 1, ..NO_FAULTS };
    let world = World::in_format(2, PLAIN, budget).lagging(1);
    explore("2 nominees in n_, 1 loss, 1 deletion, 1 barred", world);
}

/// The election node is made again, and counts from 0: a name is another's by then.
#[test]
fn two_nominees_without_ids_an_operator_wipes_the_election() {
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let budget = Budget { wipes: 1, withdrawals: 1, ..NO_FAULTS };
        let world = World::in_format(2, format, budget).lagging(2);
        explore(&format!("2 nominees in {name}, 1 wipe, 1 withdrawal, lag of 2"), world);
        let budget = Budget { wipes: 1, deadlines: 1, ..NO_FAULTS };
        let world = World::in_format(2, format, budget).lagging(1);
        explore(&format!("2 nominees in {name}, 1 wipe, 1 steps down"), world);
        let budget = Budget { losses: 1, wipes: 1, withdrawals: 1, ..NO_FAULTS };
        let world = World::in_format(1, format, budget).lagging(1);
        explore(&format!("1 nominee in {name}, 1 wipe, 1 loss, 1 withdrawal"), world);
    }
}

/// A deletion that was not looked at is no longer one of what the nominee has just seen.
#[test]
fn a_nominee_without_ids_throttled_while_it_leaves() {
    let budget = Budget { throttles: 2, wipes: 1, withdrawals: 1, writes: 1, ..NO_FAULTS };
    let world = World::in_format(1, PLAIN, budget).lagging(1);
    explore("1 nominee in n_, 2 throttled, 1 wipe, 1 withdrawal, 1 write", world);
}

/// A search that is refused, or not looked at.
#[test]
fn two_nominees_without_ids_throttled_and_refused() {
    let budget = Budget { losses: 1, throttles: 1, refusals: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::in_format(2, PLAIN, budget).lagging(1);
    explore("2 nominees in n_, 1 loss, 1 throttled, 1 refused, 1 withdrawal", world);
}

/// Numbers that recur are looked for, too.
#[test]
fn two_nominees_without_ids_at_the_end_of_the_counter() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    let world = World::in_format(2, PLAIN, budget).counting_from(i32::MAX - 1).lagging(1);
    explore("2 nominees in n_, end of the counter, 1 loss", world);
}

#[test]
fn two_locks_without_ids() {
    let budget = Budget { losses: 1, expiries: 1, deadlines: 1, ..NO_FAULTS };
    let options = [lock_in(PLAIN), lock_in(PLAIN)];
    let world = World::locks(&options, budget).lagging(1);
    explore("2 locks in n_, 1 loss, 1 expiry, 1 deadline", world);
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let tries = LockOptions { when_busy: WhenBusy::GiveUp, ..lock_in(SESSION) };
    let world = World::locks(&[lock_in(SESSION), tries], budget).lagging(1);
    explore("a lock in x-<session>-, one that tries, 1 loss, 1 expiry, 1 withdrawal", world);
}

/// None leads while one of another format may.
#[test]
fn two_nominees_beside_one_of_another_format() {
    let budget = Budget { losses: 1, withdrawals: 1, looks: 1, ..NO_FAULTS };
    for (name, format, kind) in
        [("_c_<uuid>-latch-", LATCH, Kind::Plain), ("n_", PLAIN, Kind::Latch)]
    {
        let world = beside(kind, Some(FOREIGN), World::in_format(2, format, budget)).lagging(1);
        let name =
            format!("2 nominees in {name} beside another format, 1 loss, 1 withdrawal, 1 look");
        explore(&name, world);
    }
}

/// A znode that goes with no session leads nothing.
#[test]
fn two_nominees_beside_a_persistent_child_and_one_of_another_format() {
    let budget = Budget { losses: 1, withdrawals: 1, deletions: 1, ..NO_FAULTS };
    let world = beside(Kind::Lock, None, World::in_format(2, LATCH, budget));
    explore("2 nominees beside a persistent child, 1 loss, 1 withdrawal", world.lagging(1));
    let budget = Budget { losses: 1, ..NO_FAULTS };
    let world = beside(Kind::Lock, None, World::in_format(2, LATCH, budget));
    let world = beside(Kind::Plain, Some(FOREIGN), world).lagging(1);
    explore("2 nominees beside a persistent child and another format, 1 loss", world);
}

/// ZOOKEEPER-4799: its end goes unheard, and shows at a look.
#[test]
fn two_nominees_beside_a_barred_one_of_another_format() {
    let budget = Budget { losses: 1, bars: 1, ..NO_FAULTS };
    let world = beside(Kind::Plain, Some(FOREIGN), World::in_format(2, LATCH, budget)).lagging(1);
    explore("2 nominees beside another format, 1 loss, 1 barred", world);
}

/// A server forbids to look at it: no nominee fails over it, with or without ids.
#[test]
fn two_nominees_beside_one_that_may_not_be_read() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    for (name, format) in [("another format", LATCH), ("n_", PLAIN)] {
        let world = World::in_format(2, format, budget);
        let world = beside(Kind::Plain, Some(FOREIGN), world).barred().lagging(1);
        explore(&format!("2 nominees beside one in {name} that is barred, 1 loss"), world);
    }
}

/// Curator's lock and its read/write lock at one node: none waits for one that waits for it.
#[test]
fn locks_of_two_formats() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, WRITE], budget).lagging(1);
    explore("a lock, a writer of another format, 1 loss, 1 expiry, 1 withdrawal", world);
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[READ, lock_in(PLAIN)], budget).lagging(1);
    explore("a reader, a lock in n_, 1 loss, 1 withdrawal", world);
    let budget = Budget { losses: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, WRITE, WRITE], budget).lagging(1);
    explore("a lock, 2 writers of another format, 1 loss", world);
    let world = World::locks(&[WRITE, LOCK, LOCK], budget).lagging(1);
    explore("a writer, 2 locks of another format, 1 loss", world);
}

/// The one that tries is refused, or gives up.
#[test]
fn a_lock_and_one_of_another_format_that_does_not_wait() {
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let tries = LockOptions { when_busy: WhenBusy::GiveUp, ..WRITE };
    let world = World::locks(&[LOCK, tries], budget).lagging(1);
    explore("a lock, a writer of another format that tries, 1 loss, 1 withdrawal", world);
}

/// Curator's lock and its read/write lock at one node.
#[test]
fn locks_beside_one_of_another_format() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = beside(Kind::Lock, Some(FOREIGN), World::locks(&[READ, READ], budget)).lagging(1);
    explore("2 readers beside a lock, 1 loss, 1 expiry, 1 withdrawal", world);
    let budget = Budget { losses: 1, withdrawals: 1, ..NO_FAULTS };
    let tries = LockOptions { when_busy: WhenBusy::GiveUp, ..LOCK };
    let world = beside(Kind::Read, Some(FOREIGN), World::locks(&[LOCK, tries], budget)).lagging(1);
    explore("a lock, one that tries, beside a reader, 1 loss, 1 withdrawal", world);
}

/// What the short form has with one fault less.
#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_without_ids_a_hand_over_or_a_withdrawal() {
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, handovers: 1, ..NO_FAULTS };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, 1 hand-over, 1 loss, 1 expiry, 1 withdrawal");
        explore(&name, World::in_format(2, format, budget).lagging(1));
    }
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, 2 losses, 1 expiry, 1 withdrawal");
        explore(&name, World::in_format(2, format, budget).lagging(1));
    }
}

#[test]
#[ignore = "long form: run with --release"]
fn long_locks_without_ids_and_of_two_formats() {
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let tries = LockOptions { when_busy: WhenBusy::GiveUp, ..lock_in(SESSION) };
    let world = World::locks(&[lock_in(SESSION), tries], budget).lagging(1);
    explore("a lock in x-<session>-, one that tries, 2 losses, 1 expiry, 1 withdrawal", world);
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::locks(&[READ, lock_in(PLAIN)], budget).lagging(1);
    explore("a reader, a lock in n_, 1 loss, 1 expiry, 1 withdrawal", world);
    let tries = LockOptions { when_busy: WhenBusy::GiveUp, ..LOCK };
    let world = beside(Kind::Read, Some(FOREIGN), World::locks(&[LOCK, tries], budget)).lagging(1);
    explore("a lock, one that tries, beside a reader, 1 loss, 1 expiry, 1 withdrawal", world);
    let budget = Budget { losses: 1, looks: 1, ..NO_FAULTS };
    let world = World::locks(&[LOCK, WRITE, WRITE], budget).lagging(1);
    explore("a lock, 2 writers of another format, 1 loss, 1 look", world);
    let world = World::locks(&[WRITE, LOCK, LOCK], budget).lagging(1);
    explore("a writer, 2 locks of another format, 1 loss, 1 look", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_without_ids_an_operator_or_a_deadline() {
    let budget = Budget { losses: 1, deletions: 1, writes: 1, bars: 1, ..NO_FAULTS };
    let world = World::in_format(2, PLAIN, budget).lagging(1);
    explore("2 nominees in n_, 1 loss, 1 deletion, 1 write, 1 barred", world);
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, deadlines: 1, ..NO_FAULTS };
    let world = World::locks(&[lock_in(PLAIN), lock_in(PLAIN)], budget).lagging(1);
    explore("2 locks in n_, 2 losses, 1 expiry, 1 withdrawal, 1 deadline", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_three_nominees_without_ids() {
    let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    let world = World::in_format(3, PLAIN, budget).lagging(1);
    explore("3 nominees in n_, 2 losses, 1 expiry, 1 withdrawal, lag of 1", world);
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_nominees_without_ids_any_faults() {
    let budget = Budget {
        losses: ANY_NUMBER,
        expiries: ANY_NUMBER,
        lapses: ANY_NUMBER,
        withdrawals: 1,
        ..NO_FAULTS
    };
    for (name, format) in [("n_", PLAIN), ("x-<session>-", SESSION)] {
        let name = format!("2 nominees in {name}, any faults, 1 withdrawal");
        explore(&name, World::in_format(2, format, budget).lagging(2));
    }
}
