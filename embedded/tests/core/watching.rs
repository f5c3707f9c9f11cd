//! Watch events: their kinds, their recipients and their times.

use zk_jute::records::{
    AddWatchMode, AddWatchRequest, CheckWatchesRequest, CreateRequest, EventType,
    GetChildren2Request, MultiOp, MultiRequest, RemoveWatchesRequest, SetAclRequest, SetWatches,
    SetWatches2, WatcherType,
};
use zk_jute::{ErrorCode, OpCode, Vector, Version, Zxid};

use crate::requests::{BOB, create, delete, exists, get_children, get_data, set_data};
use crate::world::{Client, World, world};

const CREATED: EventType = EventType::NODE_CREATED;
const DELETED: EventType = EventType::NODE_DELETED;
const CHANGED: EventType = EventType::NODE_DATA_CHANGED;
const CHILDREN: EventType = EventType::NODE_CHILDREN_CHANGED;

/// Makes a server with `/a` and `/a/b`, a client that watches and a client that writes.
fn prepared() -> (World, Client, Client) {
    let mut world = world();
    let [watcher, mut writer] = [world.client(), world.client()];
    writer.make(&mut world, &create("/a"));
    writer.make(&mut world, &create("/a/b"));
    (world, watcher, writer)
}

#[track_caller]
fn told(watcher: &mut Client, world: &mut World, expected: &[(EventType, &str)]) {
    let events = watcher.events(world);
    let events: Vec<_> = events.iter().map(|(kind, path)| (*kind, &**path)).collect();
    assert_eq!(events, expected);
}

fn add(client: &mut Client, world: &mut World, path: &str, mode: AddWatchMode) {
    let code = client.code(world, &AddWatchRequest { path, mode });
    assert_eq!(code, ErrorCode::OK);
}

#[test]
fn a_one_shot_watch_tells_once() {
    let (mut world, mut watcher, mut writer) = prepared();
    for _ in 0..3 {
        watcher.request(&mut world, &get_data("/a", true));
    }
    writer.code(&mut world, &set_data("/a", b"1"));
    writer.code(&mut world, &set_data("/a", b"2"));
    let zxid = Zxid::new(world.zxid() - 1);
    let events = watcher.events_with_zxid(&mut world);
    assert_eq!(events, [(CHANGED, "/a".to_owned(), zxid)]);
}

/// Every kind of watch, and every change that it does and does not report.
#[test]
fn each_kind_of_watch_reports_its_changes() {
    type Step = fn(&mut Client, &mut World);
    let kinds: [(&str, Step); 4] = [
        ("exists", |c, w| drop(c.request(w, &exists("/a/x", true)))),
        ("getData", |c, w| drop(c.request(w, &get_data("/a/b", true)))),
        ("getChildren", |c, w| drop(c.request(w, &get_children("/a", true)))),
        ("getChildren2", |c, w| {
            drop(c.request(w, &GetChildren2Request { path: "/a", watch: true }));
        }),
    ];
    let changes: [(&str, Step); 4] = [
        ("create /a/x", |c, w| drop(c.request(w, &create("/a/x")))),
        ("delete /a/b", |c, w| drop(c.request(w, &delete("/a/b")))),
        ("setData /a/b", |c, w| drop(c.request(w, &set_data("/a/b", b"1")))),
        ("setACL /a/b", |c, w| {
            let (path, acl, version) = ("/a/b", Vector::OPEN, Version::ANY);
            drop(c.request(w, &SetAclRequest { path, acl, version }));
        }),
    ];
    let expected: [[&[(EventType, &str)]; 4]; 4] = [
        [&[(CREATED, "/a/x")], &[], &[], &[]],
        [&[], &[(DELETED, "/a/b")], &[(CHANGED, "/a/b")], &[]],
        [&[(CHILDREN, "/a")], &[(CHILDREN, "/a")], &[], &[]],
        [&[(CHILDREN, "/a")], &[(CHILDREN, "/a")], &[], &[]],
    ];
    for ((watch, set), row) in kinds.iter().zip(expected) {
        for ((change, make), expected) in changes.iter().zip(row) {
            let (mut world, mut watcher, mut writer) = prepared();
            set(&mut watcher, &mut world);
            make(&mut writer, &mut world);
            let events = watcher.events(&mut world);
            let events: Vec<_> = events.iter().map(|(kind, path)| (*kind, &**path)).collect();
            assert_eq!(events, expected, "{watch}, {change}");
        }
    }
}

