//! A proof that comes when none is in force is tentative until a later check has passed.

use core::time::Duration;

use zk_jute::records::{
    CheckVersionRequest, EventType, GetDataRequest, MultiOp, MultiRequest, MultiResult,
};
use zk_jute::{Decode, ErrorCode, OpCode, Version, Xid};
use zk_session::lease::LeaseGrade;
use zk_session::{Event, Instant};

use crate::beats::*;
use crate::lab::{LEASE, Lab, after};

/// A twelfth of the timeout: from the answer that completes a tentative proof to the sending of
/// what settles it.
const SETTLING: u64 = 500;

/// Returns a session with a lapsed lease, on a connection with one pair of heartbeats, and the
/// instant when the pair was sent.
fn lapsed(grade: LeaseGrade) -> (Lab, Instant) {
    let mut lab = Lab::connected_with(|config| config.grade = grade);
    for _ in 0..3 {
        lab.pass(INTERVAL);
        lab.pong(1);
    }
    assert!(lab.events().contains(&Event::LeaseLapsed));
    lab.sent();
    start(&mut lab);
    let sent_at = lab.now;
    for request in lab.sent() {
        answer(&mut lab, &request);
    }
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    lab.pass(INTERVAL);
    (lab, sent_at)
}

/// The leader may have taken the session out of its queue already, to end it: in that moment
/// touches succeed without effect, and writes are committed.
#[test]
fn after_a_lapse_a_proof_needs_a_check_that_was_sent_later() {
    let (mut lab, sent_at) = lapsed(LeaseGrade::Quorum);
    lab.sleep(20);
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), None, "tentative");
    lab.pass(SETTLING - 1);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    let settling = heartbeat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.sleep(20);
    answer(&mut lab, &settling);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE));
}

/// The next proof comes in time: it counts at once.
#[test]
fn what_has_settled_is_extended_at_once() {
    let (mut lab, sent_at) = lapsed(LeaseGrade::Quorum);
    beat(&mut lab);
    lab.pass(SETTLING);
    let settling = heartbeat(&mut lab);
    answer(&mut lab, &settling);
    lab.pass(INTERVAL - SETTLING);
    beat(&mut lab);
    let second_sent_at = sent_at + Duration::from_millis(INTERVAL);
    assert_eq!(lab.session.lease_deadline(), Some(second_sent_at + LEASE));
}

/// A follower answers a `sync` although the leader has found the session closing.
#[test]
fn what_settles_a_proof_is_a_check_under_sync_too() {
    let (mut lab, sent_at) = lapsed(LeaseGrade::Sync);
    let second = lab.sent_one();
    assert_eq!(second.opcode, OpCode::SYNC);
    answer(&mut lab, &second);
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pass(SETTLING);
    let settling = heartbeat(&mut lab);
    let operations = [MultiOp::Check(CheckVersionRequest { path: ZNODE, version: Version::ANY })];
    assert_eq!(MultiRequest::decode_exact(&settling.body), Ok(MultiRequest::new(&operations)));
    answer(&mut lab, &settling);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE));
    lab.pass(INTERVAL - SETTLING);
    assert_eq!(lab.sent_one().opcode, OpCode::SYNC, "in force, a sync will do");
}

#[test]
fn a_check_that_is_refused_does_not_settle_anything() {
    for grade in [LeaseGrade::Sync, LeaseGrade::Quorum] {
        let (mut lab, sent_at) = lapsed(grade);
        let second = lab.sent_one();
        answer(&mut lab, &second);
        let confirmation = confirmation(&mut lab);
        answer(&mut lab, &confirmation);
        lab.pass(SETTLING);
        let refused = heartbeat(&mut lab);
        lab.answer_heartbeat(&refused, 1, MultiResult::Error(ErrorCode::NO_NODE));
        assert_eq!(lab.session.lease_deadline(), None);
        lab.pass(250);
        let settling = heartbeat(&mut lab);
        answer(&mut lab, &settling);
        assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE), "{grade:?}");
    }
}

