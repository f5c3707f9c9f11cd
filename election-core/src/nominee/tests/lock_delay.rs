//! Leaders that leave a mark, and heed that of the one before them.

use super::*;
use crate::event::Applied;

const DELAY: Duration = Duration::from_secs(40);
const READ_MARK: &str = "read .lock-delay";
const TOKEN: Token = Token::new(50);

fn create_mark() -> String {
    format!("check {OWN}, create .lock-delay")
}

fn write_mark(version: i32) -> String {
    format!("check {OWN}, write .lock-delay at {version}")
}

fn delete_mark(version: i32) -> String {
    format!("delete {OWN}, delete .lock-delay at {version}")
}

fn aborted(part: usize, failure: Failure) -> Result<Reply<'static>, Failure> {
    Err(Failure::Aborted { part, code: failure.code() })
}

impl Script {
    /// Makes a script of the first nominee, which is about to read the mark.
    fn promoted(on_loss: OnLoss) -> Self {
        let policy = Policy { on_loss, lock_delay: DELAY, ..STAND_AGAIN };
        let nominee = Nominee::new(ID, policy);
        let mut script = Self { nominee, ticket: None, asked: String::new(), notice: None };
        script.feed(Event::Connected { session: SESSION });
        script.answer(Ok(Reply::Created { name: OWN, stat: None }));
        script.answer(Ok(read(SESSION, 50)));
        script.list(&[OWN]);
        assert_eq!((script.notice, script.asked.as_str()), (None, READ_MARK));
        assert_eq!((script.nominee.role(), script.nominee.hold()), (Role::Promoted, Hold::None));
        script
    }

    fn reads_mark(&mut self, data: &str, version: i32) {
        let stat = Stat::new(0, 30, version);
        self.answer(Ok(Reply::Read { stat, data: data.as_bytes() }));
    }

