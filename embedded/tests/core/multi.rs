//! Transactions, and reads in one request.

use zk_embedded::{Lifetime, Znode};
use zk_jute::records::{
    CheckVersionRequest, CreateMode, CreateRequest, GetChildrenRequest, MultiOp, MultiReadOp,
    MultiReadRequest, MultiReadResponse, MultiReadResult, MultiRequest, MultiResponse, MultiResult,
    SetDataRequest,
};
use zk_jute::{Decode, Encode, ErrorCode, OpCode, Version};

use crate::requests::{create, create_as, create_ttl, delete, get_data, set_data};
use crate::world::{Client, World, world};

const fn check(path: &str, version: i32) -> MultiOp<'_> {
    MultiOp::Check(CheckVersionRequest { path, version: Version::new(version) })
}

/// Returns the codes of a failed multi.
fn codes(client: &mut Client, world: &mut World, operations: &[MultiOp<'_>]) -> Vec<ErrorCode> {
    let (header, body) = client.request(world, &MultiRequest::new(operations));
    assert_eq!(header.error, ErrorCode::OK);
    let response = MultiResponse::decode_exact(&body).expect("a multi response");
    let code = |result| match result {
        MultiResult::Error(code) => code,
        other => panic!("not a failure: {other:?}"),
    };
    response.iter().map(code).collect()
}

#[test]
fn each_operation_sees_what_the_earlier_ones_did() {
    let mut world = world();
    let mut client = world.client();
    let sequential = create_as("/m/n-", CreateMode::EPHEMERAL_SEQUENTIAL);
    let version = Version::new(1);
    let operations = [
        MultiOp::Create(create("/m")),
        MultiOp::Create(sequential),
        MultiOp::Create2(sequential),
        MultiOp::SetData(set_data("/m", b"1")),
        MultiOp::SetData(SetDataRequest { version, ..set_data("/m", b"22") }),
        check("/m", 2),
        MultiOp::Delete(delete("/m/n-0000000000")),
        MultiOp::CreateContainer(create_as("/c", CreateMode::CONTAINER)),
        MultiOp::CreateTtl(create_ttl("/ttl", 1000)),
    ];
    let (header, body) = client.request(&mut world, &MultiRequest::new(&operations));
    let response = MultiResponse::decode_exact(&body).expect("a multi response");
    let results: Vec<MultiResult<'_>> = response.iter().collect();
    let paths: Vec<&str> = results
        .iter()
        .filter_map(|result| match result {
            MultiResult::Create(created) => Some(created.path),
            MultiResult::Create2(created) => Some(created.path),
            _ => None,
        })
        .collect();
    assert_eq!(paths, ["/m", "/m/n-0000000000", "/m/n-0000000001", "/c", "/ttl"]);
    assert!(matches!(results[0], MultiResult::Create(_)));
    assert!(matches!(results[2], MultiResult::Create2(_)));
    assert!(matches!(results[7..], [MultiResult::Create2(_), MultiResult::Create2(_)]));
    let MultiResult::SetData(set) = results[4] else { panic!("a setData") };
    assert_eq!((set.stat.version.get(), set.stat.mzxid), (2, header.zxid));
    let stat = client.stat(&mut world, "/m");
    assert_eq!((stat.czxid, stat.pzxid), (header.zxid, header.zxid));
    assert_eq!((stat.num_children, stat.cversion.get(), stat.data_length), (1, 3, 2));
}

#[test]
fn a_failed_multi_leaves_nothing_behind_but_its_zxid() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create("/m"));
    let before = (world.paths(), client.stat(&mut world, "/m"), world.zxid());
    let operations = [
        MultiOp::Create(create_as("/m/n-", CreateMode::PERSISTENT_SEQUENTIAL)),
        MultiOp::SetData(set_data("/m", b"1")),
        check("/m", 0),
        MultiOp::Delete(delete("/m")),
    ];
    let failed = codes(&mut client, &mut world, &operations);
    let rest = ErrorCode::RUNTIME_INCONSISTENCY;
    assert_eq!(failed, [ErrorCode::OK, ErrorCode::OK, ErrorCode::BAD_VERSION, rest]);
    let after = (world.paths(), client.stat(&mut world, "/m"), world.zxid());
    assert_eq!(after, (before.0, before.1, before.2 + 1));
    let path = client.make(&mut world, &create_as("/m/n-", CreateMode::PERSISTENT_SEQUENTIAL));
    assert_eq!(path, "/m/n-0000000000");
}

