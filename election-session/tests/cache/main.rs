//! A cached tree, against a server that keeps all its states: whenever the cache is current at a zxid, it is the
//! server's tree then; what a reader hears, folded, is that tree, too; and it hears nothing twice.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "a model for tests: it fails by panicking"
)]

mod costs;
mod every_order;
mod laws;
mod messages;
mod reader;
#[path = "../search/mod.rs"]
mod search;
mod server;
mod world;

use election_session::TrackerWatches::{OneShot, Persistent};
use world::{Churn, World};

/// Every kind of event in any order, and then rest; with servers that name the transaction of an event, and older
/// ones; with trees of which some is left out, or may not be read.
#[test]
fn the_cache_is_the_tree_whenever_it_is_current_and_in_the_end() {
    let mut moments = 0;
    for seed in 0..600 {
        for watching in [Persistent, OneShot] {
            let mut world = World::new(seed, watching);
            for _ in 0..400 {
                world.step(Churn::Faults);
            }
            world.rest();
            moments += world.moments();
        }
    }
    assert!(moments > 3_000, "{moments} moments");
}

/// Writers that go on, each znode less often than every round trip.
#[test]
fn the_cache_is_current_again_and_again_under_constant_churn() {
    for seed in 0..10 {
        for watching in [Persistent, OneShot] {
            let mut world = World::new(seed, watching);
            for _ in 0..2_000 {
                world.step(Churn::Constant);
            }
            assert!(world.moments() > 5, "{watching:?} {seed}: {} moments", world.moments());
            world.rest();
        }
    }
}

/// One znode is written faster than it can be read, on a server that names the transaction of an event.
#[test]
fn a_znode_that_is_written_without_pause_holds_up_no_moment() {
    for seed in 0..10 {
        let mut world = World::with_named_events(seed);
        for _ in 0..2_000 {
            world.step(Churn::Hot);
        }
        assert!(world.moments() > 5, "{seed}: {} moments", world.moments());
        world.rest();
    }
}
