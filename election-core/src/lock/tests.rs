//! The behaviour of a lock that an election does not have.

extern crate alloc;
use alloc::format;
use alloc::string::{String, ToString};

use super::*;
use crate::command::{Create, Delete, Op};
use crate::event::{Change, Failure, Reply, Stat};
use crate::id::{SessionId, Token};
use crate::outcome::{Cause, Departure, Obstacle};
use crate::policy::NodeKind;

const ID: NomineeId = NomineeId::from_bytes([0x11; 16]);
const OTHER: NomineeId = NomineeId::from_bytes([0x22; 16]);
const SESSION: SessionId = SessionId::new(1);
const TOKEN: Token = Token::new(50);

/// A contender with what it last asked for.
#[derive(Clone)]
struct Script {
    lock: Lock,
    ticket: Option<Ticket>,
    asked: String,
    notice: Option<LockNotice>,
}

impl Script {
    fn connected(options: LockOptions) -> Self {
        let lock = Lock::new(ID, options).unwrap();
        let mut script = Self { lock, ticket: None, asked: String::new(), notice: None };
        script.feed(Event::Connected { session: SESSION });
        script
    }

    /// Makes a script of a contender that has a znode with this number.
    fn verified(options: LockOptions, number: u32) -> Self {
        let mut script = Self::connected(options);
        let LockOptions { format, access, .. } = options;
        let own = name(format, access, ID, number);
        script.answer(Ok(Reply::Created { name: &own, stat: None }));
        assert_eq!(script.asked, format!("read {own}"));
        script.answer(Ok(read(SESSION)));
        assert_eq!(script.asked, "list");
        script
    }

    fn take(&mut self, output: &Output<'_, LockNotice>) {
        self.notice = output.notice;
        self.asked = output.command.map_or(String::new(), |command| describe(&command.op));
        self.ticket = output.command.map(|command| command.ticket).or(self.ticket);
    }

    fn feed(&mut self, event: Event<'_>) {
        let mut lock = self.lock.clone();
        let output = lock.handle_event(event);
        self.take(&output);
        self.lock = lock;
    }

    fn withdraw(&mut self) {
        let mut lock = self.lock.clone();
        let output = lock.withdraw();
        self.take(&output);
        self.lock = lock;
    }

    fn answer(&mut self, result: Result<Reply<'_>, Failure>) {
        let ticket = self.ticket.expect("something was asked for");
        self.feed(Event::Reply { ticket, result });
    }

    fn list(&mut self, names: &[&str]) {
        let names = &mut names.iter().copied();
        self.answer(Ok(Reply::Children(crate::children::Children::listed(names))));
    }

    fn deleted(&mut self, watch: Option<Ticket>) {
        self.feed(Event::Changed { ticket: watch.unwrap(), change: Change::Deleted });
    }
}

fn describe(op: &Op<'_>) -> String {
    match *op {
        Op::Create(Create { znode: crate::NewZnode::Child(prefix), .. }) => {
            format!("create {prefix}")
        }
        Op::List { .. } => "list".to_string(),
        Op::Read { znode: Znode::Child(name), .. } => format!("read {name}"),
        Op::Delete(Delete { znode: Znode::Child(name), .. }) => format!("delete {name}"),
        ref other => format!("{other:?}"),
    }
}

fn name(format: Format, access: Access, id: NomineeId, number: u32) -> String {
    format!("{}{number:010}", format.prefix(access, id, 0).unwrap())
}

fn read(owner: SessionId) -> Reply<'static> {
    let stat = Stat::new(owner.get(), TOKEN.get(), 0);
    Reply::Read { stat, data: &[] }
}

fn writer(number: u32) -> String {
    name(Format::curator_read_write(), Access::Exclusive, OTHER, number)
}

fn reader(number: u32) -> String {
    name(Format::curator_read_write(), Access::Shared, OTHER, number)
}

const LOCK: LockOptions = LockOptions::exclusive();
const TRY: LockOptions = LockOptions { when_busy: WhenBusy::GiveUp, ..LOCK };

#[test]
fn a_lock_is_held_and_released() {
    let mut script = Script::verified(LOCK, 5);
    let own = name(LOCK.format, LOCK.access, ID, 5);
    script.list(&[&own]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(TOKEN)));
    assert_eq!(script.lock.state(), LockState::Held { token: TOKEN });
    assert_eq!(script.lock.heartbeat(), Some(Znode::child(&own)));
    script.feed(Event::Deadline);
    assert_eq!((script.notice, script.lock.hold()), (None, Hold::Active(TOKEN)), "it came in time");
    script.withdraw();
    assert_eq!(
        (script.asked.as_str(), script.lock.hold()),
        (&*format!("delete {own}"), Hold::None)
    );
    script.answer(Ok(Reply::Deleted));
    let end = LockEnd::Released(Departure::Deleted);
    assert_eq!(script.notice, Some(LockNotice::Ended(end)));
    assert_eq!(script.lock.state(), LockState::Ended(end));
}