    fn commits(&mut self, results: &[Applied<'static>]) {
        self.answer(Ok(Reply::Committed(&mut results.iter().copied())));
    }

    fn writes_mark(&mut self, version: i32) {
        let applied = match version {
            0 => Applied::Created { name: "election.lock-delay" },
            version => Applied::Written(Stat::new(0, 30, version)),
        };
        self.commits(&[Applied::Checked, applied]);
        assert_eq!(self.notice, Some(Notice::Elected(TOKEN)));
        assert_eq!(self.nominee.hold(), Hold::Active(TOKEN));
    }

    fn leads_by_mark() -> Self {
        let mut script = Self::promoted(OnLoss::StandAgain);
        script.answer(Err(Failure::NoNode));
        assert_eq!(script.asked, create_mark());
        script.writes_mark(0);
        script
    }

    fn is_withdrawn(&mut self) {
        let output = self.nominee.withdraw();
        self.notice = output.notice;
        self.asked = output.command.map_or(String::new(), |command| describe(&command.op));
        self.ticket = output.command.map(|command| command.ticket).or(self.ticket);
    }
}

#[test]
fn a_leader_without_a_predecessor_leaves_a_mark_and_takes_it_along() {
    let mut script = Script::leads_by_mark();
    assert_eq!(script.nominee.awaits_delay(), None);
    script.is_withdrawn();
    assert_eq!(script.asked, delete_mark(0));
    script.commits(&[Applied::Deleted, Applied::Deleted]);
    assert_eq!(script.notice, Some(Notice::Ended(End::Resigned(Departure::Deleted))));
}

#[test]
fn the_mark_of_another_leader_is_replaced_after_the_delay() {
    for data in ["token: 49", "token: 500", "", "\u{fffd}"] {
        let mut script = Script::promoted(OnLoss::StandAgain);
        script.reads_mark(data, 7);
        assert_eq!(script.nominee.awaits_delay(), Some(DELAY));
        assert_eq!((script.asked.as_str(), script.nominee.role()), ("", Role::Promoted));
        script.feed(Event::Deadline);
        assert_eq!((script.nominee.awaits_delay(), script.asked.clone()), (None, write_mark(7)));
        script.writes_mark(8);
        script.feed(Event::Deadline);
        assert_eq!(
            script.notice,
            Some(Notice::Lost(Cause::SteppedDown)),
            "the next one is its user's"
        );
        assert_eq!(script.asked, delete_mark(8));
        script.commits(&[Applied::Deleted, Applied::Deleted]);
        assert_eq!(script.asked, "create");
    }
}

#[test]
fn a_deadline_that_comes_too_early_shortens_nothing() {
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.feed(Event::Deadline);
    assert_eq!((script.notice, script.nominee.role()), (None, Role::Promoted));
    script.reads_mark("token: 49", 7);
    assert_eq!(script.nominee.awaits_delay(), Some(DELAY));
}

#[test]
fn the_own_mark_is_known_again() {
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.reads_mark("token: 50", 3);
    assert_eq!(script.notice, Some(Notice::Elected(TOKEN)));
    script.is_withdrawn();
    assert_eq!(script.asked, delete_mark(3));
}

/// The reply to its writing is lost; a delay that has passed has passed.
#[test]
fn a_mark_in_doubt_is_read_again_and_waited_for_once() {
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.reads_mark("token: 49", 7);
    script.feed(Event::Deadline);
    for (data, version) in [("token: 49", 7), ("token: 50", 8)] {
        script.feed(Event::Disconnected);
        assert_eq!((script.notice, script.nominee.role()), (None, Role::Connecting));
        script.feed(Event::Connected { session: SESSION });
        assert_eq!(script.asked, format!("read {OWN}"));
        script.answer(Ok(read(SESSION, 50)));
        assert_eq!((script.notice, script.asked.as_str()), (None, READ_MARK));
        script.reads_mark(data, version);
    }
    assert_eq!(script.notice, Some(Notice::Elected(TOKEN)));
}

#[test]
fn a_mark_that_has_changed_is_read_again() {
    for failure in [Failure::NoNode, Failure::BadVersion] {
        let mut script = Script::promoted(OnLoss::StandAgain);
        script.reads_mark("token: 49", 7);
        script.feed(Event::Deadline);
        script.answer(aborted(1, failure));
        assert_eq!(script.asked, READ_MARK);
        script.answer(Err(Failure::NoNode));
        assert_eq!(script.asked, create_mark());
        script.answer(aborted(1, Failure::NodeExists));
        script.reads_mark("token: 49", 0);
        assert_eq!(script.asked, write_mark(0), "the delay has passed");
        script.writes_mark(1);
    }
}

#[test]
fn a_mark_that_may_not_be_touched_ends_the_nomination() {
    let rejected = Some(NominationError::Rejected(Failure::NoAuth.code()));
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.answer(Err(Failure::NoAuth));
    assert_eq!((script.failure(), script.asked), (rejected, format!("delete {OWN}")));
    for part in [0, 1] {
        let mut script = Script::promoted(OnLoss::StandAgain);
        script.answer(Err(Failure::NoNode));
        script.answer(aborted(part, Failure::NoAuth));
        assert_eq!((script.failure(), script.asked), (rejected, format!("delete {OWN}")));
    }
}

#[test]
fn one_that_is_evicted_before_its_mark_is_written_has_not_led() {
    for on_loss in [OnLoss::StandAgain, OnLoss::StandUntilElected] {
        let mut script = Script::promoted(on_loss);
        script.answer(Err(Failure::NoNode));
        script.answer(aborted(0, Failure::NoNode));
        assert_eq!(script.notice, Some(Notice::CandidateLost(Cause::Evicted)));
    }
}

/// A nominee that leaves before it hears of its own write deletes the mark that it wrote.
#[test]
fn one_that_withdraws_while_it_writes_its_mark_deletes_that() {
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.reads_mark("token: 49", 7);
    script.feed(Event::Deadline);
    script.is_withdrawn();
    script.commits(&[Applied::Checked, Applied::Written(Stat::new(0, 30, 8))]);
    assert_eq!((script.notice, script.asked.clone()), (None, delete_mark(8)));
    script.commits(&[Applied::Deleted, Applied::Deleted]);
    assert_eq!(script.notice, Some(Notice::Ended(End::Withdrawn(Departure::Deleted))));
}

#[test]
fn one_that_withdraws_while_it_waits_leaves_the_mark_of_the_other() {
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.reads_mark("token: 49", 7);
    script.is_withdrawn();
    assert_eq!(script.asked, format!("delete {OWN}"));
}

#[test]
fn ends_that_the_leader_has_not_said_leave_the_mark() {
    let mut script = Script::leads_by_mark();
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.asked, format!("delete {OWN}"));
    let mut script = Script::leads_by_mark();
    script.nominee.end_uncleanly();
    assert_eq!(script.nominee.hold(), Hold::Active(TOKEN));
    script.is_withdrawn();
    assert_eq!(script.asked, format!("delete {OWN}"));
}

#[test]
fn a_mark_that_is_gone_or_another_keeps_no_leader_from_leaving() {
    for failure in [Failure::NoNode, Failure::BadVersion, Failure::NoAuth] {
        let mut script = Script::leads_by_mark();
        script.is_withdrawn();
        script.answer(aborted(1, failure));
        assert_eq!(script.asked, format!("delete {OWN}"));
    }
    // The first try was applied, and its reply lost: the mark may be another leader's by now.
    let mut script = Script::leads_by_mark();
    script.is_withdrawn();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, delete_mark(0));
    script.answer(aborted(0, Failure::NoNode));
    assert_eq!(script.notice, Some(Notice::Ended(End::Resigned(Departure::Deleted))));
    assert_eq!(script.asked, "");
}

#[test]
fn a_lapse_ends_nothing_that_has_not_begun() {
    let mut script = Script::promoted(OnLoss::StandAgain);
    script.reads_mark("token: 49", 7);
    script.feed(Event::LeaseLapsed);
    assert_eq!((script.notice, script.nominee.role()), (None, Role::Promoted));
    script.feed(Event::SessionExpired);
    assert_eq!(script.notice, Some(Notice::CandidateLost(Cause::SessionExpired)));
}
