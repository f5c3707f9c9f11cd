//! Another process goes on with a session, and with the nomination in it.

use election_core::election::{Departure, End, Notice, Role};

use super::{STAND_AGAIN, create_in_doubt};
use crate::contest::World;
use crate::contest::acts::Act;
use crate::contest::script::Asked;
use crate::lab::Step;

/// Makes a world of two nominees at rest, of which the first leads and is handed over.
fn handed_over_leader() -> World {
    let mut world = World::at_rest(2, STAND_AGAIN);
    world.take(Step::Act(Act::TakeOver(0)));
    world.notices(0);
    world
}

#[test]
fn a_leader_leads_on_with_its_token_and_nobody_else_hears_of_it() {
    let before = World::at_rest(2, STAND_AGAIN);
    let mut world = handed_over_leader();
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert!(matches!(requests[..], [Asked::Barrier, Asked::List, Asked::Read(_), Asked::List]));
    assert_eq!(world.token(0), before.token(0));
    assert_eq!(world.own(0), before.own(0));
    assert_eq!(world.notices(0), [Notice::Elected(before.token(0))]);
    assert_eq!(world.requests_until_rest(1), []);
    assert!(matches!(world.role(1), Role::Following { .. }));
}

#[test]
fn a_follower_keeps_its_place() {
    let mut world = World::at_rest(3, STAND_AGAIN);
    let candidate = world.own(1);
    world.take(Step::Act(Act::TakeOver(1)));
    world.take(Step::Connect(1));
    world.requests_until_rest(1);
    assert_eq!(world.own(1), candidate);
    assert!(matches!(world.role(1), Role::Following { .. }));
}

#[test]
fn a_create_that_was_on_its_way_is_not_done_twice() {
    for is_done in [true, false] {
        let mut world = create_in_doubt();
        if is_done {
            world.take(Step::ApplyInDoubt(0));
        } else {
            world.drop_in_doubt(0);
        }
        world.take(Step::Act(Act::TakeOver(0)));
        world.take(Step::Connect(0));
        let requests = world.requests_until_rest(0);
        let creates = requests.iter().filter(|request| matches!(request, Asked::Create(_))).count();
        assert_eq!(creates, usize::from(!is_done));
        assert_eq!(world.standing(), 1);
        assert!(matches!(world.role(0), Role::Leading { .. }));
    }
}

#[test]
fn the_session_expired_meanwhile() {
    let mut world = handed_over_leader();
    let token = world.model.greatest_token;
    world.take(Step::Expire(0));
    world.take(Step::LearnExpiry(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Asked::Barrier, Asked::List, Asked::Create(1)]);
    world.requests_until_rest(1);
    assert!(world.token(1) > token);
    assert!(matches!(world.role(0), Role::Following { .. }));
}

#[test]
fn withdrawn_before_it_is_connected_it_deletes_what_was_left() {
    let mut world = handed_over_leader();
    world.take(Step::Withdraw(0, 0));
    assert_eq!(world.role(0), Role::Leaving);
    world.take(Step::Connect(0));
    world.requests_until_rest(0);
    assert_eq!(world.clients[0].end(), Some(End::Withdrawn(Departure::Deleted)));
    world.requests_until_rest(1);
    assert!(matches!(world.role(1), Role::Leading { .. }));
}
