//! The behaviour of a semaphore that neither an election nor a lock has.

extern crate alloc;

mod script;

use alloc::format;
use alloc::string::{String, ToString};

use super::*;
use crate::children::Children;
use crate::command::{Create, CreateMode, Delete, NewZnode, Op, Watch};
use crate::event::{Change, Reply, Stat};
use crate::id::{SessionId, Token};
use crate::lock::{LockEnd, LockFailure};
use crate::outcome::{Cause, Departure};
use script::Script;

const ID: NomineeId = NomineeId::from_bytes([0x11; 16]);
const SESSION: SessionId = SessionId::new(1);
const NEXT_SESSION: SessionId = SessionId::new(2);
const TURN: Token = Token::new(40);
const PERMIT: Token = Token::new(50);
const ONE: NonZeroU32 = NonZeroU32::MIN;
const UUID: &str = "11111111-1111-1111-1111-111111111111";
/// Of the second create.
const NEXT_UUID: &str = "11111111-1111-1111-1111-111111111112";

fn turn(number: u32) -> String {
    format!("_c_{UUID}-lock-{number:010}")
}

fn permit(number: u32) -> String {
    format!("_c_{UUID}-lease-{number:010}")
}

const OTHER_TURN: &str = "_c_22222222-2222-2222-2222-222222222222-lock-0000000000";
const OTHER_PERMIT: &str = "_c_22222222-2222-2222-2222-222222222222-lease-0000000000";

#[test]
fn a_permit_is_held_once_no_more_stand_than_there_are() {
    let mut script = Script::next();
    assert_eq!(script.semaphore.state(), SemaphoreState::Next);
    let heir = permit(5);
    let heir = Some(Znode::Grandchild { child: "leases", name: heir.as_str().into() });
    assert_eq!(script.semaphore.heartbeat(), heir, "it is the next to hold one");
    let watch = Ticket::of_part(Part::Second, script.semaphore.permit.incarnation(), 2);
    assert!(script.semaphore.awaits_change(watch));
    script.read(SESSION, TURN);
    assert_eq!(script.asked, "", "nothing is asked for while it waits");
    script.feed(Event::Changed { ticket: watch, change: Change::Children });
    assert_eq!(script.asked, "list leases");
    script.list(&[&permit(5)]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(PERMIT)));
    assert_eq!(script.semaphore.state(), SemaphoreState::Held { token: PERMIT });
    assert_eq!(script.semaphore.heartbeat(), heir);
    assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
}

#[test]
fn of_several_permits_each_is_held_beside_the_others() {
    let two = NonZeroU32::new(2).unwrap();
    let mut script = Script::entering(SemaphoreOptions::new(two));
    script.created(&permit(5), PERMIT);
    script.list(&["whatever counts", &permit(5)]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(PERMIT)));
    let mut script = Script::entering(SemaphoreOptions::new(two));
    script.created(&permit(5), PERMIT);
    script.list(&["whatever", "counts", &permit(5)]);
    assert_eq!(script.notice, Some(LockNotice::Waiting));
}

#[test]
fn one_behind_another_contender_for_a_permit_waits_for_its_turn() {
    let mut script = Script::connected(SemaphoreOptions::new(ONE));
    script.created(&turn(3), TURN);
    script.list(&[&turn(3), OTHER_TURN]);
    assert_eq!(script.asked, format!("watch locks/{OTHER_TURN}"));
    script.read(NEXT_SESSION, Token::new(1));
    assert_eq!(script.notice, Some(LockNotice::Waiting));
    let SemaphoreState::Waiting { behind } = script.semaphore.state() else {
        panic!("{:?}", script.semaphore.state());
    };
    assert_eq!(behind.text(), OTHER_TURN);
    assert_eq!(script.semaphore.znode(), None);
    assert_eq!(script.semaphore.turn_znode().unwrap().to_string(), turn(3));
    assert_eq!(script.semaphore.heartbeat(), None);
}

