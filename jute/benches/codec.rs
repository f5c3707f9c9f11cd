//! The codec's costs. How to run: `benches/README.md`.

use core::fmt::Write as _;

use bytes::BytesMut;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use zk_jute::records::{
    CheckVersionRequest, ConnectRequest, ConnectResponse, Create2Request, Create2Response,
    CreateMode, CreateRequest, EventType, GetChildren2Response, GetDataRequest, GetDataResponse,
    KeeperState, MultiOp, MultiRequest, MultiResponse, MultiResult, PASSWORD_LEN, SetDataRequest,
    SetDataResponse, Stat, WatcherEvent,
};
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, DecodeError, Encode, ErrorCode, OpCode, Reader, ReplyHeader,
    RequestHeader, SessionId, Vector, Version, Xid, Zxid, frame_len, put_frame,
};

fn main() {
    divan::main();
}

const CANDIDATES: usize = 10_000;
const CANDIDATE: &str = "_c_5ab4fc2c-9d3e-4a68-8c3f-0f1d2e3c4b5a-latch-0000004711";
const PATH: &str = "/services/billing/leader";
const DATA: &[u8; 100] = &[b'x'; 100];

const REQUEST: RequestHeader = RequestHeader { xid: Xid::new(4711), opcode: OpCode::GET_DATA };
const REPLY: ReplyHeader =
    ReplyHeader { xid: Xid::new(4711), zxid: Zxid::new(0x1_0000_0815), error: ErrorCode::OK };
const NOTIFICATION: ReplyHeader = ReplyHeader { xid: Xid::NOTIFICATION, ..REPLY };

const STAT: Stat = Stat {
    czxid: Zxid::new(0x1_0000_0001),
    mzxid: Zxid::new(0x1_0000_0002),
    ctime: 1_700_000_000_000,
    mtime: 1_700_000_000_001,
    version: Version::new(1),
    cversion: Version::new(2),
    aversion: Version::new(0),
    ephemeral_owner: SessionId::NONE,
    data_length: 100,
    num_children: 0,
    pzxid: Zxid::new(0x1_0000_0001),
};

const GET_DATA: GetDataRequest<'_> = GetDataRequest { path: PATH, watch: false };
const GOT_DATA: GetDataResponse<'_> = GetDataResponse { data: Some(DATA), stat: STAT };
const CREATE: Create2Request<'_> = Create2Request(CreateRequest {
    path: "/election/_c_5ab4fc2c-9d3e-4a68-8c3f-0f1d2e3c4b5a-latch-",
    data: Some(DATA),
    acl: Vector::OPEN,
    mode: CreateMode::EPHEMERAL_SEQUENTIAL,
});
const CREATED: Create2Response<'_> = Create2Response {
    path: "/election/_c_5ab4fc2c-9d3e-4a68-8c3f-0f1d2e3c4b5a-latch-0000004711",
    stat: STAT,
};
const TRANSACTION: MultiRequest<'_> = MultiRequest::new(&[
    MultiOp::Check(CheckVersionRequest {
        path: "/election/_c_5ab4fc2c-9d3e-4a68-8c3f-0f1d2e3c4b5a-latch-0000004711",
        version: Version::ANY,
    }),
    MultiOp::SetData(SetDataRequest { path: PATH, data: Some(DATA), version: Version::ANY }),
]);
const COMMITTED: MultiResponse<'_> =
    MultiResponse::new(&[MultiResult::Check, MultiResult::SetData(SetDataResponse { stat: STAT })]);
const EVENT: WatcherEvent<'_> = WatcherEvent {
    kind: EventType::NODE_DELETED,
    state: KeeperState::SYNC_CONNECTED,
    path: "/election/_c_5ab4fc2c-9d3e-4a68-8c3f-0f1d2e3c4b5a-latch-0000004710",
};
const CONNECT: ConnectRequest<'_> = ConnectRequest {
    protocol_version: 0,
    last_zxid_seen: Zxid::new(0x1_0000_0815),
    timeout: 10_000,
    session_id: SessionId::new(0x0100_0011_548e_0000),
    password: Some(&[7; PASSWORD_LEN]),
    read_only: Some(false),
};
const CONNECTED: ConnectResponse<'_> = ConnectResponse {
    protocol_version: 0,
    timeout: 10_000,
    session_id: SessionId::new(0x0100_0011_548e_0000),
    password: Some(&[7; PASSWORD_LEN]),
    read_only: Some(false),
};

