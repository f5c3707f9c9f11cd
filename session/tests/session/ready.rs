//! Leases that are kept ready: by `sync`s, so that one check proves them.

use core::time::Duration;

use zk_jute::records::{CheckVersionRequest, MultiOp, MultiRequest, MultiResult, SyncRequest};
use zk_jute::{Decode, ErrorCode, OpCode, Version};
use zk_session::Event;
use zk_session::lease::{HeartbeatPace, LeaseOutlook, LeaseUpkeep};

use crate::beats::*;
use crate::lab::{LEASE, Lab, TIMEOUT, after};

/// Makes a session with a lease that was ready for many timeouts.
fn old_and_ready() -> Lab {
    let mut lab = Lab::connected_with(quorum);
    keep_ready(&mut lab);
    for _ in 0..30 {
        serve(&mut lab);
        lab.pass(INTERVAL);
    }
    serve(&mut lab);
    assert!(lab.events().contains(&Event::LeaseLapsed), "nothing was committed");
    lab
}

/// Answers whatever is asked, until nothing is; returns what was.
fn serve(lab: &mut Lab) -> Vec<OpCode> {
    let mut asked = Vec::new();
    loop {
        let sent = lab.sent();
        if sent.is_empty() {
            return asked;
        }
        for request in sent {
            asked.push(request.opcode);
            match request.opcode {
                OpCode::PING => lab.pong(1),
                _ => answer(lab, &request),
            }
        }
    }
}

#[test]
fn a_ready_lease_takes_a_pair_of_syncs_in_place_of_a_ping() {
    let mut lab = Lab::connected_with(quorum);
    keep_ready(&mut lab);
    serve(&mut lab);
    for _ in 0..10 {
        lab.pass(INTERVAL);
        let sent = lab.sent_one();
        assert_eq!(SyncRequest::decode_exact(&sent.body), Ok(SyncRequest { path: "/" }));
        answer(&mut lab, &sent);
        assert_eq!(serve(&mut lab), [OpCode::SYNC]);
    }
}

/// The handshake that makes a session is committed, so nothing has to be shown for a while.
#[test]
fn a_new_session_that_is_kept_ready_sends_nothing_at_first() {
    let mut lab = Lab::with(1, quorum);
    keep_ready(&mut lab);
    lab.connect();
    assert_eq!(lab.sent(), []);
    lab.pass(INTERVAL - 1);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    assert_eq!(lab.sent_one().opcode, OpCode::SYNC);
}

/// However old the session is, and whenever in its rhythm it is asked for.
#[test]
fn one_check_proves_a_lease_that_is_ready_however_old_the_session_is() {
    for waited in (0..INTERVAL).step_by(100) {
        let mut lab = old_and_ready();
        lab.pass(waited);
        serve(&mut lab);
        assert_eq!(lab.session.lease_deadline(), None);
        start(&mut lab);
        let check = heartbeat(&mut lab);
        lab.sleep(10);
        answer(&mut lab, &check);
        let until = lab.session.lease_deadline().expect("the check was committed");
        assert!(until > lab.now + TIMEOUT / 6, "{waited}: {until:?} at {:?}", lab.now);
        assert_eq!(lab.session.lease_outlook(lab.now), LeaseOutlook::Secure { until }, "{waited}");
    }
}

/// A lease that is asked for while a `sync` is on its way is proved behind it.
#[test]
fn a_check_follows_a_sync_that_is_on_its_way_at_once() {
    let mut lab = old_and_ready();
    lab.pass(INTERVAL);
    let sync = lab.sent_one();
    start(&mut lab);
    assert_eq!(lab.sent(), []);
    answer(&mut lab, &sync);
    let paired = confirmation(&mut lab);
    answer(&mut lab, &paired);
    let check = heartbeat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), None);
    answer(&mut lab, &check);
    assert!(lab.session.lease_is_secure(lab.now));
}

/// A leader that was deposed unawares answers `sync`.
#[test]
fn syncs_prove_nothing_to_those_who_need_a_quorum() {
    let mut lab = old_and_ready();
    for _ in 0..10 {
        lab.pass(INTERVAL);
        serve(&mut lab);
        assert_eq!(lab.session.lease_deadline(), None);
        assert_eq!(lab.session.lease_outlook(lab.now), LeaseOutlook::AwaitsProof);
    }
}

/// Under `Sync` they prove the lease itself.
#[test]
fn under_sync_a_ready_lease_is_in_force() {
    let mut lab = Lab::connected_with(sync);
    keep_ready(&mut lab);
    serve(&mut lab);
    lab.events();
    for _ in 0..30 {
        lab.pass(INTERVAL);
        serve(&mut lab);
        assert!(lab.session.lease_is_secure(lab.now));
    }
    assert_eq!(lab.events(), []);
}

