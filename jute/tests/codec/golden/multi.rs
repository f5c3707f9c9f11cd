//! Transactions.

use zk_jute::records::{
    CheckVersionRequest, Create2Response, CreateMode, CreateRequest, CreateResponse,
    CreateTtlRequest, DeleteRequest, GetChildrenRequest, GetChildrenResponse, GetDataRequest,
    GetDataResponse, MultiList, MultiOp, MultiReadOp, MultiReadRequest, MultiReadResponse,
    MultiReadResult, MultiRequest, MultiResponse, MultiResult, SetDataRequest, SetDataResponse,
    Stat, TtlMode,
};
use zk_jute::{
    Decode, DecodeError, DecodeErrorKind, ErrorCode, OpCode, Reader, ReplyHeader, RequestHeader,
    Vector, Version, Zxid,
};

use super::{Case, Frame, created, frame, reply, request};

const fn check_demo(version: i32) -> MultiOp<'static> {
    MultiOp::Check(CheckVersionRequest { path: "/demo", version: Version::new(version) })
}

const SET_DEMO: MultiOp<'_> =
    MultiOp::SetData(SetDataRequest { path: "/demo", data: Some(b"m"), version: Version::new(1) });

const fn create(path: &'static str, data: &'static [u8]) -> CreateRequest<'static> {
    CreateRequest { path, data: Some(data), acl: Vector::OPEN, mode: CreateMode::PERSISTENT }
}

const CREATE_DELETE: &[MultiOp<'_>] = &[
    MultiOp::Create(create("/demo/m1", b"1")),
    MultiOp::Create2(create("/demo/m2", b"2")),
    MultiOp::Delete(DeleteRequest { path: "/demo/m1", version: Version::new(0) }),
];

const CREATED_M1: MultiResult<'_> = MultiResult::Create(CreateResponse { path: "/demo/m1" });

