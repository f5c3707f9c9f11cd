//! What goes wrong, and what happens then: a test for each row of the hazard table in the design
//! (section 3.2), as far as the hazard is the election's own business.

mod common;

use common::server::{Request, Znode};
use common::step::Step;
use common::{Budget, World};
use election_core::{
    Cause, DeleteVersion, Departure, ElectionNode, End, Event, Failure, NominationError, Notice,
    OnLoss, Policy, Role, SessionId, Token,
};

const STAND_AGAIN: Policy =
    Policy { on_loss: OnLoss::StandAgain, election_node: ElectionNode::CreateIfMissing };
const END: Policy = Policy { on_loss: OnLoss::End, election_node: ElectionNode::MustExist };

/// A client that lost its connection after its create was sent.
fn create_in_doubt() -> World {
    let mut world = World::new(1, Budget::default());
    world.clients[0].log = Some(Vec::new());
    world.take(Step::Connect(0));
    world.take(Step::Disconnect(0));
    assert_eq!(world.clients[0].in_doubt.len(), 1);
    world
}

fn is_read(request: &Request) -> bool {
    matches!(request, Request::Read(_))
}

/// C-21, C-22.
#[test]
fn connection_lost_after_create_was_sent_and_it_was_done() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0, 0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert!(matches!(
        requests[..],
        [Request::Sync, Request::List, Request::Read(_), Request::List]
    ));
    assert_eq!(world.server.znodes.len(), 1);
    assert_eq!(world.token(0), world.server.znodes[0].token);
}

/// C-28: exactly one more create, and only after a `sync` and a list.
#[test]
fn connection_lost_after_create_was_sent_and_it_was_not_done() {
    let mut world = create_in_doubt();
    world.take(Step::DropInDoubt(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert!(matches!(
        requests[..],
        [Request::Sync, Request::List, Request::Create, Request::Read(_), Request::List]
    ));
    assert_eq!(world.server.znodes.len(), 1);
}

/// C-22: the server applies the create between the reconnect and the search.
#[test]
fn connection_lost_after_create_was_sent_and_it_is_done_late() {
    let mut world = create_in_doubt();
    world.take(Step::Connect(0));
    world.take(Step::ApplyInDoubt(0, 0));
    world.requests_until_rest(0);
    assert_eq!(world.server.znodes.len(), 1);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// C-2, C-3, C-19: the znode of the old session is a ghost, deleted by version.
#[test]
fn connection_lost_after_create_and_the_session_expired_meanwhile() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0, 0));
    let ghost = world.server.znodes[0].clone();
    world.take(Step::ConnectToNewSession(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[0], Request::Create);
    assert!(requests.contains(&Request::Inspect(ghost.name)));
    assert!(matches!(requests[4], Request::Delete(name, DeleteVersion::Exactly(_)) if name == ghost.name));
    assert_eq!(world.server.znodes.len(), 1);
    assert!(world.token(0) > ghost.token);
}

/// C-3, C-19: the same, found by the search after a second create in doubt.
#[test]
fn a_search_does_not_adopt_the_znode_of_another_session() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0, 0));
    let ghost = world.server.znodes[0].clone();
    world.take(Step::ConnectToNewSession(0));
    world.take(Step::Disconnect(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Request::Sync, Request::List, Request::Read(ghost.name)]);
    assert!(matches!(requests[3], Request::Delete(name, DeleteVersion::Exactly(_)) if name == ghost.name));
    assert_eq!(world.server.znodes.len(), 1);
    assert!(world.token(0) > ghost.token);
}

/// C-12: somebody writes to the ghost between the look at it and its deletion.
#[test]
fn a_ghost_that_changed_is_looked_at_again() {
    let mut world = create_in_doubt();
    world.take(Step::ApplyInDoubt(0, 0));
    let ghost = world.server.znodes[0].name;
    world.take(Step::ConnectToNewSession(0));
    world.run_until(0, |request| matches!(request, Request::Delete(..)));
    world.take(Step::OperatorWrites(ghost));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[1], Request::Inspect(ghost));
    assert_eq!(world.server.znodes.len(), 1);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

