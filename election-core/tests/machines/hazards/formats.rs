//! Formats with names that do not tell a znode's owner, and znodes of another format.

#![expect(clippy::indexing_slicing, reason = "a test: it fails by panicking")]

use election_core::election::{Notice, Obstacle, Role};
use election_core::format::Format;
use election_core::lock::LockOptions;
use election_core::{SessionId, Token};

use super::STAND_AGAIN;
use crate::common::client::FOREIGN;
use crate::common::server::{Access, Data, Kind, Name, PERSISTENT, Request, UNTOLD, Znode};
use crate::common::step::Step;
use crate::common::{Budget, World};

const PLAIN: Format = Format::leader_election_support();

fn plain(sequence: i32) -> Name {
    Name { sequence, client: UNTOLD, attempt: 0, kind: Kind::Plain }
}

fn znode(sequence: i32, owner: SessionId) -> Znode {
    let (name, token) = (plain(sequence), Token::new(50 + i64::from(sequence)));
    Znode { name, owner, token, version: 0, access: Access::Open, data: Data::Own }
}

/// Makes a world with a nominee in `n_` behind three candidates of others, with a create in doubt.
fn in_doubt_behind_three() -> World {
    let mut world = World::in_format(1, PLAIN, Budget::default());
    for sequence in [0, 4, 5] {
        world = world.with_znode(znode(sequence, FOREIGN));
    }
    world.server.next = 6;
    world.clients[0].log = Some(Vec::new());
    world.take(Step::Connect(0));
    world.take(Step::Disconnect(0));
    world
}

