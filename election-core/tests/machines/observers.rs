//! Every order of events for an observer of a small election, or of a mark beside it, by servers that
//! lag.
//!
//! The election is a row of trees, one after each commit: candidates join and go, their data is written, the election
//! node is deleted with all in it, and made again. The observer's server has applied a part of them; a session goes
//! to no server behind what it has seen, a new session goes to any. The model holds the observations against the row:
//! each was so at one moment, not before what it told last, and not before the session began in which it read it; and
//! where nothing is on its way, the last is so.

#[path = "barriers/search.rs"]
mod search;
mod server;
mod step;
mod world;

use election_core::{Format, Subject};

use search::explore;
use server::Znode;
use step::Budget;
use world::World;

const LATCH: Subject = Subject::Leader(Format::curator_latch());
/// The leader of a format with names that recur in another election node.
const NAMELESS: Subject = Subject::Leader(Format::leader_election_support());
const MARK: Subject = Subject::Mark(".acknowledged");

fn candidates(subject: Subject, count: i64) -> World {
    let mut world = World::new(subject);
    for _ in 0..count {
        world.join();
    }
    world
}

#[test]
fn a_leader_is_observed_while_candidates_come_and_go() {
    let budget = Budget { joins: 1, leaves: 2, losses: 1, expiries: 1, ..Budget::default() };
    explore("a leader of 2", candidates(LATCH, 2).facing(budget));
}

/// None stands at first, and there is no election node.
#[test]
fn the_first_candidate_is_observed() {
    let budget = Budget { joins: 2, leaves: 1, losses: 1, wipes: 1, ..Budget::default() };
    explore("none yet", candidates(LATCH, 0).facing(budget));
    let budget = Budget { joins: 1, leaves: 1, wipes: 1, expiries: 1, ..Budget::default() };
    explore("one that goes", candidates(LATCH, 1).facing(budget));
}

#[test]
fn what_a_leader_writes_is_observed() {
    let budget = Budget { writes: 2, leaves: 1, losses: 1, expiries: 1, ..Budget::default() };
    explore("a leader that writes", candidates(LATCH, 2).facing(budget));
}

/// A server drops a watch, has too much to do, or does not show the leader.
#[test]
fn a_leader_is_observed_in_spite_of_its_servers() {
    let budget = Budget { leaves: 2, lost_watches: 1, throttles: 1, looks: 1, ..Budget::default() };
    explore("lost watches", candidates(LATCH, 2).facing(budget));
    let budget = Budget { leaves: 1, bars: 1, looks: 1, losses: 1, ..Budget::default() };
    explore("a leader that may not be read", candidates(LATCH, 2).facing(budget));
}

/// The same names stand in the next election node.
#[test]
fn an_election_that_is_made_again_is_observed() {
    let budget = Budget { wipes: 1, joins: 2, losses: 1, ..Budget::default() };
    explore("made again", candidates(LATCH, 2).facing(budget));
    let budget = Budget { wipes: 1, joins: 2, leaves: 1, losses: 1, ..Budget::default() };
    explore("made again, names recur", candidates(NAMELESS, 2).facing(budget).lagging(4));
    let budget = Budget { wipes: 1, joins: 2, writes: 1, ..Budget::default() };
    explore("made again, names recur, written", candidates(NAMELESS, 2).facing(budget).lagging(4));
}

/// A nominee that is the first waits for the end of a child of another format.
#[test]
fn a_candidate_that_a_child_of_another_format_blocks_is_not_observed_as_the_leader() {
    let mut blocked = candidates(LATCH, 0);
    blocked.intrude(10);
    blocked.join();
    let budget = Budget { leaves: 2, losses: 1, strangers: 1, ..Budget::default() };
    explore("blocked", blocked.clone().facing(budget));
    let budget =
        Budget { leaves: 1, writes: 1, bars: 1, looks: 1, expiries: 1, ..Budget::default() };
    explore("blocked, and written", blocked.facing(budget));
    let budget = Budget { leaves: 2, strangers: 2, ..Budget::default() };
    explore("strangers come and go", candidates(LATCH, 2).facing(budget));
    let mut nameless = candidates(NAMELESS, 0);
    nameless.intrude(0);
    nameless.intrude(10);
    nameless.join();
    let budget = Budget { leaves: 2, joins: 1, wipes: 1, lost_watches: 1, ..Budget::default() };
    explore("blocked, and made again", nameless.facing(budget));
}

#[test]
fn a_mark_is_observed() {
    let budget = Budget { joins: 2, leaves: 2, writes: 1, losses: 1, ..Budget::default() };
    explore("a mark", World::new(MARK).facing(budget));
    let budget = Budget { joins: 1, leaves: 1, expiries: 1, lost_watches: 1, ..Budget::default() };
    explore("a mark, lost watches", candidates(MARK, 1).facing(budget));
}

/// A list with a watch tells of no child twice, and of all.
#[test]
fn an_observer_that_is_withdrawn_leaves_nothing() {
    let budget = Budget { joins: 1, leaves: 1, withdrawals: 1, losses: 1, ..Budget::default() };
    explore("withdrawn", candidates(LATCH, 1).facing(budget));
    explore("withdrawn from a mark", candidates(MARK, 1).facing(budget));
}

#[test]
fn the_model_keeps_its_trees() {
    let mut world = candidates(LATCH, 2);
    world.leave(0);
    let numbers = |tree: &Option<Vec<Znode>>| {
        tree.iter().flatten().map(|znode| znode.number).collect::<Vec<_>>()
    };
    let trees: Vec<Vec<i64>> = world.trees.iter().map(numbers).collect();
    assert_eq!(trees, [vec![], vec![0], vec![0, 1], vec![1]]);
}