#[test]
fn what_is_missing_is_created_from_the_top() {
    for (node, mode) in [
        (ElectionNode::Create(NodeKind::Persistent), "Persistent"),
        (ElectionNode::Create(NodeKind::Container), "Container"),
    ] {
        let mut script = Script::connected(SemaphoreOptions { node, ..SemaphoreOptions::new(ONE) });
        script.answer(Err(Failure::NoNode));
        assert_eq!(script.asked, format!("create locks {mode}"));
        script.answer(Err(Failure::NoNode));
        assert_eq!(script.asked, "create node");
        script.answer(Ok(Reply::NodeCreated));
        assert_eq!(script.asked, format!("create locks {mode}"));
        script.answer(Err(Failure::NodeExists));
        assert_eq!(script.asked, format!("create locks/_c_{NEXT_UUID}-lock-"));
    }
    let node = ElectionNode::MustExist;
    let mut script = Script::connected(SemaphoreOptions { node, ..SemaphoreOptions::new(ONE) });
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.asked, "create locks Persistent");
    script.answer(Err(Failure::NoNode));
    script.has_ended(LockEnd::Failed(LockFailure::NoNode));
    assert_eq!(script.semaphore.phase(), Phase::Over);
}

/// Servers reap containers.
#[test]
fn a_node_that_is_gone_again_and_again_is_not_created_for_ever() {
    let mut script = Script::connected(SemaphoreOptions::new(ONE));
    for _ in 0..20 {
        match script.asked.as_str() {
            "create node" => script.answer(Ok(Reply::NodeCreated)),
            "" => break,
            _ => script.answer(Err(Failure::NoNode)),
        }
    }
    script.has_ended(LockEnd::Failed(LockFailure::NoNode));
}

/// Two znodes that wait would keep each other from holding for ever.
#[test]
fn one_that_loses_its_turn_takes_the_permit_back_first() {
    let mut script = Script::next();
    script.answer(Err(Failure::NoNode));
    assert_eq!(script.notice, Some(LockNotice::PlaceLost(Cause::Evicted)));
    assert_eq!(script.asked, format!("delete leases/{}", permit(5)));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.asked, format!("create locks/_c_{NEXT_UUID}-lock-"));
    assert_eq!(script.semaphore.state(), SemaphoreState::Queueing);
}

/// Its turn goes on.
#[test]
fn one_whose_permit_is_evicted_while_it_waits_asks_for_another() {
    let mut script = Script::next();
    let watch = Ticket::of_part(Part::Second, script.semaphore.permit.incarnation(), 2);
    script.read(SESSION, TURN);
    script.feed(Event::Changed { ticket: watch, change: Change::Children });
    script.list(&[OTHER_PERMIT]);
    assert_eq!(script.notice, Some(LockNotice::PlaceLost(Cause::Evicted)));
    assert_eq!(script.asked, format!("create leases/_c_{NEXT_UUID}-lease-"));
}

#[test]
fn a_create_of_a_permit_in_doubt_is_searched_for_behind_a_barrier() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    script.reconnect();
    assert_eq!(script.asked, "barrier");
    script.answer(Ok(Reply::BarrierPassed));
    assert_eq!(script.asked, "list leases");
    script.list(&[OTHER_PERMIT, &permit(5), &permit(2)]);
    assert_eq!(script.asked, format!("watch leases/{}", permit(2)));
    script.read(NEXT_SESSION, Token::new(3));
    assert_eq!(script.asked, format!("delete leases/{}", permit(2)), "of an earlier session");
    script.answer(Ok(Reply::Deleted));
    script.list(&[OTHER_PERMIT, &permit(5)]);
    script.read(SESSION, PERMIT);
    assert_eq!(script.asked, "list leases");
    script.list(&[&permit(5)]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(PERMIT)));
}

