//! Formats with names that do not tell a znode's owner, and znodes of another format.

use election_core::election::{Notice, Obstacle, Role};
use election_core::format::Format;
use election_core::lock::LockOptions;

use super::STAND_AGAIN;
use crate::contest::acts::Act;
use crate::contest::candidates::{Candidate, Kind, UNTOLD};
use crate::contest::names::Name;
use crate::contest::script::Asked;
use crate::contest::worlds::FOREIGN;
use crate::contest::{NO_FAULTS, World};
use crate::lab::Step;

const PLAIN: Format = Format::leader_election_support();

const fn plain(sequence: i32) -> Name {
    Name::Candidate(Candidate { sequence, client: UNTOLD, attempt: 0, kind: Kind::Plain })
}

/// Makes a world with a nominee in `n_` behind three candidates of others, with a create in doubt.
fn in_doubt_behind_three() -> World {
    let mut world = World::in_format(1, PLAIN, NO_FAULTS).scripted();
    for sequence in [0, 4, 5] {
        world = world.with(plain(sequence), Some(FOREIGN), 50 + i64::from(sequence));
    }
    world.take(Step::Connect(0));
    world.take(Step::Disconnect(0));
    world
}

/// The own znode is the one that the session owns: it was created last.
#[test]
fn a_create_without_an_id_was_done_although_its_reply_was_lost() {
    let mut world = in_doubt_behind_three();
    world.take(Step::ApplyInDoubt(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    let expected = [Asked::Barrier, Asked::List, Asked::LookAt(plain(6)), Asked::List];
    assert_eq!(requests[..4], expected);
    assert_eq!(world.own(0), plain(6));
    assert_eq!(world.creates(0), 1);
}

/// That no candidate is the session's shows that it was not done: all are looked at.
#[test]
fn a_create_without_an_id_was_not_done() {
    let mut world = in_doubt_behind_three();
    world.drop_in_doubt(0);
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    let looked_at: Vec<_> = requests
        .iter()
        .filter_map(|request| match request {
            Asked::LookAt(name) => Some(name.candidate()?.sequence),
            _ => None,
        })
        .collect();
    assert_eq!(looked_at, [5, 4, 0]);
    assert!(requests.contains(&Asked::Create(0)));
    assert_eq!(world.own(0), plain(6));
    assert_eq!(world.standing(), 4);
}

/// Others came after it, and one of them went while it was looked at.
#[test]
fn a_create_without_an_id_is_found_among_later_ones() {
    let mut world = in_doubt_behind_three();
    world.take(Step::ApplyInDoubt(0));
    for sequence in [7, 8] {
        world = world.with(plain(sequence + 50), Some(FOREIGN), 110 + i64::from(sequence));
    }
    world.take(Step::Connect(0));
    world.run_until(0, |asked| asked == Asked::LookAt(plain(58)));
    world.take(Step::Act(Act::ForeignLeaves(plain(58))));
    world.requests_until_rest(0);
    assert_eq!(world.own(0), plain(6));
}

/// The znode that it had before is no younger than the one that it looks for, and so are all znodes that were there
/// before that.
#[test]
fn a_search_without_an_id_ends_at_the_znode_that_was_there_before() {
    let mut world = World::in_format(1, PLAIN, NO_FAULTS).scripted();
    world = world.with(plain(0), Some(FOREIGN), 50);
    world.take(Step::Connect(0));
    world.requests_until_rest(0);
    let own = world.own(0);
    world = world.with(plain(9), Some(FOREIGN), 59);
    world.take(Step::Look(0));
    world.requests_until_rest(0);
    world.take(Step::OperatorDeletes(own));
    world.take(Step::Apply(0));
    world.take(Step::Disconnect(0));
    world.drop_in_doubt(0);
    world.take(Step::Connect(0));
    world.run_until(0, |asked| matches!(asked, Asked::LookAt(_)));
    let requests = world.requests_until_rest(0);
    assert!(!requests.contains(&Asked::LookAt(plain(0))), "{requests:?}");
}

/// A znode that another process has left in the session would stand for as long as that lives.
#[test]
fn a_znode_of_the_session_that_is_not_the_candidate_is_deleted() {
    let session = World::nominees(1, NO_FAULTS).scripted().clients[0].session;
    for options in [
        LockOptions { format: PLAIN, ..LockOptions::exclusive() },
        LockOptions { format: Format::zookeeper_write_lock(), ..LockOptions::exclusive() },
    ] {
        let mut world = World::locks(&[options], NO_FAULTS).scripted();
        let kind = world.clients[0].kind();
        let client = if kind == Kind::Plain { UNTOLD } else { 0 };
        let name = Name::Candidate(Candidate { sequence: 0, client, attempt: 0, kind });
        world = world.with(name, Some(session), 50);
        world.take(Step::Connect(0));
        let requests = world.requests_until_rest(0);
        let deleted =
            |asked: &Asked| matches!(asked, Asked::Delete(found, Some(_)) if *found == name);
        assert!(requests.iter().any(deleted), "{requests:?}");
        assert!(matches!(world.role(0), Role::Leading { .. }));
    }
}

/// A search that a nominee has left unfinished deletes what is the session's, and nothing else.
#[test]
fn a_cleanup_without_an_id_deletes_what_the_session_owns() {
    let mut world = in_doubt_behind_three();
    world.model.kinds.may_fail = true;
    world.take(Step::ApplyInDoubt(0));
    world.take(Step::Connect(0));
    world.run_until(0, |asked| asked == Asked::List);
    world.take(Step::Refuse(0));
    assert_eq!(world.standing(), 4);
    world.take(Step::Look(0));
    let requests = world.requests_until_rest(0);
    assert!(requests.contains(&Asked::Delete(plain(6), None)), "{requests:?}");
    assert_eq!(world.standing(), 3);
    assert!(world.clients[0].is_done());
}

/// Its connection hears nothing, and what it sends arrives: another's candidate has its name by now.
#[test]
fn who_leaves_without_an_id_deletes_no_other_candidate() {
    for options in [None, Some(LockOptions { format: PLAIN, ..LockOptions::exclusive() })] {
        let mut world = match options {
            None => World::in_format(2, PLAIN, NO_FAULTS).scripted(),
            Some(options) => World::locks(&[options, options], NO_FAULTS).scripted(),
        };
        world.take(Step::Connect(0));
        world.requests_until_rest(0);
        world.take(Step::Act(Act::Wipe));
        world.take(Step::Connect(1));
        world.requests_until_rest(1);
        assert_eq!(world.own(0), world.own(1), "the name recurs");
        assert!(matches!(world.role(1), Role::Leading { .. }));

        world.take(Step::Withdraw(0, 0));
        world.settle();
        assert_eq!(world.standing(), 1);
        assert!(matches!(world.role(1), Role::Leading { .. }), "{:?}", world.role(1));
        assert!(world.clients[0].is_done());
    }
}

/// Its data was written between the look and the deletion: it is looked at again.
#[test]
fn who_leaves_without_an_id_looks_again_after_a_write() {
    let mut world = World::in_format(1, PLAIN, NO_FAULTS).scripted();
    world.take(Step::Connect(0));
    world.requests_until_rest(0);
    let own = world.own(0);
    world.take(Step::Withdraw(0, 0));
    world.run_until(0, |asked| matches!(asked, Asked::Delete(..)));
    world.take(Step::OperatorWrites(own));
    let requests = world.requests_until_rest(0);
    let again = [Asked::Barrier, Asked::LookAt(own)];
    assert_eq!(requests[1..3], again, "{requests:?}");
    assert_eq!(world.standing(), 0);
}

/// A participant of another library's format, which would lead beside them.
#[test]
fn a_participant_of_another_format_is_first() {
    let name = plain(0);
    let mut world = World::nominees(2, NO_FAULTS).scripted().with(name, Some(FOREIGN), 50);
    for client in 0..2 {
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    assert_eq!(world.notices(0), [Notice::ForeignChild, Notice::Obstructed(Obstacle::Foreign)]);
    assert_eq!(world.clients[0].machine().foreign_child(), Some("n_0000000000"));
    assert_eq!(world.notices(1), [Notice::ForeignChild, Notice::Following]);
    assert!(world.has_news(0) || world.role(0) == Role::Standing);

    world.take(Step::Look(0));
    world.requests_until_rest(0);
    assert_eq!(world.notices(0), [Notice::Obstructed(Obstacle::Foreign)], "told at each look");

    world.take(Step::Act(Act::ForeignLeaves(name)));
    world.take(Step::Apply(0));
    assert_eq!(world.requests_until_rest(0), [Asked::List]);
    assert!(matches!(world.role(0), Role::Leading { .. }));
    assert_eq!(world.clients[0].machine().foreign_child(), None);
}

/// The heir lists once more before it leads.
#[test]
fn a_participant_of_another_format_comes_beside_a_leader() {
    let mut world = World::at_rest(2, STAND_AGAIN);
    let name = plain(7);
    world = world.with(name, Some(FOREIGN), 500);
    world.take(Step::Look(1));
    world.requests_until_rest(1);
    world.notices(1);
    world.take(Step::Withdraw(0, 0));
    world.requests_until_rest(0);
    world.requests_until_rest(1);
    assert_eq!(world.role(1), Role::Standing);
    assert_eq!(world.notices(1), [Notice::Obstructed(Obstacle::Foreign)]);
}

#[test]
fn a_persistent_child_of_another_format_is_in_the_way_of_none() {
    let name = plain(0);
    let mut world = World::nominees(1, NO_FAULTS).scripted().with(name, None, 50);
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[1..4], [Asked::List, Asked::Exists(name), Asked::List]);
    let token = world.token(0);
    assert_eq!(world.notices(0), [Notice::ForeignChild, Notice::Elected(token)]);
}