/// The own znode is the one that the session owns: it was created last.
#[test]
fn a_create_without_an_id_was_done_although_its_reply_was_lost() {
    let mut world = in_doubt_behind_three();
    world.take(Step::ApplyInDoubt(0, 0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    let expected = [Request::Barrier, Request::List, Request::LookAt(plain(6)), Request::List];
    assert_eq!(requests[..4], expected);
    assert_eq!(world.candidate(0), plain(6));
    assert_eq!(world.clients[0].creates, 1);
}

/// That no candidate is the session's shows that it was not done: all are looked at.
#[test]
fn a_create_without_an_id_was_not_done() {
    let mut world = in_doubt_behind_three();
    world.take(Step::DropInDoubt(0));
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    let looked_at: Vec<_> = requests
        .iter()
        .filter_map(|request| match request {
            Request::LookAt(name) => Some(name.sequence),
            _ => None,
        })
        .collect();
    assert_eq!(looked_at, [5, 4, 0]);
    assert!(requests.contains(&Request::Create(0)));
    assert_eq!(world.candidate(0), plain(6));
    assert_eq!(world.server.tip.znodes.len(), 4);
}

/// Others came after it, and one of them went while it was looked at.
#[test]
fn a_create_without_an_id_is_found_among_later_ones() {
    let mut world = in_doubt_behind_three();
    world.take(Step::ApplyInDoubt(0, 0));
    for sequence in [7, 8] {
        world = world.with_znode(znode(sequence + 50, FOREIGN));
        world.server.next = 60;
    }
    world.take(Step::Connect(0));
    world.run_until(0, |request| *request == Request::LookAt(plain(58)));
    world.take(Step::ForeignLeaves(plain(58)));
    world.requests_until_rest(0);
    assert_eq!(world.candidate(0), plain(6));
}

/// The znode that it had before is no younger than the one that it looks for, and so are all znodes that were there
/// before that.
#[test]
fn a_search_without_an_id_ends_at_the_znode_that_was_there_before() {
    let mut world = World::in_format(1, PLAIN, Budget::default());
    world = world.with_znode(znode(0, FOREIGN));
    world.server.next = 1;
    world.take(Step::Connect(0));
    world.requests_until_rest(0);
    world.budget.deletions = 1;
    let own = world.candidate(0);
    world = world.with_znode(znode(9, FOREIGN));
    world.budget.looks = 1;
    world.take(Step::Look(0));
    world.requests_until_rest(0);
    world.take(Step::OperatorDeletes(own));
    world.take(Step::Hear(0));
    world.take(Step::Disconnect(0));
    world.take(Step::DropInDoubt(0));
    world.take(Step::Connect(0));
    world.run_until(0, |request| matches!(request, Request::LookAt(_)));
    let requests = world.requests_until_rest(0);
    assert!(!requests.contains(&Request::LookAt(plain(0))), "{requests:?}");
}

/// A znode that another process has left in the session would stand for as long as that lives.
#[test]
fn a_znode_of_the_session_that_is_not_the_candidate_is_deleted() {
    let session = World::new(1, Budget::default()).clients[0].session;
    for options in [
        LockOptions { format: PLAIN, ..LockOptions::exclusive() },
        LockOptions { format: Format::zookeeper_write_lock(), ..LockOptions::exclusive() },
    ] {
        let mut world = World::locks(&[options], Budget::default());
        let kind = world.clients[0].kind();
        let client = if kind == Kind::Plain { UNTOLD } else { 0 };
        let name = Name { client, kind, ..plain(0) };
        world = world.with_znode(Znode { name, ..znode(0, session) });
        world.server.next = 1;
        world.take(Step::Connect(0));
        let requests = world.requests_until_rest(0);
        let deleted = |request: &Request| matches!(request, Request::Delete(found, Some(_)) if *found == name);
        assert!(requests.iter().any(deleted), "{requests:?}");
        assert!(matches!(world.role(0), Role::Leading { .. }));
    }
}

/// A search that a nominee has left unfinished deletes what is the session's, and nothing else.
#[test]
fn a_cleanup_without_an_id_deletes_what_the_session_owns() {
    let mut world = in_doubt_behind_three();
    world.may_fail = true;
    world.budget.refusals = 1;
    world.take(Step::ApplyInDoubt(0, 0));
    world.take(Step::Connect(0));
    world.run_until(0, |request| *request == Request::List);
    world.take(Step::Refuse(0));
    assert_eq!(world.server.tip.znodes.len(), 4);
    world.take(Step::Look(0));
    let requests = world.requests_until_rest(0);
    assert!(requests.contains(&Request::Delete(plain(6), None)), "{requests:?}");
    assert_eq!(world.server.tip.znodes.len(), 3);
    assert!(world.clients[0].is_idle_for_good());
}

/// Its connection hears nothing, and what it sends arrives: another's candidate has its name by now.
#[test]
fn who_leaves_without_an_id_deletes_no_other_candidate() {
    for options in [None, Some(LockOptions { format: PLAIN, ..LockOptions::exclusive() })] {
        let mut world = match options {
            None => World::in_format(2, PLAIN, Budget::default()),
            Some(options) => World::locks(&[options, options], Budget::default()),
        };
        world.take(Step::Connect(0));
        world.requests_until_rest(0);
        world.budget.wipes = 1;
        world.take(Step::OperatorWipes);
        world.take(Step::Connect(1));
        world.requests_until_rest(1);
        assert_eq!(world.candidate(0), world.candidate(1), "the name recurs");
        assert!(matches!(world.role(1), Role::Leading { .. }));

        world.take(Step::Withdraw(0));
        world.settle();
        assert_eq!(world.server.tip.znodes.len(), 1);
        assert!(matches!(world.role(1), Role::Leading { .. }), "{:?}", world.role(1));
        assert!(world.clients[0].is_idle_for_good());
    }
}

/// Its data was written between the look and the deletion: it is looked at again.
#[test]
fn who_leaves_without_an_id_looks_again_after_a_write() {
    let mut world = World::in_format(1, PLAIN, Budget::default());
    world.take(Step::Connect(0));
    world.requests_until_rest(0);
    let own = world.candidate(0);
    world.take(Step::Withdraw(0));
    world.run_until(0, |request| matches!(request, Request::Delete(..)));
    world.budget.writes = 1;
    world.take(Step::OperatorWrites(own));
    let requests = world.requests_until_rest(0);
    let again = [Request::Barrier, Request::LookAt(own)];
    assert_eq!(requests[1..3], again, "{requests:?}");
    assert!(world.server.tip.znodes.is_empty());
}

/// A participant of another library's format, which would lead beside them.
#[test]
fn a_participant_of_another_format_is_first() {
    let name = Name { sequence: 0, client: UNTOLD, attempt: 0, kind: Kind::Plain };
    let znode = Znode {
        name,
        owner: FOREIGN,
        token: Token::new(50),
        version: 0,
        access: Access::Open,
        data: Data::Own,
    };
    let mut world = World::new(2, Budget::default()).with_znode(znode);
    world.server.next = 1;
    for client in 0..2 {
        world.clients[client].log = Some(Vec::new());
        world.take(Step::Connect(client));
        world.requests_until_rest(client);
    }
    assert_eq!(world.notices(0), [Notice::ForeignChild, Notice::Obstructed(Obstacle::Foreign)]);
    assert_eq!(world.clients[0].nominee.foreign_child(), Some("n_0000000000"));
    assert_eq!(world.notices(1), [Notice::ForeignChild, Notice::Following]);
    assert!(world.has_news(0) || world.role(0) == Role::Standing);

    world.take(Step::Look(0));
    world.requests_until_rest(0);
    assert_eq!(world.notices(0), [Notice::Obstructed(Obstacle::Foreign)], "told at each look");

    world.take(Step::ForeignLeaves(name));
    world.take(Step::Hear(0));
    assert_eq!(world.requests_until_rest(0), [Request::List]);
    assert!(matches!(world.role(0), Role::Leading { .. }));
    assert_eq!(world.clients[0].nominee.foreign_child(), None);
}

/// The heir lists once more before it leads.
#[test]
fn a_participant_of_another_format_comes_beside_a_leader() {
    let mut world = World::settled(2, STAND_AGAIN);
    let name = Name { sequence: 7, client: UNTOLD, attempt: 0, kind: Kind::Plain };
    let znode = Znode {
        name,
        owner: FOREIGN,
        token: Token::new(500),
        version: 0,
        access: Access::Open,
        data: Data::Own,
    };
    world = world.with_znode(znode);
    world.budget.looks = 1;
    world.take(Step::Look(1));
    world.requests_until_rest(1);
    world.notices(1);
    world.take(Step::Withdraw(0));
    world.requests_until_rest(0);
    world.requests_until_rest(1);
    assert_eq!(world.role(1), Role::Standing);
    assert_eq!(world.notices(1), [Notice::Obstructed(Obstacle::Foreign)]);
}

#[test]
fn a_persistent_child_of_another_format_is_in_the_way_of_none() {
    let name = Name { sequence: 0, client: UNTOLD, attempt: 0, kind: Kind::Plain };
    let znode = Znode {
        name,
        owner: PERSISTENT,
        token: Token::new(50),
        version: 0,
        access: Access::Open,
        data: Data::Own,
    };
    let mut world = World::new(1, Budget::default()).with_znode(znode);
    world.server.next = 1;
    world.clients[0].log = Some(Vec::new());
    world.take(Step::Connect(0));
    let requests = world.requests_until_rest(0);
    assert_eq!(requests[1..4], [Request::List, Request::Exists(name), Request::List]);
    let token = world.token(0);
    assert_eq!(world.notices(0), [Notice::ForeignChild, Notice::Elected(token)]);
}
