//! Failures at a double barrier, and the reactions to them: scripts of answers of servers.

use core::num::NonZeroU32;

use election_core::barrier::{
    DoubleBarrier, DoubleBarrierEnd, DoubleBarrierNotice, DoubleBarrierOptions, DoubleBarrierState,
    WhenUnderWay,
};
use election_core::children::Children;
use election_core::{
    Applied, Change, Event, Failure, NomineeId, Op, Phase, Recipe, Reply, SessionId, Stat, Ticket,
    Znode,
};

const SESSION: SessionId = SessionId::new(1);
const OTHER: &str = "22222222-2222-2222-2222-222222222222";

struct Script {
    participant: DoubleBarrier,
    asked: Option<(Ticket, String)>,
    notice: Option<DoubleBarrierNotice>,
    tickets: Vec<Ticket>,
}

impl Script {
    fn connected() -> Self {
        let participants = NonZeroU32::new(3).expect("one at least");
        let options = DoubleBarrierOptions { participants, when_under_way: WhenUnderWay::Wait };
        let participant = DoubleBarrier::new(NomineeId::from_bytes([0x11; 16]), options);
        let mut script = Self { participant, asked: None, notice: None, tickets: Vec::new() };
        script.feed(Event::Connected { session: SESSION });
        script
    }

    /// Makes a script of a participant with an entry of zxid 50, and a watch on it; `ready` was not
    /// there, and is watched.
    fn gathering() -> Self {
        let mut script = Self::connected();
        script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
        script.answers("exists ready", Err(Failure::NoNode));
        script.commits("multi");
        script.answers("exists entry", Ok(Reply::Exists(stat(Some(SESSION), 50))));
        script
    }

    fn feed(&mut self, event: Event<'_>) {
        let output = self.participant.handle_event(event);
        self.notice = output.notice;
        self.asked = output.command.map(|command| (command.ticket, describe(&command.op)));
        self.tickets.extend(self.asked.iter().map(|asked| asked.0));
    }

    fn withdraw(&mut self) {
        let output = self.participant.withdraw();
        self.notice = output.notice;
        self.asked = output.command.map(|command| (command.ticket, describe(&command.op)));
    }

    fn ticket_of(&self, asked: &str) -> Ticket {
        let (ticket, request) = self.asked.as_ref().expect("something was asked for");
        assert_eq!(request, asked);
        *ticket
    }

    fn answers(&mut self, asked: &str, result: Result<Reply<'_>, Failure>) {
        let ticket = self.ticket_of(asked);
        self.feed(Event::Reply { ticket, result });
    }

    fn commits(&mut self, asked: &str) {
        let ticket = self.ticket_of(asked);
        let mut parts = core::iter::empty::<Applied<'_>>();
        self.feed(Event::Reply { ticket, result: Ok(Reply::Committed(&mut parts)) });
    }

    fn lists(&mut self, names: &[&str]) {
        let ticket = self.ticket_of("list");
        let mut names = names.iter().copied();
        let result = Ok(Reply::Children(Children::listed(&mut names)));
        self.feed(Event::Reply { ticket, result });
    }
}

fn stat(owner: Option<SessionId>, czxid: i64) -> Stat {
    Stat::new(owner.map_or(0, SessionId::get), czxid, 4)
}

fn describe(op: &Op<'_>) -> String {
    let name = |znode: Znode<'_>| match znode {
        Znode::Node => "node",
        Znode::Child(name) if name == *"ready" => "ready",
        Znode::Child(name) if name.text().starts_with("1111") => "entry",
        _ => "another",
    };
    match *op {
        Op::Exists { znode, .. } => format!("exists {}", name(znode)),
        Op::Delete(delete) => format!("delete {}", name(delete.znode)),
        Op::List { .. } => "list".into(),
        Op::Multi(_) => "multi".into(),
        ref other => format!("{other:?}"),
    }
}

#[test]
fn the_opening_of_a_round_is_all_that_a_waiter_needs() {
    let mut script = Script::gathering();
    script.lists(&[script.participant.entry().to_owned().as_str(), OTHER]);
    assert_eq!(script.notice, Some(DoubleBarrierNotice::Gathering(2)));
    let ready = script.tickets[1];
    assert!(script.participant.awaits_change(ready));
    script.feed(Event::Changed { ticket: ready, change: Change::Created });
    assert_eq!(script.notice, Some(DoubleBarrierNotice::Inside));
    assert_eq!(script.asked, None, "it asks for nothing");
    assert!(!script.participant.awaits_change(ready));
}

/// No lost wake-up: the round is opened between the look and the list.
#[test]
fn a_round_that_opens_before_the_list_is_not_missed() {
    let mut script = Script::gathering();
    let list = script.ticket_of("list");
    script.feed(Event::Changed { ticket: script.tickets[1], change: Change::Created });
    assert_eq!(script.notice, Some(DoubleBarrierNotice::Inside));
    script.feed(Event::Reply { ticket: list, result: Err(Failure::NoNode) });
    assert_eq!(script.participant.state(), DoubleBarrierState::Inside, "a late list says nothing");
}

