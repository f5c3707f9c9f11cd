//! From the first create to a candidate that is known.

use election_core::Failure;
use election_core::election::{End, NominationError, Notice, Role};

use super::{END, create_in_doubt};
use crate::contest::names::Name;
use crate::contest::script::Asked;
use crate::contest::{NO_FAULTS, World};
use crate::lab::Step;

/// The search finds the znode of the lost create, after a `sync` (CURATOR-45, CURATOR-264).
#[test]
fn connection_lost_after_create_was_sent_and_it_was_done() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert!(matches!(requests[..], [Asked::Barrier, Asked::List, Asked::Read(_), Asked::List]));
    assert_eq!(world.standing(), 1);
    assert_eq!(world.token(0), world.only().1.token);
}

/// Exactly one more create, and only after a `sync` and a list.
#[test]
fn connection_lost_after_create_was_sent_and_it_was_not_done() {
    let mut world = create_in_doubt();
    world.drop_in_doubt(0);
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert!(matches!(
        requests[..],
        [Asked::Barrier, Asked::List, Asked::Create(_), Asked::List, Asked::Read(_)]
    ));
    assert_eq!(world.standing(), 1);
}

/// The server applies the create between the reconnect and the search.
#[test]
fn connection_lost_after_create_was_sent_and_it_is_done_late() {
    let mut world = create_in_doubt();
    world.take(Step::Connect(0));
    world.take(Step::ApplyInDoubt(0));
    world.requests_until_rest(0);
    assert_eq!(world.standing(), 1);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// The znode of the old session is a ghost, deleted by version (CURATOR-498, CURATOR-696).
#[test]
fn connection_lost_after_create_and_the_session_expired_meanwhile() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0));
    let (ghost, ghosts) = world.only();
    world.take(Step::Swap(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[0], Asked::Create(1));
    assert!(requests.contains(&Asked::Inspect(ghost)));
    assert!(matches!(requests[3], Asked::Delete(name, Some(_)) if name == ghost));
    assert_eq!(world.standing(), 1);
    assert!(world.token(0) > ghosts.token);
}

/// The same, found by the search after a second create in doubt.
#[test]
fn a_search_does_not_adopt_the_znode_of_another_session() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0));
    let (ghost, ghosts) = world.only();
    world.take(Step::Swap(0));
    world.take(Step::Disconnect(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Asked::Barrier, Asked::List, Asked::Read(ghost)]);
    assert!(matches!(requests[3], Asked::Delete(name, Some(_)) if name == ghost));
    assert_eq!(world.standing(), 1);
    assert!(world.token(0) > ghosts.token);
}

/// The session that a search found a znode of expires before the look at it.
#[test]
fn a_ghost_that_vanishes_is_searched_for_again() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0));
    let (ghost, _) = world.only();
    world.take(Step::Swap(0));
    world.take(Step::Disconnect(0));
    world.take(Step::Connect(0));
    world.run_until(0, |asked| asked == Asked::Read(ghost));
    world.take(Step::Bury(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Asked::Read(ghost), Asked::List, Asked::Create(2)]);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// An operator writes to the ghost between the look at it and its deletion.
#[test]
fn a_ghost_that_changed_is_looked_at_again() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0));
    let (ghost, _) = world.only();
    world.take(Step::Swap(0));
    world.run_until(0, |asked| matches!(asked, Asked::Delete(..)));
    world.take(Step::OperatorWrites(ghost));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[1], Asked::Inspect(ghost));
    assert_eq!(world.standing(), 1);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// What a search has found may neither be read nor deleted: nothing is asked for before the next look.
#[test]
fn a_refused_deletion_of_what_may_not_be_read_waits_for_a_look() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0));
    let (own, _) = world.only();
    world.take(Step::OperatorBars(own));
    world.take(Step::Connect(0));
    world.run_until(0, |asked| matches!(asked, Asked::Delete(..)));
    world.model.kinds.may_fail = true;
    world.take(Step::Refuse(0));
    let failed = End::Failed(NominationError::Rejected(-102));
    assert_eq!(world.clients[0].end(), Some(failed));
    assert_eq!(world.requests_until_rest(0), []);
    world.take(Step::Look(0));
    let requests = world.requests_until_rest(0);
    assert!(requests.contains(&Asked::Delete(own, None)), "{requests:?}");
    assert_eq!(world.standing(), 0);
}

/// The create fails with `NoNode`; the nominee creates the election node and stands (CURATOR-724).
#[test]
fn election_node_does_not_exist() {
    let mut world = World::nominees(1, NO_FAULTS).without_election_node().scripted();
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Asked::Create(0), Asked::CreateNode, Asked::Create(1)]);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// By the policy "must exist" a missing election node is an error, as in go-leaderelection.
#[test]
fn election_node_does_not_exist_and_must() {
    let mut world = World::with_policy(1, NO_FAULTS, END).without_election_node().scripted();
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), [Asked::Create(0)]);
    assert_eq!(world.clients[0].end(), Some(End::Failed(NominationError::NoElectionNode)));
}

