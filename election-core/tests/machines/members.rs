//! Every order of events for the znode of a member, in small worlds.

mod client;
mod events;
mod server;
mod step;
mod world;

use std::collections::{HashSet, VecDeque};

use election_core::{MemberOptions, NameOrigin, WhenEvicted, WhenTaken};

use step::Budget;
use world::World;

const GIVEN: MemberOptions = MemberOptions {
    name: NameOrigin::Given,
    when_taken: WhenTaken::Wait,
    when_evicted: WhenEvicted::Rejoin,
    node: election_core::ElectionNode::Create(election_core::NodeKind::Persistent),
};
const RANDOM: MemberOptions = MemberOptions { name: NameOrigin::Random, ..GIVEN };
const UNIQUE: MemberOptions = MemberOptions { when_taken: WhenTaken::GiveUp, ..GIVEN };
const ONCE: MemberOptions = MemberOptions { when_evicted: WhenEvicted::End, ..GIVEN };

const CALM: Budget = Budget::NONE;

/// Takes every step from every world that can be reached, breadth first, and lets many of them come to
/// rest by calm steps alone.
fn explore(start: World) -> usize {
    let (mut seen, mut queue) = (HashSet::from([start.clone()]), VecDeque::from([start]));
    let mut count = 0_usize;
    while let Some(world) = queue.pop_front() {
        count += 1;
        if count.is_multiple_of(29) {
            comes_to_rest(world.clone());
        }
        let steps = world.steps();
        if !steps.iter().any(|step| step.is_calm()) {
            world.check_rest();
        }
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            if seen.insert(next.clone()) {
                queue.push_back(next);
            }
        }
        assert!(seen.len() < 3_000_000, "too many worlds");
    }
    count
}

fn comes_to_rest(mut world: World) {
    for _ in 0..200 {
        let Some(step) = world.steps().into_iter().find(|step| step.is_calm()) else {
            return;
        };
        world.take(step);
    }
    panic!("it does not come to rest: {world:?}");
}

/// One member loses its connection and its session, truly or by the word of a server that errs, and is
/// withdrawn anywhere.
#[test]
fn one_member_joins_again_and_leaves_nothing() {
    for options in [GIVEN, RANDOM, UNIQUE] {
        for has_node in [true, false] {
            let budget = Budget { losses: 2, expiries: 1, withdrawals: 1, ..CALM };
            assert!(explore(World::new(&[options], has_node, budget)) > 1000);
            let budget = Budget { losses: 1, lies: 1, withdrawals: 1, ..CALM };
            assert!(explore(World::new(&[options], has_node, budget)) > 1000);
        }
        let budget = Budget { losses: 1, expiries: 1, lies: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 1000);
    }
}

/// However many connections are lost at the missing node: it was never there and gone again.
#[test]
fn a_member_joins_over_connections_that_are_lost_at_a_missing_node() {
    for options in [GIVEN, RANDOM, UNIQUE] {
        let budget = Budget { losses: 5, ..CALM };
        assert!(explore(World::new(&[options], false, budget)) > 100);
    }
}

#[test]
fn two_members_of_one_name_never_touch_the_znode_of_the_other() {
    for options in [[GIVEN, GIVEN], [UNIQUE, GIVEN]] {
        let budget = Budget { losses: 1, expiries: 1, ..CALM };
        assert!(explore(World::new(&options, true, budget)) > 1000);
        let budget = Budget { losses: 1, withdrawals: 1, ..CALM };
        assert!(explore(World::new(&options, true, budget)) > 1000);
        let budget = Budget { losses: 1, lies: 1, ..CALM };
        assert!(explore(World::new(&options, true, budget)) > 1000);
    }
}

#[test]
fn a_member_that_an_operator_has_removed_is_told_of_it() {
    for options in [GIVEN, RANDOM, ONCE] {
        let budget =
            Budget { losses: 1, deletions: 1, withdrawals: 1, looks: 1, lost_watches: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 1000);
    }
    let budget = Budget { deletions: 1, losses: 1, ..CALM };
    assert!(explore(World::new(&[GIVEN, GIVEN], true, budget)) > 100);
}

/// The data that was set last is there in the end, in a znode of any session.
#[test]
fn data_is_written_whatever_happens_between() {
    for options in [GIVEN, RANDOM] {
        let budget = Budget { data: 2, losses: 1, expiries: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 1000);
        let budget = Budget { data: 1, losses: 1, withdrawals: 1, writes: 1, throttles: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 1000);
        let budget = Budget { data: 1, deletions: 1, losses: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 100);
    }
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn a_znode_whose_deletion_is_refused_is_deleted_in_the_end() {
    for options in [GIVEN, RANDOM, ONCE] {
        let budget = Budget { losses: 1, withdrawals: 1, refusals: 2, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 100);
        let budget = Budget { expiries: 1, withdrawals: 1, refusals: 1, throttles: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 100);
        let budget = Budget { lies: 1, withdrawals: 1, refusals: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 100);
        let budget = Budget { deletions: 1, withdrawals: 1, refusals: 1, data: 1, ..CALM };
        assert!(explore(World::new(&[options], true, budget)) > 100);
    }
    let budget = Budget { withdrawals: 1, refusals: 2, ..CALM };
    assert!(explore(World::new(&[GIVEN, GIVEN], true, budget)) > 100);
}
