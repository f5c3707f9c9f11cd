//! Watches that stay, alone and beside one-shot ones, on a connection and over reconnects; and
//! taking down what was dropped.

use zk_jute::records::{
    AddWatchMode, AddWatchRequest, EventType, GetDataRequest, RemoveWatchesRequest, SetWatches,
    SetWatches2, WatcherType,
};
use zk_jute::{Decode, ErrorCode, OpCode, Zxid};
use zk_session::{Event, SubmitError, WatchId, WatchMode, Watching, WhileDisconnected};

use crate::lab::{Lab, Sent};

const CREATED: EventType = EventType::NODE_CREATED;
const DELETED: EventType = EventType::NODE_DELETED;
const WRITTEN: EventType = EventType::NODE_DATA_CHANGED;
const CHILDREN: EventType = EventType::NODE_CHILDREN_CHANGED;

fn changed(watcher: u32, path: &str, kind: EventType, zxid: i64) -> Event<u32, u32> {
    Event::Changed { watcher, path: path.into(), kind, zxid: Zxid::new(zxid) }
}

fn fired(watcher: u32, kind: EventType, zxid: i64) -> Event<u32, u32> {
    Event::Fired { watcher, kind, zxid: Zxid::new(zxid) }
}

impl Lab {
    fn add_watch(&mut self, path: &str, mode: WatchMode, watcher: u32) -> WatchId {
        let submitted = self.session.submit_persistent(self.now, 0, (path, mode), watcher);
        let sent = self.sent_one();
        let request = AddWatchRequest::decode_exact(&sent.body).expect("an addWatch");
        let expected = match mode {
            WatchMode::Persistent => AddWatchMode::PERSISTENT,
            WatchMode::PersistentRecursive => AddWatchMode::PERSISTENT_RECURSIVE,
        };
        assert_eq!((request.path, request.mode), (path, expected));
        self.reply(sent.xid, 5, ErrorCode::OK);
        self.events();
        submitted.expect("accepted")
    }

    /// Makes a read that relies on a persistent watch: the session asks the server for none.
    fn watch_sharing(&mut self, read: Watching<'_>, watcher: u32) -> WatchId {
        let submitted = self.session.submit_watching(self.now, 0, read, watcher);
        let sent = self.sent_one();
        assert_eq!(sent.body.last(), Some(&0), "no watch flag");
        self.reply(sent.xid, 5, ErrorCode::OK);
        self.events();
        submitted.expect("accepted")
    }

    fn forget(&mut self, watch: WatchId) -> Vec<Sent> {
        self.session.forget(self.now, watch);
        self.sent()
    }
}

/// Returns the paths of the `removeWatches` that were sent, and asserts that nothing else was.
fn removed(sent: &[Sent]) -> Vec<String> {
    let path = |sent: &Sent| {
        assert_eq!(sent.opcode, OpCode::REMOVE_WATCHES);
        let request = RemoveWatchesRequest::decode_exact(&sent.body).expect("a removeWatches");
        assert_eq!(request.kind, WatcherType::ANY);
        request.path.to_owned()
    };
    sent.iter().map(path).collect()
}

fn paths(list: zk_jute::Vector<'_, &str>) -> Vec<String> {
    list.iter().map(String::from).collect()
}

#[test]
fn a_persistent_watch_sees_every_change_of_its_znode_and_stays() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::Persistent, 1);
    for (zxid, kind) in [(6, CREATED), (7, WRITTEN), (8, CHILDREN), (9, DELETED), (10, CREATED)] {
        lab.notify(zxid, kind, "/a");
        lab.notify(zxid, kind, "/a/b");
        assert_eq!(lab.events(), [changed(1, "/a", kind, zxid)]);
    }
}

/// No lists of children.
#[test]
fn a_recursive_watch_sees_what_is_below_too() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::PersistentRecursive, 1);
    lab.add_watch("/", WatchMode::PersistentRecursive, 2);
    for (path, watchers) in [("/a", vec![1, 2]), ("/a/b/c", vec![1, 2]), ("/ab", vec![2])] {
        lab.notify(6, WRITTEN, path);
        let expected: Vec<_> =
            watchers.into_iter().map(|watcher| changed(watcher, path, WRITTEN, 6)).collect();
        assert_eq!(lab.events(), expected);
    }
    lab.notify(7, CHILDREN, "/a");
    lab.notify(7, EventType::new(4711), "/a");
    assert_eq!(lab.events(), []);
}