/// Nothing below a chroot that does not exist can be created.
#[test]
fn election_node_cannot_be_created() {
    let mut world = World::nominees(1, NO_FAULTS).without_election_node().scripted();
    world.take(Step::Connect(0));
    world.run_until(0, |asked| asked == Asked::CreateNode);
    world.fail(0, Failure::NoChroot);
    let end = End::Failed(NominationError::NoChroot);
    assert_eq!(world.notices(0), [Notice::Ended(end)]);
}

/// An ancestor vanishes while the others are created: the nominee asks once more.
#[test]
fn election_node_loses_an_ancestor_while_it_is_created() {
    let mut world = World::nominees(1, NO_FAULTS).without_election_node().scripted();
    world.take(Step::Connect(0));
    world.run_until(0, |asked| asked == Asked::CreateNode);
    world.fail(0, Failure::NoNode);
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..2], [Asked::Create(1), Asked::CreateNode]);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// The container is reaped again and again before the candidate is in it (CURATOR-435).
#[test]
fn election_node_is_created_a_bounded_number_of_times() {
    let mut world = World::nominees(1, NO_FAULTS).scripted();
    world.take(Step::Connect(0));
    for rounds in 0..4 {
        assert_eq!(world.clients[0].end(), None, "after {rounds} rounds");
        world.run_until(0, |asked| matches!(asked, Asked::Create(_)));
        world.fail(0, Failure::NoNode);
        if rounds < 3 {
            world.run_until(0, |asked| asked == Asked::CreateNode);
        }
    }
    assert_eq!(world.clients[0].end(), Some(End::Failed(NominationError::NoElectionNode)));
    assert_eq!(world.requests_until_rest(0), []);
}

/// The counter sticks since ZooKeeper 3.6: every further create gets the same number.
#[test]
fn sequence_numbers_run_out() {
    let mut world = World::nominees(3, NO_FAULTS).scripted().counting_from(i32::MAX - 1);
    for i in 0..3 {
        world.take(Step::Connect(i));
    }
    world.requests_until_rest(0);
    for i in 1..3 {
        let requests = world.requests_until_rest(i);
        let [Asked::Create(0), Asked::Delete(Name::Candidate(name), None)] = requests[..] else {
            panic!("{requests:?}");
        };
        assert_eq!(name.sequence, i32::MAX);
        let failed = End::Failed(NominationError::SequenceExhausted);
        assert_eq!(world.clients[i].end(), Some(failed));
    }
    assert_eq!(world.standing(), 1, "nothing is left behind");
    assert!(matches!(world.role(0), Role::Leading { .. }), "by the last number");
}

/// Whatever the reason: no nominee stands with a name that is taken.
#[test]
fn the_name_of_a_candidate_is_taken() {
    let mut world = World::nominees(1, NO_FAULTS).scripted();
    world.take(Step::Connect(0));
    world.run_until(0, |asked| asked == Asked::Create(0));
    world.fail(0, Failure::NodeExists);
    let failed = End::Failed(NominationError::SequenceExhausted);
    assert_eq!(world.clients[0].end(), Some(failed));
    assert_eq!(world.requests_until_rest(0), []);
}

/// No permission, a quota, failed authentication: the nomination ends with an error, never in
/// silence (CURATOR-15).
#[test]
fn an_unexpected_refusal_ends_the_nomination_and_cleans_up() {
    const NO_AUTH: i32 = -102;
    assert_ends_and_cleans_up(
        |asked| matches!(asked, Asked::Read(_)),
        Failure::Rejected(NO_AUTH),
        NominationError::Rejected(NO_AUTH),
    );
}

/// The list of an election with too many candidates for this client.
#[test]
fn a_list_that_cannot_be_read_ends_the_nomination_and_cleans_up() {
    assert_ends_and_cleans_up(
        |asked| asked == Asked::List,
        Failure::Unreadable,
        NominationError::UnreadableReply,
    );
}

fn assert_ends_and_cleans_up(
    is_failing: fn(Asked) -> bool,
    failure: Failure,
    error: NominationError,
) {
    let mut world = World::nominees(1, NO_FAULTS).scripted();
    world.take(Step::Connect(0));
    world.run_until(0, is_failing);
    world.notices(0);
    world.fail(0, failure);
    assert_eq!(world.notices(0), [Notice::Ended(End::Failed(error))]);
    world.settle();
    assert_eq!(world.standing(), 0);
}
