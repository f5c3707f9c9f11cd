//! The queue: predecessors, ghosts of others, znodes that an operator deletes.

use election_core::election::{Cause, End, Notice, Role};

use super::{END, STAND_AGAIN};
use crate::contest::acts::Act;
use crate::contest::names::{self, Name};
use crate::contest::script::Asked;
use crate::contest::{NO_FAULTS, World};
use crate::lab::Step;

#[test]
fn predecessor_vanishes_between_list_and_watch() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    world.take(Step::Disconnect(1));
    world.take(Step::Connect(1));
    let leader = world.own(0);
    world.run_until(1, |asked| asked == Asked::Read(leader));
    world.take(Step::Withdraw(0, 0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
    assert_eq!(world.clients[1].watches.len(), 1, "no watch is left on what is gone");
}

#[test]
fn predecessor_data_changes() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let leader = world.own(0);
    world.notices(1);
    world.take(Step::OperatorWrites(leader));
    assert_eq!(world.requests_until_rest(1), [Asked::Read(leader)]);
    assert!(matches!(world.role(1), Role::Following { .. }));
    assert_eq!(world.notices(1), []);
    world.take(Step::Withdraw(0, 0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// A deletion of the own znode is heard of at once, whatever the place in the queue (etcd #11456,
/// CURATOR-171, CURATOR-346).
#[test]
fn own_znode_is_deleted_by_someone_else() {
    let mut world = World::at_rest(3, STAND_AGAIN);
    for (client, notice) in
        [(1, Notice::CandidateLost(Cause::Evicted)), (0, Notice::Lost(Cause::Evicted))]
    {
        world.notices(client);
        let token = world.tip().get(&world.own(client)).map(|znode| znode.token);
        world.take(Step::OperatorDeletes(world.own(client)));
        world.take(Step::Apply(client));
        assert_eq!(world.notices(client), [notice]);
        world.settle();
        world.check().expect("every rule holds");
        let new = world.tip().get(&world.own(client)).map(|znode| znode.token);
        assert!(new > token, "stands again at the end of the queue");
    }
    assert!(matches!(world.role(2), Role::Leading { .. }));
}

/// A nominee that is not the heir hears of it by its first look at latest.
#[test]
fn the_znode_of_a_new_follower_is_deleted_by_someone_else() {
    let mut world = World::at_rest(3, STAND_AGAIN);
    world.notices(2);
    world.take(Step::OperatorDeletes(world.own(2)));
    assert!(!world.has_news(2));
    world.take(Step::Look(2));
    world.settle();
    assert_eq!(world.notices(2), [Notice::CandidateLost(Cause::Evicted), Notice::Following]);
    world.check().expect("every rule holds");
}

#[test]
fn joining_takes_three_requests() {
    for (joined, requests) in [(0, 3), (1, 4), (2, 3), (3, 3)] {
        let mut world = World::nominees(4, NO_FAULTS).scripted();
        for client in 0..joined {
            world.take(Step::Connect(client));
            world.requests_until_rest(client);
        }
        world.take(Step::Connect(joined));
        // The heir has one more, behind the notice that it follows.
        assert_eq!(world.requests_until_rest(joined).len(), requests, "of the {joined}th");
    }
}

#[test]
fn own_znode_is_deleted_by_someone_else_and_the_policy_is_to_end() {
    let mut world = World::at_rest(1, END);
    world.notices(0);
    world.take(Step::OperatorDeletes(world.own(0)));
    assert_eq!(world.requests_until_rest(0), [Asked::LookAt(Name::Ended)]);
    let ended = Notice::Ended(End::Lost(Cause::Evicted));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::Evicted), ended]);
}

