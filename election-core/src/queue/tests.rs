//! A taker's requests, one after the other, and its notices at the edges.

extern crate alloc;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;
use crate::children::Children;
use crate::command::{Delete, Op};
use crate::event::{Arrivals, Change, Failure, Reply, Stat};

const ID: NomineeId = NomineeId::from_bytes([0x11; 16]);

struct Script {
    taker: Taker<Vec<u8>, 4>,
    ticket: Option<Ticket>,
    asked: String,
    notice: Option<TakerNotice<Vec<u8>>>,
}

impl Script {
    fn new(format: QueueFormat, purpose: Purpose, when_empty: WhenEmpty) -> Self {
        let options = TakerOptions { format, purpose, when_empty };
        let taker = Taker::new(ID, options, ItemWindow::new(1));
        let mut script = Self { taker, ticket: None, asked: String::new(), notice: None };
        script.feed(Event::Connected { session: SessionId::new(1) });
        script
    }

    fn feed(&mut self, event: Event<'_>) {
        let output = self.taker.handle_event(event);
        self.asked = output.command.map_or(String::new(), |command| describe(&command.op));
        let ticket = output.command.map(|command| command.ticket);
        self.notice = output.notice;
        self.ticket = ticket.or(self.ticket);
    }

    fn answer(&mut self, result: Result<Reply<'_>, Failure>) {
        let ticket = self.ticket.expect("something was asked for");
        self.feed(Event::Reply { ticket, result });
    }

    fn list(&mut self, names: &[&str]) {
        let names = &mut names.iter().copied();
        self.answer(Ok(Reply::Children(Children::listed(names))));
    }

    fn read(&mut self, data: &[u8]) {
        let stat = Stat::new(0, 9, 0);
        self.answer(Ok(Reply::Read { stat, data }));
    }

    /// It looks at the pin and the claim, which one transaction has created, and deletes them.
    fn gives_back_both(&mut self) {
        for _ in ["pin", "claim"] {
            assert!(self.asked.contains("Exists"), "{}", self.asked);
            self.answer(Ok(Reply::Exists(Stat::new(1, 70, 0))));
        }
        assert_eq!(self.asked.matches("Delete(").count(), 2, "{}", self.asked);
    }

    fn ended(&self) -> Option<&TakerEnd<Vec<u8>>> {
        match &self.notice {
            Some(TakerNotice::Ended(end)) => Some(end),
            _ => None,
        }
    }
}

fn describe(op: &Op<'_>) -> String {
    match *op {
        Op::List { watch: Watch::None, .. } => "list".to_string(),
        Op::List { .. } => "watched list".to_string(),
        Op::Exists { znode: Znode::Node, watch: Watch::None } => "compare".to_string(),
        Op::Read { znode: Znode::Child(name), .. } => format!("read {name}"),
        Op::Delete(Delete { znode: Znode::Child(name), version }) => {
            format!("delete {name} {}", version.number())
        }
        ref other => format!("{other:?}"),
    }
}

const TAKE: fn() -> Script = || Script::new(QueueFormat::guide(), Purpose::Take, WhenEmpty::Wait);

#[test]
fn an_item_costs_a_read_and_a_deletion_and_the_list_is_kept_for_the_next() {
    let mut script = TAKE();
    assert_eq!(script.asked, "list");
    script.list(&["queue-0000000009", "x", "queue-0000000007"]);
    assert_eq!(script.asked, "read queue-0000000007");
    script.read(b"seven");
    assert_eq!(script.asked, "delete queue-0000000007 0");
    script.answer(Ok(Reply::Deleted));
    let Some(TakerEnd::Taken(Item { name, data })) = script.ended() else { panic!() };
    assert_eq!((name.to_string().as_str(), &data[..]), ("queue-0000000007", &b"seven"[..]));
    assert_eq!(script.taker.phase(), Phase::Over);

    let window = script.taker.into_window();
    let options =
        |format| TakerOptions { format, purpose: Purpose::Take, when_empty: WhenEmpty::GiveUp };
    let next = |format| {
        let taker = Taker::<Vec<u8>, 4>::new(ID, options(format), window.clone());
        let mut script = Script { taker, ..TAKE() };
        script.feed(Event::Connected { session: SessionId::new(1) });
        script.asked
    };
    assert_eq!(next(QueueFormat::guide()), "read queue-0000000009");
    assert_eq!(next(QueueFormat::guide_with_priority()), "compare", "one may go first");
}

