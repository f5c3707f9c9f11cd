//! The caller's own writes as proofs of a lease that is kept ready.

use zk_jute::records::{
    CreateMode, CreateRequest, EventType, GetDataRequest, MultiOp, MultiRequest, MultiResult,
};
use zk_jute::{ErrorCode, OpCode, Request, Vector};
use zk_session::Watching;
use zk_session::lease::LeaseUpkeep;

use crate::beats::*;
use crate::lab::{Lab, Sent};
use crate::ready::{old_and_ready, serve};

fn create() -> CreateRequest<'static> {
    CreateRequest { path: ZNODE, data: Some(b""), acl: Vector::OPEN, mode: CreateMode::EPHEMERAL }
}

fn send<Q: Request>(lab: &mut Lab, request: &Q) -> Sent {
    lab.session.submit(lab.now, 1, request).expect("it is connected");
    lab.sent_one()
}

/// A quorum has committed the create, so no check has to.
#[test]
fn a_create_proves_a_ready_lease() {
    let mut lab = old_and_ready();
    assert_eq!(lab.session.lease_deadline(), None);
    let sent = send(&mut lab, &create());
    lab.reply(sent.xid, 1, ErrorCode::OK);
    assert!(lab.session.lease_deadline().is_some());
    start(&mut lab);
    assert_eq!(serve(&mut lab), []);
    assert!(lab.session.lease_is_secure(lab.now));
    // And its heartbeats come when they are due.
    let until = lab.session.lease_deadline().expect("it is proved");
    lab.pass(INTERVAL);
    assert_eq!(serve(&mut lab)[0], OpCode::MULTI);
    assert!(lab.session.lease_deadline() > Some(until));
}

/// So it does where events wait for the caller.
#[test]
fn a_create_proves_a_ready_lease_behind_other_events() {
    let mut lab = old_and_ready();
    lab.watch(Watching::GetData("/other"), 7, 1);
    let sent = send(&mut lab, &create());
    lab.notify(1, EventType::NODE_DATA_CHANGED, "/other");
    lab.reply(sent.xid, 1, ErrorCode::OK);
    assert!(lab.session.lease_deadline().is_some());
}

#[test]
fn what_shows_no_commit_proves_nothing() {
    let mut lab = old_and_ready();
    let read = send(&mut lab, &GetDataRequest { path: ZNODE, watch: false });
    lab.reply(read.xid, 1, ErrorCode::OK);
    let refused = send(&mut lab, &create());
    lab.reply(refused.xid, 1, ErrorCode::NODE_EXISTS);
    // Its header says nothing of what became of it.
    let operations = [MultiOp::Create(create())];
    let several = send(&mut lab, &MultiRequest::new(&operations));
    lab.answer_heartbeat(&several, 1, MultiResult::Error(ErrorCode::NODE_EXISTS));
    assert_eq!(lab.session.lease_deadline(), None);
}

/// A session that is closing passes no write.
#[test]
fn a_write_that_was_sent_late_enough_settles_a_tentative_proof() {
    let mut lab = old_and_ready();
    lab.close_by_server();
    lab.open();
    lab.accept();
    assert_eq!(serve(&mut lab), [OpCode::SYNC, OpCode::SYNC]);
    lab.session.keep_lease(lab.now, LeaseUpkeep::Idle).expect("no znode is named");
    let early = send(&mut lab, &create());
    lab.sleep(500);
    lab.reply(early.xid, 1, ErrorCode::OK);
    assert_eq!(lab.session.lease_deadline(), None);
    let late = send(&mut lab, &create());
    lab.reply(late.xid, 1, ErrorCode::OK);
    assert!(lab.session.lease_deadline().is_some());
}
