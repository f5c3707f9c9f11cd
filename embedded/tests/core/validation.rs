//! The checks of a write, and their order: each case has several things wrong with it, and the code
//! is that of the first.

use zk_jute::records::{
    Acl, CheckVersionRequest, CreateContainerRequest, CreateMode, CreateRequest, CreateTtlRequest,
    DeleteRequest, MultiOp, MultiRequest, MultiResponse, ReconfigRequest, SetAclRequest,
    SetDataRequest, TtlMode,
};
use zk_jute::{Decode, ErrorCode, OpCode, Vector, Version, Zxid};

use zk_embedded::Config;

use crate::requests::{BOB, create, create_as, create_ttl};
use crate::world::{Client, World, world};

const BAD_ACL: Vector<'_, Acl<'_>> = Vector::EMPTY;

/// Makes a server with these znodes: `/open` has a child and `/bobs` lets no client in; `/eph` is
/// ephemeral.
fn prepared() -> (World, Client) {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create("/open"));
    client.make(&mut world, &create("/open/child"));
    client.make(&mut world, &create_as("/eph", CreateMode::EPHEMERAL));
    client.make(&mut world, &CreateRequest { acl: Vector::new(&[BOB]), ..create("/bobs") });
    (world, client)
}

#[test]
fn create_reports_the_first_thing_wrong() {
    let (mut world, mut client) = prepared();
    let mode = |mode| CreateMode::new(mode);
    let sequential = CreateMode::PERSISTENT_SEQUENTIAL;
    let cases = [
        // The mode, before anything else.
        ("nopath", 7, BAD_ACL, ErrorCode::BAD_ARGUMENTS),
        ("nopath", -1, BAD_ACL, ErrorCode::BAD_ARGUMENTS),
        ("/open/new", 5, Vector::OPEN, ErrorCode::BAD_ARGUMENTS),
        // The slash and the NUL, before the access list.
        ("nopath", 0, BAD_ACL, ErrorCode::BAD_ARGUMENTS),
        ("/a\0", 0, BAD_ACL, ErrorCode::BAD_ARGUMENTS),
        // The access list, before the parent.
        ("/none/new", 0, BAD_ACL, ErrorCode::INVALID_ACL),
        ("/none/new", 0, Vector::NULL, ErrorCode::INVALID_ACL),
        // The parent, before the name.
        ("/none/.", 0, Vector::OPEN, ErrorCode::NO_NODE),
        ("/open//new", 0, Vector::OPEN, ErrorCode::NO_NODE),
        // The permission, before the name.
        ("/bobs/.", 0, Vector::OPEN, ErrorCode::NO_AUTH),
        // The name.
        ("/open/.", 0, Vector::OPEN, ErrorCode::BAD_ARGUMENTS),
        ("/open/", 0, Vector::OPEN, ErrorCode::BAD_ARGUMENTS),
        ("/.", 0, Vector::OPEN, ErrorCode::BAD_ARGUMENTS),
        ("/eph/..", 0, Vector::OPEN, ErrorCode::BAD_ARGUMENTS),
        // Whether it exists, and at last the parent's kind.
        ("/", 0, Vector::OPEN, ErrorCode::NODE_EXISTS),
        ("/open/child", 0, Vector::OPEN, ErrorCode::NODE_EXISTS),
        ("/eph/new", 0, Vector::OPEN, ErrorCode::NO_CHILDREN_FOR_EPHEMERALS),
        ("/eph/new-", sequential.get(), Vector::OPEN, ErrorCode::NO_CHILDREN_FOR_EPHEMERALS),
    ];
    for (path, flags, acl, code) in cases {
        let request = CreateRequest { acl, mode: mode(flags), ..create(path) };
        assert_eq!(client.code(&mut world, &request), code, "{request:?}");
    }
    // A slash at the end is right for a sequence.
    let path = client.make(&mut world, &create_as("/open/", sequential));
    assert_eq!(path, "/open/0000000001");
}