#[test]
fn a_failed_read_leaves_no_watch_except_for_exists() {
    let (mut world, mut watcher, mut writer) = prepared();
    watcher.request(&mut world, &get_data("/new", true));
    watcher.request(&mut world, &get_children("/new", true));
    writer.make(&mut world, &create("/new"));
    writer.make(&mut world, &create("/new/child"));
    told(&mut watcher, &mut world, &[]);
    let (header, body) = watcher.request(&mut world, &exists("/none", true));
    assert_eq!((header.error, body), (ErrorCode::NO_NODE, Vec::new()));
    writer.make(&mut world, &create("/none"));
    told(&mut watcher, &mut world, &[(CREATED, "/none")]);
}

/// One connection hears of a deletion once, and of its parent's list next.
#[test]
fn a_deletion_is_told_once() {
    let (mut world, mut watcher, mut writer) = prepared();
    watcher.request(&mut world, &get_data("/a/b", true));
    watcher.request(&mut world, &get_children("/a/b", true));
    watcher.request(&mut world, &get_children("/a", true));
    let mut listing = world.client();
    listing.request(&mut world, &get_children("/a/b", true));
    writer.code(&mut world, &delete("/a/b"));
    told(&mut watcher, &mut world, &[(DELETED, "/a/b"), (CHILDREN, "/a")]);
    told(&mut listing, &mut world, &[(DELETED, "/a/b")]);
    writer.make(&mut world, &create("/a/b"));
    told(&mut watcher, &mut world, &[]);
}

/// The event comes before the reply to the write that caused it.
#[test]
fn own_changes_are_told_before_they_are_answered() {
    let (mut world, mut client, _) = prepared();
    client.request(&mut world, &get_data("/a", true));
    let frame = crate::world::frame(
        &zk_jute::RequestHeader { xid: zk_jute::Xid::new(77), opcode: OpCode::SET_DATA },
        &set_data("/a", b"1"),
    );
    client.connection.send(&mut world, &frame);
    let first = client.connection.next_frame().expect("an event");
    let second = client.connection.next_frame().expect("a reply");
    assert_eq!(first[..4], (-1_i32).to_be_bytes());
    assert_eq!(second[..4], 77_i32.to_be_bytes());
}

#[test]
fn persistent_watches_stay_and_report_everything_of_one_znode() {
    let (mut world, mut watcher, mut writer) = prepared();
    add(&mut watcher, &mut world, "/a", AddWatchMode::PERSISTENT);
    for _ in 0..2 {
        writer.code(&mut world, &set_data("/a", b""));
        writer.code(&mut world, &delete("/a/b"));
        writer.code(&mut world, &delete("/a"));
        writer.make(&mut world, &create("/a"));
        writer.make(&mut world, &create("/a/b"));
        writer.code(&mut world, &set_data("/a/b", b""));
        let all = [CHANGED, CHILDREN, DELETED, CREATED, CHILDREN].map(|kind| (kind, "/a"));
        told(&mut watcher, &mut world, &all);
    }
}

#[test]
fn recursive_watches_reach_down_and_leave_lists_out() {
    let (mut world, mut watcher, mut writer) = prepared();
    add(&mut watcher, &mut world, "/a", AddWatchMode::PERSISTENT_RECURSIVE);
    writer.make(&mut world, &create("/a/b/c"));
    writer.code(&mut world, &set_data("/a/b/c", b""));
    writer.make(&mut world, &create("/ab"));
    writer.code(&mut world, &delete("/a/b/c"));
    writer.code(&mut world, &set_data("/a", b""));
    let expected = [(CREATED, "/a/b/c"), (CHANGED, "/a/b/c"), (DELETED, "/a/b/c"), (CHANGED, "/a")];
    told(&mut watcher, &mut world, &expected);

    let mut of_all = world.client();
    add(&mut of_all, &mut world, "/", AddWatchMode::PERSISTENT_RECURSIVE);
    writer.make(&mut world, &create("/x"));
    told(&mut of_all, &mut world, &[(CREATED, "/x")]);
}