#[test]
fn predecessor_vanishes_between_list_and_watch() {
    let mut world = World::settled(2, STAND_AGAIN);
    world.take(Step::Disconnect(1));
    world.take(Step::Connect(1));
    let leader = world.candidate(0);
    world.run_until(1, |request| *request == Request::Read(leader));
    world.take(Step::Withdraw(0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
    assert!(world.server.watchers.iter().all(|watcher| watcher.client == 1));
    assert_eq!(world.server.watchers.len(), 1, "no watch is left on what is gone");
}

#[test]
fn predecessor_data_changes() {
    let mut world = World::settled(2, STAND_AGAIN);
    let leader = world.candidate(0);
    world.notices(1);
    world.take(Step::OperatorWrites(leader));
    assert_eq!(world.requests_until_rest(1), [Request::Read(leader)]);
    assert!(matches!(world.role(1), Role::Following { .. }));
    assert_eq!(world.notices(1), []);
    world.take(Step::Withdraw(0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// C-11, C-33, C-36.
#[test]
fn own_znode_is_deleted_by_someone_else() {
    let mut world = World::settled(3, STAND_AGAIN);
    for (client, notice) in
        [(1, Notice::Unseated(Cause::Evicted)), (0, Notice::Lost(Cause::Evicted))]
    {
        world.notices(client);
        let token = world.server.find(world.candidate(client)).map(|znode| znode.token);
        world.take(Step::OperatorDeletes(world.candidate(client)));
        world.take(Step::Deliver(client));
        assert_eq!(world.notices(client), [notice]);
        world.settle();
        world.check().expect("every rule holds");
        let new = world.server.find(world.candidate(client)).map(|znode| znode.token);
        assert!(new > token, "stands again at the end of the queue");
    }
    assert!(matches!(world.role(2), Role::Leading { .. }));
}

#[test]
fn own_znode_is_deleted_by_someone_else_and_the_policy_is_to_end() {
    let mut world = World::settled(1, END);
    world.notices(0);
    world.take(Step::OperatorDeletes(world.candidate(0)));
    assert_eq!(world.requests_until_rest(0), []);
    assert_eq!(world.notices(0), [Notice::Ended(End::Lost(Cause::Evicted))]);
}

/// C-45: the same leadership goes on, without a listing.
#[test]
fn connection_lost_while_leading_and_back_in_the_same_session() {
    let mut world = World::settled(2, STAND_AGAIN);
    let token = world.token(0);
    world.notices(0);
    world.take(Step::Disconnect(0));
    assert_eq!(world.notices(0), [Notice::Suspended]);
    assert_eq!(world.role(0), Role::Suspended { token });
    world.take(Step::Connect(0));
    assert_eq!(world.role(0), Role::Suspended { token }, "not before the znode is verified");
    assert_eq!(world.requests_until_rest(0), [Request::Read(world.candidate(0))]);
    assert_eq!(world.notices(0), [Notice::Resumed(token)]);
}

/// C-5: without waiting for any server.
#[test]
fn connection_lost_while_leading_and_the_lease_deadline_passes() {
    let mut world = World::settled(2, STAND_AGAIN);
    let token = world.token(0);
    let old = world.candidate(0);
    world.take(Step::Disconnect(0));
    world.notices(0);
    world.take(Step::LeaseLapse(0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::LeaseLapsed)]);
    assert_eq!(world.role(0), Role::Connecting);
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..2], [Request::Delete(old, DeleteVersion::Any), Request::Create]);
    world.settle();
    assert!(world.token(1) > token);
    assert!(matches!(world.role(0), Role::Following { .. }));
}

#[test]
fn lease_deadline_passes_and_the_policy_is_to_end() {
    let mut world = World::settled(1, END);
    world.notices(0);
    world.take(Step::LeaseLapse(0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::LeaseLapsed)]);
    world.settle();
    assert_eq!(world.notices(0), [Notice::Ended(End::Lost(Cause::LeaseLapsed))]);
    assert_eq!(world.server.znodes, []);
}

/// C-6, C-14.
#[test]
fn session_is_expired() {
    let mut world = World::settled(2, STAND_AGAIN);
    for client in 0..2 {
        world.notices(client);
        world.take(Step::Disconnect(client));
        world.take(Step::Expire(client));
    }
    world.take(Step::Connect(0));
    assert_eq!(world.notices(0), [Notice::Suspended, Notice::Lost(Cause::SessionExpired)]);
    world.take(Step::Connect(1));
    assert_eq!(world.notices(1), [Notice::Unseated(Cause::SessionExpired)]);
    world.settle();
    world.check().expect("every rule holds");
    assert_eq!(world.clients[0].creates, 2);
}

#[test]
fn session_is_expired_and_the_policy_is_to_end() {
    let mut world = World::settled(2, END);
    for client in 0..2 {
        world.notices(client);
        world.take(Step::Disconnect(client));
        world.take(Step::Expire(client));
        world.take(Step::Connect(client));
        let end = Notice::Ended(End::Lost(Cause::SessionExpired));
        assert_eq!(world.notices(client).last(), Some(&end));
        assert_eq!(world.requests_until_rest(client), []);
    }
}

/// C-15: the old session's znode still stands, and is nobody's.
#[test]
fn another_session_is_handed_out() {
    let mut world = World::settled(1, STAND_AGAIN);
    let token = world.token(0);
    world.take(Step::Disconnect(0));
    world.notices(0);
    world.take(Step::ConnectToNewSession(0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::SessionExpired)]);
    world.settle();
    assert!(world.token(0) > token);
    assert_eq!(world.server.znodes.len(), 1);
}