pub(crate) const CASES: &[Case] = &[
    ("multi-check-set.request", |f| {
        const OPS: &[MultiOp<'_>] = &[check_demo(1), SET_DEMO];
        f.is(request(16, OpCode::MULTI), MultiRequest::new(OPS));
    }),
    ("multi-check-set.reply", |f| {
        const RESULTS: &[MultiResult<'_>] = &[
            MultiResult::Check,
            MultiResult::SetData(SetDataResponse {
                stat: Stat {
                    mzxid: Zxid::new(8),
                    mtime: 0x1a1_faba_67f7,
                    version: Version::new(2),
                    cversion: Version::new(2),
                    aversion: Version::new(1),
                    data_length: 1,
                    num_children: 2,
                    pzxid: Zxid::new(4),
                    ..created(2, 0x1a1_faba_67bc)
                },
            }),
        ];
        f.is(reply(16, 8), MultiResponse::new(RESULTS));
        assert_eq!(failure(f), None);
    }),
    ("multi-check-fails.request", |f| {
        const OPS: &[MultiOp<'_>] = &[check_demo(99), SET_DEMO];
        f.is(request(17, OpCode::MULTI), MultiRequest::new(OPS));
    }),
    ("multi-check-fails.reply", |f| {
        const RESULTS: &[MultiResult<'_>] = &[
            MultiResult::Error(ErrorCode::BAD_VERSION),
            MultiResult::Error(ErrorCode::RUNTIME_INCONSISTENCY),
        ];
        f.is(reply(17, 9), MultiResponse::new(RESULTS));
        assert_eq!(failure(f), Some((0, ErrorCode::BAD_VERSION)));
    }),
    ("multi-fails-in-the-middle.reply", |f| {
        const RESULTS: &[MultiResult<'_>] = &[
            MultiResult::Error(ErrorCode::OK),
            MultiResult::Error(ErrorCode::BAD_VERSION),
            MultiResult::Error(ErrorCode::RUNTIME_INCONSISTENCY),
        ];
        f.is(reply(18, 10), MultiResponse::new(RESULTS));
        assert_eq!(failure(f), Some((1, ErrorCode::BAD_VERSION)));
    }),
    ("multi-create-delete.request", |f| {
        let body = MultiRequest::new(CREATE_DELETE);
        f.is(request(19, OpCode::MULTI), body);
    }),
    ("multi-create-delete.reply", |f| {
        const RESULTS: &[MultiResult<'_>] = &[
            CREATED_M1,
            MultiResult::Create2(Create2Response {
                path: "/demo/m2",
                stat: Stat { data_length: 1, ..created(11, 0x1a1_faba_6805) },
            }),
            MultiResult::Delete,
        ];
        f.is(reply(19, 11), MultiResponse::new(RESULTS));
    }),
    // 3.8.0 answers a `create2` as if it were a `create`.
    ("multi-create-delete-of-3.8.0.reply", |f| {
        const RESULTS: &[MultiResult<'_>] = &[
            CREATED_M1,
            MultiResult::Create(CreateResponse { path: "/demo/m2" }),
            MultiResult::Delete,
        ];
        f.is(reply(19, 11), MultiResponse::new(RESULTS));
    }),
    ("multi-empty.request", |f| {
        f.is(request(20, OpCode::MULTI), MultiRequest::new(&[]));
    }),
    ("multi-empty.reply", |f| {
        f.is(reply(20, 12), MultiResponse::new(&[]));
        assert_eq!(failure(f), None);
    }),
    ("multi-container-ttl.request", |f| {
        const OPS: &[MultiOp<'_>] = &[
            MultiOp::CreateContainer(CreateRequest {
                mode: CreateMode::CONTAINER,
                ..create("/cont1", b"")
            }),
            MultiOp::CreateTtl(CreateTtlRequest {
                path: "/ttl1",
                data: Some(b""),
                acl: Vector::OPEN,
                mode: TtlMode::PERSISTENT,
                ttl: 99_999,
            }),
        ];
        f.is(request(5, OpCode::MULTI), MultiRequest::new(OPS));
    }),
    ("multi-read.request", |f| {
        const OPS: &[MultiReadOp<'_>] = &[
            read_data("/demo"),
            MultiReadOp::GetChildren(GetChildrenRequest { path: "/demo", watch: false }),
            read_data("/none"),
        ];
        f.is(request(21, OpCode::MULTI_READ), MultiReadRequest::new(OPS));
        refuses_kind::<RequestHeader, MultiOp<'_>>(f, OpCode::GET_DATA, 8);
    }),
    ("multi-read.reply", |f| {
        const RESULTS: &[MultiReadResult<'_>] = &[
            MultiReadResult::GetData(GetDataResponse {
                data: Some(b"m"),
                stat: Stat {
                    mzxid: Zxid::new(8),
                    mtime: 0x1a1_faba_67f7,
                    version: Version::new(2),
                    cversion: Version::new(5),
                    aversion: Version::new(1),
                    data_length: 1,
                    num_children: 3,
                    pzxid: Zxid::new(11),
                    ..created(2, 0x1a1_faba_67bc)
                },
            }),
            MultiReadResult::GetChildren(GetChildrenResponse {
                children: Vector::new(&["c", "c-0000000001", "m2"]),
            }),
            MultiReadResult::Error(ErrorCode::NO_NODE),
        ];
        f.is(reply(21, 12), MultiReadResponse::new(RESULTS));
        refuses_kind::<ReplyHeader, MultiResult<'_>>(f, OpCode::GET_DATA, 16);
    }),
];

const fn read_data(path: &str) -> MultiReadOp<'_> {
    MultiReadOp::GetData(GetDataRequest { path, watch: false })
}

fn failure(f: Frame) -> Option<(usize, ErrorCode)> {
    let mut reader = Reader::new(f.payload());
    let (_, body) = f.parts::<ReplyHeader, MultiResponse<'_>>(&mut reader);
    body.error()
}

fn refuses_kind<H: Decode<'static>, T: 'static>(f: Frame, kind: OpCode, offset: usize)
where
    MultiList<'static, T>: Decode<'static> + PartialEq + core::fmt::Debug,
{
    let mut reader = Reader::new(f.payload());
    f.parts::<H, ()>(&mut reader);
    let kind = DecodeErrorKind::UnknownKind(kind.get());
    assert_eq!(
        MultiList::<T>::decode(&mut reader),
        Err(DecodeError { kind, offset }),
        "{}",
        f.name
    );
}

#[test]
fn a_multi_is_read_entry_by_entry_and_stays_at_its_end() {
    let payload = frame("multi-check-set.request").payload();
    let ops = MultiRequest::decode_exact(&payload[8..]).expect("a multi");
    let mut iter = ops.iter();
    assert_eq!(iter.next(), Some(check_demo(1)));
    assert_eq!(iter.next(), Some(SET_DEMO));
    assert_eq!(iter.next(), None);
    assert_eq!(iter.next(), None);
}
