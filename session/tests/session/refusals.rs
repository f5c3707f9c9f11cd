//! Heartbeats that are refused.

use zk_jute::records::{MultiRequest, MultiResult};
use zk_jute::{Decode, ErrorCode};
use zk_session::lease::LeaseUpkeep;
use zk_session::{ConnectionEnd, Event};

use crate::beats::*;
use crate::lab::{LEASE, Lab, SESSION, after};

/// By its header alone, a multi always succeeds. A server that is too busy to
/// look at one says so in the header.
#[test]
fn a_refused_heartbeat_is_reported_and_proves_nothing() {
    for error in [ErrorCode::NO_NODE, ErrorCode::NO_AUTH, ErrorCode::THROTTLED_OP] {
        let mut lab = Lab::connected_with(quorum);
        lab.events();
        start(&mut lab);
        refuse(&mut lab, error);
        assert_eq!(lab.events(), [Event::HeartbeatRefused { error }]);
        for wait in [250, INTERVAL] {
            assert_eq!(lab.session.lease_deadline(), Some(after(5400)));
            lab.pass(wait);
            beat(&mut lab);
        }
        assert_eq!(lab.session.lease_deadline(), Some(after(250) + LEASE));
    }
}

fn refuse(lab: &mut Lab, error: ErrorCode) {
    let refused = heartbeat(lab);
    match error {
        ErrorCode::THROTTLED_OP => lab.reply(refused.xid, 1, error),
        _ => lab.answer_heartbeat(&refused, 1, MultiResult::Error(error)),
    }
}

/// Other elections of the session rely on the lease that the candidate of one did not prove.
#[test]
fn a_refused_heartbeat_is_repeated_soon_and_then_ever_more_rarely() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    for delay in [250, 500, 1000, 2000, 2000] {
        refuse(&mut lab, ErrorCode::NO_NODE);
        lab.pass(delay - 1);
        assert_eq!(lab.sent(), [], "{delay}");
        lab.pass(1);
    }
    beat(&mut lab);
    lab.pass(INTERVAL);
    refuse(&mut lab, ErrorCode::THROTTLED_OP);
    lab.pass(250);
    heartbeat(&mut lab);
}

/// The lease of the others goes on: the repeated heartbeat shows what the refused one would have.
#[test]
fn one_refused_heartbeat_costs_no_lease() {
    for refused in 0..10 {
        let mut lab = Lab::connected_with(quorum);
        lab.events();
        start(&mut lab);
        for heartbeat in 0..12 {
            if heartbeat == refused {
                refuse(&mut lab, ErrorCode::NO_NODE);
                lab.pass(250);
            }
            beat(&mut lab);
            lab.pass(INTERVAL);
        }
        let error = ErrorCode::NO_NODE;
        assert_eq!(lab.events(), [Event::HeartbeatRefused { error }], "{refused}");
        assert!(lab.session.lease_is_secure(lab.now));
    }
}

#[test]
fn after_a_refusal_another_znode_is_tried_at_once() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    refuse(&mut lab, ErrorCode::NO_NODE);
    start(&mut lab);
    assert_eq!(lab.sent(), [], "the same one is tried in due time");
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: OTHER }).expect("short enough");
    assert_eq!(MultiRequest::decode_exact(&heartbeat(&mut lab).body), Ok(checks_other()));
}

/// The caller may know that its candidate is gone before the refusal comes.
#[test]
fn a_refusal_of_a_former_znode_brings_the_present_one_forward() {
    let mut lab = Lab::connected_with(quorum);
    start(&mut lab);
    let former = heartbeat(&mut lab);
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: OTHER }).expect("short enough");
    assert_eq!(lab.sent(), []);
    lab.answer_heartbeat(&former, 1, MultiResult::Error(ErrorCode::NO_NODE));
    let present = heartbeat(&mut lab);
    assert_eq!(MultiRequest::decode_exact(&present.body), Ok(checks_other()));
    lab.answer_heartbeat(&present, 1, MultiResult::Error(ErrorCode::NO_NODE));
    assert_eq!(lab.sent(), [], "its own refusal does not");
}

/// The leader of the ensemble says in the multi what it says of the session. If it was deposed
/// unawares, that is not so.
#[test]
fn a_heartbeat_of_a_session_that_is_said_to_be_expired_ends_the_connection() {
    let mut lab = Lab::connected_with(quorum);
    lab.events();
    start(&mut lab);
    let error = ErrorCode::SESSION_EXPIRED;
    refuse(&mut lab, error);
    let lease_deadline = Some(after(5400));
    let end = ConnectionEnd::ExpiryClaimed;
    assert_eq!(
        lab.events(),
        [Event::HeartbeatRefused { error }, Event::Disconnected { end, lease_deadline }]
    );
    assert_eq!(lab.connect().session, SESSION, "the next handshake decides");
}