/// It counts, and may be in its own way.
#[test]
fn a_ghost_among_the_permits_is_deleted() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    script.created(&permit(5), PERMIT);
    script.list(&[&permit(5), &permit(2)]);
    assert_eq!(script.asked, format!("read leases/{}", permit(2)));
    script.read(NEXT_SESSION, Token::new(3));
    assert_eq!(script.asked, format!("delete leases/{}", permit(2)));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.asked, "list leases");
}

#[test]
fn one_that_does_not_wait_for_a_permit_leaves_nothing() {
    let options = SemaphoreOptions { when_busy: WhenBusy::GiveUp, ..SemaphoreOptions::new(ONE) };
    let busy = LockEnd::NotAcquired(GaveUp::Busy, Departure::Deleted);
    let mut script = Script::entering(options);
    script.created(&permit(5), PERMIT);
    script.list(&[&permit(5), OTHER_PERMIT]);
    assert_eq!(script.asked, format!("delete leases/{}", permit(5)));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
    script.answer(Ok(Reply::Deleted));
    script.has_ended(busy);

    let mut script = Script::connected(options);
    script.created(&turn(3), TURN);
    script.list(&[&turn(3), OTHER_TURN]);
    assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
    script.answer(Ok(Reply::Deleted));
    script.has_ended(busy);
}

#[test]
fn one_whose_deadline_has_passed_takes_both_znodes_back() {
    let mut script = Script::next();
    script.read(SESSION, TURN);
    script.feed(Event::Deadline);
    assert_eq!(script.asked, format!("delete leases/{}", permit(5)));
    assert_eq!(script.semaphore.state(), SemaphoreState::Leaving);
    script.answer(Ok(Reply::Deleted));
    script.answer(Ok(Reply::Deleted));
    script.has_ended(LockEnd::NotAcquired(GaveUp::TimedOut, Departure::Deleted));

    let mut script = Script::holding();
    script.feed(Event::Deadline);
    assert_eq!(script.semaphore.hold(), Hold::Active(PERMIT), "a holder has no deadline");
}

#[test]
fn a_release_before_the_turn_has_gone_ends_once() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    script.created(&permit(5), PERMIT);
    script.list(&[&permit(5)]);
    script.withdraw();
    assert_eq!((script.asked.as_str(), script.notice), ("", None), "one request at a time");
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.asked, format!("delete leases/{}", permit(5)));
    script.answer(Ok(Reply::Deleted));
    script.has_ended(LockEnd::Released(Departure::Deleted));
    assert_eq!(script.semaphore.phase(), Phase::Over);
}

#[test]
fn a_permit_that_is_lost_ends_it() {
    let mut script = Script::holding();
    let watch = script.ticket.unwrap();
    script.feed(Event::Changed { ticket: watch, change: Change::Deleted });
    script.has_ended(LockEnd::Lost(Cause::Evicted));

    let mut script = Script::holding();
    script.feed(Event::SessionExpired);
    script.has_ended(LockEnd::Lost(Cause::SessionExpired));

    let mut script = Script::holding();
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.notice, Some(LockNotice::Lost(Cause::LeaseLapsed)));
    assert_eq!(script.asked, format!("delete leases/{}", permit(5)));
    script.answer(Ok(Reply::Deleted));
    script.has_ended(LockEnd::Lost(Cause::LeaseLapsed));
}

/// The turn that goes with it is gone with it.
#[test]
fn a_permit_that_is_lost_before_the_turn_has_gone_ends_it_then() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    script.created(&permit(5), PERMIT);
    script.list(&[&permit(5)]);
    script.feed(Event::Disconnected);
    assert_eq!(script.notice, Some(LockNotice::Suspended));
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
    script.feed(Event::LeaseLapsed);
    assert_eq!(script.notice, Some(LockNotice::Lost(Cause::LeaseLapsed)));
    script.feed(Event::SessionExpired);
    script.has_ended(LockEnd::Lost(Cause::LeaseLapsed));
}