/// Servers before 3.9 would end the persistent watch for the one-shot one (ZOOKEEPER-4466).
#[test]
fn a_one_shot_watch_relies_on_a_persistent_one_of_its_path() {
    let mut lab = Lab::connected();
    let persistent = lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.watch_sharing(Watching::GetData("/a"), 2);
    lab.watch_sharing(Watching::GetChildren("/a"), 3);
    lab.notify(6, CHILDREN, "/a");
    assert_eq!(lab.events(), [changed(1, "/a", CHILDREN, 6), fired(3, CHILDREN, 6)]);
    assert_eq!(lab.forget(persistent), [], "the server still has it, for the other one");
    lab.notify(7, WRITTEN, "/a");
    assert_eq!(lab.events(), [fired(2, WRITTEN, 7)]);
    assert_eq!(removed(&lab.sent()), ["/a"], "now it has no watcher");
}

/// A recursive watch does not see a list of children change, so a read of that is a watch of its
/// own.
#[test]
fn a_watch_on_children_does_not_rely_on_a_recursive_one() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::PersistentRecursive, 1);
    lab.watch_sharing(Watching::Exists("/a"), 2);
    lab.watch(Watching::GetChildren("/a"), 3, 5);
}

/// Both requests are on their way when the server refuses the first, as a throttled one does: then
/// nothing stands for the watch of the second.
#[test]
fn a_one_shot_watch_is_lost_with_the_request_that_it_relied_on() {
    let mut lab = Lab::connected();
    lab.events();
    let path = ("/a", WatchMode::Persistent);
    lab.session.submit_persistent(lab.now, 1, path, 1).expect("accepted");
    lab.session.submit_watching(lab.now, 2, Watching::GetData("/a"), 2).expect("accepted");
    let [add, read] = lab.sent().try_into().expect("two requests");
    assert_eq!(read.body.last(), Some(&0), "no watch flag");
    lab.reply(add.xid, 5, ErrorCode::THROTTLED_OP);
    lab.reply(read.xid, 5, ErrorCode::OK);
    let events = lab.events();
    assert_eq!(events.get(2), Some(&Event::WatchLost { watcher: 2 }), "{events:?}");
    lab.watch(Watching::GetData("/a"), 3, 6);
}

/// On servers before 3.9, of a persistent and a recursive watch on one path the last one counts:
/// that a child came or went stands for the change of the list. Later ones report both.
#[test]
fn a_change_of_children_is_told_once_beside_a_recursive_watch() {
    for reports_both in [false, true] {
        let mut lab = Lab::connected();
        lab.add_watch("/a", WatchMode::Persistent, 1);
        lab.add_watch("/a", WatchMode::PersistentRecursive, 2);
        for zxid in [6, 7] {
            lab.notify(zxid, CREATED, "/a/b");
            if reports_both {
                lab.notify(zxid, CHILDREN, "/a");
            }
            let expected = [changed(2, "/a/b", CREATED, zxid), changed(1, "/a", CHILDREN, zxid)];
            assert_eq!(lab.events(), expected);
        }
        lab.notify(8, DELETED, "/a/b/c");
        assert_eq!(lab.events(), [changed(2, "/a/b/c", DELETED, 8)], "not a child");
        lab.watch_sharing(Watching::GetChildren("/a"), 3);
        lab.notify(9, DELETED, "/a/b");
        let expected =
            [changed(2, "/a/b", DELETED, 9), changed(1, "/a", CHILDREN, 9), fired(3, CHILDREN, 9)];
        assert_eq!(lab.events(), expected);
    }
}

