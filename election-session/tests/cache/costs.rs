//! How many requests a cache makes.

use election_session::TrackerWatches;
use election_session::cache::CacheQuestion;

use super::world::World;

const ZNODES: usize = 2_000;

fn filled() -> World {
    let mut world = with_znodes(ZNODES);
    world.rest();
    world
}

/// Makes a world in which so many znodes, the root and its hundred children among them, wait to be read.
fn with_znodes(count: usize) -> World {
    let mut world = World::with_named_events(1);
    world.server.create_many((0..100).map(|number| format!("/r/{number}")));
    let below = |number: usize| format!("/r/{}/{number}", number % 100);
    world.server.create_many((0..count - 101).map(below));
    world.apply();
    world.apply();
    world
}

fn reads(asked: &[CacheQuestion]) -> usize {
    let count = |question: &CacheQuestion| match question {
        CacheQuestion::ReadMany(paths) => paths.len(),
        CacheQuestion::Read(_) => 1,
        _ => 0,
    };
    asked.iter().map(count).sum()
}

/// Each znode is read once, and each that has children listed once.
#[test]
fn a_fill_reads_each_znode_once_and_lists_each_with_children() {
    let world = filled();
    assert_eq!(world.tracker.iter().count(), ZNODES);
    let lists = world.asked.iter().filter(|asked| matches!(asked, CacheQuestion::List(_)));
    assert_eq!((reads(&world.asked), lists.count()), (ZNODES, 101));
    assert_eq!(world.asked.len(), ZNODES + 101 + 1, "and sets a watch");
}

/// A gap in which one znode was written and one created: requests with 256 reads each, and one list.
#[test]
fn a_gap_costs_a_request_for_256_znodes_and_one_for_each_changed_list() {
    let mut world = filled();
    world.asked.clear();
    world.disconnect();
    world.server.set("/r/7");
    world.server.create_many(core::iter::once("/r/7/new".to_owned()));
    world.server.has_tree_watch = false;
    world.apply();
    world.apply();
    world.server.has_tree_watch = true;
    world.rest();
    assert_eq!(reads(&world.asked), ZNODES + 1);
    assert_eq!(world.asked.len(), ZNODES.div_ceil(256) + 2, "{:?}", world.asked.last());
}

/// The same of 100,000 znodes.
#[test]
fn a_gap_in_a_hundred_thousand_znodes_costs_392_requests() {
    const MANY: usize = 100_000;
    let mut world = with_znodes(MANY);
    world.rest_at_once();
    assert_eq!((reads(&world.asked), world.asked.len()), (MANY, MANY + 101 + 1));
    world.asked.clear();
    world.disconnect();
    world.server.set("/r/7");
    world.server.create_many(core::iter::once("/r/7/new".to_owned()));
    world.rest_at_once();
    assert_eq!((reads(&world.asked), world.asked.len()), (MANY + 1, 391 + 2));
    world.asked.clear();
    world.disconnect();
    world.rest_at_once();
    // The list is of the parent of the last event before the gap, which may have had another one.
    let lists = world.asked.iter().filter(|asked| **asked == CacheQuestion::List("/r/7".into()));
    assert_eq!((reads(&world.asked), lists.count()), (MANY + 1, 1));
    assert_eq!(world.asked.len(), 392);
}

/// The connection is lost again and again while all requests are on their way: the next ones are as large.
#[test]
fn lost_connections_make_requests_no_smaller() {
    let mut world = filled();
    for _ in 0..10 {
        world.disconnect();
        world.rest_of_wire();
        world.ask();
    }
    world.asked.clear();
    world.disconnect();
    world.rest_of_wire();
    world.rest();
    assert_eq!(world.asked.len(), ZNODES.div_ceil(256));
}

/// A write costs one request, a creation one, a deletion one that names the moment, too.
#[test]
fn a_change_costs_one_request() {
    let mut world = filled();
    for _ in 0..10 {
        world.asked.clear();
        world.server.set("/r/7/7");
        world.apply();
        world.rest();
        assert_eq!(world.asked, [CacheQuestion::ReadMany(vec!["/r/7/7".into()])]);
    }
}

/// Without persistent watches a gap costs what has changed: the server tells.
#[test]
fn one_shot_watches_tell_after_a_gap_what_has_changed() {
    let mut world = World::new(0, TrackerWatches::OneShot);
    world.rest();
    world.asked.clear();
    world.disconnect();
    world.server.set("/r");
    world.apply();
    world.rest();
    assert_eq!(world.asked, [CacheQuestion::Read("/r".into())]);
}
