//! A holder that another client asks to release the lock, and a writer that becomes a reader.

use super::*;
use crate::command::{CreateMode, Multi, NewZnode, Part, Payload};
use crate::event::Applied;
use crate::recipe::Phase;

const WRITE: LockOptions = LockOptions::write();
const READ: LockOptions = LockOptions::read();
const LATER: Token = Token::new(70);

impl Script {
    /// Makes a script of a contender that holds the lock, by a znode with the number 5.
    fn holding(options: LockOptions) -> Self {
        let mut script = Self::verified(options, 5);
        let own = own(options);
        script.list(&[&own]);
        assert_eq!(script.notice, Some(LockNotice::Acquired(TOKEN)));
        script
    }

    /// Asks, as the user of a writer, to go on as a reader.
    fn downgraded(&mut self) {
        assert_eq!(self.lock.downgrade(), Ok(()));
        self.feed(Event::Deadline);
    }

    /// Tells the contender that its znode was written, and has this version and data.
    fn written(&mut self, version: i32, data: &[u8]) {
        self.feed(Event::Changed { ticket: self.ticket.unwrap(), change: Change::Data });
        assert!(self.asked.starts_with("read"), "{}", self.asked);
        self.answer(Ok(read_with(version, data)));
    }

    fn committed(&mut self) {
        let name = reader_of_own();
        let parts = [Applied::Created { name: &name }, Applied::Deleted];
        self.answer(Ok(Reply::Committed(&mut parts.iter().copied())));
    }

    fn reconnected(&mut self) {
        self.feed(Event::Disconnected);
        self.feed(Event::Connected { session: SESSION });
    }
}

fn own(options: LockOptions) -> String {
    name(options.format, options.access, ID, 5)
}

/// Returns the name of the reader, by the second create: the first one's is the writer's.
fn reader_of_own() -> String {
    format!("{}0000000005", WRITE.format.prefix(Access::Shared, ID, 1).unwrap())
}

fn read_with(version: i32, data: &[u8]) -> Reply<'_> {
    let stat = Stat::new(SESSION.get(), TOKEN.get(), version);
    Reply::Read { stat, data }
}

fn read_later() -> Reply<'static> {
    let stat = Stat::new(SESSION.get(), LATER.get(), 0);
    Reply::Read { stat, data: b"host-7" }
}

fn exchange() -> String {
    let (writer, reader) = (own(WRITE), reader_of_own());
    let create = Create {
        znode: NewZnode::Named(Znode::child(&reader)),
        mode: CreateMode::Ephemeral,
        data: Payload::Kept(0),
    };
    let delete = Delete { znode: Znode::child(&writer), version: crate::ExpectedVersion::Any };
    let multi = Multi::of([Part::Create(create), Part::Delete(delete)]);
    format!("{:?}", Op::Multi(multi))
}

#[test]
fn a_request_is_told_once() {
    for request in [REVOKE_REQUEST, b"unlock"] {
        let mut script = Script::holding(LockOptions::exclusive());
        script.ticket = Some(script.own_watch());
        script.written(1, b"busy");
        assert_eq!((script.notice, script.lock.is_revoke_requested()), (None, false));
        script.written(2, request);
        assert_eq!(script.notice, Some(LockNotice::RevokeRequested));
        script.feed(Event::Look);
        script.answer(Ok(read_with(2, request)));
        assert_eq!((script.notice, script.lock.is_revoke_requested()), (None, true));
        script.written(3, request);
        assert_eq!(script.notice, Some(LockNotice::RevokeRequested), "another one");
        script.written(4, b"busy");
        assert_eq!((script.notice, script.lock.is_revoke_requested()), (None, false));
    }
}

impl Script {
    /// Returns the ticket of the last read, and with it of its watch, which stands.
    fn own_watch(&mut self) -> Ticket {
        self.feed(Event::Look);
        let ticket = self.ticket.unwrap();
        self.answer(Ok(read(SESSION)));
        ticket
    }
}

/// The first data of the contender's znode is its user's, whatever it says.
#[test]
fn what_a_znode_was_created_with_is_no_request() {
    let mut script = Script::holding(LockOptions::exclusive());
    script.feed(Event::Look);
    script.answer(Ok(read_with(0, b"unlock")));
    assert_eq!((script.notice, script.lock.is_revoke_requested()), (None, false));
}

/// It would tell of two things at once otherwise.
#[test]
fn a_request_that_a_reconnect_shows_is_told_by_another_read() {
    let mut script = Script::holding(LockOptions::exclusive());
    script.reconnected();
    script.answer(Ok(read_with(1, REVOKE_REQUEST)));
    assert_eq!(script.notice, Some(LockNotice::Resumed(TOKEN)));
    assert_eq!(script.asked, format!("read {}", own(LockOptions::exclusive())));
    script.answer(Ok(read_with(1, REVOKE_REQUEST)));
    assert_eq!((script.notice, &*script.asked), (Some(LockNotice::RevokeRequested), ""));
}

/// Nothing is written to a candidate of Curator's latch, and what is there is no request.
#[test]
fn in_the_format_of_a_latch_there_are_no_requests() {
    let options = LockOptions { format: Format::curator_latch(), ..LockOptions::exclusive() };
    let mut script = Script::holding(options);
    script.feed(Event::Look);
    script.answer(Ok(read_with(1, REVOKE_REQUEST)));
    assert_eq!((script.notice, script.lock.is_revoke_requested()), (None, false));
}

