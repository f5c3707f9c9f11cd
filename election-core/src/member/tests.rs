//! A member that joins at a node which vanishes, and one that ends while the server refuses to delete its znode.

extern crate alloc;
use alloc::format;
use alloc::string::String;

use super::*;
use crate::event::Stat;
use crate::id::{SessionId, Token};

const SESSION: SessionId = SessionId::new(7);

struct Script {
    member: Member<&'static str, [u8; 1]>,
    ticket: Option<Ticket>,
    asked: String,
    notice: Option<MemberNotice>,
}

impl Script {
    /// Makes a member that has joined: the znode that it sees first is its own.
    fn joined(name: NameOrigin) -> Self {
        let options = MemberOptions { name, ..MemberOptions::default() };
        let member = Member::new("x", [1], options);
        let mut script = Self { member, ticket: None, asked: String::new(), notice: None };
        script.feed(Event::Connected { session: SESSION });
        script.answer(Ok(Reply::Created { name: "x", stat: Some(own(5, 0)) }));
        script.answer(Ok(Reply::Exists(own(5, 0))));
        script
    }

    /// Makes a member to which the server refused the deletion of its znode, and which may look for it again.
    fn owing(name: NameOrigin) -> Self {
        let mut script = Self::joined(name);
        let command = script.member.withdraw().command;
        script.ticket = command.map(|command| command.ticket);
        script.answer(Err(Failure::NoAuth));
        let failed = MemberEnd::Failed(MemberFailure::Rejected(-102));
        assert_eq!(script.notice, Some(MemberNotice::Ended(failed)), "told at once");
        assert_eq!(script.member.state(), MemberState::Ended(failed));
        script
    }

    fn feed(&mut self, event: Event<'_>) {
        let output = self.member.handle_event(event);
        self.asked = output.command.map_or(String::new(), |command| describe(&command.op));
        let ticket = output.command.map(|command| command.ticket);
        self.notice = output.notice;
        self.ticket = ticket.or(self.ticket);
    }

    fn answer(&mut self, result: Result<Reply<'_>, Failure>) {
        let ticket = self.ticket.expect("something was asked for");
        self.feed(Event::Reply { ticket, result });
    }

    /// Looks, and finds a znode.
    fn finds(&mut self, stat: Stat) {
        assert_eq!(self.asked, "barrier");
        self.answer(Ok(Reply::BarrierPassed));
        assert_eq!(self.asked, "look");
        self.answer(Ok(Reply::Exists(stat)));
    }

    fn is_over(&self) -> bool {
        assert_eq!(self.notice, None, "it has ended before");
        self.member.phase() == Phase::Over
    }
}

fn own(token: i64, version: i32) -> Stat {
    Stat::new(SESSION.get(), token, version)
}

fn describe(op: &Op<'_>) -> String {
    match op {
        Op::Barrier => "barrier".into(),
        Op::Exists { watch: Watch::None, .. } => "look".into(),
        Op::Delete(Delete { version, .. }) => format!("delete {}", version.number()),
        Op::Write(Write { version, .. }) => format!("write {}", version.number()),
        other => format!("{other:?}"),
    }
}

/// However often the node, or an ancestor, has vanished on earlier connections. On one connection, the third time is
/// the last.
#[test]
fn a_node_that_vanishes_is_counted_anew_on_each_connection() {
    let member = Member::new("x", [1], MemberOptions::default());
    let mut script = Script { member, ticket: None, asked: String::new(), notice: None };
    for times in [2, 2, 2, 3] {
        script.feed(Event::Connected { session: SESSION });
        for time in 0..times {
            script.answer(Err(Failure::NoNode));
            assert_eq!((script.asked.as_str(), script.notice), ("CreateNode", None));
            script.answer(match time {
                0 => Err(Failure::NoNode),
                _ => Ok(Reply::NodeCreated),
            });
        }
        if times == 2 {
            script.feed(Event::Disconnected);
        }
    }
    script.answer(Err(Failure::NoNode));
    let failed = script.notice.expect("it is told");
    assert!(
        matches!(failed, MemberNotice::Ended(MemberEnd::Failed(MemberFailure::NoNode))),
        "{failed:?}"
    );
}