/// Returns the frame of a reply to `getChildren2`: candidates named as Curator names them, in no
/// order, with the one to find in the middle.
fn children() -> BytesMut {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut names = Vec::with_capacity(CANDIDATES);
    while names.len() < CANDIDATES {
        let (a, b, sequence) = (next(), next(), next() % 1_000_000);
        let (a, b, c, d) = (a >> 32, a & 0xffff, b >> 48, b & 0xffff_ffff_ffff);
        let mut name = String::new();
        write!(name, "_c_{a:08x}-{b:04x}-4a68-{c:04x}-{d:012x}-latch-{sequence:010}")
            .expect("a string takes everything");
        names.push(name);
    }
    names.truncate(CANDIDATES - 1);
    names.insert(CANDIDATES / 2, CANDIDATE.to_owned());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let children = Vector::new(&names);
    let stat = STAT;
    frame(&REPLY, &GetChildren2Response { children, stat })
}

fn frame(header: &impl Encode, body: &impl Encode) -> BytesMut {
    let mut output = BytesMut::new();
    put_frame(&mut output, DEFAULT_MAX_FRAME, header, body).expect("below the limit");
    output
}

/// Reads a frame, its header and its body, as a session does.
fn read<'a, H: Decode<'a>, B: Decode<'a>>(input: &'a [u8]) -> Result<(H, B), DecodeError> {
    let length = frame_len(input, DEFAULT_MAX_FRAME).expect("below the limit");
    let length = length.expect("a whole frame");
    let mut reader = Reader::new(input.get(4..4 + length).expect("a whole frame"));
    Ok((H::decode(&mut reader)?, B::decode(&mut reader)?))
}

#[divan::bench]
fn children_10000_decode(bencher: Bencher<'_, '_>) {
    let frame = children();
    bencher.counter(ItemsCount::new(CANDIDATES)).counter(BytesCount::new(frame.len())).bench(
        || {
            read::<ReplyHeader, GetChildren2Response<'_>>(black_box(&frame))
                .expect("sound")
                .1
                .children
                .len()
        },
    );
}

/// A follower's work on a listing: decode it, look at every name, find the own one.
#[divan::bench]
fn children_10000_decode_and_find_one(bencher: Bencher<'_, '_>) {
    let frame = children();
    bencher.counter(ItemsCount::new(CANDIDATES)).counter(BytesCount::new(frame.len())).bench(
        || {
            let (_, body) =
                read::<ReplyHeader, GetChildren2Response<'_>>(black_box(&frame)).expect("sound");
            let found = body.children.iter().filter(|name| *name == CANDIDATE);
            assert_eq!(found.count(), 1);
        },
    );
}

/// Into a buffer that is there already, as a session's is.
macro_rules! encode {
    ($($name:ident = $header:expr, $body:expr;)*) => {$(
        #[divan::bench]
        fn $name(bencher: Bencher<'_, '_>) {
            let mut output = frame($header, $body);
            bencher.counter(BytesCount::new(output.len())).bench_local(|| {
                output.clear();
                put_frame(&mut output, DEFAULT_MAX_FRAME, black_box($header), black_box($body))
            });
        }
    )*};
}

macro_rules! decode {
    ($($name:ident = $header:expr, $body:expr => $header_type:ty, $body_type:ty;)*) => {$(
        #[divan::bench]
        fn $name(bencher: Bencher<'_, '_>) {
            let frame = frame($header, $body);
            bencher
                .counter(BytesCount::new(frame.len()))
                .bench(|| read::<$header_type, $body_type>(black_box(&frame)).is_ok());
        }
    )*};
}

encode! {
    get_data_request_encode = &REQUEST, &GET_DATA;
    get_data_reply_encode = &REPLY, &GOT_DATA;
    create2_request_encode = &REQUEST, &CREATE;
    create2_reply_encode = &REPLY, &CREATED;
    multi_request_encode = &REQUEST, &TRANSACTION;
    multi_reply_encode = &REPLY, &COMMITTED;
    notification_encode = &NOTIFICATION, &EVENT;
    connect_request_encode = &(), &CONNECT;
    connect_reply_encode = &(), &CONNECTED;
}

decode! {
    get_data_request_decode = &REQUEST, &GET_DATA => RequestHeader, GetDataRequest<'_>;
    get_data_reply_decode = &REPLY, &GOT_DATA => ReplyHeader, GetDataResponse<'_>;
    create2_request_decode = &REQUEST, &CREATE => RequestHeader, Create2Request<'_>;
    create2_reply_decode = &REPLY, &CREATED => ReplyHeader, Create2Response<'_>;
    multi_request_decode = &REQUEST, &TRANSACTION => RequestHeader, MultiRequest<'_>;
    multi_reply_decode = &REPLY, &COMMITTED => ReplyHeader, MultiResponse<'_>;
    notification_decode = &NOTIFICATION, &EVENT => ReplyHeader, WatcherEvent<'_>;
    connect_request_decode = &(), &CONNECT => (), ConnectRequest<'_>;
    connect_reply_decode = &(), &CONNECTED => (), ConnectResponse<'_>;
}
