//! Every order of events for a few nominees with a lock delay, by servers that lag.
//!
//! The election is a row of trees, of which each is what a commit has left; each nominee's server has applied
//! a part of them. Requests are executed or lost with their connection, and executed late, or never; sessions
//! expire, leases lapse, leaders resign and step down, an operator deletes candidates and the mark. The time
//! of the delay passes as an event.
//!
//! In every state: a nominee is told that it leads only if the leader before it has said that it ended, and
//! a server has committed that, or the delay has passed since its promotion; and none waits for a leader
//! that has said so. Where nothing is on its way any more, one leads, and the mark is its own.

mod client;
#[path = "barriers/search.rs"]
mod search;
mod server;
mod step;
mod world;

use election_core::OnLoss;

use search::explore;
use step::Budget;
use world::World;

#[test]
fn leaders_that_resign_and_expire() {
    let budget = Budget { expiries: 1, withdrawals: 1, ..Budget::default() };
    explore("1, 1 expiry, 1 withdrawal", World::new(1).facing(budget));
    explore("2 settled, 1 expiry, 1 withdrawal", World::new(2).settled().facing(budget));
    let budget = Budget { expiries: 2, ..Budget::default() };
    explore("2 settled, 2 expiries", World::new(2).settled().facing(budget));
}

#[test]
fn leaders_whose_connections_are_lost() {
    let budget = Budget { losses: 1, withdrawals: 1, ..Budget::default() };
    explore("2 settled, 1 loss, 1 withdrawal", World::new(2).settled().facing(budget));
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..Budget::default() };
    explore("2 settled, 1 loss, 1 expiry, 1 withdrawal", World::new(2).settled().facing(budget));
    let budget = Budget { losses: 2, expiries: 1, ..Budget::default() };
    explore("1, 2 losses, 1 expiry", World::new(1).facing(budget));
}

#[test]
fn leaders_that_step_down() {
    let budget = Budget { steps_down: 2, losses: 1, ..Budget::default() };
    explore("2 settled, 2 step down, 1 loss", World::new(2).settled().facing(budget));
    let budget = Budget { steps_down: 1, expiries: 1, ..Budget::default() };
    explore("2 settled, 1 steps down, 1 expiry", World::new(2).settled().facing(budget));
}

#[test]
fn leaders_whose_leases_lapse() {
    let budget = Budget { lapses: 1, losses: 1, withdrawals: 1, ..Budget::default() };
    explore("2 settled, 1 lapse, 1 loss, 1 withdrawal", World::new(2).settled().facing(budget));
    let world = World::with_policy(2, OnLoss::StandUntilElected).settled();
    explore("2 settled that end, 1 lapse, 1 loss, 1 withdrawal", world.facing(budget));
}

#[test]
fn leaders_that_are_evicted_or_whose_mark_is_deleted() {
    let budget = Budget { evictions: 1, withdrawals: 1, losses: 1, ..Budget::default() };
    explore("2 settled, 1 evicted, 1 withdrawal", World::new(2).settled().facing(budget));
    let budget = Budget { erasures: 1, expiries: 1, withdrawals: 1, ..Budget::default() };
    explore("2 settled, 1 mark deleted, 1 expiry", World::new(2).settled().facing(budget));
}

#[test]
fn leaders_whose_work_did_not_end() {
    let budget = Budget { unclean: 1, withdrawals: 1, losses: 1, ..Budget::default() };
    explore("2 settled, 1 unclean, 1 withdrawal", World::new(2).settled().facing(budget));
}
