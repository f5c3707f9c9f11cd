//! One-shot watches, on a connection and over reconnects.

use std::collections::BTreeSet;

use zk_jute::records::{EventType, GetDataRequest, SetWatches};
use zk_jute::{Decode, ErrorCode, OpCode, Xid, Zxid};
use zk_session::{Config, Event, SubmitError, Watching};

use crate::lab::{Lab, Sent, encoded, header};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/other", watch: false };

fn fired(watcher: u32, kind: EventType, zxid: i64) -> Event<u32, u32> {
    Event::Fired { watcher, kind, zxid: Zxid::new(zxid) }
}

fn paths(list: zk_jute::Vector<'_, &str>) -> Vec<String> {
    list.iter().map(String::from).collect()
}

#[test]
fn a_watch_fires_once() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.notify(6, EventType::NODE_DATA_CHANGED, "/a");
    lab.notify(7, EventType::NODE_DELETED, "/a");
    assert_eq!(lab.events(), [fired(1, EventType::NODE_DATA_CHANGED, 6)]);
}

/// A notification of no change concerns no watch.
#[test]
fn an_event_concerns_the_watches_of_its_kind() {
    use EventType as E;
    let cases = [
        (E::NODE_CREATED, vec![1, 2]),
        (E::NODE_DATA_CHANGED, vec![1, 2]),
        (E::NODE_CHILDREN_CHANGED, vec![3]),
        (E::NODE_DELETED, vec![1, 2, 3]),
        (E::NONE, vec![]),
        (E::DATA_WATCH_REMOVED, vec![]),
        (E::new(4711), vec![]),
    ];
    for (kind, concerned) in cases {
        let mut lab = Lab::connected();
        lab.watch(Watching::GetData("/a"), 1, 5);
        lab.watch_answered(Watching::Exists("/a"), 2, 5, ErrorCode::NO_NODE);
        lab.watch(Watching::GetChildren("/a"), 3, 5);
        lab.notify(6, kind, "/a");
        let expected: Vec<_> = concerned.iter().map(|&id| fired(id, kind, 6)).collect();
        assert_eq!(lab.events(), expected, "{kind}");
        assert!(lab.session.is_connected(), "an unknown event is no error");
    }
}

#[test]
fn only_exists_leaves_a_watch_on_a_missing_znode() {
    let mut lab = Lab::connected();
    lab.watch_answered(Watching::GetData("/a"), 1, 5, ErrorCode::NO_NODE);
    lab.watch_answered(Watching::GetChildren("/a"), 2, 5, ErrorCode::NO_NODE);
    lab.watch_answered(Watching::Exists("/a"), 3, 5, ErrorCode::NO_AUTH);
    lab.watch_answered(Watching::Exists("/a"), 4, 5, ErrorCode::NO_NODE);
    lab.notify(6, EventType::NODE_CREATED, "/a");
    assert_eq!(lab.events(), [fired(4, EventType::NODE_CREATED, 6)]);
}

/// Several watches on one path are one on the server, and all are told.
#[test]
fn watches_share_a_path() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    let second = lab.watch(Watching::GetData("/a"), 2, 5);
    lab.watch(Watching::Exists("/a"), 3, 5);
    lab.session.forget(lab.now, second);
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent_one();
    let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
    assert_eq!(paths(request.data), ["/a"], "once on the wire");
    lab.reply(sent.xid, 5, ErrorCode::OK);
    lab.events();
    lab.notify(6, EventType::NODE_DELETED, "/a");
    let kind = EventType::NODE_DELETED;
    assert_eq!(lab.events(), [fired(1, kind, 6), fired(3, kind, 6)]);
}

/// It is on its way already when the watch is forgotten (zookeeper-client-rust #22).
#[test]
fn the_event_of_a_forgotten_watch_is_dropped() {
    let mut lab = Lab::connected();
    let watch = lab.watch(Watching::GetData("/a"), 1, 5);
    lab.session.forget(lab.now, watch);
    lab.session.forget(lab.now, watch);
    lab.notify(6, EventType::NODE_DELETED, "/a");
    assert_eq!(lab.events(), []);
    assert!(lab.session.is_connected());
}

