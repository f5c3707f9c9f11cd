//! Formats of other libraries: what is created, and what ends an election or keeps a nominee from
//! leading.

use super::*;
use crate::format::Format;

const LE: &str = "le_0000000005";

impl Script {
    fn in_format(format: Format) -> Self {
        let mut script = Self {
            nominee: Nominee::new(ID, STAND_AGAIN).in_format(format),
            ticket: None,
            asked: String::new(),
            notice: None,
        };
        script.feed(Event::Connected { session: SESSION });
        script
    }

    /// Makes a script with a created candidate, by a server that tells the metadata.
    pub(super) fn created_in(format: Format, name: &str) -> Self {
        let mut script = Self::in_format(format);
        let stat = Some(stat(SESSION, 50));
        script.answer(Ok(Reply::Created { name, stat }));
        assert_eq!(script.asked, "list");
        script
    }
}

impl Script {
    /// Expects that the znode with this name is found in a list, and looked at, before it is deleted:
    /// the name may be another's by now.
    fn deletes_after_a_look(&mut self, name: &str) {
        assert_eq!(self.asked, "barrier");
        self.answer(Ok(Reply::BarrierPassed));
        self.list(&[name]);
        assert_eq!(self.asked, format!("exists {name}"));
        self.answer(Ok(Reply::Exists(stat(SESSION, 50))));
        assert_eq!(self.asked, format!("delete {name}"));
    }
}

const LOOK_FOR_DONE: &str = "exists DONE, watched";

/// Makes a script of a leader of go-leaderelection.
fn leading() -> Script {
    let mut script = Script::created_in(Format::go_leaderelection(), LE);
    script.list(&[LE]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
    assert_eq!(script.asked, format!("read {LE}"));
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.asked, LOOK_FOR_DONE);
    script
}

#[test]
fn a_format_says_what_is_created() {
    let data = |format| {
        let mut nominee = Nominee::new(ID, STAND_AGAIN).in_format(format);
        match nominee.handle_event(Event::Connected { session: SESSION }).command {
            Some(Command {
                op: Op::Create(Create { znode: NewZnode::Child(prefix), data, .. }),
                ..
            }) => {
                let data = match data {
                    Payload::Bytes(bytes) => bytes.to_vec(),
                    other => {
                        assert_eq!(other, Payload::Kept(0));
                        Vec::new()
                    }
                };
                (prefix.to_string(), data)
            }
            other => panic!("{other:?}"),
        }
    };
    let cases: [(Format, &str, &[u8]); 5] = [
        (Format::leader_election_support(), "n_", &[]),
        (Format::go_leaderelection(), "le_", &[]),
        (Format::zookeeper_write_lock(), "x-1-", &[0x12, 0x34]),
        (Format::kazoo(), "11111111111111111111111111111111__lock__", &[]),
        (Format::zk_election(), "_c_11111111111111111111111111111111-p_", &[]),
    ];
    for (format, prefix, bytes) in cases {
        assert_eq!(data(format), (prefix.to_string(), bytes.to_vec()), "{format:?}");
        assert_eq!(Nominee::new(ID, STAND_AGAIN).in_format(format).format(), format);
    }
}

/// As far as the format goes: a session of another number, a label of another format.
#[test]
fn a_created_name_is_verified_as_far_as_its_format_permits() {
    for (format, name) in [
        (Format::leader_election_support(), "le_0000000005"),
        (Format::leader_election_support(), "n_5"),
        (Format::leader_election_support(), "n_000000000x"),
        (Format::leader_election_support(), "xn_0000000005"),
        (Format::zookeeper_write_lock(), "x-2-0000000005"),
        (Format::zookeeper_write_lock(), "x-1-x0000000005"),
    ] {
        let mut script = Script::in_format(format);
        script.answer(Ok(Reply::Created { name, stat: None }));
        assert_eq!(script.failure(), Some(NominationError::UnexpectedName), "{name}");
    }
    for (format, name) in [
        (Format::leader_election_support(), "n_-2147483648"),
        (Format::leader_election_support(), "n_-000000001"),
        (Format::zookeeper_write_lock(), "x-1-2147483647"),
    ] {
        let mut script = Script::in_format(format);
        script.answer(Ok(Reply::Created { name, stat: None }));
        assert_eq!(script.failure(), Some(NominationError::SequenceExhausted), "{name}");
        script.deletes_after_a_look(name);
    }
}

