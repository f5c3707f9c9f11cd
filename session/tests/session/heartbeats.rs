//! The grades of evidence that need more than an answer.

use core::time::Duration;

use zk_jute::records::{CheckVersionRequest, GetDataRequest, MultiOp, MultiRequest, SyncRequest};
use zk_jute::{Decode, ErrorCode, OpCode, Version};
use zk_session::lease::{LeaseGrade, LeaseOutlook, LeaseUpkeep};
use zk_session::{ConnectionEnd, Event, ProtocolError, SubmitError};

use crate::beats::*;
use crate::lab::{LEASE, Lab, TIMEOUT, after};

#[test]
fn the_default_is_quorum() {
    assert_eq!(LeaseGrade::default(), LeaseGrade::Quorum);
}

#[test]
fn a_heartbeat_of_quorum_checks_the_znode_in_a_transaction() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let operations = [MultiOp::Check(CheckVersionRequest { path: ZNODE, version: Version::ANY })];
    let body = heartbeat(&mut lab).body;
    assert_eq!(MultiRequest::decode_exact(&body), Ok(MultiRequest::new(&operations)));
}

#[test]
fn a_heartbeat_of_sync_is_a_sync() {
    let mut lab = old_session(sync);
    start(&mut lab);
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SYNC);
    assert_eq!(SyncRequest::decode_exact(&sent.body), Ok(SyncRequest { path: ZNODE }));
}

#[test]
fn contact_needs_no_heartbeats() {
    let mut lab = Lab::connected();
    start(&mut lab);
    lab.pass(INTERVAL);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
}

/// Creating a session is a write, so a quorum has committed it.
#[test]
fn a_new_session_has_its_lease_from_the_handshake() {
    for grade in [sync, quorum] {
        let mut lab = Lab::with(1, grade);
        lab.open();
        lab.sleep(700);
        lab.accept();
        assert_eq!(lab.session.lease_deadline(), Some(after(5400)));
    }
}

/// A follower answers pings and reads by itself, also while it is cut off from its leader.
#[test]
fn pings_and_reads_prove_nothing() {
    for grade in [sync, quorum] {
        let mut lab = Lab::connected_with(grade);
        lab.pass(INTERVAL);
        lab.pong(1);
        let read = GetDataRequest { path: "/a", watch: false };
        lab.session.submit(lab.now, 1, &read).expect("accepted");
        let sent = lab.sent().pop().expect("the read");
        lab.reply(sent.xid, 1, ErrorCode::NO_NODE);
        assert_eq!(lab.session.lease_deadline(), Some(after(5400)));
    }
}

/// The evidence rule: a heartbeat with its confirmation, and a third of the timeout later another
/// pair: then the first one counts, from its sending.
#[test]
fn two_confirmed_heartbeats_prove_the_first() {
    let mut lab = Lab::connected_with(quorum);
    lab.sleep(1000);
    start(&mut lab);
    let first_sent_at = lab.now;
    lab.sleep(30);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    let paired = confirmation(&mut lab);
    lab.sleep(30);
    answer(&mut lab, &paired);
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "the server may keep it to itself");

    lab.pass(INTERVAL);
    lab.sleep(40);
    let second = heartbeat(&mut lab);
    answer(&mut lab, &second);
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "it may be lost on its way");

    let confirmation = confirmation(&mut lab);
    lab.sleep(20);
    answer(&mut lab, &confirmation);
    assert_eq!(lab.session.lease_deadline(), Some(first_sent_at + LEASE));
}

/// The server may lose one touch of a pair: without the second, a heartbeat is no evidence.
#[test]
fn a_heartbeat_without_its_confirmation_is_no_evidence() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    let paired = confirmation(&mut lab);
    lab.reply(paired.xid, 1, ErrorCode::THROTTLED_OP);
    lab.pass(INTERVAL);
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "there was no pair before");
}

/// A third of the timeout passes between the pair and what shows that it was handed over, however late
/// the confirmation is answered: the leader's pings may be half a tick and more apart, and the touch
/// of the heartbeat itself may be lost.
#[test]
fn the_next_heartbeat_comes_a_third_of_the_timeout_after_a_late_confirmation() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    let paired = confirmation(&mut lab);
    lab.sleep(800);
    answer(&mut lab, &paired);
    lab.pass(INTERVAL - 1);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    heartbeat(&mut lab);
}