/// The driver's clock is looked at before its sockets: the lapse is fed first, whatever waits
/// behind it.
#[test]
fn process_was_paused() {
    let mut world = World::settled(2, STAND_AGAIN);
    world.take(Step::OperatorWrites(world.candidate(0)));
    world.notices(0);
    world.take(Step::LeaseLapse(0));
    assert_eq!(world.notices(0), [Notice::Lost(Cause::LeaseLapsed)]);
    world.take(Step::Deliver(0));
    assert_eq!(world.notices(0), [], "what waited does not bring it back");
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// C-23, C-25: the deletion is sent once the session is back.
#[test]
fn resign_while_disconnected_and_the_session_resumes() {
    let mut world = World::settled(2, STAND_AGAIN);
    let own = world.candidate(0);
    world.take(Step::Disconnect(0));
    world.take(Step::Withdraw(0));
    assert_eq!(world.role(0), Role::Leaving);
    world.notices(0);
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), [Request::Delete(own, DeleteVersion::Any)]);
    assert_eq!(world.notices(0), [Notice::Ended(End::Resigned(Departure::Deleted))]);
}

/// C-42: how the znode went is told.
#[test]
fn resign_while_disconnected_and_the_session_expires() {
    let mut world = World::settled(2, STAND_AGAIN);
    world.take(Step::Disconnect(0));
    world.take(Step::Withdraw(0));
    world.take(Step::Expire(0));
    world.notices(0);
    world.take(Step::Connect(0));
    assert_eq!(world.notices(0), [Notice::Ended(End::Resigned(Departure::WithSession))]);
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

#[test]
fn delete_answered_no_node() {
    let mut world = World::settled(1, STAND_AGAIN);
    world.take(Step::Withdraw(0));
    world.take(Step::OperatorDeletes(world.candidate(0)));
    world.notices(0);
    world.settle();
    assert_eq!(world.notices(0), [Notice::Ended(End::Resigned(Departure::Deleted))]);
}

#[test]
fn reply_lost_after_delete() {
    for is_applied in [true, false] {
        let mut world = World::settled(2, STAND_AGAIN);
        let own = world.candidate(1);
        world.take(Step::Withdraw(1));
        if is_applied {
            world.take(Step::Execute(1));
        }
        world.take(Step::Disconnect(1));
        world.take(Step::Connect(1));
        world.notices(1);
        assert_eq!(world.requests_until_rest(1), [Request::Delete(own, DeleteVersion::Any)]);
        assert_eq!(world.notices(1), [Notice::Ended(End::Withdrawn(Departure::Deleted))]);
        assert_eq!(world.server.znodes.len(), 1);
    }
}

/// C-27, C-41: the reply to the create comes after the withdrawal.
#[test]
fn withdraw_while_the_create_is_in_flight() {
    let mut world = World::new(1, Budget::default());
    world.clients[0].log = Some(Vec::new());
    world.take(Step::Connect(0));
    world.take(Step::Withdraw(0));
    assert_eq!(world.role(0), Role::Leaving);
    world.settle();
    assert_eq!(world.server.znodes, []);
    assert_eq!(world.notices(0), [Notice::Ended(End::Withdrawn(Departure::Deleted))]);
}

/// C-21, C-24: also when the reply to the create is lost.
#[test]
fn withdraw_while_the_create_is_in_doubt() {
    for (is_applied, departure) in [(true, Departure::Deleted), (false, Departure::NeverCreated)] {
        let mut world = create_in_doubt();
        world.take(if is_applied { Step::ApplyInDoubt(0, 0) } else { Step::DropInDoubt(0) });
        world.take(Step::Withdraw(0));
        world.take(Step::Connect(0));
        world.settle();
        assert_eq!(world.server.znodes, []);
        assert_eq!(world.notices(0), [Notice::Ended(End::Withdrawn(departure))]);
    }
}

/// C-41.
#[test]
fn withdraw_before_anything_was_created() {
    let mut world = World::new(1, Budget::default());
    world.clients[0].log = Some(Vec::new());
    world.take(Step::Withdraw(0));
    assert_eq!(world.notices(0), [Notice::Ended(End::Withdrawn(Departure::NeverCreated))]);
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), []);
}