/// A request that waits for a connection goes out behind the watches that are set again, so it must
/// not end one of those either.
#[test]
fn what_is_asked_while_disconnected_relies_on_the_watches_that_are_set_again() {
    let queue = WhileDisconnected::Queue;
    let mut lab = Lab::connected_with(|config| config.while_disconnected = queue);
    lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.add_watch("/r", WatchMode::PersistentRecursive, 2);
    lab.close_by_server();
    let path = ("/r", WatchMode::Persistent);
    lab.session.submit_watching(lab.now, 3, Watching::GetData("/a"), 3).expect("queued");
    lab.session.submit_persistent(lab.now, 4, path, 4).expect("queued");
    lab.connect();
    let [set, read, add] = lab.sent().try_into().expect("three requests");
    assert_eq!(set.opcode, OpCode::SET_WATCHES2);
    assert_eq!(read.body.last(), Some(&0), "no watch flag");
    let request = AddWatchRequest::decode_exact(&add.body).expect("an addWatch");
    assert_eq!(request.mode, AddWatchMode::PERSISTENT_RECURSIVE);
    for sent in [set, read, add] {
        lab.reply(sent.xid, 7, ErrorCode::OK);
    }
    lab.events();
    lab.notify(8, WRITTEN, "/a");
    lab.notify(9, CREATED, "/r/b");
    let expected = [
        changed(1, "/a", WRITTEN, 8),
        fired(3, WRITTEN, 8),
        changed(2, "/r/b", CREATED, 9),
        changed(4, "/r", CHILDREN, 9),
    ];
    assert_eq!(lab.events(), expected);
}

/// The watch that it relied on is not set again: its watcher has to look for itself.
#[test]
fn a_watch_whose_support_is_forgotten_while_disconnected_is_lost() {
    let queue = WhileDisconnected::Queue;
    let mut lab = Lab::connected_with(|config| config.while_disconnected = queue);
    let persistent = lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.close_by_server();
    lab.session.submit_watching(lab.now, 2, Watching::GetData("/a"), 2).expect("queued");
    lab.forget(persistent);
    lab.connect();
    lab.events();
    let read = lab.sent_one();
    lab.reply(read.xid, 7, ErrorCode::OK);
    let events = lab.events();
    assert_eq!(events.last(), Some(&Event::WatchLost { watcher: 2 }), "{events:?}");
}

/// It would replace the recursive one on servers before 3.9, which alone tells what is below.
#[test]
fn a_persistent_watch_relies_on_a_recursive_one_of_its_path() {
    let mut lab = Lab::connected();
    let recursive = lab.add_watch("/a", WatchMode::PersistentRecursive, 1);
    let submitted = lab.session.submit_persistent(lab.now, 0, ("/a", WatchMode::Persistent), 2);
    let sent = lab.sent_one();
    let request = AddWatchRequest::decode_exact(&sent.body).expect("an addWatch");
    assert_eq!(request.mode, AddWatchMode::PERSISTENT_RECURSIVE);
    lab.reply(sent.xid, 5, ErrorCode::OK);
    lab.events();
    assert_eq!(lab.forget(recursive), []);
    lab.notify(6, CREATED, "/a/b");
    assert_eq!(lab.events(), [changed(2, "/a", CHILDREN, 6)]);
    lab.notify(7, WRITTEN, "/a/b");
    lab.notify(8, WRITTEN, "/a");
    assert_eq!(lab.events(), [changed(2, "/a", WRITTEN, 8)]);
    assert_eq!(removed(&lab.forget(submitted.expect("accepted"))), ["/a"]);
}

/// A client that may not read the child hears of the list alone.
#[test]
fn a_change_of_children_that_nothing_announced_is_told() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.add_watch("/a", WatchMode::PersistentRecursive, 2);
    lab.notify(6, CHILDREN, "/a");
    lab.notify(7, CREATED, "/a/b");
    lab.notify(8, WRITTEN, "/a/b");
    lab.events();
    lab.notify(9, CHILDREN, "/a");
    assert_eq!(lab.events(), [changed(1, "/a", CHILDREN, 9)]);
}