/// Makes the next taker by priority, with the window that the one before has left.
fn next_by_priority(before: Script) -> Script {
    let format = QueueFormat::guide_with_priority();
    let (purpose, when_empty) = (Purpose::Take, WhenEmpty::GiveUp);
    let options = TakerOptions { format, purpose, when_empty };
    let taker = Taker::new(ID, options, before.taker.into_window());
    let mut script = Script { taker, ticket: None, asked: String::new(), notice: None };
    script.feed(Event::Connected { session: SessionId::new(1) });
    script
}

/// Answers the comparison, below a node in this state.
fn compare(script: &mut Script, token: i64, cversion: i32, num_children: i32) {
    assert_eq!(script.asked, "compare");
    let arrivals = Arrivals::of(cversion, num_children);
    script.answer(Ok(Reply::Exists(Stat::new(0, token, 0).with_arrivals(arrivals))));
}

#[test]
fn takers_by_priority_list_when_an_item_has_come() {
    let take = |script: &mut Script| {
        script.read(b"");
        script.answer(Ok(Reply::Deleted));
        assert!(matches!(script.ended(), Some(TakerEnd::Taken(_))));
    };
    let items = [
        "queue-07-0000000001",
        "queue-07-0000000002",
        "queue-07-0000000003",
        "queue-09-0000000000",
    ];
    let mut script =
        Script::new(QueueFormat::guide_with_priority(), Purpose::Take, WhenEmpty::GiveUp);
    assert_eq!(script.asked, "list", "there is nothing to compare");
    script.list(&items);
    take(&mut script);
    // Of the first list it is not known what it is of.
    let mut script = next_by_priority(script);
    compare(&mut script, 1, 5, 3);
    assert_eq!(script.asked, "list");
    script.list(&items[1..]);
    take(&mut script);
    let mut script = next_by_priority(script);
    // Not counting the deleted item.
    compare(&mut script, 1, 6, 2);
    assert_eq!(script.asked, "read queue-07-0000000003");
    take(&mut script);
    let mut script = next_by_priority(script);
    // One has come.
    let mut again = Script { taker: script.taker.clone(), asked: script.asked.clone(), ..TAKE() };
    again.ticket = script.ticket;
    compare(&mut script, 1, 8, 2);
    assert_eq!(script.asked, "list");
    // The same number below another node.
    compare(&mut again, 2, 7, 1);
    assert_eq!(again.asked, "list");
}

/// The list may be of a server that lags behind the comparison.
#[test]
fn what_was_compared_before_the_connection_was_lost_says_nothing_of_a_list() {
    let items = ["queue-07-0000000001", "queue-07-0000000002", "queue-07-0000000003"];
    let mut script =
        Script::new(QueueFormat::guide_with_priority(), Purpose::Take, WhenEmpty::GiveUp);
    script.list(&items);
    script.read(b"");
    script.answer(Ok(Reply::Deleted));
    let mut script = next_by_priority(script);
    compare(&mut script, 1, 4, 2);
    assert_eq!(script.asked, "list");
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SessionId::new(1) });
    assert_eq!(script.asked, "list");
    script.list(&items[1..]);
    script.read(b"");
    script.answer(Ok(Reply::Deleted));
    let mut script = next_by_priority(script);
    compare(&mut script, 1, 5, 1);
    assert_eq!(script.asked, "list");
}

/// It is there still, and goes first.
#[test]
fn what_was_passed_over_is_listed_by_the_next_taker_by_priority() {
    let items = ["queue-07-0000000001", "queue-07-0000000002", "queue-07-0000000003"];
    let mut script =
        Script::new(QueueFormat::guide_with_priority(), Purpose::Take, WhenEmpty::GiveUp);
    script.list(&items);
    script.read(b"");
    script.answer(Ok(Reply::Deleted));
    let mut script = next_by_priority(script);
    compare(&mut script, 1, 4, 2);
    script.list(&items);
    script.read(b"");
    script.answer(Err(Failure::Rejected(crate::code::NOT_EMPTY)));
    assert_eq!(script.asked, "read queue-07-0000000002");
    script.read(b"");
    script.answer(Ok(Reply::Deleted));
    let mut script = next_by_priority(script);
    compare(&mut script, 1, 5, 1);
    assert_eq!(script.asked, "list");
}