/// A turn that stays would keep all others from theirs: it is owed until its deletion is permitted.
#[test]
fn a_turn_that_cannot_be_let_go_of_ends_it() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    script.created(&permit(5), PERMIT);
    script.list(&[&permit(5)]);
    script.answer(Err(Failure::NoAuth));
    script.has_ended(LockEnd::Failed(LockFailure::Rejected(-102)));
    assert_eq!(script.asked, format!("delete leases/{}", permit(5)));
    script.answer(Ok(Reply::Deleted));
    assert_eq!(script.semaphore.phase(), Phase::CleaningUp);
    script.feed(Event::Look);
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[&turn(3)]);
    assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
    script.answer(Ok(Reply::Deleted));
    script.answer(Ok(Reply::BarrierPassed));
    script.list(&[]);
    assert_eq!(script.semaphore.phase(), Phase::Over);
}

#[test]
fn a_permit_that_cannot_be_created_gives_the_turn_back() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    script.answer(Err(Failure::NoAuth));
    script.has_ended(LockEnd::Failed(LockFailure::Rejected(-102)));
    assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
    script.answer(Ok(Reply::Deleted));
    assert_eq!((script.semaphore.phase(), script.notice), (Phase::Over, None));
}

/// The first request of the turn has the number that the first one of the permit has.
#[test]
fn a_reply_counts_for_the_part_that_asked() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    let permits = script.ticket.unwrap();
    let turns = Ticket::of_part(Part::First, script.semaphore.permit.incarnation(), 0);
    assert_ne!(permits, turns);
    assert_ne!(permits.to_string(), turns.to_string());
    let before = script.semaphore.clone();
    script.feed(Event::Reply { ticket: turns, result: Ok(Reply::Deleted) });
    assert_eq!((script.semaphore.clone(), script.asked.as_str()), (before, ""));
    script.feed(Event::Reply { ticket: Ticket::CLEANUP, result: Ok(Reply::Deleted) });
    assert_eq!(script.asked, "");
    script.created(&permit(5), PERMIT);
    assert_eq!(script.asked, "list leases");
}

#[test]
fn a_reply_that_is_lost_is_a_lost_link_for_both_parts() {
    let mut script = Script::next();
    script.answer(Err(Failure::ConnectionLoss));
    assert_eq!(script.semaphore.state(), SemaphoreState::Connecting);
    script.feed(Event::Look);
    assert_eq!(script.asked, "", "nothing is asked for before there is a link");
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, format!("watch leases/{}", permit(5)));
}

/// Acting on it would be a second permit.
#[test]
fn the_late_reply_to_a_create_is_cleaned_up() {
    let mut script = Script::entering(SemaphoreOptions::new(ONE));
    let late = script.ticket.unwrap();
    script.feed(Event::SessionExpired);
    script.feed(Event::Connected { session: NEXT_SESSION });
    script.answer(Err(Failure::Throttled));
    assert!(script.semaphore.waits_for_look());
    let name = permit(5);
    script.feed(Event::Reply {
        ticket: late,
        result: Ok(Reply::Created { name: &name, stat: None }),
    });
    assert_eq!(script.asked, format!("delete leases/{name}"));
    assert!(script.ticket.unwrap().is_cleanup());
    script.feed(Event::Look);
    assert_eq!(
        script.asked,
        format!("create locks/_c_{}-lock-", "11111111-1111-1111-1111-111111111113")
    );
}

#[test]
fn a_look_finds_the_permit_that_no_event_has_told_of() {
    let mut script = Script::next();
    script.read(SESSION, TURN);
    script.feed(Event::Look);
    assert_eq!(script.asked, "list leases", "without another watch");
    script.list(&[&permit(5), OTHER_PERMIT]);
    assert_eq!(script.asked, format!("watch locks/{}", turn(3)));
    script.read(SESSION, TURN);
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    script.feed(Event::Look);
    script.list(&[&permit(5)]);
    assert_eq!(script.notice, Some(LockNotice::Acquired(PERMIT)));
}