/// The server does not report changes in between (apache/zookeeper #1950), so the session tells the
/// watcher that it may have missed something; but not before the server has the watch again.
#[test]
fn a_persistent_watch_reports_the_gap_once_it_is_set_again() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.add_watch("/a/r", WatchMode::PersistentRecursive, 2);
    lab.watch(Watching::GetData("/b"), 3, 5);
    for _ in 0..2 {
        lab.close_by_server();
        lab.connect();
        let sent = lab.sent_one();
        assert_eq!(sent.opcode, OpCode::SET_WATCHES2);
        let request = SetWatches2::decode_exact(&sent.body).expect("a setWatches2");
        assert_eq!(paths(request.persistent), ["/a"]);
        assert_eq!(paths(request.persistent_recursive), ["/a/r"]);
        assert_eq!(paths(request.data), ["/b"]);
        lab.events();
        lab.notify(7, WRITTEN, "/a");
        assert_eq!(lab.events(), [changed(1, "/a", WRITTEN, 7)]);
        lab.reply(sent.xid, 7, ErrorCode::OK);
        let missed = [1, 2].map(|watcher| Event::ChangesMissed { watcher });
        assert_eq!(lab.events(), missed);
    }
}

#[test]
fn a_connection_that_ends_before_the_watches_are_set_leaves_the_gap_open() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.close_by_server();
    lab.connect();
    lab.close_by_server();
    let gaps = |events: Vec<Event<u32, u32>>| {
        events.iter().filter(|event| matches!(event, Event::ChangesMissed { .. })).count()
    };
    assert_eq!(gaps(lab.events()), 0);
    lab.sent();
    lab.connect();
    let sent = lab.sent_one();
    lab.reply(sent.xid, 7, ErrorCode::OK);
    assert_eq!(gaps(lab.events()), 1);
}

/// The older form is all that a server before 3.6 knows.
#[test]
fn one_shot_watches_alone_are_set_again_in_the_older_form() {
    let mut lab = Lab::connected();
    let persistent = lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.watch(Watching::GetData("/b"), 2, 5);
    lab.forget(persistent);
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SET_WATCHES);
    let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
    assert_eq!(paths(request.data), ["/b"]);
}

/// A session comes to an older server, as in an ensemble that is being upgraded, or downgraded
/// again.
#[test]
fn a_server_that_knows_no_persistent_watches_costs_those_alone() {
    let mut lab = Lab::connected();
    lab.add_watch("/a", WatchMode::Persistent, 1);
    lab.watch(Watching::GetData("/b"), 2, 5);
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent_one();
    lab.events();
    lab.reply(sent.xid, -1, ErrorCode::UNIMPLEMENTED);
    assert_eq!(lab.events().first(), Some(&Event::WatchLost { watcher: 1 }));
    lab.connect();
    assert_eq!(lab.sent_one().opcode, OpCode::SET_WATCHES);
}

/// Each attempt would cost the connection.
#[test]
fn an_operation_that_a_server_does_not_know_is_asked_for_once() {
    let mut lab = Lab::connected();
    let path = ("/a", WatchMode::Persistent);
    lab.session.submit_persistent(lab.now, 1, path, 1).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, -1, ErrorCode::UNIMPLEMENTED);
    lab.close_by_server();
    lab.connect();
    let again = lab.session.submit_persistent(lab.now, 2, path, 1);
    assert_eq!(again, Err(SubmitError::Unsupported(OpCode::ADD_WATCH)));
    assert!(lab.sent().is_empty());
    // One that is switched off costs nothing, and may be switched on.
    let request = GetDataRequest { path: "/a", watch: false };
    for tag in [3, 4] {
        lab.session.submit(lab.now, tag, &request).expect("accepted");
        let sent = lab.sent_one();
        lab.reply(sent.xid, 6, ErrorCode::UNIMPLEMENTED);
    }
}

/// The server does not keep watches that the session has dropped (CURATOR-107).
#[test]
fn a_forgotten_watch_is_taken_down() {
    let mut lab = Lab::connected();
    let first = lab.watch(Watching::GetData("/a"), 1, 5);
    let second = lab.watch(Watching::GetChildren("/a"), 2, 5);
    let third = lab.add_watch("/b", WatchMode::PersistentRecursive, 3);
    assert_eq!(lab.forget(first), [], "the other one is not to be taken down");
    let sent = lab.forget(second);
    assert_eq!(removed(&sent), ["/a"]);
    let last = lab.forget(third);
    assert_eq!(removed(&last), ["/b"]);
    // Its event crossed with the request (zookeeper-client-rust #22).
    for sent in sent.iter().chain(&last) {
        lab.reply(sent.xid, 6, ErrorCode::NO_WATCHER);
    }
    assert_eq!(lab.events(), []);
    assert!(lab.session.is_connected());
}