/// Of another session than the one that asked: as a proxy that mixes connections up would answer.
#[test]
fn a_created_znode_of_another_session_is_not_stood_with() {
    let mut script = Script::in_format(Format::leader_election_support());
    let stat = Some(stat(NEXT_SESSION, 50));
    script.answer(Ok(Reply::Created { name: "n_0000000005", stat }));
    assert_eq!(script.asked, "read n_0000000005");
    script.answer(Ok(read(NEXT_SESSION, 50)));
    assert_eq!(script.notice, Some(Notice::CandidateLost(Cause::Evicted)));
}

/// By then it may be the name of another's znode.
#[test]
fn a_late_create_without_an_id_is_not_cleaned_up_by_its_name() {
    let mut script = Script::in_format(Format::leader_election_support());
    let late = script.ticket.unwrap();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: NEXT_SESSION });
    assert_eq!(script.asked, "create");
    let result = Ok(Reply::Created { name: "n_0000000005", stat: None });
    script.feed(Event::Reply { ticket: late, result });
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
}

#[test]
fn an_election_that_is_over_is_not_stood_in() {
    for names in [&["DONE", LE][..], &["le_0000000003", LE, "DONE"], &[LE, "xDONEx"]] {
        let mut script = Script::created_in(Format::go_leaderelection(), LE);
        script.list(names);
        assert_eq!(script.notice, Some(Notice::Ended(End::ElectionEnded)));
        script.deletes_after_a_look(LE);
        script.answer(Ok(Reply::Deleted));
        script.answer(Ok(Reply::BarrierPassed));
        script.list(&[]);
        assert_eq!((script.asked.as_str(), script.nominee.phase()), ("", Phase::Over));
    }
}

#[test]
fn a_leader_resigns_where_the_election_is_over() {
    let mut script = leading();
    script.answer(Err(Failure::NoNode));
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    let watch = script.ticket.unwrap();
    assert!(script.nominee.awaits_change(watch));
    script.feed(Event::Changed { ticket: watch, change: Change::Created });
    assert_eq!(script.asked, LOOK_FOR_DONE);
    script.answer(Ok(Reply::Exists(Stat { owner: None, ..stat(SESSION, 60) })));
    assert_eq!(script.nominee.role(), Role::Ended(End::ElectionEnded));
    assert_eq!(script.nominee.hold(), Hold::None);
    script.deletes_after_a_look(LE);
}

/// It may have come while the link was down.
#[test]
fn a_leader_looks_for_the_end_of_the_election_on_each_connection() {
    let mut script = leading();
    script.answer(Err(Failure::NoNode));
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.notice, Some(Notice::Resumed(Token::new(50))));
    assert_eq!(script.asked, LOOK_FOR_DONE);
    script.answer(Ok(Reply::Exists(Stat { owner: None, ..stat(SESSION, 60) })));
    assert_eq!(script.nominee.role(), Role::Ended(End::ElectionEnded));
}

/// Its leader may have gone because it is.
#[test]
fn an_heir_lists_before_it_leads_an_election_that_may_be_over() {
    let mut script = Script::created_in(Format::go_leaderelection(), LE);
    script.list(&["le_0000000003", LE]);
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!(script.notice, Some(Notice::Following));
    let watch = script.ticket.unwrap();
    script.feed(Event::Changed { ticket: watch, change: Change::Deleted });
    assert_eq!((script.asked.as_str(), script.notice), ("list", None));
    script.list(&[LE, "DONE"]);
    assert_eq!(script.nominee.role(), Role::Ended(End::ElectionEnded));
}