#[test]
fn a_writer_becomes_a_reader_in_one_transaction() {
    let mut script = Script::holding(WRITE);
    script.ticket = Some(script.own_watch());
    let watch = script.ticket;
    script.downgraded();
    assert_eq!((&*script.asked, script.notice), (&*exchange(), None));
    let held = |script: &Script| {
        (script.lock.hold(), script.lock.access()) == (Hold::Active(TOKEN), Access::Shared)
    };
    assert!(held(&script), "it is held all the time");
    assert_eq!(script.lock.heartbeat(), Some(Znode::Node), "either of the two may stand");
    assert_eq!(script.lock.downgrade(), Err(DowngradeRefused::AlreadyShared));
    let ticket = script.ticket;
    script.deleted(watch);
    assert!(held(&script) && script.notice.is_none(), "by the transaction itself");
    script.ticket = ticket;
    script.committed();
    let reader = reader_of_own();
    assert_eq!((&*script.asked, script.notice), (&*format!("read {reader}"), None));
    assert_eq!(script.lock.heartbeat(), Some(Znode::child(&reader)));
    assert!(script.lock.awaits_change(script.ticket.unwrap()));
    script.answer(Ok(read_later()));
    assert_eq!((&*script.asked, script.notice), ("", Some(LockNotice::Downgraded)));
    assert!(held(&script), "with the token that it had: those that wait have greater ones");
    assert_eq!(script.lock.znode().map(CandidateName::to_string).as_ref(), Some(&reader));
    assert_eq!(script.lock.heartbeat(), Some(Znode::child(&reader)));

    script.reconnected();
    assert_eq!(script.asked, format!("read {reader}"));
    script.answer(Ok(read_later()));
    assert_eq!(script.notice, Some(LockNotice::Resumed(TOKEN)));
    script.withdraw();
    assert_eq!(script.asked, format!("delete {reader}"));
}

/// Both are looked for, after something that a quorum commits.
#[test]
fn a_downgrade_in_doubt_is_cleared_up() {
    for is_applied in [true, false] {
        let mut script = Script::holding(WRITE);
        script.downgraded();
        script.reconnected();
        assert_eq!((&*script.asked, script.lock.hold()), ("Barrier", Hold::Suspended(TOKEN)));
        script.answer(Ok(Reply::BarrierPassed));
        assert_eq!(script.asked, format!("read {}", reader_of_own()));
        if is_applied {
            script.answer(Ok(read_later()));
            assert_eq!(script.notice, Some(LockNotice::Downgraded));
        } else {
            script.answer(Err(Failure::NoNode));
            assert_eq!((&*script.asked, script.notice), (&*format!("read {}", own(WRITE)), None));
            script.answer(Ok(read(SESSION)));
            assert_eq!(script.notice, Some(LockNotice::Resumed(TOKEN)));
            assert_eq!(script.asked, exchange(), "it is asked for again");
        }
        assert_eq!(script.lock.hold(), Hold::Active(TOKEN));
    }
}

/// It is the session's that reads it, and no other's.
#[test]
fn a_reader_that_another_session_owns_is_not_held_by() {
    let mut script = Script::holding(WRITE);
    script.downgraded();
    script.committed();
    script.answer(Ok(read(SessionId::new(9))));
    assert_eq!(script.notice, Some(LockNotice::Ended(LockEnd::Lost(Cause::Evicted))));
}

#[test]
fn a_downgrade_that_is_refused_leaves_a_writer() {
    let mut script = Script::holding(WRITE);
    script.downgraded();
    script.answer(Err(Failure::Aborted { part: 1, code: -102 }));
    assert_eq!(script.notice, Some(LockNotice::NotDowngraded(LockFailure::Rejected(-102))));
    assert_eq!(
        (script.lock.access(), script.lock.hold()),
        (Access::Exclusive, Hold::Active(TOKEN))
    );
    assert_eq!(script.asked, format!("read {}", own(WRITE)));

    let mut script = Script::holding(WRITE);
    script.downgraded();
    script.answer(Err(Failure::Aborted { part: 1, code: -101 }));
    assert_eq!(script.notice, Some(LockNotice::Ended(LockEnd::Lost(Cause::Evicted))));
}

/// The contender deletes the writer's znode first, whichever of the two stands, and whatever
/// request is still applied.
#[test]
fn one_that_leaves_in_doubt_removes_both() {
    let mut script = Script::holding(WRITE);
    script.downgraded();
    script.feed(Event::Disconnected);
    script.withdraw();
    assert_eq!((script.lock.hold(), script.lock.phase()), (Hold::None, Phase::Leaving));
    assert_eq!(script.lock.heartbeat(), None);
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, format!("delete {}", own(WRITE)));
    script.answer(Err(Failure::NoNode));
    assert_eq!((&*script.asked, script.notice), (&*format!("delete {}", reader_of_own()), None));
    script.answer(Ok(Reply::Deleted));
    let end = LockEnd::Released(Departure::Deleted);
    assert_eq!(script.notice, Some(LockNotice::Ended(end)));
}

#[test]
fn what_is_no_writer_that_holds_is_not_downgraded() {
    let mut reading = Script::holding(READ);
    assert_eq!(reading.lock.downgrade(), Err(DowngradeRefused::AlreadyShared));
    for options in [LockOptions::exclusive(), LockOptions { format: Format::kazoo(), ..WRITE }] {
        let mut script = Script::holding(options);
        assert_eq!(script.lock.downgrade(), Err(DowngradeRefused::Format(options.format)));
        assert_eq!(script.lock.hold(), Hold::Active(TOKEN));
    }
    let mut waiting = Script::verified(WRITE, 5);
    assert_eq!(waiting.lock.downgrade(), Err(DowngradeRefused::NotHeld));
}