/// The taker reports the item as unknown, once.
#[test]
fn a_deletion_whose_reply_is_lost_is_sent_again_and_what_is_gone_is_unknown() {
    let mut script = TAKE();
    script.list(&["queue-0000000007"]);
    script.read(b"seven");
    script.feed(Event::Disconnected);
    assert_eq!(script.taker.in_doubt().map(Vec::as_slice), Some(&b"seven"[..]));
    let mut gone = Script { taker: script.taker.clone(), ..TAKE() };
    script.feed(Event::Connected { session: SessionId::new(1) });
    assert_eq!(script.asked, "delete queue-0000000007 0");
    script.answer(Ok(Reply::Deleted));
    assert!(matches!(script.ended(), Some(TakerEnd::Taken(_))), "the first was not executed");

    gone.feed(Event::Connected { session: SessionId::new(1) });
    gone.answer(Err(Failure::NoNode));
    let Some(TakerEnd::Unknown(Item { data, .. })) = gone.ended() else { panic!() };
    assert_eq!(data, b"seven");
}

/// The server does not tell what exists to a client that may not delete it.
#[test]
fn a_deletion_in_doubt_that_is_refused_is_unknown_only_if_the_item_is_gone() {
    let refused = || {
        let mut script = TAKE();
        script.list(&["queue-0000000007"]);
        script.read(b"seven");
        script.feed(Event::Disconnected);
        script.feed(Event::Connected { session: SessionId::new(1) });
        assert_eq!(script.asked, "delete queue-0000000007 0");
        script.answer(Err(Failure::NoAuth));
        assert!(script.asked.contains("Check"), "{}", script.asked);
        assert_eq!(script.ended(), None);
        script
    };
    let mut script = refused();
    script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
    assert_eq!(script.ended(), Some(&TakerEnd::Failed(TakerFailure::Rejected(-102))));

    let mut script = refused();
    script.answer(Err(Failure::Aborted { part: 0, code: -101 }));
    assert!(matches!(script.ended(), Some(TakerEnd::Unknown(_))));

    // In another session the first deletion may be executed after any answer.
    let mut script = refused();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SessionId::new(2) });
    assert_eq!(script.asked, "delete queue-0000000007 0");
    script.answer(Err(Failure::NoAuth));
    assert!(matches!(script.ended(), Some(TakerEnd::Unknown(_))));
}

#[test]
fn an_empty_queue_is_watched_by_a_second_list() {
    let mut script = TAKE();
    script.list(&["other"]);
    assert_eq!((script.asked.as_str(), &script.notice), ("watched list", &None));
    script.list(&[]);
    let watch = script.ticket.unwrap();
    assert_eq!((script.asked.as_str(), &script.notice), ("", &Some(TakerNotice::Waiting)));
    assert!(script.taker.awaits_change(watch));
    script.feed(Event::Changed { ticket: watch, change: Change::Children });
    assert_eq!(script.asked, "list");
    script.list(&["queue-0000000001"]);
    assert_eq!(script.asked, "read queue-0000000001");
    // Another taker was faster, and there was nothing else.
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.asked, "watched list", "one list for each change, and one to wait by");

    let mut script = Script::new(QueueFormat::guide(), Purpose::Take, WhenEmpty::GiveUp);
    script.list(&[]);
    assert_eq!(script.ended(), Some(&TakerEnd::Empty));
    let mut script = Script::new(QueueFormat::guide(), Purpose::Take, WhenEmpty::GiveUp);
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.ended(), Some(&TakerEnd::Empty));
}

/// The items that it has skipped may still be there.
#[test]
fn a_taker_that_came_too_late_lists_again_before_it_gives_up() {
    let mut script = Script::new(QueueFormat::guide(), Purpose::Take, WhenEmpty::GiveUp);
    script.list(&["queue-0000000007", "queue-0000000008"]);
    while script.asked.starts_with("read") {
        script.answer(Err(Failure::NoNode));
    }
    assert_eq!((script.asked.as_str(), script.ended()), ("list", None));
    script.list(&[]);
    assert_eq!(script.ended(), Some(&TakerEnd::Empty));
}

