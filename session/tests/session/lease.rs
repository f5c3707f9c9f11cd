//! Until when no server can have expired the session.

use zk_jute::records::{EventType, GetDataRequest};
use zk_jute::{ErrorCode, OpCode, Xid};
use zk_session::lease::LeaseMargin;
use zk_session::{Event, SessionEnd, WhileDisconnected};

use crate::lab::{LEASE, Lab, after};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

/// The deadline rests on when the proof was sent, not on when it was answered.
#[test]
fn the_lease_counts_from_the_sending_of_what_was_answered() {
    let mut lab = Lab::new();
    lab.open();
    lab.sleep(700);
    lab.accept();
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)));

    lab.pass(1500);
    assert_eq!(lab.now, after(2200));
    lab.sleep(900);
    lab.pong(1);
    let ping_sent_at = after(2000);
    assert_eq!(lab.session.lease_deadline(), Some(ping_sent_at + LEASE));

    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let submitted_at = lab.now;
    let sent = lab.sent().pop().expect("the read");
    assert_eq!(lab.session.lease_deadline(), Some(ping_sent_at + LEASE));
    lab.sleep(300);
    lab.reply(sent.xid, 1, ErrorCode::NO_NODE);
    assert_eq!(lab.session.lease_deadline(), Some(submitted_at + LEASE));
}

#[test]
fn events_prove_nothing() {
    let mut lab = Lab::connected();
    lab.sleep(1000);
    lab.notify(3, EventType::NODE_DELETED, "/a");
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)));
}

#[test]
fn the_margin_is_a_part_of_the_timeout() {
    let mut lab = Lab::connected_with(|config| config.margin = LeaseMargin::percent(25));
    assert_eq!(lab.session.lease_deadline(), Some(after(4500)));
    lab = Lab::connected_with(|config| config.margin = LeaseMargin::NONE);
    assert_eq!(lab.session.lease_deadline(), Some(after(6000)));
}

/// The lease lapses by the clock, with no server in reach, and before the session is declared dead
/// (Netflix/curator #216: leaders for ten minutes without a connection).
#[test]
fn the_lease_lapses_while_there_is_no_connection() {
    let mut lab = Lab::connected();
    lab.close_by_server();
    lab.events();
    lab.pass(5399);
    assert!(!lab.events().contains(&Event::LeaseLapsed));
    lab.pass(1);
    let events = lab.events();
    assert_eq!(count_lapses(&events), 1);
    assert_eq!(lab.session.lease_deadline(), None);
    assert_eq!(lab.session.ended(), None);
    lab.pass(2599);
    assert_eq!(count_lapses(&lab.events()), 0);
    assert_eq!(lab.session.ended(), None);
    lab.pass(1);
    assert!(lab.session.ended().is_some());
}

/// A reply that is held back for long ends the lease at the deadline, not at the reply
/// (kubernetes #67651).
#[test]
fn a_reply_that_is_held_back_does_not_hold_the_lease() {
    let mut lab = Lab::connected();
    lab.events();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let sent = lab.sent_one();
    // Events keep the connection from being silent.
    for _ in 0..5 {
        lab.pass(1000);
        lab.notify(-1, EventType::NODE_DELETED, "/b");
    }
    assert_eq!(lab.events(), []);
    lab.pass(400);
    assert_eq!(lab.events(), [Event::LeaseLapsed]);
    lab.sleep(100);
    lab.reply(sent.xid, 1, ErrorCode::NO_NODE);
    assert_eq!(lab.session.lease_deadline(), None, "the proof is too old");
    lab.pass(1000);
    assert_eq!(count_lapses(&lab.events()), 0, "once for each lapse");
}

