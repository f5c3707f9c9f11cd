//! Each law can be broken: a world is led to where it holds, and then changed.

use crate::semaphores::common::tree::{Home, Znode};
use crate::semaphores::common::{Budget, World};

fn settled(clients: usize, permits: u32) -> World {
    World::new(clients, permits, Budget::default()).settled(Budget::default())
}

fn broken(world: &World) -> String {
    world.check().and_then(|()| world.check_rest()).expect_err("a law is broken")
}

#[test]
fn no_more_hold_than_there_are_permits() {
    let mut world = settled(2, 2);
    world.permits = 1;
    assert_eq!(broken(&world), "2 hold, of 1 permits");
}

#[test]
fn a_foreign_child_takes_a_permit() {
    let mut world = settled(2, 2);
    world.foreign_at_first = 1;
    let (home, name) = (Home::Leases, "foreign".to_owned());
    world.newest_mut().znodes.push(Znode { home, name, owner: None, czxid: 0 });
    assert_eq!(broken(&world), "2 hold beside 1 foreign ones, of 2");
}

#[test]
fn a_holder_has_its_znode() {
    let mut world = settled(1, 1);
    world.newest_mut().znodes[0].czxid = 7;
    assert_eq!(broken(&world), "0: holds by a znode that is gone");
    world.newest_mut().znodes.clear();
    assert_eq!(broken(&world), "0: holds by a znode that is gone");
    // Of an eviction the holder is to hear, sooner or later.
    let own = world.clients[0].machine.znode().expect("it holds").to_string();
    world.clients[0].evicted.push(own);
    assert_eq!(broken(&world), "0 holds at rest, with [0, 0] znodes");
}

#[test]
fn a_session_has_one_znode_in_each_place() {
    let mut world = settled(1, 1);
    let mut another = world.newest_mut().znodes[0].clone();
    another.name.push('x');
    world.newest_mut().znodes.push(another);
    assert_eq!(broken(&world), "0: several znodes in Leases");
}

#[test]
fn nothing_is_left_after_the_end() {
    let mut world = settled(1, 1);
    let left = world.newest_mut().znodes[0].clone();
    let budget = Budget { withdrawals: 1, ..Budget::default() };
    world.budget = budget;
    let withdrawal = world.steps().into_iter().last().expect("it can be withdrawn");
    world.take(withdrawal);
    let mut world = world.settled(Budget::default());
    world.newest_mut().znodes.push(left);
    assert!(broken(&world).ends_with("is left after the end"), "{}", broken(&world));
}

#[test]
fn none_waits_while_a_permit_is_free() {
    let mut world = settled(2, 1);
    world.permits = 2;
    assert_eq!(broken(&world), "2 stand, and 1 hold, of 2");
}

#[test]
fn one_that_tries_does_not_wait() {
    let mut world = settled(2, 1);
    world.impatient.push(1);
    assert_eq!(broken(&world), "1 waits, and was not to");
}

#[test]
fn what_is_of_a_session_that_is_gone_is_gone() {
    let mut world = settled(1, 1);
    let mut another = world.newest_mut().znodes[0].clone();
    another.owner = Some(77);
    world.newest_mut().znodes.push(another);
    assert!(broken(&world).ends_with("is left of a session that is gone"), "{}", broken(&world));
}

/// A read of a release is one that is given up; nothing else is asked for twice.
#[test]
fn one_request_is_in_flight() {
    let mut world = World::new(1, 1, Budget::default());
    let connect = world.steps()[0];
    world.take(connect);
    let waiting = world.clients[0].requests.clone();
    let mut again = World::new(1, 1, Budget::default());
    again.clients[0].requests = waiting;
    again.take(connect);
    assert!(broken(&again).ends_with("while another one is in flight"), "{}", broken(&again));
}

#[test]
fn three_watches_at_most() {
    let mut world = settled(2, 1);
    let more = world.clients[0].watches[0].clone();
    world.clients[0].watches.extend([more.clone(), more.clone(), more]);
    assert!(broken(&world).starts_with("0: awaits "), "{}", broken(&world));
}

#[test]
fn a_token_is_given_once() {
    let mut world = World::new(1, 1, Budget::default());
    world.tokens = (1..5).collect();
    while let Some(step) = world.steps().first().copied() {
        world.take(step);
    }
    assert_eq!(broken(&world), "0: token 2 after [1, 2, 3, 4]");
}