/// Since 3.9.0 kinds on one path do not replace one another (ZOOKEEPER-4466), and one connection
/// still hears of each change once per table.
#[test]
fn kinds_of_watches_on_one_path_live_side_by_side() {
    let (mut world, mut watcher, mut writer) = prepared();
    add(&mut watcher, &mut world, "/a", AddWatchMode::PERSISTENT);
    add(&mut watcher, &mut world, "/a", AddWatchMode::PERSISTENT_RECURSIVE);
    watcher.request(&mut world, &get_data("/a", true));
    writer.make(&mut world, &create("/a/k"));
    told(&mut watcher, &mut world, &[(CREATED, "/a/k"), (CHILDREN, "/a")]);
    writer.code(&mut world, &set_data("/a", b""));
    told(&mut watcher, &mut world, &[(CHANGED, "/a")]);
    let request = RemoveWatchesRequest { path: "/a", kind: WatcherType::PERSISTENT };
    assert_eq!(watcher.code(&mut world, &request), ErrorCode::OK);
    writer.code(&mut world, &set_data("/a", b""));
    writer.code(&mut world, &delete("/a/k"));
    told(&mut watcher, &mut world, &[(CHANGED, "/a"), (DELETED, "/a/k")]);
}

/// A number that names no kind cannot be read.
#[test]
fn watches_are_found_and_removed_by_their_kind() {
    use WatcherType as Kind;
    type Set = fn(&mut Client, &mut World);
    let sets: [(Set, [bool; 5]); 5] = [
        (|c, w| drop(c.request(w, &get_children("/a", true))), [true, false, true, false, false]),
        (|c, w| drop(c.request(w, &get_data("/a", true))), [false, true, true, false, false]),
        (|c, w| drop(c.request(w, &exists("/a", true))), [false, true, true, false, false]),
        (|c, w| add(c, w, "/a", AddWatchMode::PERSISTENT), [false, false, true, true, false]),
        (
            |c, w| add(c, w, "/a", AddWatchMode::PERSISTENT_RECURSIVE),
            [false, false, true, false, true],
        ),
    ];
    let kinds =
        [Kind::CHILDREN, Kind::DATA, Kind::ANY, Kind::PERSISTENT, Kind::PERSISTENT_RECURSIVE];
    let path = "/a";
    for (set, found) in sets {
        for (kind, found) in kinds.into_iter().zip(found) {
            let (mut world, mut watcher, mut other) = prepared();
            set(&mut watcher, &mut world);
            let code = if found { ErrorCode::OK } else { ErrorCode::NO_WATCHER };
            let check = CheckWatchesRequest { path, kind };
            let remove = RemoveWatchesRequest { path, kind };
            assert_eq!(other.code(&mut world, &check), ErrorCode::NO_WATCHER);
            assert_eq!(watcher.code(&mut world, &check), code, "{kind}");
            assert_eq!(watcher.code(&mut world, &check), code, "looking changes nothing");
            assert_eq!(watcher.code(&mut world, &remove), code, "{kind}");
            assert_eq!(watcher.code(&mut world, &remove), ErrorCode::NO_WATCHER);
            let any = CheckWatchesRequest { path, kind: Kind::ANY };
            let left = if found { ErrorCode::NO_WATCHER } else { ErrorCode::OK };
            assert_eq!(watcher.code(&mut world, &any), left);
        }
    }
    let (mut world, mut client, _) = prepared();
    for number in [0, 6, -1] {
        let kind = Kind::new(number);
        let code = client.code(&mut world, &RemoveWatchesRequest { path, kind });
        assert_eq!(code, ErrorCode::MARSHALLING_ERROR);
        let mode = AddWatchMode::new(2);
        let code = client.code(&mut world, &AddWatchRequest { path, mode });
        assert_eq!(code, ErrorCode::MARSHALLING_ERROR);
    }
}

/// The server reports every change since the zxid that the client names at once, and watches the
/// rest.
#[test]
fn watches_that_are_set_again_catch_up() {
    let (mut world, mut client, mut writer) = prepared();
    let before = Zxid::new(world.zxid());
    writer.code(&mut world, &set_data("/a", b"1"));
    writer.make(&mut world, &create("/a/c"));
    writer.make(&mut world, &create("/new"));
    let request = SetWatches {
        relative_zxid: before,
        data: Vector::new(&["/a", "/gone", "/a/b"]),
        exist: Vector::new(&["/new", "/none"]),
        child: Vector::new(&["/a", "/gone", "/a/b"]),
    };
    let (header, body) = client.request(&mut world, &request);
    assert_eq!((header.error, body), (ErrorCode::OK, Vec::new()));
    let caught_up = client.events_with_zxid(&mut world);
    let expected = [
        (CHANGED, "/a"),
        (DELETED, "/gone"),
        (CREATED, "/new"),
        (CHILDREN, "/a"),
        (DELETED, "/gone"),
    ];
    let expected = expected.map(|(kind, path)| (kind, path.to_owned(), Zxid::new(-1)));
    assert_eq!(caught_up, expected);
    // The others are watched now, once.
    writer.make(&mut world, &create("/none"));
    writer.make(&mut world, &create("/a/b/c"));
    writer.code(&mut world, &set_data("/a/b", b""));
    writer.code(&mut world, &set_data("/a", b""));
    told(&mut client, &mut world, &[(CREATED, "/none"), (CHILDREN, "/a/b"), (CHANGED, "/a/b")]);
}