/// C-30.
#[test]
fn election_node_does_not_exist() {
    let mut world = World::new(1, Budget::default());
    world.server.has_election_node = false;
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[..3], [Request::Create, Request::CreateElectionNode, Request::Create]);
    assert!(matches!(world.role(0), Role::Leading { .. }));
}

/// G2, C-30.
#[test]
fn election_node_does_not_exist_and_must() {
    let mut world = World::with_policy(1, Budget::default(), END);
    world.server.has_election_node = false;
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), [Request::Create]);
    assert_eq!(world.clients[0].end(), Some(End::Failed(NominationError::NoElectionNode)));
}

/// C-43: the container is reaped again and again before the candidate is in it.
#[test]
fn election_node_is_created_a_bounded_number_of_times() {
    let mut world = World::new(1, Budget::default());
    world.server.create_fails = Some(Failure::NoNode);
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    let rounds = requests.iter().filter(|request| **request == Request::CreateElectionNode).count();
    assert_eq!(rounds, 3);
    assert_eq!(world.clients[0].end(), Some(End::Failed(NominationError::NoElectionNode)));
}

/// G17, C-30: leader and follower are told; by policy they stand again or end.
#[test]
fn election_node_is_deleted_under_the_nominees() {
    let mut world = World::settled(2, STAND_AGAIN);
    let token = world.token(0);
    world.take(Step::OperatorWipes);
    world.settle();
    assert!(world.clients[0].was_told_of(Cause::Evicted));
    assert!(world.clients[1].was_told_of(Cause::Evicted));
    world.check().expect("every rule holds");
    assert!(world.server.znodes.iter().all(|znode| znode.token > token), "C-78");

    let mut world = World::settled(2, END);
    world.take(Step::OperatorWipes);
    world.settle();
    for client in &world.clients {
        assert_eq!(client.end(), Some(End::Lost(Cause::Evicted)));
    }
}

