//! Resigning and withdrawing.

use election_core::election::{Departure, End, Notice, Role};

use super::{STAND_AGAIN, create_in_doubt};
use crate::contest::script::Asked;
use crate::contest::{NO_FAULTS, World};
use crate::lab::Step;

/// The deletion is sent once the session is back; a candidate left behind blocks the queue
/// (CURATOR-202, kazoo #732).
#[test]
fn resign_while_disconnected_and_the_session_resumes() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let own = world.own(0);
    world.take(Step::Disconnect(0));
    world.take(Step::Withdraw(0, 0));
    assert_eq!(world.role(0), Role::Leaving);
    world.notices(0);
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), [Asked::Delete(own, None)]);
    assert_eq!(world.notices(0), [Notice::Ended(End::Resigned(Departure::Deleted))]);
}

/// The nominee tells how its znode went.
#[test]
fn resign_while_disconnected_and_the_session_expires() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    world.take(Step::Disconnect(0));
    world.take(Step::Withdraw(0, 0));
    world.take(Step::Expire(0));
    world.notices(0);
    world.take(Step::LearnExpiry(0));
    world.take(Step::Connect(0));
    assert_eq!(world.notices(0), [Notice::Ended(End::Resigned(Departure::WithSession))]);
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// The old session lives on at the server for a while, and the next one waits for its end.
#[test]
fn resign_while_disconnected_and_another_session_is_handed_out() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    world.take(Step::Disconnect(0));
    world.take(Step::Withdraw(0, 0));
    world.take(Step::Swap(0));
    assert_eq!(world.check(), Ok(()));
    world.settle();
    assert_eq!(world.check(), Ok(()));
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

#[test]
fn delete_answered_no_node() {
    let mut world = World::at_rest(1, STAND_AGAIN);
    world.take(Step::Withdraw(0, 0));
    world.take(Step::OperatorDeletes(world.own(0)));
    world.notices(0);
    world.settle();
    assert_eq!(world.notices(0), [Notice::Ended(End::Resigned(Departure::Deleted))]);
}

#[test]
fn reply_lost_after_delete() {
    for is_applied in [true, false] {
        let mut world = World::at_rest(2, STAND_AGAIN);
        let own = world.own(1);
        world.take(Step::Withdraw(1, 0));
        if is_applied {
            world.take(Step::Execute(1));
        }
        world.take(Step::Disconnect(1));
        world.take(Step::Connect(1));
        world.notices(1);
        assert_eq!(world.requests_until_rest(1), [Asked::Delete(own, None)]);
        assert_eq!(world.notices(1), [Notice::Ended(End::Withdrawn(Departure::Deleted))]);
        assert_eq!(world.standing(), 1);
    }
}

/// The reply to the create comes after the withdrawal (CURATOR-297).
#[test]
fn withdraw_while_the_create_is_in_flight() {
    let mut world = World::nominees(1, NO_FAULTS).scripted();
    world.notices(0);
    world.take(Step::Connect(0));
    world.take(Step::Withdraw(0, 0));
    assert_eq!(world.role(0), Role::Leaving);
    world.settle();
    assert_eq!(world.standing(), 0);
    assert_eq!(world.notices(0), [Notice::Ended(End::Withdrawn(Departure::Deleted))]);
}

/// The reply to the create is lost, and the znode is found and deleted all the same (CURATOR-45,
/// CURATOR-205).
#[test]
fn withdraw_while_the_create_is_in_doubt() {
    for (is_applied, departure) in [(true, Departure::Deleted), (false, Departure::NeverCreated)] {
        let mut world = create_in_doubt();
        if is_applied {
            world.take(Step::ApplyInDoubt(0));
        } else {
            world.drop_in_doubt(0);
        }
        world.take(Step::Withdraw(0, 0));
        world.take(Step::Connect(0));
        world.settle();
        assert_eq!(world.standing(), 0);
        assert_eq!(world.notices(0), [Notice::Ended(End::Withdrawn(departure))]);
    }
}

/// A start and an immediate stop leave no znode (CURATOR-297).
#[test]
fn withdraw_before_anything_was_created() {
    let mut world = World::nominees(1, NO_FAULTS).scripted();
    world.notices(0);
    world.take(Step::Withdraw(0, 0));
    assert_eq!(world.notices(0), [Notice::Ended(End::Withdrawn(Departure::NeverCreated))]);
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), []);
}