#[test]
fn a_tentative_proof_that_passes_before_it_settles_is_none() {
    let (mut lab, sent_at) = lapsed(LeaseGrade::Quorum);
    beat(&mut lab);
    lab.pass(SETTLING);
    let settling = heartbeat(&mut lab);
    while lab.now < sent_at + LEASE {
        lab.sleep(100);
        lab.notify(-1, EventType::NODE_DELETED, "/b");
    }
    answer(&mut lab, &settling);
    assert_eq!(lab.session.lease_deadline(), None);
    let events = lab.events();
    assert!(!events.contains(&Event::LeaseLapsed), "it never held: {events:?}");
}

/// The handshake of the new one is checked against the leader: it has to be shown and to settle.
#[test]
fn a_tentative_proof_does_not_outlive_its_connection() {
    let (mut lab, _) = lapsed(LeaseGrade::Quorum);
    beat(&mut lab);
    lab.close_by_server();
    lab.open();
    let opened_at = lab.now;
    lab.accept();
    let first = heartbeat(&mut lab);
    lab.sleep(40);
    answer(&mut lab, &first);
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pass(SETTLING);
    let settling = heartbeat(&mut lab);
    answer(&mut lab, &settling);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
}

/// Makes a session with a lapsed lease, and a tentative proof that came just now.
fn lapsed_contact() -> Lab {
    let mut lab = Lab::connected();
    for _ in 0..5 {
        lab.pass(1000);
        lab.notify(-1, EventType::NODE_DELETED, "/b");
    }
    lab.pass(400);
    assert!(lab.events().contains(&Event::LeaseLapsed));
    lab.pong(1);
    lab.tick();
    lab.sent();
    lab.pong(1);
    assert_eq!(lab.session.lease_deadline(), None);
    lab
}

/// Without heartbeats, any answer to what was sent late enough settles a proof.
#[test]
fn under_contact_any_later_answer_settles_a_proof() {
    let mut lab = lapsed_contact();
    let read = GetDataRequest { path: "/a", watch: false };
    lab.pass(SETTLING - 1);
    lab.session.submit(lab.now, 1, &read).expect("accepted");
    let early = lab.sent_one();
    lab.sleep(1);
    lab.session.submit(lab.now, 2, &read).expect("accepted");
    let sent_at = lab.now;
    let late = lab.sent_one();
    lab.sleep(30);
    lab.reply(early.xid, 1, ErrorCode::NO_NODE);
    assert_eq!(lab.session.lease_deadline(), None, "sent too early");
    lab.reply(late.xid, 1, ErrorCode::NO_NODE);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE));
}

#[test]
fn under_contact_a_ping_is_sent_to_settle_a_proof() {
    let mut lab = lapsed_contact();
    lab.pass(SETTLING - 1);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pong(1);
    assert_eq!(lab.session.lease_deadline(), Some(lab.now + LEASE));
}

/// However often pings are refused, they do not come more often than what settles takes.
#[test]
fn refused_pings_are_not_repeated_at_once() {
    let mut lab = lapsed_contact();
    let mut pings = 0;
    for _ in 0..100 {
        lab.pass(50);
        for _ in lab.sent() {
            pings += 1;
            lab.reply(Xid::PING, 1, ErrorCode::THROTTLED_OP);
        }
    }
    assert_eq!(pings, 10);
}

/// As the handshake of a session that is resumed, or comes back too late.
#[test]
fn under_contact_the_handshake_alone_is_tentative_after_a_lapse() {
    let mut lab = Lab::connected();
    lab.pass(2000);
    lab.sent();
    lab.close_by_server();
    lab.pass(5400);
    let sent_at = after(7400);
    lab.session.poll_transport();
    while lab.session.poll_timeout().is_some_and(|at| at <= sent_at) {
        lab.tick();
    }
    lab.session.handle_opened(lab.now);
    lab.accept();
    assert!(lab.session.is_connected());
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pass(SETTLING);
    lab.pong(1);
    assert_eq!(lab.session.lease_deadline(), Some(lab.now + LEASE));
}
