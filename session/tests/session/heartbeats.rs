//! The grades of evidence that need more than an answer (design, section 3.4).

use core::time::Duration;

use zk_jute::records::{
    CheckVersionRequest, GetDataRequest, MultiOp, MultiRequest, MultiResult, SyncRequest,
};
use zk_jute::{Decode, ErrorCode, OpCode, Version};
use zk_session::{Config, ConnectionEnd, Event, Grade, ProtocolError, SubmitError};

use crate::lab::{LEASE, Lab, SESSION, Sent, TIMEOUT, after};

const ZNODE: &str = "/election/a-latch-0000000007";
/// Between the answer to a heartbeat and the next one.
const INTERVAL: u64 = 2000;

fn quorum(config: &mut Config) {
    config.grade = Grade::Quorum;
}

fn sync(config: &mut Config) {
    config.grade = Grade::Sync;
}

/// A session that has been going on for longer than its first lease, with heartbeats.
fn old_session(grade: fn(&mut Config)) -> Lab {
    let mut lab = Lab::connected_with(grade);
    for _ in 0..3 {
        lab.pass(INTERVAL);
        lab.pong(1);
    }
    lab.events();
    lab.sent();
    lab
}

fn start(lab: &mut Lab) {
    lab.session.start_heartbeats(lab.now, ZNODE).expect("short enough");
}

fn heartbeat(lab: &mut Lab) -> Sent {
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::MULTI);
    sent
}

fn confirmation(lab: &mut Lab) -> Sent {
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SYNC);
    sent
}

fn answer(lab: &mut Lab, request: &Sent) {
    match request.opcode {
        OpCode::MULTI => lab.answer_heartbeat(request, 1, MultiResult::Check),
        _ => lab.reply(request.xid, 1, ErrorCode::OK),
    }
}

#[test]
fn the_default_is_quorum() {
    assert_eq!(Grade::default(), Grade::Quorum);
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

/// The heartbeat rule: one heartbeat, another a third of the timeout later, a confirmation: then
/// the first one counts, from its sending.
#[test]
fn two_heartbeats_and_a_confirmation_prove_the_first() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first_sent_at = lab.now;
    lab.sleep(30);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    assert_eq!(lab.session.lease_deadline(), None, "the server may have kept it to itself");

    lab.pass(INTERVAL);
    lab.sleep(40);
    let second = heartbeat(&mut lab);
    answer(&mut lab, &second);
    assert_eq!(lab.session.lease_deadline(), None, "what it handed over may have been lost");

    let confirmation = confirmation(&mut lab);
    lab.sleep(20);
    answer(&mut lab, &confirmation);
    assert_eq!(lab.session.lease_deadline(), Some(first_sent_at + LEASE));
}

#[test]
fn the_lease_goes_on_as_long_as_heartbeats_are_answered() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    for _ in 0..100 {
        for request in lab.sent() {
            answer(&mut lab, &request);
            lab.sent().iter().for_each(|confirmation| answer(&mut lab, confirmation));
        }
        lab.pass(INTERVAL);
    }
    assert_eq!(lab.events(), []);
    let left = lab.session.lease_deadline().expect("a lease").saturating_since(lab.now);
    assert_eq!(left + Duration::from_millis(2 * INTERVAL), LEASE);
}

/// Nothing is sent twice as often as needed: a heartbeat, its confirmation, and no ping.
#[test]
fn heartbeats_take_the_place_of_pings() {
    let mut lab = old_session(quorum);
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
    let heartbeats = sent.iter().filter(|&&opcode| opcode == OpCode::MULTI).count();
    let confirmations = sent.iter().filter(|&&opcode| opcode == OpCode::SYNC).count();
    assert_eq!((heartbeats, confirmations, sent.len()), (10, 9, 19));
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

/// The handshake rule: the leader was asked about the session; that it still was the leader, a
/// heartbeat shows.
#[test]
fn a_resumed_session_has_its_lease_from_the_handshake_once_a_heartbeat_is_answered() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    lab.close_by_server();
    lab.open();
    let opened_at = lab.now;
    lab.sleep(50);
    lab.accept();
    assert_eq!(lab.session.lease_deadline(), None);
    let first = heartbeat(&mut lab);
    lab.sleep(50);
    answer(&mut lab, &first);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
}

#[test]
fn evidence_of_one_connection_does_not_count_on_the_next() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    lab.pass(INTERVAL);
    lab.close_by_server();
    lab.open();
    lab.accept();
    let opened_at = lab.now;
    let second = heartbeat(&mut lab);
    answer(&mut lab, &second);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
    assert_eq!(lab.sent(), [], "there is nothing to confirm");
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

