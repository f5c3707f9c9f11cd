//! The arithmetic of `Stat`, and sequences.

use core::time::Duration;

use zk_embedded::{Config, Timestamp};
use zk_jute::records::{
    CreateContainerRequest, CreateMode, GetAllChildrenNumberRequest, GetDataRequest,
    GetDataResponse, GetEphemeralsRequest, SetAclRequest, SetDataRequest, Stat,
};
use zk_jute::{Decode, ErrorCode, SessionId, Vector, Version, Zxid};

use crate::requests::{create, create_as, delete, set_data};
use crate::world::{World, world};

const SEQUENTIAL: CreateMode = CreateMode::PERSISTENT_SEQUENTIAL;

/// The children of a fresh server were never counted.
#[test]
fn a_fresh_server_has_the_system_znodes() {
    let mut world = world();
    let mut client = world.client();
    let zero = Stat {
        czxid: Zxid::ZERO,
        mzxid: Zxid::ZERO,
        ctime: 0,
        mtime: 0,
        version: Version::new(0),
        cversion: Version::new(0),
        aversion: Version::new(0),
        ephemeral_owner: SessionId::NONE,
        data_length: 0,
        num_children: 0,
        pzxid: Zxid::ZERO,
    };
    let cversion =
        |cversion, num_children| Stat { cversion: Version::new(cversion), num_children, ..zero };
    assert_eq!(client.stat(&mut world, "/"), cversion(-1, 1));
    assert_eq!(client.stat(&mut world, ""), cversion(-1, 1));
    assert_eq!(client.stat(&mut world, "/zookeeper"), cversion(-2, 2));
    assert_eq!(client.stat(&mut world, "/zookeeper/quota"), zero);
    let config = Stat { aversion: Version::new(-1), ..zero };
    assert_eq!(client.stat(&mut world, "/zookeeper/config"), config);
    let request = GetDataRequest { path: "/zookeeper/config", watch: false };
    let (_, body) = client.request(&mut world, &request);
    let data = GetDataResponse::decode_exact(&body).expect("data").data;
    assert_eq!(data, Some(&b""[..]));
}

#[test]
fn every_change_counts_where_it_should() {
    let mut config = Config::default();
    config.wall_clock_at_origin = Timestamp::from_millis(1_000_000);
    let mut world = World::new(&config);
    let mut client = world.client();
    let tick = |world: &mut World| world.advance(Duration::from_millis(5));
    client.make(&mut world, &create("/a")); // 2
    tick(&mut world);
    client.make(&mut world, &create("/a/b")); // 3
    client.make(&mut world, &create("/a/c")); // 4
    tick(&mut world);
    client.code(&mut world, &set_data("/a", b"four")); // 5
    client.code(&mut world, &delete("/a/b")); // 6
    let acl = Vector::OPEN;
    let request = SetAclRequest { path: "/a", acl, version: Version::ANY };
    client.code(&mut world, &request); // 7
    tick(&mut world);
    client.code(&mut world, &set_data("/a/c", b"")); // 8
    assert_eq!(
        client.stat(&mut world, "/a"),
        Stat {
            czxid: Zxid::new(2),
            mzxid: Zxid::new(5),
            ctime: 1_000_000,
            mtime: 1_000_010,
            version: Version::new(1),
            cversion: Version::new(3),
            aversion: Version::new(1),
            ephemeral_owner: SessionId::NONE,
            data_length: 4,
            num_children: 1,
            pzxid: Zxid::new(6),
        }
    );
}

#[test]
fn null_and_empty_data_are_kept_apart() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create("/a"));
    for data in [None, Some(&b""[..]), Some(&b"x"[..])] {
        let version = Version::ANY;
        client.code(&mut world, &SetDataRequest { path: "/a", data, version });
        let request = GetDataRequest { path: "/a", watch: false };
        let (_, body) = client.request(&mut world, &request);
        let read = GetDataResponse::decode_exact(&body).expect("data");
        assert_eq!(read.data, data);
        assert_eq!(read.stat.data_length, i32::from(data == Some(b"x")));
    }
}