#[test]
fn the_lease_goes_on_as_long_as_heartbeats_are_answered() {
    let mut lab = Lab::connected_with(quorum);
    lab.events();
    start(&mut lab);
    for _ in 0..100 {
        beat(&mut lab);
        lab.pass(INTERVAL);
    }
    assert_eq!(lab.events(), []);
    let left = lab.session.lease_deadline().expect("a lease").saturating_since(lab.now);
    assert_eq!(left + Duration::from_millis(2 * INTERVAL), LEASE);
}

/// Nothing is sent twice as often as needed: a heartbeat, its confirmation, and no ping.
#[test]
fn heartbeats_take_the_place_of_pings() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let mut sent = Vec::new();
    for _ in 0..10 {
        for request in lab.sent() {
            sent.push(request.opcode);
            answer(&mut lab, &request);
            for confirmation in lab.sent() {
                sent.push(confirmation.opcode);
                answer(&mut lab, &confirmation);
            }
        }
        lab.pass(INTERVAL);
    }
    assert_eq!(sent, [OpCode::MULTI, OpCode::SYNC].repeat(10));
}

/// A heartbeat that is not answered is not repeated: the connection is what has to go.
#[test]
fn an_unanswered_heartbeat_is_followed_by_pings_and_then_by_silence() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    heartbeat(&mut lab);
    lab.pass(INTERVAL);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
    lab.pass(INTERVAL);
    assert!(matches!(lab.events().as_slice(), [Event::Disconnected { .. }]));
}

/// The handshake rule: the leader was asked about it; that it still was the leader, a heartbeat
/// shows.
#[test]
fn a_heartbeat_after_the_handshake_extends_a_lease_that_holds() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    lab.close_by_server();
    lab.open();
    let opened_at = lab.now;
    assert!(opened_at > after(0));
    lab.sleep(50);
    lab.accept();
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "not yet more");
    let first = heartbeat(&mut lab);
    lab.sleep(50);
    answer(&mut lab, &first);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
}

#[test]
fn evidence_of_one_connection_does_not_count_on_the_next() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    beat(&mut lab);
    lab.pass(INTERVAL);
    lab.close_by_server();
    lab.open();
    let opened_at = lab.now;
    lab.sleep(10);
    lab.accept();
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
}

#[test]
fn what_was_proved_lasts_over_a_reconnect() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    lab.sleep(1000);
    lab.close_by_server();
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)));
    lab.open();
    lab.accept();
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "not yet more");
}

/// Sooner than a third of the timeout after the last evidence, a heartbeat shows nothing new.
#[test]
fn a_heartbeat_that_comes_early_is_no_evidence() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let proved_at = lab.now;
    beat(&mut lab);
    lab.pass(INTERVAL);
    beat(&mut lab);
    // The heartbeat that settles the first proof comes after a twelfth.
    lab.pass(500);
    let settling = heartbeat(&mut lab);
    answer(&mut lab, &settling);
    assert_eq!(lab.session.lease_deadline(), Some(proved_at + LEASE));
    assert_eq!(lab.sent(), [], "there is nothing to confirm");
    lab.pass(1499);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    beat(&mut lab);
    let second_sent_at = proved_at + Duration::from_millis(INTERVAL);
    assert_eq!(lab.session.lease_deadline(), Some(second_sent_at + LEASE));
}

#[test]
fn an_answer_that_says_nothing_of_the_check_breaks_the_connection() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    lab.reply(first.xid, 1, ErrorCode::OK);
    let events = lab.events();
    let [Event::Disconnected { end: ConnectionEnd::Protocol(error), .. }] = *events else {
        unreachable!("{events:?}")
    };
    assert!(matches!(error, ProtocolError::Undecodable(_)), "{error}");
}