/// From the handshake on, the servers go by the timeout that it brought.
#[test]
fn a_shorter_timeout_shortens_what_was_proved() {
    let mut lab = Lab::connected_with(quorum);
    lab.close_by_server();
    lab.open();
    let opened_at = lab.now;
    lab.accept_as(SESSION, Duration::from_secs(2));
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + Duration::from_millis(1800)));
}

/// Protocol section 4.6: by its header alone, a multi always succeeds. A server that is too busy to
/// look at one says so in the header.
#[test]
fn a_refused_heartbeat_is_reported_and_proves_nothing() {
    for error in [ErrorCode::NO_NODE, ErrorCode::NO_AUTH, ErrorCode::THROTTLED_OP] {
        let mut lab = old_session(quorum);
        start(&mut lab);
        let first = heartbeat(&mut lab);
        match error {
            ErrorCode::THROTTLED_OP => lab.reply(first.xid, 1, error),
            _ => lab.answer_heartbeat(&first, 1, MultiResult::Error(error)),
        }
        assert_eq!(lab.events(), [Event::HeartbeatRefused { error }]);
        lab.pass(INTERVAL);
        let second = heartbeat(&mut lab);
        answer(&mut lab, &second);
        assert_eq!(lab.sent(), [], "it is the first that counts");
        assert_eq!(lab.session.lease_deadline(), None);
    }
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
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    lab.session.stop_heartbeats();
    lab.pass(INTERVAL);
    assert_eq!(lab.sent_one().opcode, OpCode::PING);
    lab.pong(1);
    lab.session.start_heartbeats(lab.now, "/election/other").expect("short enough");
    let second = heartbeat(&mut lab);
    let operations =
        [MultiOp::Check(CheckVersionRequest { path: "/election/other", version: Version::ANY })];
    assert_eq!(MultiRequest::decode_exact(&second.body), Ok(MultiRequest::new(&operations)));
    answer(&mut lab, &second);
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    assert!(lab.session.lease_deadline().is_some(), "one session has one lease");
}

#[test]
fn another_znode_does_not_bring_the_next_heartbeat_forward() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    lab.sleep(10);
    lab.session.start_heartbeats(lab.now, "/election/other").expect("short enough");
    assert_eq!(lab.sent(), []);
}

#[test]
fn heartbeats_begin_with_the_connection() {
    let mut lab = Lab::with(1, quorum);
    start(&mut lab);
    lab.connect();
    heartbeat(&mut lab);
}

/// What a server is sent behind the close it may answer with anything, or not at all.
#[test]
fn nothing_follows_the_close() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
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
    let refused = lab.session.start_heartbeats(lab.now, &path);
    assert!(matches!(refused, Err(SubmitError::TooLarge { .. })), "{refused:?}");
    assert_eq!(lab.sent(), []);
}

/// A session that has not sent heartbeats so far cannot prove in time that it goes on.
#[test]
fn a_lease_is_secure_if_the_next_proof_comes_in_time() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    assert!(lab.session.lease_is_secure(lab.now));
    let first = heartbeat(&mut lab);
    lab.sleep(2790);
    assert!(lab.session.lease_is_secure(lab.now));
    lab.sleep(20);
    assert!(!lab.session.lease_is_secure(lab.now), "two answers are missing");
    lab.sleep(100);
    answer(&mut lab, &first);
    lab.pass(INTERVAL);
    let second = heartbeat(&mut lab);
    answer(&mut lab, &second);
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    assert_eq!(lab.session.lease_deadline(), Some(after(5400)), "it was sent at the start");
}

#[test]
fn a_warm_lease_is_secure() {
    let mut lab = old_session(quorum);
    start(&mut lab);
    let first = heartbeat(&mut lab);
    answer(&mut lab, &first);
    lab.pass(INTERVAL);
    assert!(!lab.session.lease_is_secure(lab.now), "nothing is proved yet");
    let second = heartbeat(&mut lab);
    answer(&mut lab, &second);
    let confirmation = confirmation(&mut lab);
    answer(&mut lab, &confirmation);
    assert!(lab.session.lease_is_secure(lab.now));
}

/// What a leader costs an hour, at a timeout of 6 s; an heir costs the same, everybody else pings.
#[test]
fn the_cost_of_an_hour() {
    let mut lab = old_session(quorum);
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
    assert_eq!(requests, 2 * intervals - 1);
    let heartbeat = 4 + 8 + 9 + 4 + ZNODE.len() + 4 + 9;
    let confirmation = 4 + 8 + 4 + ZNODE.len();
    assert_eq!(bytes, intervals * heartbeat + (intervals - 1) * confirmation);
}