/// The nominee cannot ask for the owner of such a child, and reports the child at each look.
#[test]
fn a_foreign_child_whose_name_cannot_be_kept_is_waited_for() {
    let long = format!("{:x<70}0000000001", "");
    let mut script = Script::verified();
    for _ in 0..2 {
        script.list(&[OWN, long.as_str()]);
        assert_eq!(script.notice, Some(Notice::Obstructed(Obstacle::ForeignName)));
        assert_eq!((script.asked.as_str(), script.nominee.role()), ("", Role::Standing));
        script.feed(Event::Look);
    }
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

/// A znode that the own session has there in another format is the user's to know of.
#[test]
fn a_foreign_child_of_the_own_session_is_told_of_only() {
    let mut script = Script::verified();
    script.list(&[OWN, "n_0000000002"]);
    assert_eq!(script.notice, Some(Notice::ForeignChild));
    assert_eq!(script.asked, "exists n_0000000002, watched");
    script.answer(Ok(Reply::Exists(stat(SESSION, 20))));
    script.list(&[OWN, "n_0000000002"]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
    assert_eq!(script.nominee.foreign_child(), Some("n_0000000002"));
}

/// All of them, the persistent ones first.
#[test]
fn each_foreign_child_is_looked_at() {
    let mut script = Script::verified();
    let names = ["n_0000000002", OWN, "entry-0000000001"];
    script.list(&names);
    assert_eq!(script.asked, "exists entry-0000000001, watched");
    script.answer(Ok(Reply::Exists(Stat { owner: None, ..stat(SESSION, 20) })));
    assert_eq!((script.asked.as_str(), script.notice), ("list", None));
    script.list(&names);
    assert_eq!((script.asked.as_str(), script.notice), ("exists n_0000000002, watched", None));
    script.answer(Ok(Reply::Exists(stat(NEXT_SESSION, 20))));
    assert_eq!(script.notice, Some(Notice::Obstructed(Obstacle::Foreign)));
    let watch = script.ticket.unwrap();
    assert!(script.nominee.awaits_change(watch));
    script.feed(Event::Changed { ticket: watch, change: Change::Deleted });
    assert_eq!(script.asked, "list");
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

/// A server forbids to look at the znodes of others (since ZooKeeper 3.8.4 and 3.9.2). The nominee's own is
/// below them in the order of the search.
#[test]
fn a_znode_that_may_not_be_looked_at_is_passed_over_in_the_search_for_the_own_one() {
    let names = ["n_0000000005", "n_0000000006"];
    let mut script = Script::in_format(Format::leader_election_support());
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&names);
    assert_eq!(script.asked, "exists n_0000000006");
    script.answer(Err(Failure::NoAuth));
    assert_eq!((script.asked.as_str(), script.notice), ("list", None));
    script.list(&names);
    assert_eq!(script.asked, "exists n_0000000005");
    script.answer(Ok(Reply::Exists(stat(SESSION, 50))));
    assert_eq!(script.asked, "list");
    script.list(&names);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

/// So it is by a nominee that has failed.
#[test]
fn a_znode_that_may_not_be_looked_at_is_passed_over_by_a_cleanup() {
    let names = ["n_0000000005", "n_0000000006"];
    let mut script = Script::in_format(Format::leader_election_support());
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answer(Ok(Reply::BarrierPassed));
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.failure(), Some(NominationError::Rejected(-102)));
    script.feed(Event::Look);
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&names);
    assert_eq!(script.asked, "exists n_0000000006");
    script.answer(Err(Failure::NoAuth));
    script.list(&names);
    assert_eq!(script.asked, "exists n_0000000005");
    script.answer(Ok(Reply::Exists(stat(SESSION, 50))));
    assert_eq!(script.asked, "delete n_0000000005");
}

/// Its owner cannot be asked for, and nothing tells of its end.
#[test]
fn a_foreign_child_that_may_not_be_looked_at_is_waited_for() {
    let mut script = Script::verified();
    for _ in 0..2 {
        script.list(&[OWN, "n_0000000002"]);
        assert_eq!(script.asked, "exists n_0000000002, watched");
        script.answer(Err(Failure::NoAuth));
        assert_eq!(script.notice, Some(Notice::Obstructed(Obstacle::Foreign)));
        assert_eq!((script.asked.as_str(), script.nominee.role()), ("", Role::Standing));
        script.feed(Event::Look);
    }
    script.list(&[OWN]);
    assert_eq!(script.notice, Some(Notice::Elected(Token::new(50))));
}

#[test]
fn a_tombstone_that_may_not_be_looked_at_ends_the_election() {
    let mut script = leading();
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.nominee.role(), Role::Ended(End::ElectionEnded));
    script.deletes_after_a_look(LE);
}