/// The counter is the parent's, counts every child, and is not moved by
/// deletions and failures.
#[test]
fn sequences_come_from_the_children_ever_created() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create("/q"));
    let mut next = |world: &mut World, path| client.make(world, &create_as(path, SEQUENTIAL));
    assert_eq!(next(&mut world, "/q/a-"), "/q/a-0000000000");
    assert_eq!(next(&mut world, "/q/b-"), "/q/b-0000000001");
    assert_eq!(next(&mut world, "/q/"), "/q/0000000002");
    client.make(&mut world, &create("/q/plain"));
    client.code(&mut world, &delete("/q/a-0000000000"));
    client.code(&mut world, &create("/q/plain"));
    let mut next = |world: &mut World, path| client.make(world, &create_as(path, SEQUENTIAL));
    assert_eq!(next(&mut world, "/q/a-"), "/q/a-0000000004");
    for child in ["a-0000000004", "b-0000000001", "0000000002", "plain"] {
        client.code(&mut world, &delete(&format!("/q/{child}")));
    }
    assert_eq!(client.code(&mut world, &delete("/q")), ErrorCode::OK);
    client.make(&mut world, &create("/q"));
    let again = client.make(&mut world, &create_as("/q/a-", SEQUENTIAL));
    assert_eq!(again, "/q/a-0000000000");
}

#[test]
fn descendants_are_counted_and_neighbours_are_not() {
    let mut world = world();
    let mut client = world.client();
    for path in ["/a", "/a/b", "/a/b/c", "/a/d", "/ab", "/a-", "/a-/x"] {
        client.make(&mut world, &create(path));
    }
    let mut count = |path| {
        let (header, body) = client.request(&mut world, &GetAllChildrenNumberRequest { path });
        (header.error == ErrorCode::OK).then(|| i32::decode_exact(&body).expect("a number"))
    };
    assert_eq!(count("/a"), Some(3));
    assert_eq!(count("/ab"), Some(0));
    assert_eq!(count("/"), Some(10));
    assert_eq!(count(""), Some(11), "as a real server counts");
    assert_eq!(count("/none"), None);
}

#[test]
fn ephemerals_are_found_by_any_prefix_of_their_path() {
    let mut world = world();
    let [mut client, mut other] = [world.client(), world.client()];
    client.make(&mut world, &create_as("/eph", CreateMode::EPHEMERAL));
    client.make(&mut world, &create_as("/lock-", CreateMode::EPHEMERAL_SEQUENTIAL));
    other.make(&mut world, &create_as("/ephemeral", CreateMode::EPHEMERAL));
    client.make(&mut world, &create("/epic"));
    let mut list = |prefix_path| {
        let (_, body) = client.request(&mut world, &GetEphemeralsRequest { prefix_path });
        let paths = Vector::<&str>::decode_exact(&body).expect("paths");
        paths.iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = ["/eph", "/lock-0000000001"];
    assert_eq!(list(None), all);
    assert_eq!(list(Some("")), all);
    assert_eq!(list(Some("/")), all);
    assert_eq!(list(Some("/ep")), ["/eph"]);
    assert_eq!(list(Some("/none")), [""; 0]);
}

/// Containers and znodes with a time to live have no owner, and children.
#[test]
fn only_ephemerals_have_an_owner() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create_as("/eph", CreateMode::EPHEMERAL));
    let container = CreateContainerRequest(create_as("/c", CreateMode::CONTAINER));
    assert_eq!(client.code(&mut world, &container), ErrorCode::OK);
    let ttl = crate::requests::create_ttl("/ttl", 1000);
    assert_eq!(client.code(&mut world, &ttl), ErrorCode::OK);
    assert_eq!(client.stat(&mut world, "/eph").ephemeral_owner, client.session());
    for path in ["/c", "/ttl"] {
        assert_eq!(client.stat(&mut world, path).ephemeral_owner, SessionId::NONE);
        client.make(&mut world, &create(&format!("{path}/child")));
    }
}