#[test]
fn delete_reports_the_first_thing_wrong() {
    let (mut world, mut client) = prepared();
    let cases = [
        ("nopath", 0, ErrorCode::BAD_ARGUMENTS),
        ("", 0, ErrorCode::BAD_ARGUMENTS),
        ("/a\0", 0, ErrorCode::BAD_ARGUMENTS),
        ("/", 0, ErrorCode::BAD_ARGUMENTS),
        ("/zookeeper", 0, ErrorCode::BAD_ARGUMENTS),
        ("/zookeeper/quota", 9, ErrorCode::BAD_ARGUMENTS),
        ("/zookeeper/config", 9, ErrorCode::BAD_ARGUMENTS),
        ("/none/child", 9, ErrorCode::NO_NODE),
        ("/bobs/none", 9, ErrorCode::NO_AUTH),
        ("/none", 9, ErrorCode::NO_NODE),
        ("/open", 9, ErrorCode::BAD_VERSION),
        ("/open", -2, ErrorCode::BAD_VERSION),
        ("/open", 0, ErrorCode::NOT_EMPTY),
        ("/open", -1, ErrorCode::NOT_EMPTY),
    ];
    for (path, version, code) in cases {
        let request = DeleteRequest { path, version: Version::new(version) };
        assert_eq!(client.code(&mut world, &request), code, "{request:?}");
    }
    // The parent's list counts: a znode that grants nothing can be deleted.
    let request = DeleteRequest { path: "/bobs", version: Version::new(0) };
    assert_eq!(client.code(&mut world, &request), ErrorCode::OK);
}

#[test]
fn set_data_reports_the_first_thing_wrong() {
    let (mut world, mut client) = prepared();
    let cases = [
        ("nopath", 9, ErrorCode::BAD_ARGUMENTS),
        ("", 9, ErrorCode::BAD_ARGUMENTS),
        ("/open/", 9, ErrorCode::BAD_ARGUMENTS),
        ("/none", 9, ErrorCode::NO_NODE),
        ("/bobs", 9, ErrorCode::NO_AUTH),
        ("/zookeeper/config", 9, ErrorCode::NO_AUTH),
        ("/open", 9, ErrorCode::BAD_VERSION),
        ("/open", -2, ErrorCode::BAD_VERSION),
        ("/open", 0, ErrorCode::OK),
        ("/open", -1, ErrorCode::OK),
    ];
    for (path, version, code) in cases {
        let request = SetDataRequest { path, data: None, version: Version::new(version) };
        assert_eq!(client.code(&mut world, &request), code, "{request:?}");
    }
}

#[test]
fn set_acl_reports_the_first_thing_wrong() {
    let (mut world, mut client) = prepared();
    let cases = [
        ("nopath", BAD_ACL, 9, ErrorCode::BAD_ARGUMENTS),
        ("/none", BAD_ACL, 9, ErrorCode::INVALID_ACL),
        ("/none", Vector::CREATOR_ALL, 9, ErrorCode::INVALID_ACL),
        ("/none", Vector::OPEN, 9, ErrorCode::NO_NODE),
        ("/bobs", Vector::OPEN, 9, ErrorCode::NO_AUTH),
        ("/open", Vector::OPEN, 9, ErrorCode::BAD_VERSION),
        ("/open", Vector::OPEN, 0, ErrorCode::OK),
        ("/open", Vector::OPEN, 0, ErrorCode::BAD_VERSION),
    ];
    for (path, acl, version, code) in cases {
        let request = SetAclRequest { path, acl, version: Version::new(version) };
        assert_eq!(client.code(&mut world, &request), code, "{request:?}");
    }
}

#[test]
fn check_reports_the_first_thing_wrong() {
    let (mut world, mut client) = prepared();
    let cases = [
        ("/open/", 9, ErrorCode::BAD_ARGUMENTS),
        ("/none", 9, ErrorCode::NO_NODE),
        ("/bobs", 9, ErrorCode::NO_AUTH),
        ("/open", 9, ErrorCode::BAD_VERSION),
    ];
    for (path, version, code) in cases {
        let check = CheckVersionRequest { path, version: Version::new(version) };
        let operations = [MultiOp::Check(check)];
        let (header, body) = client.request(&mut world, &MultiRequest::new(&operations));
        assert_eq!(header.error, ErrorCode::OK);
        let response = MultiResponse::decode_exact(&body).expect("a multi response");
        assert_eq!(response.error(), Some((0, code)), "{check:?}");
    }
}