/// The participants of Curator and kazoo make `ready` without another look at the entries.
#[test]
fn a_round_that_was_opened_before_the_entry_lets_it_not_pass() {
    let mut script = Script::connected();
    script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
    script.answers("exists ready", Err(Failure::NoNode));
    script.feed(Event::Changed { ticket: script.tickets[1], change: Change::Created });
    assert_eq!(script.notice, None);
    script.asked = Some((script.tickets[2], "multi".into()));
    script.commits("multi");
    script.answers("exists entry", Ok(Reply::Exists(stat(Some(SESSION), 50))));
    script.answers("exists ready", Ok(Reply::Exists(stat(None, 49))));
    assert_eq!(script.notice, None);
    script.answers("delete entry", Ok(Reply::Deleted));
    script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
    script.answers("exists ready", Ok(Reply::Exists(stat(None, 49))));
    script.lists(&[OTHER]);
    assert_eq!(script.notice, Some(DoubleBarrierNotice::RoundUnderWay));
}

/// The session was replaced, and the one before lives on, with the entry: it counts once.
#[test]
fn an_entry_of_an_earlier_session_goes_before_another_is_made() {
    let mut script = Script::gathering();
    let session = SessionId::new(2);
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session });
    assert_eq!(
        script.notice,
        Some(DoubleBarrierNotice::EntryLost(election_core::election::Cause::SessionExpired))
    );
    script.answers("exists entry", Ok(Reply::Exists(stat(Some(SESSION), 50))));
    script.answers("delete entry", Ok(Reply::Deleted));
    script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
}

/// The create with the lost reply has made the entry.
#[test]
fn an_entry_in_doubt_is_found_after_a_quorum_commit() {
    let mut script = Script::connected();
    script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
    script.answers("exists ready", Err(Failure::NoNode));
    script.ticket_of("multi");
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    script.answers("Barrier", Ok(Reply::BarrierPassed));
    script.answers("exists entry", Ok(Reply::Exists(stat(Some(SESSION), 50))));
    assert_eq!(script.participant.state(), DoubleBarrierState::Gathering);
    script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
    script.answers("exists entry", Ok(Reply::Exists(stat(Some(SESSION), 50))));
    script.answers("exists ready", Ok(Reply::Exists(stat(None, 51))));
    assert_eq!(script.notice, Some(DoubleBarrierNotice::Inside), "opened meanwhile");
}

/// It is inside and leaves in another session, and the one before lives on, with the entry: that counts for
/// the others, and for the next round, until it is deleted.
#[test]
fn an_entry_of_an_earlier_session_goes_before_a_round_is_ended() {
    let mut script = Script::gathering();
    script.lists(&[script.participant.entry().to_owned().as_str(), OTHER]);
    script.feed(Event::Changed { ticket: script.tickets[1], change: Change::Created });
    assert_eq!(script.notice, Some(DoubleBarrierNotice::Inside));
    script.withdraw();
    script.answers("exists ready", Ok(Reply::Exists(stat(None, 51))));
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SessionId::new(2) });
    script.answers("delete entry", Ok(Reply::Deleted));
    script.answers("exists ready", Ok(Reply::Exists(stat(None, 51))));
    script.lists(&["ready"]);
    script.answers("exists node", Ok(Reply::Exists(stat(None, 3))));
    script.commits("multi");
    assert_eq!(script.notice, Some(DoubleBarrierNotice::Ended(DoubleBarrierEnd::Left)));
}

/// An access list may be restored, and an identity be presented on the next connection. Until then the
/// others wait for the entry.
#[test]
fn a_refused_deletion_of_an_entry_is_owed_until_it_is_permitted() {
    let owing = || {
        let mut script = Script::gathering();
        script.lists(&[script.participant.entry().to_owned().as_str()]);
        script.withdraw();
        script.answers("delete entry", Err(Failure::NoAuth));
        let told =
            matches!(script.notice, Some(DoubleBarrierNotice::Ended(DoubleBarrierEnd::Failed(_))));
        assert!(told, "it is told at once");
        for event in [Event::Look, Event::Connected { session: SESSION }] {
            assert_eq!((&script.asked, script.participant.phase()), (&None, Phase::CleaningUp));
            script.withdraw();
            assert_eq!(script.asked, None, "not at once");
            script.feed(event);
            script.answers("delete entry", Err(Failure::NoAuth));
            assert_eq!(script.notice, None);
        }
        script.feed(Event::Look);
        script
    };
    for result in [Ok(Reply::Deleted), Err(Failure::NoNode)] {
        let mut script = owing();
        script.answers("delete entry", result);
        assert_eq!((&script.asked, script.notice), (&None, None));
        assert_eq!(script.participant.phase(), Phase::Over);
    }
    for event in [Event::SessionExpired, Event::Connected { session: SessionId::new(2) }] {
        let mut script = owing();
        script.feed(event);
        assert_eq!((&script.asked, script.notice), (&None, None));
        assert_eq!(script.participant.phase(), Phase::Over, "it went with its session");
    }
}
