//! Slots in every order of events: members that come, go, expire and are drained, planners that see the past, plans that
//! are overwritten. Planning comes to rest, and then each slot is held by the member that the plan names.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a model for tests: it fails by panicking"
)]

#[path = "../search/mod.rs"]
mod search;
mod world;

use core::time::Duration;

use election_session::slots::SlotPauses;
use search::{State, explore};
use world::{Budget, Clock, World};

impl State for World {
    fn successors(&self) -> Vec<(String, Self)> {
        self.successors()
    }

    fn check(&self) -> Result<(), String> {
        self.check()
    }

    fn is_at_rest(&self) -> bool {
        self.is_at_rest()
    }
}

const NONE: Budget =
    Budget { joins: 0, deaths: 0, expiries: 0, leaves: 0, drains: 0, nonsense: 0, drops: 0 };
const AT_ONCE: SlotPauses = SlotPauses { gather: Duration::ZERO, spread: Duration::ZERO };
const PAUSES: SlotPauses =
    SlotPauses { gather: Duration::from_secs(1), spread: Duration::from_secs(5) };

#[test]
fn a_member_comes_and_one_dies() {
    let budget = Budget { joins: 2, deaths: 1, ..NONE };
    explore(&World::new((2, 2), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn three_members_come() {
    let budget = Budget { joins: 3, ..NONE };
    explore(&World::new((3, 3), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn members_that_die_come_again() {
    let budget = Budget { joins: 3, deaths: 2, ..NONE };
    explore(&World::new((2, 3), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn sessions_of_planners_expire_without_their_knowledge() {
    let budget = Budget { joins: 2, expiries: 1, ..NONE };
    explore(&World::new((2, 2), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn a_member_is_drained() {
    let budget = Budget { joins: 2, drains: 1, ..NONE };
    explore(&World::new((2, 2), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn a_member_leaves() {
    let budget = Budget { joins: 2, leaves: 1, ..NONE };
    explore(&World::new((2, 2), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn slots_that_are_apart_stay_apart_where_members_die_and_come() {
    let budget = Budget { joins: 3, deaths: 1, ..NONE };
    explore(&World::new((2, 3), AT_ONCE, Clock::Stopped, budget).with_ends_apart(), 100);
}

#[test]
fn a_plan_is_overwritten() {
    let budget = Budget { joins: 2, nonsense: 1, ..NONE };
    explore(&World::new((2, 2), AT_ONCE, Clock::Stopped, budget), 100);
}

#[test]
fn works_end_by_themselves_and_are_begun_again() {
    let budget = Budget { joins: 2, drops: 1, ..NONE };
    explore(&World::new((2, 2), AT_ONCE, Clock::Runs, budget), 100);
}

#[test]
fn a_member_that_comes_back_in_time_finds_its_slots() {
    let budget = Budget { joins: 3, deaths: 1, ..NONE };
    explore(&World::new((2, 2), PAUSES, Clock::Runs, budget), 100);
}