/// The znode is about to be deleted, and the read that leaves the watch is on its way: nothing is left to
/// remove. The watch of a watcher that stays is removed when that one goes.
#[test]
fn a_watch_on_a_znode_about_to_be_deleted_is_not_removed() {
    let mut lab = Lab::connected();
    let read = |lab: &mut Lab, watcher| {
        let read = Watching::GetData("/a");
        let watch = lab.session.submit_watching(lab.now, 0, read, watcher).expect("accepted");
        (watch, lab.sent_one().xid)
    };
    let (asked, xid) = read(&mut lab, 1);
    lab.session.forget_locally(asked);
    lab.reply(xid, 5, ErrorCode::OK);
    assert_eq!(lab.opcodes_sent(), []);

    let stays = lab.watch(Watching::GetData("/a"), 2, 5);
    let (asked, xid) = read(&mut lab, 1);
    lab.session.forget_locally(asked);
    lab.reply(xid, 5, ErrorCode::OK);
    assert_eq!(lab.opcodes_sent(), []);
    lab.session.forget(lab.now, stays);
    assert_eq!(lab.opcodes_sent(), [OpCode::REMOVE_WATCHES]);
}

#[test]
fn a_watch_that_is_forgotten_before_its_read_is_answered_never_fires() {
    let mut lab = Lab::connected();
    lab.events();
    let read = Watching::GetData("/a");
    let submitted = lab.session.submit_watching(lab.now, 1, read, 1);
    lab.session.forget(lab.now, submitted.expect("accepted"));
    let sent = lab.sent_one();
    lab.reply(sent.xid, 5, ErrorCode::OK);
    assert_eq!(lab.events().len(), 1, "the read itself");
    lab.notify(6, EventType::NODE_DELETED, "/a");
    assert_eq!(lab.events(), []);
}

/// A multi fires several events of one transaction.
#[test]
fn events_of_one_transaction_are_all_delivered() {
    let mut lab = Lab::connected();
    for (path, watcher) in [("/a", 1), ("/b", 2), ("/c", 3)] {
        lab.watch(Watching::GetData(path), watcher, 5);
    }
    for path in ["/a", "/b", "/c"] {
        lab.notify(6, EventType::NODE_DELETED, path);
    }
    let kind = EventType::NODE_DELETED;
    let expected = [fired(1, kind, 6), fired(2, kind, 6), fired(3, kind, 6)];
    assert_eq!(lab.events(), expected);
}

/// The connection is lost between two events of one transaction. The server compares
/// with the zxid that `setWatches` names: with that of the first event, the second were lost.
#[test]
fn the_zxid_of_an_event_does_not_count_as_delivered() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.watch(Watching::GetData("/b"), 2, 5);
    lab.notify(6, EventType::NODE_DELETED, "/a");
    lab.close_by_server();
    assert_eq!(lab.connect().last_zxid_seen, Zxid::new(6));
    let sent = lab.sent_one();
    let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
    assert_eq!(request.relative_zxid, Zxid::new(5));
    assert_eq!(paths(request.data), ["/b"], "the one that fired is gone");
}

/// The predecessor was deleted while there was no connection (kazoo #116).
#[test]
fn a_change_while_disconnected_is_delivered_once_after_the_reconnect() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.connect();
    lab.events();
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SET_WATCHES);
    lab.notify(-1, EventType::NODE_DELETED, "/a");
    lab.reply(sent.xid, 9, ErrorCode::OK);
    assert_eq!(lab.events(), [fired(1, EventType::NODE_DELETED, -1)]);
    lab.close_by_server();
    lab.connect();
    assert_eq!(lab.sent(), [], "nothing is left to be set again");
}

/// A watch leaves the table when its event is delivered, not when it is set again.
#[test]
fn a_watch_outlives_several_reconnects() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.watch_answered(Watching::Exists("/b"), 2, 5, ErrorCode::NO_NODE);
    lab.watch(Watching::GetChildren("/c"), 3, 5);
    for _ in 0..3 {
        lab.close_by_server();
        lab.connect();
        let sent = lab.sent_one();
        let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
        assert_eq!(paths(request.data), ["/a"]);
        assert_eq!(paths(request.exist), ["/b"]);
        assert_eq!(paths(request.child), ["/c"]);
    }
}

/// While watches are being set again, replies run ahead of the changes that happened
/// meanwhile. If the connection is lost then, the next one has to ask for those changes again.
#[test]
fn nothing_counts_as_delivered_before_all_watches_are_set_again() {
    let mut lab = Lab::connected();
    let path = |i: u32| format!("/{i:060000}");
    for i in 0..3 {
        lab.watch(Watching::GetData(&path(i)), i, 5);
    }
    lab.close_by_server();
    lab.connect();
    let batches = lab.sent();
    assert_eq!(batches.len(), 2);
    let mut batches = batches.into_iter();
    lab.reply(batches.next().expect("the first").xid, 9, ErrorCode::OK);
    lab.pass(2000);
    assert_eq!(lab.opcodes_sent(), [OpCode::PING]);
    lab.pong(9);
    lab.close_by_server();
    assert_eq!(lab.connect().last_zxid_seen, Zxid::new(9));
    let again = lab.sent();
    for sent in &again {
        let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
        assert_eq!(request.relative_zxid, Zxid::new(5));
    }
    for sent in again {
        lab.reply(sent.xid, 9, ErrorCode::OK);
    }
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent().swap_remove(0);
    let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
    assert_eq!(request.relative_zxid, Zxid::new(9));
}