#[test]
fn a_watch_that_is_forgotten_before_it_is_set_is_taken_down_once_it_is() {
    let mut lab = Lab::connected();
    let read = Watching::GetData("/a");
    let id = lab.session.submit_watching(lab.now, 1, read, 1).expect("accepted");
    let sent = lab.sent_one();
    assert_eq!(lab.forget(id), []);
    lab.reply(sent.xid, 5, ErrorCode::OK);
    assert_eq!(removed(&lab.sent()), ["/a"]);

    let id = lab.session.submit_watching(lab.now, 1, read, 1).expect("accepted");
    let sent = lab.sent_one();
    lab.forget(id);
    lab.reply(sent.xid, 5, ErrorCode::NO_NODE);
    assert!(lab.sent().is_empty(), "there is none");
}

#[test]
fn nothing_is_taken_down_without_a_connection_or_behind_the_close() {
    let mut lab = Lab::connected();
    let first = lab.watch(Watching::GetData("/a"), 1, 5);
    let second = lab.watch(Watching::GetData("/b"), 2, 5);
    lab.close_by_server();
    lab.forget(first);
    lab.connect();
    let sent = lab.sent_one();
    let request = SetWatches::decode_exact(&sent.body).expect("a setWatches");
    assert_eq!(paths(request.data), ["/b"]);
    lab.session.close(lab.now);
    lab.sent();
    assert_eq!(lab.forget(second), []);
}

/// A server before 3.5 closes the connection over the first one.
#[test]
fn an_old_server_is_asked_once_to_take_a_watch_down() {
    let mut lab = Lab::connected();
    let first = lab.watch(Watching::GetData("/a"), 1, 5);
    let sent = lab.forget(first);
    lab.reply(sent[0].xid, -1, ErrorCode::UNIMPLEMENTED);
    lab.close_by_server();
    lab.connect();
    let second = lab.watch(Watching::GetData("/b"), 2, 5);
    assert_eq!(lab.forget(second), []);
}

/// The server has not looked at the removal, and would hold the watch as long as the connection
/// lives.
#[test]
fn a_removal_that_a_server_had_too_much_to_do_for_is_asked_for_again_at_the_next_beat() {
    let mut lab = Lab::connected();
    let watch = lab.add_watch("/a", WatchMode::Persistent, 1);
    let removal = lab.forget(watch);
    assert_eq!(removed(&removal), ["/a"]);
    let ping = |lab: &mut Lab| {
        lab.pass(2_000);
        lab.sent().iter().any(|sent| sent.opcode == OpCode::PING)
    };
    lab.reply(removal[0].xid, 6, ErrorCode::THROTTLED_OP);
    assert!(lab.sent().is_empty(), "it has no more time now");
    assert!(ping(&mut lab));
    lab.pong(6);
    let again = lab.sent();
    assert_eq!(removed(&again), ["/a"]);
    lab.reply(again[0].xid, 7, ErrorCode::OK);
    assert!(ping(&mut lab));
    lab.pong(7);
    assert!(lab.sent().is_empty(), "it is removed");
}

/// It would end the new watch as well.
#[test]
fn a_refused_removal_waits_while_the_path_is_watched_anew() {
    let mut lab = Lab::connected();
    let watch = lab.add_watch("/a", WatchMode::Persistent, 1);
    let removal = lab.forget(watch);
    lab.reply(removal[0].xid, 6, ErrorCode::THROTTLED_OP);
    let watch = lab.add_watch("/a", WatchMode::Persistent, 2);
    lab.pass(2_000);
    lab.sent();
    lab.pong(6);
    assert!(lab.sent().is_empty());
    assert_eq!(removed(&lab.forget(watch)), ["/a"]);
}
