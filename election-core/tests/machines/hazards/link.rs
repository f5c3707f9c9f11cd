//! The link, the session and the lease.

use election_core::election::{Cause, End, Notice, Role};
use election_core::{Change, Event, Token};

use super::{END, STAND_AGAIN};
use crate::contest::World;
use crate::contest::script::Asked;
use crate::contest::worlds::FOREIGN;
use crate::lab::Step;

/// The same leadership goes on, without a listing; a server's restart is no reason to step down
/// (CURATOR-246).
#[test]
fn connection_lost_while_leading_and_back_in_the_same_session() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let token = world.token(0);
    world.notices(0);
    world.take(Step::Disconnect(0));
    assert_eq!(world.notices(0), [Notice::Suspended]);
    assert_eq!(world.role(0), Role::Suspended { token });
    world.take(Step::Connect(0));
    assert_eq!(world.role(0), Role::Suspended { token }, "not before the znode is verified");
    assert_eq!(world.requests_until_rest(0), [Asked::Read(world.own(0))]);
    assert_eq!(world.notices(0), [Notice::Resumed(token)]);
}

/// The leadership ends by the clock, without waiting for any server.
#[test]
fn connection_lost_while_leading_and_the_lease_deadline_passes() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let token = world.token(0);
    let old = world.own(0);
    world.take(Step::Disconnect(0));
    world.notices(0);
    world.take(Step::Lapse(0, 0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::LeaseLapsed)]);
    assert_eq!(world.role(0), Role::Connecting);
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..2], [Asked::Delete(old, None), Asked::Create(1)]);
    world.settle();
    assert!(world.token(1) > token);
    assert!(matches!(world.role(0), Role::Following { .. }));
}

#[test]
fn lease_deadline_passes_and_the_policy_is_to_end() {
    let mut world = World::at_rest(1, END);
    world.notices(0);
    world.take(Step::Lapse(0, 0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::LeaseLapsed)]);
    world.settle();
    assert_eq!(world.notices(0), [Notice::Ended(End::Lost(Cause::LeaseLapsed))]);
    assert_eq!(world.standing(), 0);
}

/// Leader and follower hear of the expiry once, before they stand again in the next session
/// (CURATOR-444).
#[test]
fn session_is_expired() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    for client in 0..2 {
        world.notices(client);
        world.take(Step::Disconnect(client));
        world.take(Step::Expire(client));
    }
    world.take(Step::LearnExpiry(0));
    world.take(Step::Connect(0));
    assert_eq!(world.notices(0), [Notice::Suspended, Notice::Lost(Cause::SessionExpired)]);
    world.take(Step::LearnExpiry(1));
    world.take(Step::Connect(1));
    assert_eq!(world.notices(1), [Notice::CandidateLost(Cause::SessionExpired)]);
    world.settle();
    world.check().expect("every rule holds");
    assert_eq!(world.creates(0), 2);
}

#[test]
fn session_is_expired_and_the_policy_is_to_end() {
    let mut world = World::at_rest(2, END);
    for client in 0..2 {
        world.notices(client);
        world.take(Step::Disconnect(client));
        world.take(Step::Expire(client));
        world.take(Step::LearnExpiry(client));
        world.take(Step::Connect(client));
        let end = Notice::Ended(End::Lost(Cause::SessionExpired));
        assert_eq!(world.notices(client).last(), Some(&end));
        assert_eq!(world.requests_until_rest(client), []);
    }
}

/// The leadership is lost once, whether the nominee hears first that its znode is gone or that the
/// session has expired.
#[test]
fn deletion_and_expiry_in_either_order_are_one_loss() {
    let leader = || {
        let mut world = World::at_rest(1, STAND_AGAIN);
        world.notices(0);
        world.take(Step::OperatorDeletes(world.own(0)));
        world
    };
    let expire = |world: &mut World| {
        world.take(Step::Disconnect(0));
        world.take(Step::Expire(0));
        world.take(Step::LearnExpiry(0));
        world.take(Step::Connect(0));
    };
    let losses = |world: &mut World| {
        world.settle();
        let mut notices = world.notices(0);
        notices.retain(|notice| matches!(notice, Notice::Lost(_)));
        notices
    };

    let mut world = leader();
    world.take(Step::Apply(0));
    expire(&mut world);
    assert_eq!(losses(&mut world), [Notice::Lost(Cause::Evicted)]);

    let mut world = leader();
    expire(&mut world);
    assert_eq!(losses(&mut world), [Notice::Lost(Cause::SessionExpired)]);
}

/// A server hands out another session instead of refusing the old one (`ClickHouse` #116690). The
/// old session's znode still stands, and belongs to no nominee.
#[test]
fn another_session_is_handed_out() {
    let mut world = World::at_rest(1, STAND_AGAIN);
    let token = world.token(0);
    world.take(Step::Disconnect(0));
    world.notices(0);
    world.take(Step::Swap(0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::SessionExpired)]);
    world.settle();
    assert!(world.token(0) > token);
    assert_eq!(world.standing(), 1);
}

/// The driver's clock is looked at before its sockets: the lapse is fed first, whatever waits
/// behind it.
#[test]
fn process_was_paused() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let ticket = world.clients[0].watches[0].ticket;
    world.take(Step::OperatorWrites(world.own(0)));
    world.notices(0);
    world.take(Step::Lapse(0, 0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::LeaseLapsed)]);
    world.feed(0, 0, Event::Changed { ticket, change: Change::Data });
    assert_eq!(world.notices(0), [], "what waited does not bring it back");
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// Everything is determined anew, and nothing is believed before.
#[test]
fn whole_ensemble_restarts() {
    let mut world = World::at_rest(3, STAND_AGAIN);
    let token = world.token(0);
    for client in 0..3 {
        world.take(Step::Disconnect(client));
    }
    for client in 0..3 {
        assert!(!matches!(world.role(client), Role::Leading { .. } | Role::Following { .. }));
        world.take(Step::Connect(client));
    }
    world.settle();
    world.check().expect("every rule holds");
    assert_eq!(world.token(0), token);
    assert!((0..3).all(|client| world.creates(client) == 1));
}

/// The event is missed, and the follower finds out after the reconnect (kazoo #116: none of four
/// contenders was promoted).
#[test]
fn predecessor_is_deleted_while_disconnected() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    world.take(Step::Disconnect(1));
    world.take(Step::Withdraw(0, 0));
    world.settle();
    world.take(Step::Connect(1));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// Another session has a znode of the same name by the time the own one is read again (etcd
/// #11777).
#[test]
fn own_znode_is_replaced_by_one_of_another_session() {
    let mut world = World::at_rest(1, STAND_AGAIN);
    let name = world.own(0);
    world.take(Step::Disconnect(0));
    world.take(Step::OperatorDeletes(name));
    world = world.with(name, Some(FOREIGN), 900);
    world.take(Step::Connect(0));
    world.notices(0);
    world.requests_until_rest(0);
    assert_eq!(world.notices(0)[0], Notice::Lost(Cause::Evicted));
    world.settle();
    assert!(world.token(0) > Token::new(900));
}
