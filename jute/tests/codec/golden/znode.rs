//! Requests for single znodes.

use zk_jute::records::{
    Acl, Create2Request, Create2Response, CreateContainerRequest, CreateMode, CreateRequest,
    CreateResponse, CreateTtlRequest, DeleteRequest, ExistsRequest, ExistsResponse, GetAclRequest,
    GetAclResponse, GetAllChildrenNumberRequest, GetAllChildrenNumberResponse, GetChildren2Request,
    GetChildren2Response, GetChildrenRequest, GetChildrenResponse, GetDataRequest, GetDataResponse,
    GetEphemeralsRequest, GetEphemeralsResponse, Permissions, SetAclRequest, SetAclResponse,
    SetDataRequest, SetDataResponse, Stat, SyncRequest, SyncResponse, TtlMode,
};
use zk_jute::{ErrorCode, OpCode, SessionId, Vector, Version, Zxid};

use super::{Case, created, failed, reply, request};

/// `/demo` once it has its two children.
const DEMO: Stat = Stat {
    cversion: Version::new(2),
    data_length: 5,
    num_children: 2,
    pzxid: Zxid::new(4),
    ..created(2, 0x1a1_faba_67bc)
};

/// `/demo` after its data was set once.
const DEMO_WRITTEN: Stat =
    Stat { mzxid: Zxid::new(5), mtime: 0x1a1_faba_67e1, version: Version::new(1), ..DEMO };

const CHILDREN: Vector<'_, &str> = Vector::new(&["c", "c-0000000001"]);

const fn create(
    path: &'static str,
    data: Option<&'static [u8]>,
    mode: CreateMode,
) -> CreateRequest<'static> {
    CreateRequest { path, data, acl: Vector::OPEN, mode }
}

const fn get_data(path: &str) -> GetDataRequest<'_> {
    let watch = false;
    GetDataRequest { path, watch }
}

const fn set_demo(data: &[u8]) -> SetDataRequest<'_> {
    SetDataRequest { path: "/demo", data: Some(data), version: Version::new(0) }
}