/// 50,000 watched paths of 100 bytes (ZOOKEEPER-706).
#[test]
fn many_watches_are_set_again_in_frames_of_at_most_128_kib_before_anything_else() {
    let mut lab = Lab::connected();
    let path = |i: u32| format!("/{i:099}");
    for i in 0..50_000 {
        lab.watch(Watching::GetData(&path(i)), i, 5);
    }
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent();
    lab.session.submit(lab.now, 0, &READ).expect("accepted");
    let read = lab.sent_one();
    let mut restored = BTreeSet::new();
    for Sent { opcode, body, .. } in &sent {
        assert_eq!(*opcode, OpCode::SET_WATCHES);
        assert!(body.len() + 8 <= 128 * 1024, "{} bytes", body.len());
        let request = SetWatches::decode_exact(body).expect("a setWatches");
        assert_eq!(request.relative_zxid, Zxid::new(5));
        restored.extend(paths(request.data));
    }
    assert_eq!(restored.len(), 50_000);
    assert!(sent.len() < 50, "{} frames", sent.len());
    for Sent { xid, .. } in sent {
        lab.reply(xid, 5, ErrorCode::OK);
    }
    lab.reply(read.xid, 5, ErrorCode::OK);
    assert!(lab.session.is_connected());
}

/// A server may have a smaller limit than 128 KiB, if the configuration says so.
#[test]
fn watches_are_set_again_below_the_frame_limit() {
    let small = |config: &mut Config| config.limits.max_frame = 100;
    let mut lab = Lab::connected_with(small);
    for i in 0..10 {
        lab.watch(Watching::GetData(&format!("/a-path-of-some-length-{i}")), i, 5);
    }
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent();
    assert_eq!(sent.len(), 5);
    assert!(sent.iter().all(|sent| sent.body.len() + 8 <= 100));
}

#[test]
fn a_watch_that_could_not_be_set_again_is_refused_at_once() {
    let small = |config: &mut Config| config.limits.max_frame = 100;
    let mut lab = Lab::connected_with(small);
    let path = format!("/{:059}", 0);
    lab.watch(Watching::GetData(&path), 1, 5);
    let path = format!("/{:060}", 0);
    let refused = SubmitError::TooLarge { length: 101, limit: 100 };
    let read = Watching::GetData(&path);
    let submitted = lab.session.submit_watching(lab.now, 1, read, 2);
    assert_eq!(submitted, Err(refused));
}

#[test]
fn a_read_in_flight_at_a_disconnect_leaves_no_watch() {
    let mut lab = Lab::connected();
    let read = Watching::GetData("/a");
    let submitted = lab.session.submit_watching(lab.now, 1, read, 1);
    submitted.expect("accepted");
    lab.close_by_server();
    lab.connect();
    assert_eq!(lab.sent(), []);
    lab.pass(2000);
    lab.events();
    lab.session.close(lab.now);
    lab.pass(6000);
    let lost = lab.events();
    assert!(!lost.contains(&Event::WatchLost { watcher: 1 }), "{lost:?}");
}

#[test]
fn a_server_that_will_not_set_watches_again_is_left() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent_one();
    lab.reply(sent.xid, 5, ErrorCode::MARSHALLING_ERROR);
    assert!(!lab.session.is_connected());
    lab.connect();
    assert_eq!(lab.opcodes_sent(), [OpCode::SET_WATCHES]);
}

/// A server that has too much to do refuses the `setWatches` unread, and says how far it is. The
/// changes until then are still to come from the watches.
#[test]
fn what_a_refused_set_watches_says_does_not_count_as_delivered() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent_one();
    lab.reply(sent.xid, 9, ErrorCode::THROTTLED_OP);
    assert!(!lab.session.is_connected());
    assert_eq!(lab.connect().last_zxid_seen, Zxid::new(9));
    let sent = lab.sent_one();
    let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
    assert_eq!(request.relative_zxid, Zxid::new(5));
}

#[test]
fn an_undecodable_notification_breaks_the_connection() {
    let mut lab = Lab::connected();
    let frame = encoded(&header(Xid::NOTIFICATION, 7, ErrorCode::OK));
    lab.session.handle_frame(lab.now, frame);
    assert!(!lab.session.is_connected());
    assert_eq!(lab.session.last_zxid(), Zxid::ZERO);
}