#[test]
fn persistent_watches_are_set_again_without_catching_up() {
    let (mut world, mut client, mut writer) = prepared();
    let request = SetWatches2 {
        relative_zxid: Zxid::ZERO,
        data: Vector::EMPTY,
        exist: Vector::EMPTY,
        child: Vector::EMPTY,
        persistent: Vector::new(&["/a"]),
        persistent_recursive: Vector::new(&["/a/b"]),
    };
    assert_eq!(client.code(&mut world, &request), ErrorCode::OK);
    told(&mut client, &mut world, &[]);
    for _ in 0..2 {
        writer.code(&mut world, &set_data("/a", b""));
        writer.code(&mut world, &set_data("/a/b", b""));
        told(&mut client, &mut world, &[(CHANGED, "/a"), (CHANGED, "/a/b")]);
    }
    let null = SetWatches2 { persistent: Vector::NULL, ..request };
    assert_eq!(client.code(&mut world, &null), ErrorCode::MARSHALLING_ERROR);
}

/// The lists before a null one are dealt with all the same.
#[test]
fn a_null_list_of_watches_is_refused_in_its_turn() {
    let (mut world, mut client, mut writer) = prepared();
    let request = SetWatches {
        relative_zxid: Zxid::new(world.zxid()),
        data: Vector::new(&["/gone", "/a"]),
        exist: Vector::NULL,
        child: Vector::new(&["/gone"]),
    };
    assert_eq!(client.code(&mut world, &request), ErrorCode::MARSHALLING_ERROR);
    writer.code(&mut world, &set_data("/a", b""));
    told(&mut client, &mut world, &[(DELETED, "/gone"), (CHANGED, "/a")]);
}

/// Since 3.9.2, a client that may not read a znode does not hear of it, and loses the watch.
#[test]
fn events_are_for_those_who_may_read() {
    let (mut world, mut watcher, mut writer) = prepared();
    watcher.request(&mut world, &exists("/bobs", true));
    watcher.request(&mut world, &get_data("/a", true));
    watcher.request(&mut world, &get_children("/a", true));
    writer.make(&mut world, &CreateRequest { acl: Vector::new(&[BOB]), ..create("/bobs") });
    let (path, acl, version) = ("/a", Vector::new(&[BOB]), Version::ANY);
    // The last request that the writer may make of this znode.
    writer.code(&mut world, &delete("/a/b"));
    writer.code(&mut world, &SetAclRequest { path, acl, version });
    writer.code(&mut world, &delete("/a"));
    told(&mut watcher, &mut world, &[(CHILDREN, "/a")]);
    writer.code(&mut world, &delete("/bobs"));
    writer.make(&mut world, &create("/bobs"));
    told(&mut watcher, &mut world, &[]);
}

#[test]
fn events_of_a_multi_come_one_by_one_with_its_zxid() {
    let (mut world, mut watcher, mut writer) = prepared();
    add(&mut watcher, &mut world, "/", AddWatchMode::PERSISTENT_RECURSIVE);
    let operations = [
        MultiOp::Create(create("/m")),
        MultiOp::SetData(set_data("/m", b"1")),
        MultiOp::Delete(delete("/a/b")),
    ];
    let (header, _) = writer.request(&mut world, &MultiRequest::new(&operations));
    let events = watcher.events_with_zxid(&mut world);
    let expected = [(CREATED, "/m"), (CHANGED, "/m"), (DELETED, "/a/b")];
    let expected = expected.map(|(kind, path)| (kind, path.to_owned(), header.zxid));
    assert_eq!(events, expected);
}

#[test]
fn watches_end_with_their_connection() {
    let (mut world, mut watcher, mut writer) = prepared();
    watcher.request(&mut world, &get_data("/a", true));
    add(&mut watcher, &mut world, "/a", AddWatchMode::PERSISTENT);
    let mut again = world.open();
    again.shake_hands(&mut world, &watcher.granted.again()).expect("the session goes on");
    writer.code(&mut world, &set_data("/a", b""));
    again.take(&mut world);
    assert_eq!(again.next_frame(), None);
}