/// Maybe another leader is behind the next connection: it has heard of nothing that `sync`s have
/// shown.
#[test]
fn what_syncs_have_shown_is_void_on_the_next_connection() {
    let mut lab = old_and_ready();
    lab.close_by_server();
    lab.open();
    lab.accept();
    let opened_at = lab.now;
    assert_eq!(serve(&mut lab), [OpCode::SYNC, OpCode::SYNC], "the handshake is tentative now");
    start(&mut lab);
    let early = heartbeat(&mut lab);
    answer(&mut lab, &early);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pass(500);
    let settling = heartbeat(&mut lab);
    answer(&mut lab, &settling);
    assert_eq!(lab.session.lease_deadline(), Some(opened_at + LEASE));
}

/// A committed upkeep lasts.
#[test]
fn what_was_committed_lasts_over_a_reconnect() {
    let mut lab = old_and_ready();
    start(&mut lab);
    serve(&mut lab);
    let until = lab.session.lease_deadline().expect("it was proved");
    lab.close_by_server();
    lab.open();
    lab.accept();
    assert_eq!(lab.session.lease_deadline(), Some(until));
}

/// After a reconnect the root is checked once, to show that the session is not closing, and a root
/// that may not be read shows it as well: the server looks at the session first.
#[test]
fn a_root_that_may_not_be_read_settles_a_ready_lease() {
    for answered in [MultiResult::Check, MultiResult::Error(ErrorCode::NO_AUTH)] {
        let mut lab = old_and_ready();
        lab.close_by_server();
        lab.open();
        lab.accept();
        serve(&mut lab);
        lab.pass(500);
        let settling = heartbeat(&mut lab);
        let root = [MultiOp::Check(CheckVersionRequest { path: "/", version: Version::ANY })];
        assert_eq!(MultiRequest::decode_exact(&settling.body), Ok(MultiRequest::new(&root)));
        lab.answer_heartbeat(&settling, 1, answered);
        assert_eq!(serve(&mut lab), []);
        assert!(!lab.events().iter().any(|event| matches!(event, Event::HeartbeatRefused { .. })));
        start(&mut lab);
        let check = heartbeat(&mut lab);
        answer(&mut lab, &check);
        assert!(lab.session.lease_is_secure(lab.now));
    }
}

/// A candidate that may not be read is refused all the same: nothing shows that it stands.
#[test]
fn a_candidate_that_may_not_be_read_is_refused() {
    let mut lab = old_and_ready();
    start(&mut lab);
    let check = heartbeat(&mut lab);
    lab.answer_heartbeat(&check, 1, MultiResult::Error(ErrorCode::NO_AUTH));
    assert!(lab.events().contains(&Event::HeartbeatRefused { error: ErrorCode::NO_AUTH }));
    assert_eq!(lab.session.lease_deadline(), None);
}

/// A heartbeat that is not wanted any more reports its refusal of no znode.
#[test]
fn a_refusal_of_a_former_znode_is_not_told() {
    let mut lab = old_and_ready();
    start(&mut lab);
    let check = heartbeat(&mut lab);
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: OTHER }).expect("short enough");
    lab.answer_heartbeat(&check, 1, MultiResult::Error(ErrorCode::NO_NODE));
    assert_eq!(lab.events(), []);
    let next = heartbeat(&mut lab);
    assert_eq!(MultiRequest::decode_exact(&next.body), Ok(checks_other()));
}

/// A lease that was let lapse takes two heartbeats with a third of the timeout between them, and a
/// twelfth to settle.
#[test]
fn a_lease_that_was_let_lapse_takes_its_time() {
    let mut lab = old_and_ready();
    lab.session.keep_lease(lab.now, LeaseUpkeep::Idle).expect("no znode is named");
    for _ in 0..6 {
        lab.pass(INTERVAL);
        assert_eq!(serve(&mut lab), [OpCode::PING]);
    }
    keep_ready(&mut lab);
    assert_eq!(serve(&mut lab), [OpCode::SYNC, OpCode::SYNC]);
    let asked_at = lab.now;
    start(&mut lab);
    while !lab.session.lease_is_secure(lab.now) {
        serve(&mut lab);
        lab.pass(10);
    }
    let took = lab.now.saturating_since(asked_at);
    let expected = TIMEOUT / 3 + TIMEOUT / 12;
    assert!(took >= expected && took < expected + Duration::from_millis(50), "{took:?}");
}

/// Twice as many heartbeats, each proving the last but one.
#[test]
fn heartbeats_of_pace_sixths_prove_the_last_but_one() {
    let mut lab = Lab::connected_with(|config| {
        quorum(config);
        config.pace = HeartbeatPace::Sixths;
    });
    start(&mut lab);
    let mut checks = 0;
    for _ in 0..24 {
        checks += serve(&mut lab).iter().filter(|opcode| **opcode == OpCode::MULTI).count();
        lab.pass(INTERVAL / 2);
    }
    assert_eq!(checks, 24);
    serve(&mut lab);
    let left = lab.session.lease_deadline().expect("a lease").saturating_since(lab.now);
    assert_eq!(left + TIMEOUT / 3, LEASE);
    assert!(lab.session.lease_deadline() > Some(after(0)));
}