pub(crate) const CASES: &[Case] = &[
    ("create2.request", |f| {
        let body = create("/demo", Some(b"hello"), CreateMode::PERSISTENT);
        f.is(request(1, OpCode::CREATE2), Create2Request(body));
    }),
    ("create2.reply", |f| {
        let stat = Stat { data_length: 5, ..created(2, 0x1a1_faba_67bc) };
        let path = "/demo";
        f.is(reply(1, 2), Create2Response { path, stat });
    }),
    ("create-empty.request", |f| {
        let body = create("/demo/c", Some(b""), CreateMode::PERSISTENT);
        f.is(request(2, OpCode::CREATE), body);
    }),
    ("create-empty.reply", |f| {
        f.is(reply(2, 3), CreateResponse { path: "/demo/c" });
    }),
    ("create-sequential-null.request", |f| {
        let body = create("/demo/c-", None, CreateMode::PERSISTENT_SEQUENTIAL);
        f.is(request(3, OpCode::CREATE), body);
    }),
    ("create-sequential-null.reply", |f| {
        let path = "/demo/c-0000000001";
        f.is(reply(3, 4), CreateResponse { path });
    }),
    ("create-ephemeral.request", |f| {
        let body = create("/eph", Some(b"e"), CreateMode::EPHEMERAL);
        f.is(request(4, OpCode::CREATE), body);
    }),
    ("create-ephemeral.reply", |f| {
        f.is(reply(4, 5), CreateResponse { path: "/eph" });
    }),
    ("create-ephemeral-sequential.request", |f| {
        let body = create("/lock-", Some(b""), CreateMode::EPHEMERAL_SEQUENTIAL);
        f.is(request(7, OpCode::CREATE), body);
    }),
    ("create-ephemeral-sequential.reply", |f| {
        let path = "/lock-0000000002";
        f.is(reply(7, 6), CreateResponse { path });
    }),
    ("create-container.request", |f| {
        let body = create("/cont", Some(b""), CreateMode::CONTAINER);
        let body = CreateContainerRequest(body);
        f.is(request(8, OpCode::CREATE_CONTAINER), body);
    }),
    ("create-container.reply", |f| {
        let stat = created(7, 0x1a1_facf_6286);
        let path = "/cont";
        f.is(reply(8, 7), Create2Response { path, stat });
    }),
    ("create-ttl.request", |f| {
        let body = CreateTtlRequest {
            path: "/ttl",
            data: Some(b""),
            acl: Vector::OPEN,
            mode: TtlMode::PERSISTENT,
            ttl: 60_000,
        };
        f.is(request(9, OpCode::CREATE_TTL), body);
    }),
    ("create-ttl.reply", |f| {
        let stat = created(8, 0x1a1_facf_6289);
        let path = "/ttl";
        f.is(reply(9, 8), Create2Response { path, stat });
    }),
    ("delete-not-empty.request", |f| {
        let version = Version::ANY;
        let path = "/demo";
        f.is(request(31, OpCode::DELETE), DeleteRequest { path, version });
    }),
    ("delete-not-empty.reply", |f| {
        f.is(failed(31, 13, ErrorCode::NOT_EMPTY), ());
    }),
    ("exists.request", |f| {
        let (path, watch) = ("/demo", true);
        f.is(request(6, OpCode::EXISTS), ExistsRequest { path, watch });
    }),
    ("exists.reply", |f| {
        f.is(reply(6, 4), ExistsResponse { stat: DEMO });
    }),
    ("exists-missing.request", |f| {
        let (path, watch) = ("/nope", true);
        f.is(request(7, OpCode::EXISTS), ExistsRequest { path, watch });
    }),
    ("exists-missing.reply", |f| {
        f.is(failed(7, 4, ErrorCode::NO_NODE), ());
    }),
    ("exists-ephemeral.request", |f| {
        let (path, watch) = ("/eph", false);
        f.is(request(5, OpCode::EXISTS), ExistsRequest { path, watch });
    }),
    ("exists-ephemeral.reply", |f| {
        let stat = Stat {
            ephemeral_owner: SessionId::new(0x0100_0027_f3f8_0001),
            data_length: 1,
            ..created(5, 0x1a1_facf_627c)
        };
        f.is(reply(5, 5), ExistsResponse { stat });
    }),
    ("get-data.request", |f| {
        f.is(request(8, OpCode::GET_DATA), get_data("/demo"));
    }),
    ("get-data.reply", |f| {
        let (data, stat) = (Some(&b"hello"[..]), DEMO);
        f.is(reply(8, 4), GetDataResponse { data, stat });
    }),
    ("get-data-empty.request", |f| {
        f.is(request(9, OpCode::GET_DATA), get_data("/demo/c"));
    }),
    ("get-data-empty.reply", |f| {
        let (data, stat) = (Some(&b""[..]), created(3, 0x1a1_faba_67c6));
        f.is(reply(9, 4), GetDataResponse { data, stat });
    }),
    ("get-data-null.request", |f| {
        let body = get_data("/demo/c-0000000001");
        f.is(request(10, OpCode::GET_DATA), body);
    }),
    ("get-data-null.reply", |f| {
        let (data, stat) = (None, created(4, 0x1a1_faba_67c8));
        f.is(reply(10, 4), GetDataResponse { data, stat });
    }),
    ("set-data.request", |f| {
        f.is(request(11, OpCode::SET_DATA), set_demo(b"world"));
    }),
    ("set-data.reply", |f| {
        let stat = DEMO_WRITTEN;
        f.is(reply(11, 5), SetDataResponse { stat });
    }),
    ("set-data-bad-version.request", |f| {
        f.is(request(12, OpCode::SET_DATA), set_demo(b"w2"));
    }),
    ("set-data-bad-version.reply", |f| {
        f.is(failed(12, 6, ErrorCode::BAD_VERSION), ());
    }),
    ("get-children.request", |f| {
        let (path, watch) = ("/demo", false);
        let body = GetChildrenRequest { path, watch };
        f.is(request(5, OpCode::GET_CHILDREN), body);
    }),
    ("get-children.reply", |f| {
        let children = CHILDREN;
        f.is(reply(5, 4), GetChildrenResponse { children });
    }),
    ("get-children2.request", |f| {
        let (path, watch) = ("/demo", false);
        let body = GetChildren2Request { path, watch };
        f.is(request(4, OpCode::GET_CHILDREN2), body);
    }),
    ("get-children2.reply", |f| {
        let (children, stat) = (CHILDREN, DEMO);
        f.is(reply(4, 4), GetChildren2Response { children, stat });
    }),
    ("sync.request", |f| {
        let path = "/demo";
        f.is(request(15, OpCode::SYNC), SyncRequest { path });
    }),
    ("sync.reply", |f| {
        f.is(reply(15, 7), SyncResponse { path: "/demo" });
    }),
    ("get-acl.request", |f| {
        f.is(request(13, OpCode::GET_ACL), GetAclRequest { path: "/demo" });
    }),
    ("get-acl.reply", |f| {
        let (acl, stat) = (Vector::OPEN, DEMO_WRITTEN);
        f.is(reply(13, 6), GetAclResponse { acl, stat });
    }),
    ("get-acl-redacted.request", |f| {
        f.is(request(6, OpCode::GET_ACL), GetAclRequest { path: "/ab" });
    }),
    ("get-acl-redacted.reply", |f| {
        const BOB: Acl<'_> = Acl { permissions: Permissions::ALL, scheme: "digest", id: "bob:x" };
        let acl = Vector::new(&[BOB, Acl::READ_ONLY]);
        let stat = created(0x6f, 0x1a1_fac7_219c);
        f.is(reply(6, 0x6f), GetAclResponse { acl, stat });
    }),
    ("set-acl.request", |f| {
        let body = SetAclRequest { path: "/demo", acl: Vector::OPEN, version: Version::new(0) };
        f.is(request(14, OpCode::SET_ACL), body);
    }),
    ("set-acl.reply", |f| {
        let aversion = Version::new(1);
        let stat = Stat { aversion, ..DEMO_WRITTEN };
        f.is(reply(14, 7), SetAclResponse { stat });
    }),
    ("set-acl-digest.request", |f| {
        const BOB: Acl<'_> = Acl {
            permissions: Permissions::ALL,
            scheme: "digest",
            id: "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=",
        };
        let body =
            SetAclRequest { path: "/cont", acl: Vector::new(&[BOB]), version: Version::new(0) };
        f.is(request(10, OpCode::SET_ACL), body);
    }),
    ("set-acl-digest.reply", |f| {
        let aversion = Version::new(1);
        let stat = created(7, 0x1a1_facf_6286);
        let stat = Stat { aversion, ..stat };
        f.is(reply(10, 9), SetAclResponse { stat });
    }),
    ("get-ephemerals.request", |f| {
        let prefix_path = Some("/");
        f.is(request(15, OpCode::GET_EPHEMERALS), GetEphemeralsRequest { prefix_path });
    }),
    ("get-ephemerals.reply", |f| {
        let ephemerals = Vector::new(&["/eph", "/lock-0000000002"]);
        f.is(reply(15, 12), GetEphemeralsResponse { ephemerals });
    }),
    ("get-all-children-number.request", |f| {
        let body = GetAllChildrenNumberRequest { path: "/demo" };
        f.is(request(28, OpCode::GET_ALL_CHILDREN_NUMBER), body);
    }),
    ("get-all-children-number.reply", |f| {
        let total_number = 3;
        f.is(reply(28, 12), GetAllChildrenNumberResponse { total_number });
    }),
];