#[test]
fn a_claim_that_an_operator_has_deleted_is_lost_and_its_item_is_left() {
    let mut script = Script::new(QueueFormat::guide(), Purpose::Claim, WhenEmpty::Wait);
    script.list(&["queue-0000000007"]);
    assert!(script.asked.starts_with("Multi"), "{}", script.asked);
    script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
    assert_eq!(script.asked, "read queue-0000000007");
    script.read(b"seven");
    assert!(matches!(script.notice, Some(TakerNotice::Claimed(_))));
    let ticket = script.taker.finish().command.map(|command| command.ticket);
    script.ticket = ticket;
    script.answer(Err(Failure::Aborted { part: 0, code: -101 }));
    assert_eq!(script.ended(), Some(&TakerEnd::ClaimLost));
}

/// Else no other taker gets the item as long as the session lives.
#[test]
fn a_claim_that_may_not_be_given_back_is_owed_until_it_may() {
    let refused = |part| Err(Failure::Aborted { part, code: -102 });
    let owing = || {
        let mut script = Script::new(QueueFormat::guide(), Purpose::Claim, WhenEmpty::Wait);
        script.list(&["queue-0000000007"]);
        script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
        script.read(b"seven");
        let command = script.taker.withdraw().command;
        let looks = command.map_or(String::new(), |command| describe(&command.op));
        script.ticket = command.map(|command| command.ticket);
        script.asked.clone_from(&looks);
        script.gives_back_both();
        script.answer(refused(1));
        let failed = TakerEnd::Failed(TakerFailure::Rejected(-102));
        assert_eq!(script.ended(), Some(&failed), "told at once");
        for event in [Event::Look, Event::Connected { session: SessionId::new(1) }] {
            assert_eq!((script.asked.as_str(), script.taker.phase()), ("", Phase::CleaningUp));
            assert_eq!(script.taker.withdraw().command, None, "not at once");
            script.feed(event);
            assert_eq!((&script.asked, &script.notice), (&looks, &None));
            script.gives_back_both();
            script.answer(refused(0));
        }
        script.feed(Event::Look);
        script.gives_back_both();
        script
    };
    for result in [
        Ok(Reply::Committed(&mut core::iter::empty())),
        Err(Failure::Aborted { part: 0, code: -101 }),
    ] {
        let mut script = owing();
        script.answer(result);
        assert_eq!((script.taker.phase(), &script.notice), (Phase::Over, &None));
    }
    for event in [Event::SessionExpired, Event::Connected { session: SessionId::new(2) }] {
        let mut script = owing();
        script.feed(event);
        assert_eq!((script.taker.phase(), &script.notice), (Phase::Over, &None));
        assert_eq!(script.asked, "", "it went with its session");
    }
}

/// An operator has deleted the claim, and another taker has claimed the item since, perhaps in the
/// same session.
#[test]
fn the_claim_of_another_taker_stays() {
    for claim in [Ok(Reply::Exists(Stat::new(1, 71, 0))), Err(Failure::NoNode)] {
        let mut script = Script::new(QueueFormat::guide(), Purpose::Claim, WhenEmpty::Wait);
        script.list(&["queue-0000000007"]);
        script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
        script.read(b"seven");
        script.ticket = script.taker.withdraw().command.map(|command| command.ticket);
        script.answer(Ok(Reply::Exists(Stat::new(1, 70, 0))));
        script.answer(claim);
        assert!(script.asked.starts_with("Delete(") && script.asked.contains("Grandchild"));
        script.answer(Ok(Reply::Deleted));
        assert_eq!(script.ended(), Some(&TakerEnd::GivenBack));
        assert_eq!(script.taker.phase(), Phase::Over);
    }
}

/// The server refuses before it looks whether the claim exists.
#[test]
fn a_claim_in_doubt_that_may_not_be_made_again_is_given_back() {
    let mut script = Script::new(QueueFormat::guide(), Purpose::Claim, WhenEmpty::Wait);
    script.list(&["queue-0000000007"]);
    let claims = script.asked.clone();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SessionId::new(1) });
    assert_eq!(script.asked, claims);
    script.answer(Err(Failure::Aborted { part: 0, code: -102 }));
    script.gives_back_both();
    script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
    let failed = TakerEnd::Failed(TakerFailure::Rejected(-102));
    assert_eq!(script.ended(), Some(&failed));
    assert_eq!(script.taker.phase(), Phase::Over);
}