/// An answer after a lapse may come while the session is being closed, so it counts once a later
/// request is answered, too.
#[test]
fn a_lapsed_lease_is_proved_again_by_later_evidence_and_may_lapse_again() {
    let mut lab = Lab::connected();
    for _ in 0..5 {
        lab.pass(1000);
        lab.notify(-1, EventType::NODE_DELETED, "/b");
    }
    lab.pass(600);
    assert_eq!(count_lapses(&lab.events()), 1);
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let sent = lab.sent().pop().expect("the read");
    lab.reply(Xid::PING, 1, ErrorCode::OK);
    lab.reply(sent.xid, 1, ErrorCode::NO_NODE);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pass(500);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
    lab.pong(1);
    assert_eq!(lab.session.lease_deadline(), Some(lab.now + LEASE));
    lab.close_by_server();
    lab.pass(5400);
    assert_eq!(count_lapses(&lab.events()), 1);
}

/// A process that was paused hears of the lapse before anything that came in meanwhile; any call
/// may come first.
#[test]
fn after_a_pause_the_lapse_comes_before_everything_else() {
    let calls: [fn(&mut Lab); 6] = [
        |lab| lab.tick(),
        |lab| lab.pong(1),
        |lab| lab.close_by_server(),
        |lab| lab.session.close(lab.now),
        |lab| {
            let submitted = lab.session.submit(lab.now, 9, &READ);
            submitted.expect("accepted");
        },
        |lab| {
            let kept = lab.session.authenticate(lab.now, "digest", b"a:b");
            kept.expect("accepted");
        },
    ];
    for call in calls {
        let mut lab = Lab::connected();
        lab.pass(2000);
        lab.events();
        lab.sleep(10 * 6000);
        call(&mut lab);
        assert_eq!(lab.events().first(), Some(&Event::LeaseLapsed));
        assert_eq!(lab.session.lease_deadline(), None);
    }
}

#[test]
fn a_handshake_that_was_answered_too_late_gives_no_lease_and_says_so() {
    let mut lab = Lab::new();
    lab.open();
    lab.sleep(5400);
    lab.accept();
    let events = lab.events();
    assert!(
        matches!(events.as_slice(), [Event::Connected { .. }, Event::LeaseLapsed]),
        "{events:?}"
    );
    assert_eq!(lab.session.lease_deadline(), None);
}

/// A request that waited for a connection was submitted long before it was sent.
#[test]
fn a_queued_request_proves_no_more_than_the_handshake_did() {
    let mut lab = Lab::with(1, |config| {
        config.while_disconnected = WhileDisconnected::Queue;
    });
    lab.session.submit(lab.now, 1, &READ).expect("queued");
    lab.sleep(3000);
    lab.open();
    let opened_at = lab.now;
    lab.sleep(100);
    lab.accept();
    let read = lab.sent_one();
    lab.reply(read.xid, 1, ErrorCode::NO_NODE);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
}

#[test]
fn the_end_of_the_session_ends_the_lease() {
    let mut lab = Lab::connected();
    lab.session.close(lab.now);
    let close = lab.sent_one();
    lab.reply(close.xid, 2, ErrorCode::OK);
    assert_eq!(lab.session.ended(), Some(SessionEnd::Closed));
    assert_eq!(lab.session.lease_deadline(), None);
    lab.events();
    lab.sleep(60_000);
    lab.tick();
    assert_eq!(lab.events(), [], "nothing follows the end");
}

/// ZooKeeper's leader looks at the session before it answers a ping.
#[test]
fn a_ping_that_is_answered_with_an_error_proves_nothing() {
    let mut lab = Lab::connected();
    lab.pass(2000);
    lab.reply(Xid::PING, 1, ErrorCode::THROTTLED_OP);
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)));
    assert!(lab.session.is_connected());
    lab.sent();
    lab.pass(2000);
    assert_eq!(lab.sent_one().opcode, OpCode::PING, "it was answered all the same");
    lab.pong(1);
    assert_eq!(lab.session.lease_deadline(), Some(after(4000) + LEASE));
}

fn count_lapses(events: &[Event<u32, u32>]) -> usize {
    let lapses = events.iter().filter(|event| **event == Event::LeaseLapsed);
    lapses.count()
}