/// Each operation of a multi sees what the earlier ones did.
#[test]
fn operations_fail_by_what_the_earlier_ones_did() {
    let mut world = world();
    let mut client = world.client();
    let eph = MultiOp::Create(create_as("/e", CreateMode::EPHEMERAL));
    let cases: [(&[MultiOp<'_>], ErrorCode); 5] = [
        (&[eph, MultiOp::Create(create("/e/x"))], ErrorCode::NO_CHILDREN_FOR_EPHEMERALS),
        (&[eph, eph], ErrorCode::NODE_EXISTS),
        (&[eph, MultiOp::Delete(delete("/e")), check("/e", -1)], ErrorCode::NO_NODE),
        (
            &[
                MultiOp::Create(create("/p")),
                MultiOp::Create(create("/p/c")),
                MultiOp::Delete(delete("/p")),
            ],
            ErrorCode::NOT_EMPTY,
        ),
        (&[MultiOp::CreateTtl(create_ttl("/t", 0))], ErrorCode::BAD_ARGUMENTS),
    ];
    for (operations, code) in cases {
        let failed = codes(&mut client, &mut world, operations);
        assert_eq!(failed.last(), Some(&code), "{operations:?}");
        assert!(failed.iter().rev().skip(1).all(|code| *code == ErrorCode::OK));
    }
    assert_eq!(world.paths(), [""; 0]);
}

#[test]
fn the_mode_of_a_container_makes_one_by_any_opcode() {
    let mut world = world();
    let mut client = world.client();
    let operations = [MultiOp::Create(create_as("/c", CreateMode::CONTAINER))];
    let (header, body) = client.request(&mut world, &MultiRequest::new(&operations));
    assert_eq!(header.error, ErrorCode::OK);
    let response = MultiResponse::decode_exact(&body).expect("a multi response");
    let results: Vec<_> = response.iter().collect();
    assert!(matches!(results[..], [MultiResult::Create2(_)]), "{results:?}");
    let lifetime = world.server.database().znode("/c").map(Znode::lifetime);
    assert_eq!(lifetime, Some(Lifetime::Container));
}

#[test]
fn a_parent_can_go_behind_its_children() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create("/p"));
    client.make(&mut world, &create("/p/c"));
    let operations = [MultiOp::Delete(delete("/p/c")), MultiOp::Delete(delete("/p"))];
    let (_, body) = client.request(&mut world, &MultiRequest::new(&operations));
    let response = MultiResponse::decode_exact(&body).expect("a multi response");
    assert_eq!(response.error(), None);
    assert_eq!(world.paths(), [""; 0]);
}

/// Since 3.9: an unknown mode, like an unknown kind, concerns the whole.
#[test]
fn a_multi_that_cannot_be_read_is_refused_as_a_whole() {
    let mut world = world();
    let mut client = world.client();
    // The second one needs a time to live.
    for mode in [9, 5] {
        let mode = CreateMode::new(mode);
        let impossible = CreateRequest { mode, ..create("/a") };
        for operation in [MultiOp::Create(impossible), MultiOp::CreateContainer(impossible)] {
            let (header, body) = client.request(&mut world, &MultiRequest::new(&[operation]));
            assert_eq!((header.error, body), (ErrorCode::MARSHALLING_ERROR, Vec::new()));
        }
    }
    let mut reads = Vec::new();
    let read = [MultiReadOp::GetData(get_data("/", false))];
    MultiReadRequest::new(&read).encode(&mut reads);
    let (header, _) = client.raw_request(&mut world, OpCode::MULTI, &reads);
    assert_eq!(header.error, ErrorCode::MARSHALLING_ERROR);
    let mut writes = Vec::new();
    MultiRequest::new(&[check("/", -1)]).encode(&mut writes);
    let (header, _) = client.raw_request(&mut world, OpCode::MULTI_READ, &writes);
    assert_eq!(header.error, ErrorCode::MARSHALLING_ERROR);
    assert!(!client.connection.is_closed);
}

#[test]
fn reads_in_one_request_fail_alone_and_leave_no_watch() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create("/a"));
    client.make(&mut world, &create("/a/b"));
    let before = world.zxid();
    let operations = [
        MultiReadOp::GetData(get_data("/a", true)),
        MultiReadOp::GetData(get_data("/none", true)),
        MultiReadOp::GetChildren(GetChildrenRequest { path: "/a", watch: true }),
    ];
    let (header, body) = client.request(&mut world, &MultiReadRequest::new(&operations));
    assert_eq!((header.error, header.zxid.get()), (ErrorCode::OK, before));
    let response = MultiReadResponse::decode_exact(&body).expect("a multiRead response");
    let results: Vec<_> = response.iter().collect();
    let [MultiReadResult::GetData(data), failed, MultiReadResult::GetChildren(list)] = results[..]
    else {
        panic!("three results, not {results:?}");
    };
    assert_eq!(data.data, Some(&b""[..]));
    assert_eq!(failed, MultiReadResult::Error(ErrorCode::NO_NODE));
    assert!(list.children.iter().eq(["b"]));
    client.code(&mut world, &delete("/a/b"));
    client.code(&mut world, &set_data("/a", b""));
    assert_eq!(client.events(&mut world), []);
}