/// Leader and follower are told; by policy they stand again or end.
#[test]
fn election_node_is_deleted_under_the_nominees() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let token = world.token(0);
    world.take(Step::Act(Act::Wipe));
    world.settle();
    assert!(world.was_told_of(0, Cause::Evicted));
    assert!(world.was_told_of(1, Cause::Evicted));
    world.check().expect("every rule holds");
    assert!(world.candidates().all(|(_, znode)| znode.token > token), "tokens outlive it");

    let mut world = World::at_rest(2, END);
    world.take(Step::Act(Act::Wipe));
    world.settle();
    for client in world.clients.iter() {
        assert_eq!(client.end(), Some(End::Lost(Cause::Evicted)));
    }
}

#[test]
fn election_node_has_children_that_are_no_candidates() {
    let mut world = World::nominees(2, NO_FAULTS).scripted();
    for client in 0..2 {
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    assert!(matches!(world.role(0), Role::Leading { .. }));
    let leader = names::text(world.own(0));
    match world.role(1) {
        Role::Following { predecessor, .. } => assert_eq!(predecessor.to_string(), leader),
        role => panic!("{role:?}"),
    }
    world.take(Step::Withdraw(0, 0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// The server drops the event that a watcher may not read, and its watch with it (ZOOKEEPER-4799).
#[test]
fn the_predecessor_may_no_longer_be_read_and_goes() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let leader = world.own(0);
    world.take(Step::OperatorBars(leader));
    world.take(Step::Withdraw(0, 0));
    world.requests_until_rest(0);
    world.notices(1);
    assert_eq!(world.requests_until_rest(1), [], "no event comes");
    assert_eq!(world.notices(1), []);
    assert!(matches!(world.role(1), Role::Following { .. }));
    world.take(Step::Look(1));
    assert_eq!(world.requests_until_rest(1), [Asked::List]);
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// The same, but the follower finds that it may not read when it comes back.
#[test]
fn the_predecessor_may_not_be_read_after_a_reconnect() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let leader = world.own(0);
    world.take(Step::OperatorBars(leader));
    world.notices(1);
    world.take(Step::Disconnect(1));
    world.take(Step::Connect(1));
    let own = world.own(1);
    let asked = [Asked::Read(own), Asked::List, Asked::Read(leader), Asked::List];
    assert_eq!(world.requests_until_rest(1), asked);
    assert_eq!(world.notices(1), [Notice::FollowingUnwatched]);
    world.take(Step::Withdraw(0, 0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

#[test]
fn two_nominees_of_one_session_in_one_election() {
    let mut world = World::nominees(2, NO_FAULTS).scripted();
    world.clients[1].session = world.clients[0].session;
    for client in 0..2 {
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    assert_eq!(world.standing(), 2);
    assert!(matches!(world.role(0), Role::Leading { .. }));
    assert!(matches!(world.role(1), Role::Following { .. }));
    world.take(Step::Withdraw(0, 0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// The successor hears of it with one event, and asks for nothing.
#[test]
fn the_last_in_the_way_goes_and_the_successor_sends_nothing() {
    let mut world = World::at_rest(3, STAND_AGAIN);
    world.notices(1);
    world.notices(2);
    let token = world.tip()[&world.own(1)].token;
    world.take(Step::Withdraw(0, 0));
    world.requests_until_rest(0);
    assert_eq!(world.requests_until_rest(1), []);
    assert_eq!(world.notices(1), [Notice::Elected(token)]);
    assert!(!world.has_news(2), "nobody else is woken");
}

/// A follower looks again when its predecessor goes while others are ahead.
#[test]
fn a_follower_in_the_middle_goes_and_the_next_one_follows_the_leader() {
    let mut world = World::at_rest(3, STAND_AGAIN);
    world.notices(2);
    world.take(Step::Withdraw(1, 0));
    world.requests_until_rest(1);
    let [leader, own] = [0, 2].map(|client| world.own(client));
    let requests = [Asked::List, Asked::Read(leader), Asked::Read(own)];
    assert_eq!(world.requests_until_rest(2), requests, "as the heir it has a watch on its own");
    assert_eq!(world.notices(2), [Notice::Following]);
    assert_eq!(world.notices(0).last(), Some(&Notice::Elected(world.token(0))), "hears nothing");
}