#[test]
fn heartbeats_stop_and_go_on_with_another_znode() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let sent_at = lab.now;
    beat(&mut lab);
    lab.session.keep_lease(lab.now, LeaseUpkeep::Idle).expect("no znode is named");
    lab.pass(INTERVAL);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
    lab.pong(1);
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: OTHER }).expect("short enough");
    let second = heartbeat(&mut lab);
    assert_eq!(MultiRequest::decode_exact(&second.body), Ok(checks_other()));
    answer(&mut lab, &second);
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE), "one session has one lease");
}

#[test]
fn heartbeats_that_stop_before_an_answer_begin_anew() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    lab.session.keep_lease(lab.now, LeaseUpkeep::Idle).expect("no znode is named");
    answer(&mut lab, &first);
    assert_eq!(lab.sent(), []);
    lab.pass(INTERVAL);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
    lab.pong(1);
    start(&mut lab);
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "the first was no pair");
    lab.pass(INTERVAL);
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(after(INTERVAL) + LEASE));
}

#[test]
fn another_znode_does_not_bring_the_next_heartbeat_forward() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    beat(&mut lab);
    lab.sleep(10);
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: OTHER }).expect("short enough");
    assert_eq!(lab.sent(), []);
}

#[test]
fn heartbeats_begin_with_the_connection() {
    let mut lab = Lab::with(1, quorum);
    start(&mut lab);
    lab.connect();
    heartbeat(&mut lab);
}

/// A server may answer a request behind the close with anything, or not at all.
#[test]
fn nothing_follows_the_close() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    beat(&mut lab);
    lab.pass(INTERVAL);
    let second = heartbeat(&mut lab);
    lab.session.close(lab.now);
    assert_eq!(lab.sent_one().opcode, OpCode::CLOSE_SESSION);
    answer(&mut lab, &second);
    assert_eq!(lab.sent(), []);
}

#[test]
fn a_znode_that_no_server_would_read_is_refused() {
    let mut lab = Lab::connected_with(quorum);
    let path = "/".repeat(2 * 1024 * 1024);
    let refused = lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: &path });
    assert!(matches!(refused, Err(SubmitError::TooLarge { .. })), "{refused:?}");
    assert_eq!(lab.sent(), []);
}

/// A session that has not sent heartbeats so far cannot prove in time that it goes on.
#[test]
fn a_lease_is_secure_if_the_next_proof_comes_in_time() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    assert!(lab.session.lease_is_secure(lab.now));
    lab.sleep(2790);
    assert!(lab.session.lease_is_secure(lab.now));
    lab.sleep(20);
    assert!(!lab.session.lease_is_secure(lab.now), "two answers are missing");
    assert_eq!(lab.session.lease_outlook(lab.now), LeaseOutlook::AwaitsProof);
}

#[test]
fn a_warm_lease_is_secure() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let sent_at = lab.now;
    beat(&mut lab);
    lab.pass(INTERVAL);
    beat(&mut lab);
    assert!(!lab.session.lease_is_secure(lab.now), "it is tentative");
    lab.pass(500);
    let settling = heartbeat(&mut lab);
    answer(&mut lab, &settling);
    let until = sent_at + LEASE;
    assert_eq!(lab.session.lease_outlook(lab.now), LeaseOutlook::Secure { until });
}

/// A leader's requests in an hour, at a timeout of 6 s; an heir sends as many, every other nominee
/// pings.
#[test]
fn the_cost_of_an_hour() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let end = lab.now + Duration::from_secs(3600);
    let (mut requests, mut bytes) = (0_usize, 0_usize);
    while lab.now < end {
        loop {
            let sent = lab.sent();
            if sent.is_empty() {
                break;
            }
            for request in sent {
                requests += 1;
                bytes += 4 + 8 + request.body.len();
                answer(&mut lab, &request);
            }
        }
        lab.pass(INTERVAL);
    }
    let intervals = usize::try_from(3600 / (TIMEOUT.as_secs() / 3)).expect("few");
    assert_eq!(requests, 2 * intervals);
    let heartbeat = 4 + 8 + 9 + 4 + ZNODE.len() + 4 + 9;
    let confirmation = 4 + 8 + 4 + ZNODE.len();
    assert_eq!(bytes, intervals * (heartbeat + confirmation));
}