#[test]
fn who_does_not_wait_gives_up_at_its_first_look() {
    let (own, other) =
        (name(LOCK.format, LOCK.access, ID, 5), name(LOCK.format, LOCK.access, OTHER, 4));
    let mut script = Script::verified(TRY, 5);
    script.list(&[&other, &own]);
    assert_eq!((script.asked.as_str(), script.notice), (&*format!("delete {own}"), None));
    assert_eq!(script.lock.state(), LockState::Leaving);
    script.withdraw();
    script.feed(Event::Deadline);
    script.answer(Ok(Reply::Deleted));
    let end = LockEnd::NotAcquired(GaveUp::Busy, Departure::Deleted);
    assert_eq!(script.notice, Some(LockNotice::Ended(end)), "the first reason counts");

    let mut script = Script::verified(TRY, 3);
    let own = name(LOCK.format, LOCK.access, ID, 3);
    script.list(&[&other, &own]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(TOKEN)));
}

/// A forged znode of its own id keeps it from an answer: it does not wait for its deletion either.
#[test]
fn who_does_not_wait_does_not_wait_for_an_operator() {
    let mut script = Script::verified(TRY, 5);
    let (own, forged) =
        (name(LOCK.format, LOCK.access, ID, 5), name(LOCK.format, LOCK.access, ID, 2));
    script.list(&[&forged, &own]);
    script.answer(Ok(read(SessionId::new(9))));
    assert_eq!(script.asked, format!("delete {forged}"));
    script.answer(Err(Failure::Rejected(-111)));
    assert_eq!((script.asked.as_str(), script.notice), (&*format!("delete {own}"), None));
}

#[test]
fn who_waits_gives_up_at_its_deadline() {
    let mut script = Script::verified(LOCK, 5);
    let (own, other) =
        (name(LOCK.format, LOCK.access, ID, 5), name(LOCK.format, LOCK.access, OTHER, 4));
    script.list(&[&other, &own]);
    script.answer(Ok(read(SessionId::new(9))));
    assert_eq!(script.notice, Some(LockNotice::Waiting));
    let LockState::Waiting { behind } = script.lock.state() else { panic!("it waits") };
    assert_eq!(behind.to_string(), other);
    script.feed(Event::Deadline);
    assert_eq!(script.asked, format!("delete {own}"));
    script.answer(Ok(Reply::Deleted));
    let end = LockEnd::NotAcquired(GaveUp::TimedOut, Departure::Deleted);
    assert_eq!(script.notice, Some(LockNotice::Ended(end)));

    let mut script = Script::connected(LOCK);
    script.feed(Event::Disconnected);
    script.withdraw();
    script.feed(Event::SessionExpired);
    let end = LockEnd::NotAcquired(GaveUp::Withdrawn, Departure::WithSession);
    assert_eq!(script.notice, Some(LockNotice::Ended(end)));
}

/// The protected data may have changed, so it is for the user to ask for the lock anew.
#[test]
fn a_lock_that_was_held_is_not_taken_again() {
    let own = name(LOCK.format, LOCK.access, ID, 5);
    let held = || {
        let mut script = Script::verified(LOCK, 5);
        let watch = script.ticket;
        script.list(&[&own]);
        (script, watch)
    };
    let (mut script, _) = held();
    script.feed(Event::SessionExpired);
    let ended = |cause| Some(LockNotice::Ended(LockEnd::Lost(cause)));
    assert_eq!(script.notice, ended(Cause::SessionExpired));
    let (mut script, _) = held();
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.notice, Some(LockNotice::Lost(Cause::LeaseLapsed)));
    assert_eq!(script.asked, format!("delete {own}"));
    script.answer(Ok(Reply::Deleted));
    assert_eq!((script.asked.as_str(), script.notice), ("", ended(Cause::LeaseLapsed)));

    let mut script = Script::verified(LOCK, 5);
    script.feed(Event::SessionExpired);
    assert_eq!(script.notice, Some(LockNotice::PlaceLost(Cause::SessionExpired)));
    script.feed(Event::Connected { session: SessionId::new(2) });
    assert!(script.asked.starts_with("create _c_"), "it has not held it");
}

/// kazoo #649.
#[test]
fn a_reader_waits_for_the_nearest_writer_and_needs_no_second_look_at_the_last() {
    let mut script = Script::verified(LockOptions::read(), 9);
    let own = name(LockOptions::read().format, Access::Shared, ID, 9);
    let (first, second, between) = (writer(3), writer(5), reader(7));
    script.list(&[&between, &first, &own, &second]);
    assert_eq!(script.asked, format!("read {second}"));
    script.answer(Ok(read(SessionId::new(9))));
    let watch = script.ticket;
    script.deleted(watch);
    assert_eq!(
        (script.asked.as_str(), script.notice),
        ("list", None),
        "another writer is before it"
    );
    script.list(&[&between, &first, &own]);
    assert_eq!(script.asked, format!("read {first}"));
    script.answer(Ok(read(SessionId::new(9))));
    let watch = script.ticket;
    script.deleted(watch);
    assert_eq!((script.asked.as_str(), script.notice), ("", Some(LockNotice::Acquired(TOKEN))));
}