#[test]
fn election_node_has_children_that_are_no_candidates() {
    let mut world = World::new(2, Budget::default());
    world.server.foreign = &["DONE", "0000000000", "_c_x-lock-0000000000", "latch-", "n_0000000001"];
    for client in 0..2 {
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    assert!(matches!(world.role(0), Role::Leading { .. }));
    let leader = world.candidate(0).text();
    match world.role(1) {
        Role::Following { predecessor, .. } => assert_eq!(predecessor.as_str(), leader),
        role => panic!("{role:?}"),
    }
    world.take(Step::Withdraw(0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// The counter sticks since 3.6: the error names the remedy.
#[test]
fn sequence_numbers_run_out_on_a_server_since_3_6() {
    let mut world = World::new(1, Budget::default());
    world.server.create_fails = Some(Failure::NodeExists);
    world.take(Step::Connect(0));
    assert_eq!(world.requests_until_rest(0), [Request::Create]);
    let Some(End::Failed(error)) = world.clients[0].end() else { panic!("must fail") };
    assert_eq!(error, NominationError::SequenceExhausted);
    assert!(error.to_string().contains("fresh election node"));
}

/// C-8: the counter wraps before 3.6, with four candidates alive around it.
#[test]
fn sequence_numbers_wrap_on_a_server_before_3_6() {
    let mut world = World::new(4, Budget::default()).counting_from(i32::MAX - 1);
    for client in 0..4 {
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    for leader in 0..3 {
        world.check().expect("every rule holds");
        assert!(matches!(world.role(leader), Role::Leading { .. }));
        world.take(Step::Withdraw(leader));
        world.settle();
    }
    assert!(matches!(world.role(3), Role::Leading { .. }));
    assert_eq!(world.candidate(3).sequence, i32::MIN + 1);
}

/// C-34, C-35: everything is determined anew, and nothing is believed before.
#[test]
fn whole_ensemble_restarts() {
    let mut world = World::settled(3, STAND_AGAIN);
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
    assert!(world.clients.iter().all(|client| client.creates == 1));
}

/// C-34: kazoo's wedged election.
#[test]
fn predecessor_is_deleted_while_disconnected() {
    let mut world = World::settled(2, STAND_AGAIN);
    world.take(Step::Disconnect(1));
    world.take(Step::Withdraw(0));
    world.settle();
    world.take(Step::Connect(1));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

#[test]
fn two_nominees_of_one_session_in_one_election() {
    let mut world = World::new(2, Budget::default());
    world.clients[1].session = world.clients[0].session;
    for client in 0..2 {
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    assert_eq!(world.server.znodes.len(), 2);
    assert!(matches!(world.role(0), Role::Leading { .. }));
    assert!(matches!(world.role(1), Role::Following { .. }));
    world.take(Step::Withdraw(0));
    world.settle();
    assert!(matches!(world.role(1), Role::Leading { .. }));
}

/// C-31: no permission, a quota, failed authentication.
#[test]
fn an_unexpected_refusal_ends_the_nomination_and_cleans_up() {
    const NO_AUTH: i32 = -102;
    let mut world = World::new(1, Budget::default());
    world.take(Step::Connect(0));
    world.run_until(0, is_read);
    let (ticket, _) = world.clients[0].requests.pop_front().expect("the read");
    let result = Err(Failure::Rejected(NO_AUTH));
    let notice = world.clients[0].feed(Event::Reply { ticket, result });
    let end = End::Failed(NominationError::Rejected(NO_AUTH));
    assert_eq!(notice, Ok(Some(Notice::Ended(end))));
    world.settle();
    assert_eq!(world.server.znodes, []);
}

/// Section 3.3: the successor hears of it with one event, and asks for nothing.
#[test]
fn the_last_in_the_way_goes_and_the_successor_sends_nothing() {
    let mut world = World::settled(3, STAND_AGAIN);
    world.notices(1);
    world.notices(2);
    let token = world.server.znodes[1].token;
    world.take(Step::Withdraw(0));
    world.requests_until_rest(0);
    assert_eq!(world.requests_until_rest(1), []);
    assert_eq!(world.notices(1), [Notice::Elected(token)]);
    assert_eq!(world.clients[2].deliveries.len(), 0, "nobody else is woken");
}

/// G14: a follower whose predecessor goes while others are ahead looks again.
#[test]
fn a_follower_in_the_middle_goes_and_the_next_one_follows_the_leader() {
    let mut world = World::settled(3, STAND_AGAIN);
    world.notices(2);
    world.take(Step::Withdraw(1));
    world.requests_until_rest(1);
    let leader = world.candidate(0);
    assert_eq!(world.requests_until_rest(2), [Request::List, Request::Read(leader)]);
    assert_eq!(world.notices(2), [Notice::Following]);
    assert_eq!(world.notices(0).last(), Some(&Notice::Elected(world.token(0))), "hears nothing");
}

/// C-12: another session has a znode of the same name by the time the own one is read again.
#[test]
fn own_znode_is_replaced_by_one_of_another_session() {
    let mut world = World::settled(1, STAND_AGAIN);
    let name = world.candidate(0);
    world.take(Step::Disconnect(0));
    world.server.delete(name);
    let owner = SessionId::new(77_000);
    world.server.znodes.push(Znode { name, owner, token: Token::new(900), version: 0 });
    world.server.zxid = 900;
    world.take(Step::Connect(0));
    world.notices(0);
    world.settle();
    assert_eq!(world.notices(0)[0], Notice::Lost(Cause::Evicted));
    assert!(world.token(0) > Token::new(900));
}