#[test]
fn a_time_to_live_is_checked_with_the_mode() {
    let (mut world, mut client) = prepared();
    let longest = (1 << 40) - 1;
    let cases = [
        (0, 5, ErrorCode::BAD_ARGUMENTS),
        (-1, 5, ErrorCode::BAD_ARGUMENTS),
        (longest + 1, 5, ErrorCode::BAD_ARGUMENTS),
        (i64::MIN, 6, ErrorCode::BAD_ARGUMENTS),
        (longest, 5, ErrorCode::OK),
        (1, 6, ErrorCode::OK),
        // These have made real servers terminate.
        (-1, 0, ErrorCode::BAD_ARGUMENTS),
        (1000, 4, ErrorCode::BAD_ARGUMENTS),
        (1000, 7, ErrorCode::BAD_ARGUMENTS),
    ];
    for (index, (ttl, mode, code)) in cases.into_iter().enumerate() {
        let path = format!("/ttl{index}-");
        let mode = TtlMode::new(mode);
        let request = CreateTtlRequest { mode, ..create_ttl(&path, ttl) };
        assert_eq!(client.code(&mut world, &request), code, "{request:?}");
    }
}

#[test]
fn a_server_has_to_be_told_to_allow_times_to_live() {
    let mut world = World::new(&Config::default());
    let mut client = world.client();
    for ttl in [-1, 0, 1000] {
        let code = client.code(&mut world, &create_ttl("/ttl", ttl));
        assert_eq!(code, ErrorCode::UNIMPLEMENTED);
    }
    let plain_create = create_as("/ttl", CreateMode::new(5));
    assert_eq!(client.code(&mut world, &plain_create), ErrorCode::UNIMPLEMENTED);
    assert!(!client.connection.is_closed);
}

/// Opcode and mode of containers.
#[test]
fn only_the_operation_makes_a_container() {
    let (mut world, mut client) = prepared();
    client.make(&mut world, &create_as("/plain", CreateMode::CONTAINER));
    let container = CreateContainerRequest(create_as("/real", CreateMode::CONTAINER));
    assert_eq!(client.code(&mut world, &container), ErrorCode::OK);
    let lifetime = |path| world.server.database().znode(path).map(zk_embedded::Znode::lifetime);
    assert_eq!(lifetime("/plain"), Some(zk_embedded::Lifetime::Persistent));
    assert_eq!(lifetime("/real"), Some(zk_embedded::Lifetime::Container));
}

/// "Every accepted or rejected write takes the next zxid", also a multi that cannot be read.
#[test]
fn refused_writes_take_a_zxid_and_reads_do_not() {
    let (mut world, mut client) = prepared();
    let before = world.zxid();
    let nothing = ReconfigRequest {
        joining_servers: None,
        leaving_servers: None,
        new_members: None,
        current_config: Zxid::new(-1),
    };
    let refused = [
        client.request(&mut world, &create("nopath")).0,
        client.request(&mut world, &create("/open")).0,
        client.raw_request(&mut world, OpCode::MULTI, b"").0,
        client.request(&mut world, &nothing).0,
        client.request(&mut world, &MultiRequest::new(&[])).0,
    ];
    let codes = [
        ErrorCode::BAD_ARGUMENTS,
        ErrorCode::NODE_EXISTS,
        ErrorCode::MARSHALLING_ERROR,
        ErrorCode::RECONFIG_DISABLED,
        ErrorCode::OK,
    ];
    assert_eq!(refused.map(|header| header.error), codes);
    let expected: Vec<i64> = (before + 1..=before + 5).collect();
    assert_eq!(refused.map(|header| header.zxid.get())[..], expected);
    let unreadable = [
        OpCode::GET_DATA,
        OpCode::EXISTS,
        OpCode::ADD_WATCH,
        OpCode::SET_WATCHES,
        // Nor does, since 3.9, a single write that cannot be read.
        OpCode::CREATE,
        OpCode::SET_DATA,
    ];
    for opcode in unreadable {
        let (header, body) = client.raw_request(&mut world, opcode, b"\0");
        assert_eq!(header.error, ErrorCode::MARSHALLING_ERROR, "{opcode}");
        assert_eq!((header.zxid.get(), body), (before + 5, Vec::new()), "{opcode}");
    }
}