#[test]
fn readers_hold_together() {
    let mut script = Script::verified(LockOptions::read(), 9);
    let own = name(LockOptions::read().format, Access::Shared, ID, 9);
    script.list(&[&reader(3), &own, &reader(7), &writer(10)]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(TOKEN)));
}

/// CURATOR-621: a writer of Curator's becomes a reader with its number.
#[test]
fn a_writer_looks_again_where_a_writer_has_gone() {
    let mut script = Script::verified(LockOptions::write(), 9);
    let own = name(LockOptions::write().format, Access::Exclusive, ID, 9);
    script.list(&[&own, &writer(3)]);
    script.answer(Ok(read(SessionId::new(9))));
    let watch = script.ticket;
    script.deleted(watch);
    assert_eq!((script.asked.as_str(), script.notice), ("list", None));
    script.list(&[&own, &reader(3)]);
    assert_eq!(script.asked, format!("read {}", reader(3)));
    script.answer(Ok(read(SessionId::new(9))));
    let watch = script.ticket;
    script.deleted(watch);
    assert_eq!(script.notice, Some(LockNotice::Acquired(TOKEN)), "nothing comes after a reader");
}

/// The owner cannot be asked for where the name is too long; else an ephemeral one of another session that
/// came later may stand for one that is about to be refused.
#[test]
fn who_does_not_wait_does_not_wait_for_a_contender_of_another_format() {
    let options = LockOptions { when_busy: WhenBusy::GiveUp, ..LOCK };
    let long = format!("{:x<70}0000000001", "");
    for foreign in ["n_0000000007", long.as_str()] {
        let mut script = Script::verified(options, 5);
        let own = name(options.format, options.access, ID, 5);
        script.list(&[&own, foreign]);
        if foreign == "n_0000000007" {
            assert_eq!(script.notice, Some(LockNotice::ForeignChild));
            assert_eq!(script.lock.foreign_child(), Some(foreign));
            let stat = Stat::new(2, TOKEN.get(), 0);
            script.answer(Ok(Reply::Exists(stat)));
        }
        assert_eq!(script.asked, format!("delete {own}"));
        script.answer(Ok(Reply::Deleted));
        let ended = LockEnd::NotAcquired(GaveUp::Busy, Departure::Deleted);
        assert_eq!(script.notice, Some(LockNotice::Ended(ended)));
    }
}

#[test]
fn a_lock_stands_in_any_format() {
    let with = |format| LockOptions { format, ..LOCK };
    for format in [
        Format::curator_latch(),
        Format::curator_lock(),
        Format::curator_read_write(),
        Format::kazoo(),
        Format::go_zookeeper(),
        Format::zk_election(),
    ] {
        let script = Script::connected(with(format));
        let prefix = format.prefix(Access::Exclusive, ID, 0).unwrap();
        assert_eq!(script.asked, format!("create {prefix}"));
        assert_eq!((script.lock.format(), script.lock.access()), (format, Access::Exclusive));
    }
    for (format, prefix) in [
        (Format::leader_election_support(), "n_"),
        (Format::go_leaderelection(), "le_"),
        (Format::zookeeper_write_lock(), "x-1-"),
    ] {
        assert_eq!(Script::connected(with(format)).asked, format!("create {prefix}"));
    }
    let options = LockOptions { access: Access::Shared, ..LOCK };
    assert_eq!(Lock::new(ID, options), Err(LockFormatError::NotShared(LOCK.format)));
    let kazoo = LockOptions { format: Format::kazoo(), access: Access::Shared, ..LOCK };
    assert_eq!(Lock::new(ID, kazoo).map(|lock| lock.access()), Ok(Access::Shared));
}

#[test]
fn a_node_that_is_missing_is_created_or_told_of() {
    let node = ElectionNode::MustExist;
    let mut script = Script::connected(LockOptions { node, ..LOCK });
    script.answer(Err(Failure::NoNode));
    let failed = LockEnd::Failed(LockFailure::NoNode);
    assert_eq!(script.notice, Some(LockNotice::Ended(failed)));
    assert!(LockFailure::NoNode.to_string().starts_with("its node does not exist"));

    assert_eq!(LOCK.node, ElectionNode::Create(NodeKind::Persistent));
    let mut script = Script::connected(LOCK);
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.asked, "CreateNode");
}

mod letting_go;
mod other_formats;