/// It blocks the queue for this client, visibly: passing over it would lose it from sight.
#[test]
fn an_item_that_is_too_large_is_told_of() {
    let mut script = TAKE();
    script.list(&["queue-0000000007", "queue-0000000008"]);
    script.answer(Err(Failure::Unreadable));
    let failed = TakerEnd::Failed(TakerFailure::UnreadableReply);
    assert_eq!(script.ended(), Some(&failed));
    assert_eq!(script.taker.window().len(), 2, "it is still the next one");
}

/// A taker passes over an item that it may not read, or that has children of its own.
#[test]
fn what_a_taker_may_not_have_is_passed_over() {
    let mut script = TAKE();
    script.list(&["queue-0000000007", "queue-0000000008", "queue-0000000009"]);
    script.answer(Err(Failure::NoAuth));
    assert_eq!(script.asked, "read queue-0000000008");
    script.read(b"");
    script.answer(Err(Failure::Rejected(-111)));
    assert_eq!(script.asked, "read queue-0000000009");
    script.read(b"");
    script.answer(Err(Failure::NoAuth));
    let failed = TakerEnd::Failed(TakerFailure::Rejected(-102));
    assert_eq!(script.ended(), Some(&failed), "it may delete nothing here");
}

#[test]
fn what_a_taker_remembers_is_bounded() {
    let (small, large) = (size_of::<Taker<Vec<u8>, 16>>(), size_of::<Taker<Vec<u8>, 1024>>());
    assert!(large < 10_000 && large - small <= 1008 * 8, "{small}, {large}");
}

#[test]
fn no_reply_of_another_kind_makes_it_panic() {
    let unexpected = TakerEnd::Failed(TakerFailure::UnexpectedReply);
    let mut script = TAKE();
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.ended(), Some(&unexpected));
    let mut script = TAKE();
    script.list(&["queue-0000000007"]);
    script.answer(Ok(Reply::NodeCreated));
    assert_eq!(script.ended(), Some(&unexpected));
    script.feed(Event::Connected { session: SessionId::new(2) });
    assert_eq!((script.asked.as_str(), &script.notice), ("", &None), "it is over");
}

/// It would wait beside them for good, or take what is not as it was put.
#[test]
fn items_of_another_queue_are_refused_by_its_name() {
    let refused = |sibling| TakerEnd::Failed(TakerFailure::Sibling(sibling));
    let mut script = TAKE();
    script.list(&["queue-0000000007", "qn-0000000001"]);
    assert_eq!(script.ended(), Some(&refused(SiblingQueue::DistributedQueue)));

    let framed = b"\0\x01\0\x01\x01\0\0\0\x03abc\x02";
    for purpose in [Purpose::Take, Purpose::Peek] {
        let mut script = Script::new(QueueFormat::guide(), purpose, WhenEmpty::Wait);
        script.list(&["queue-0000000007"]);
        script.read(framed);
        assert_eq!(script.ended(), Some(&refused(SiblingQueue::CuratorDistributed)));
        assert_eq!(script.asked, "", "it is left where it is");
    }
    let mut script = Script::new(QueueFormat::guide(), Purpose::Claim, WhenEmpty::Wait);
    script.list(&["queue-0000000007"]);
    script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
    script.read(framed);
    script.gives_back_both();
    script.answer(Ok(Reply::Committed(&mut core::iter::empty())));
    assert_eq!(script.ended(), Some(&refused(SiblingQueue::CuratorDistributed)));
}

#[test]
fn a_claim_that_kazoo_would_take_for_an_item_is_refused() {
    let script = Script::new(QueueFormat::kazoo(), Purpose::Claim, WhenEmpty::Wait);
    assert_eq!(script.ended(), Some(&TakerEnd::Failed(TakerFailure::NotClaimable)));
    assert_eq!(script.asked, "", "before anything is asked for");
    let script = Script::new(QueueFormat::kazoo(), Purpose::Take, WhenEmpty::Wait);
    assert_eq!(script.asked, "list");
}
