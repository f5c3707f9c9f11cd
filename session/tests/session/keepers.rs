//! Servers that are not Apache ZooKeeper: operations that they may not know.

use zk_jute::records::{ConnectResponse, CreateMode, CreateRequest};
use zk_jute::{ErrorCode, OpCode, Vector};
use zk_session::{WatchMode, Watching};

use crate::lab::{Lab, SESSION, TIMEOUT};

/// Connects to a server with passwords of zero bytes.
fn connected() -> Lab {
    let mut lab = Lab::new();
    lab.open();
    lab.receive(&ConnectResponse {
        protocol_version: 0,
        timeout: i32::try_from(TIMEOUT.as_millis()).expect("a timeout"),
        session_id: SESSION,
        password: Some(&[0; 16]),
        read_only: Some(false),
    });
    lab
}

/// Keeper before 25.12 closes the connection over `removeWatches`, and makes a new session on the next: a nominee that
/// forgot a watch would lose its candidate.
#[test]
fn no_server_is_asked_to_remove_a_watch_that_may_not_know_how() {
    let mut lab = connected();
    let watch = lab.watch(Watching::GetData("/a"), 1, 5);
    lab.session.forget(lab.now, watch);
    assert_eq!(lab.opcodes_sent(), []);
    assert!(lab.session.is_connected());
}

#[test]
fn a_server_that_knows_create2_is_asked_to_remove_watches() {
    let mut lab = connected();
    let create =
        CreateRequest { path: "/b", data: None, acl: Vector::OPEN, mode: CreateMode::PERSISTENT };
    let create = zk_jute::records::Create2Request(create);
    lab.session.submit(lab.now, 0, &create).expect("it is connected");
    let xid = lab.sent_one().xid;
    lab.reply(xid, 5, ErrorCode::OK);
    let watch = lab.watch(Watching::GetData("/a"), 1, 5);
    lab.session.forget(lab.now, watch);
    assert_eq!(lab.opcodes_sent(), [OpCode::REMOVE_WATCHES]);
}

#[test]
fn a_server_that_knows_add_watch_is_asked_to_remove_watches() {
    let mut lab = connected();
    let watch = lab.session.submit_persistent(lab.now, 0, ("/a", WatchMode::Persistent), 1);
    let xid = lab.sent_one().xid;
    lab.reply(xid, 5, ErrorCode::OK);
    lab.session.forget(lab.now, watch.expect("accepted"));
    assert_eq!(lab.opcodes_sent(), [OpCode::REMOVE_WATCHES]);
}
