//! Heartbeats as the server reads and answers them.

use zk_jute::records::{CheckVersionRequest, MultiOp, MultiRequest, MultiResult};
use zk_jute::{ErrorCode, OpCode, Version};
use zk_session::Config;
use zk_session::lease::{LeaseGrade, LeaseUpkeep};

use crate::lab::{Lab, Sent};

pub(crate) const ZNODE: &str = "/election/a-latch-0000000007";
pub(crate) const OTHER: &str = "/election/other";
/// Between the answer to a heartbeat and the next one.
pub(crate) const INTERVAL: u64 = 2000;

pub(crate) fn quorum(config: &mut Config) {
    config.grade = LeaseGrade::Quorum;
}

pub(crate) fn sync(config: &mut Config) {
    config.grade = LeaseGrade::Sync;
}

/// Makes a session that has been going on for longer than its first lease, which has lapsed.
pub(crate) fn old_session(grade: fn(&mut Config)) -> Lab {
    let mut lab = Lab::connected_with(grade);
    for _ in 0..3 {
        lab.pass(INTERVAL);
        lab.pong(1);
    }
    lab.events();
    lab.sent();
    lab
}

pub(crate) fn start(lab: &mut Lab) {
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: ZNODE }).expect("short enough");
}

/// Keeps the lease ready.
pub(crate) fn keep_ready(lab: &mut Lab) {
    lab.session.keep_lease(lab.now, LeaseUpkeep::Ready).expect("no znode is named");
}

pub(crate) fn checks_other() -> MultiRequest<'static> {
    const CHECK: [MultiOp<'_>; 1] =
        [MultiOp::Check(CheckVersionRequest { path: OTHER, version: Version::ANY })];
    MultiRequest::new(&CHECK)
}

pub(crate) fn heartbeat(lab: &mut Lab) -> Sent {
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::MULTI);
    sent
}

pub(crate) fn confirmation(lab: &mut Lab) -> Sent {
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SYNC);
    sent
}

pub(crate) fn answer(lab: &mut Lab, request: &Sent) {
    match request.opcode {
        OpCode::MULTI => lab.answer_heartbeat(request, 1, MultiResult::Check),
        _ => lab.reply(request.xid, 1, ErrorCode::OK),
    }
}

/// Answers a heartbeat and its confirmation at once.
pub(crate) fn beat(lab: &mut Lab) {
    let heartbeat = heartbeat(lab);
    answer(lab, &heartbeat);
    let confirmation = confirmation(lab);
    answer(lab, &confirmation);
}
