//! Views of a group, against a server that keeps all its states: each view is one of them, in order, and the last
//! view is the last state.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a model for tests: it fails by panicking"
)]

mod moments;
mod world;

use election_session::TrackerWatches::{OneShot, Persistent};
use world::{Churn, World};

/// Every kind of event in any order, and then rest.
#[test]
fn views_are_true_at_one_moment_in_order_and_the_last_one_is_true() {
    let mut views = 0;
    for seed in 0..10_000 {
        for watching in [Persistent, OneShot] {
            let mut world = World::new(seed, watching);
            for _ in 0..120 {
                world.step(Churn::Faults);
            }
            world.rest();
            views += world.views();
        }
    }
    assert!(views > 20_000, "{views} views");
}

/// Members come, go and write all the time, each less often than every round trip.
#[test]
fn views_go_on_under_constant_churn() {
    for seed in 0..200 {
        for watching in [Persistent, OneShot] {
            let mut world = World::new(seed, watching);
            for _ in 0..4_000 {
                world.step(Churn::Constant);
            }
            assert!(world.views() > 2, "{watching:?} {seed}: {} views", world.views());
            world.rest();
        }
    }
}

/// One member writes without pause: the names are told all the same.
#[test]
fn a_member_that_is_never_read_holds_up_no_view() {
    for seed in 0..50 {
        let mut world = World::new(seed, Persistent);
        for _ in 0..4_000 {
            world.step(Churn::Hot);
        }
        assert!(world.views() > 2, "{seed}: {} views", world.views());
        world.rest();
    }
}

/// A thousand join at once: one list, one read each.
#[test]
fn a_thousand_that_join_cost_one_list_and_a_read_each() {
    let mut world = World::new(1, Persistent);
    world.rest();
    let before = world.requests();
    world.join_many(1_000);
    world.rest();
    assert_eq!(world.requests() - before, 1_000);
    let mut world = World::new(1, OneShot);
    world.rest();
    let before = world.requests();
    world.join_many(1_000);
    world.rest();
    let requests = world.requests() - before;
    assert!((1_001..1_010).contains(&requests), "{requests}");
}