/// An access list may be restored, and an identity be presented on the next connection.
#[test]
fn a_refused_deletion_of_a_member_is_owed_until_it_is_permitted() {
    for (name, version) in [(NameOrigin::Given, 0), (NameOrigin::Random, -1)] {
        let mut script = Script::owing(name);
        for event in [Event::Look, Event::Connected { session: SESSION }] {
            assert_eq!((script.asked.as_str(), script.member.phase()), ("", Phase::CleaningUp));
            assert_eq!(script.member.withdraw().command, None, "not at once");
            script.feed(event);
            script.finds(own(5, 0));
            assert_eq!(script.asked, format!("delete {version}"));
            script.answer(Err(Failure::NoAuth));
        }
        script.feed(Event::Look);
        script.finds(own(5, 0));
        script.answer(Ok(Reply::Deleted));
        assert!(script.is_over());
    }
    for event in [Event::SessionExpired, Event::Connected { session: SessionId::new(8) }] {
        let mut script = Script::owing(NameOrigin::Given);
        script.feed(event);
        assert!(script.is_over(), "it went with its session");
    }
}

/// A write whose reply was lost may have changed the version, so that a member which is withdrawn then looks before it
/// deletes: what it owes after a refusal is the znode as it is.
#[test]
fn a_member_whose_write_is_in_doubt_looks_before_it_deletes() {
    let mut script = Script::joined(NameOrigin::Given);
    script.member.set_data([2]);
    script.feed(Event::Deadline);
    assert_eq!(script.asked, "write 0");
    script.feed(Event::Disconnected);
    let command = script.member.withdraw().command;
    assert_eq!(command.map(|command| command.ticket), None, "there is no connection");
    script.feed(Event::Connected { session: SESSION });
    script.finds(own(5, 1));
    assert_eq!(script.asked, "delete 1");
    script.answer(Err(Failure::NoAuth));
    assert!(matches!(script.notice, Some(MemberNotice::Ended(MemberEnd::Failed(_)))));
    script.feed(Event::Look);
    script.finds(own(5, 1));
    assert_eq!(script.asked, "delete 1");
    script.answer(Ok(Reply::Deleted));
    assert!(script.is_over());
}

/// The client's next member of that name has the same session: it takes the znode for its own, and
/// writes its data to it, or creates another one after an operator has deleted this one.
#[test]
fn what_is_owed_is_not_the_znode_of_the_next_member_of_that_name() {
    for of_another in [own(5, 1), own(6, 0)] {
        let mut script = Script::owing(NameOrigin::Given);
        script.feed(Event::Look);
        script.finds(of_another);
        assert_eq!(script.asked, "");
        assert!(script.is_over());
    }
    let mut script = Script::owing(NameOrigin::Given);
    script.feed(Event::Look);
    script.finds(own(5, 0));
    script.answer(Err(Failure::BadVersion));
    assert_eq!(script.asked, "look");
    script.answer(Ok(Reply::Exists(own(5, 1))));
    assert!(script.is_over(), "it was written to meanwhile");
}

/// Whether the servers would take its data is not known. Each look tells of it again, and none is fed sooner for it.
#[test]
fn a_member_that_is_held_back_asks_again_at_each_look() {
    let member = Member::new("x", [1], MemberOptions::default());
    let mut script = Script { member, ticket: None, asked: String::new(), notice: None };
    script.feed(Event::Connected { session: SESSION });
    for _ in 0..3 {
        assert!(script.asked.starts_with("Create("), "{}", script.asked);
        script.answer(Err(Failure::HeldBack));
        assert_eq!((script.asked.as_str(), script.notice), ("", Some(MemberNotice::HeldBack)));
        assert!(!script.member.waits_for_look());
        assert_eq!(script.member.state(), MemberState::Joining);
        script.feed(Event::Look);
    }
    let mut leaving = script.member.clone();
    assert_eq!(leaving.withdraw().notice, None, "its create is on its way");
    script.answer(Err(Failure::HeldBack));
    let mut leaving = script.member.clone();
    let never = MemberEnd::Left(Departure::NeverCreated);
    assert_eq!(leaving.withdraw().notice, Some(MemberNotice::Ended(never)));
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert!(script.asked.starts_with("Create("), "another server may take it: {}", script.asked);
    script.answer(Ok(Reply::Created { name: "x", stat: Some(own(5, 0)) }));
    assert_eq!(script.member.state(), MemberState::Joined(Token::new(5)));
}

/// The znode keeps what it has, and the member stands.
#[test]
fn data_of_a_member_that_are_held_back_end_no_membership() {
    let mut script = Script::joined(NameOrigin::Given);
    script.member.set_data([2]);
    script.feed(Event::Deadline);
    assert_eq!(script.asked, "write 0");
    script.answer(Err(Failure::HeldBack));
    assert_eq!(script.notice, Some(MemberNotice::DataRefused(MemberFailure::HeldBack)));
    assert_eq!(script.member.state(), MemberState::Joined(Token::new(5)));
}
