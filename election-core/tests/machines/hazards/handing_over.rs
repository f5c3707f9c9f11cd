//! Another process goes on with a session, and with the nomination in it.

use election_core::election::{Departure, End, Notice, Role};

use super::{STAND_AGAIN, create_in_doubt};
use crate::common::World;
use crate::common::server::Request;
use crate::common::step::Step;

/// Makes a world of two nominees at rest, of which the first leads and is handed over.
fn handed_over_leader() -> World {
    let mut world = World::settled(2, STAND_AGAIN);
    world.take(Step::HandOver(0));
    world.notices(0);
    world
}

#[test]
fn a_leader_leads_on_with_its_token_and_nobody_else_hears_of_it() {
    let before = World::settled(2, STAND_AGAIN);
    let mut world = handed_over_leader();
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert!(matches!(
        requests[..],
        [Request::Barrier, Request::List, Request::Read(_), Request::List]
    ));
    assert_eq!(world.token(0), before.token(0));
    assert_eq!(world.candidate(0), before.candidate(0));
    assert_eq!(world.notices(0), [Notice::Elected(before.token(0))]);
    assert_eq!(world.requests_until_rest(1), []);
    assert!(matches!(world.role(1), Role::Following { .. }));
}

#[test]
fn a_follower_keeps_its_place() {
    let mut world = World::settled(3, STAND_AGAIN);
    let candidate = world.candidate(1);
    world.take(Step::HandOver(1));
    world.take(Step::Connect(1));
    world.requests_until_rest(1);
    assert_eq!(world.candidate(1), candidate);
    assert!(matches!(world.role(1), Role::Following { .. }));
}

#[test]
fn a_create_that_was_on_its_way_is_not_done_twice() {
    for is_done in [true, false] {
        let mut world = create_in_doubt();
        world.take(if is_done { Step::ApplyInDoubt(0, 0) } else { Step::DropInDoubt(0) });
        world.take(Step::HandOver(0));
        world.take(Step::Connect(0));
        let requests = world.requests_until_rest(0);
        let creates =
            requests.iter().filter(|request| matches!(request, Request::Create(_))).count();
        assert_eq!(creates, usize::from(!is_done));
        assert_eq!(world.server.tip.znodes.len(), 1);
        assert!(matches!(world.role(0), Role::Leading { .. }));
    }
}

#[test]
fn the_session_expired_meanwhile() {
    let mut world = handed_over_leader();
    let token = world.greatest_token;
    world.take(Step::Expire(0));
    world.take(Step::LearnOfExpiry(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Request::Barrier, Request::List, Request::Create(1)]);
    world.requests_until_rest(1);
    assert!(world.token(1).get() > token);
    assert!(matches!(world.role(0), Role::Following { .. }));
}

#[test]
fn withdrawn_before_it_is_connected_it_deletes_what_was_left() {
    let mut world = handed_over_leader();
    world.take(Step::Withdraw(0));
    assert_eq!(world.role(0), Role::Leaving);
    world.take(Step::Connect(0));
    world.requests_until_rest(0);
    assert_eq!(world.clients[0].end(), Some(End::Withdrawn(Departure::Deleted)));
    world.requests_until_rest(1);
    assert!(matches!(world.role(1), Role::Leading { .. }));
}
