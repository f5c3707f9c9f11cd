//! Laws that hold for every record, with any fields, and for any bytes.

#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod parts;

use core::fmt::Debug;

use bytes::BytesMut;
use proptest::collection::vec;
use proptest::prelude::*;
use zk_jute::records::{
    Acl, AddWatchMode, AddWatchRequest, AddWatchResponse, AuthPacket, CheckVersionRequest,
    CheckWatchesRequest, ConnectRequest, ConnectResponse, Create2Request, Create2Response,
    CreateContainerRequest, CreateRequest, CreateResponse, CreateTtlRequest, Credential,
    DeleteRequest, EventType, ExistsRequest, ExistsResponse, GetAclRequest, GetAclResponse,
    GetAllChildrenNumberRequest, GetAllChildrenNumberResponse, GetChildren2Request,
    GetChildren2Response, GetChildrenRequest, GetChildrenResponse, GetDataRequest, GetDataResponse,
    GetEphemeralsRequest, GetEphemeralsResponse, GetSaslRequest, KeeperState, MultiReadRequest,
    MultiReadResponse, MultiRequest, MultiResponse, ReconfigRequest, RemoveWatchesRequest,
    SetAclRequest, SetAclResponse, SetDataRequest, SetDataResponse, SetSaslResponse, SetWatches,
    SetWatches2, Stat, SyncRequest, SyncResponse, WatcherEvent, WatcherType, WhoAmIResponse,
};
use zk_jute::{
    BufferTooSmall, Decode, DecodeErrorKind, Encode, OpCode, ReplyHeader, RequestHeader,
    SliceWriter, Vector, Xid, frame_len, put_frame,
};

use parts::{Parts, Views, parts};

/// Room for encodings that outlive the values decoded from them.
type Buffers = [Vec<u8>; 4];

/// Asserts the laws of one value; `rest` is the record's reaction to bytes behind its end.
fn obeys<'a, T>(value: &T, parts: &Parts, rest: Rest, buffers: &'a mut Buffers)
where
    T: Encode + Decode<'a> + PartialEq + Debug,
{
    let [encoding, damaged, again, longer] = buffers;
    value.encode(encoding);
    let encoding: &'a [u8] = encoding;
    assert_eq!(T::decode_exact(encoding).as_ref(), Ok(value));
    assert!(encoding.len() >= T::MIN_ENCODED_LEN);
    every_writer_agrees(value, encoding);

    for cut in 0..encoding.len() {
        match T::decode_exact(&encoding[..cut]) {
            Err(error) => {
                assert!(error.offset <= cut, "{error}");
                let kind = error.kind;
                assert!(
                    matches!(
                        kind,
                        DecodeErrorKind::Truncated { .. } | DecodeErrorKind::Oversized { .. }
                    ),
                    "{kind}"
                );
            }
            Ok(_) => assert!(rest == Rest::MayBePart && cut + 1 == encoding.len()),
        }
    }

    longer.extend_from_slice(encoding);
    longer.extend_from_slice(b"\0more");
    let longer: &'a [u8] = longer;
    if rest == Rest::Ignored {
        assert_eq!(T::decode_prefix(longer).as_ref(), Ok(value));
        let error = T::decode_exact(longer).expect_err("bytes are left over");
        assert_eq!(error.kind, DecodeErrorKind::Trailing { extra: 5 });
        assert_eq!(error.offset, encoding.len());
    }

    damaged.extend_from_slice(encoding);
    for (at, byte) in &parts.damage {
        if let Some(at) = at.checked_rem(damaged.len()) {
            damaged[at] = *byte;
        }
    }
    is_read_or_refused::<T>(damaged, again);
}

/// A record's reaction to bytes behind its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Ignored,
    /// The last byte of a connect record may be missing.
    MayBePart,
}

fn every_writer_agrees(value: &impl Encode, encoding: &[u8]) {
    assert_eq!(value.encoded_len(), encoding.len());
    let mut bytes = BytesMut::new();
    value.encode(&mut bytes);
    assert_eq!(bytes, encoding);

    let mut room = vec![0; encoding.len()];
    let mut writer = SliceWriter::new(&mut room);
    value.encode(&mut writer);
    assert_eq!(writer.finish(), Ok(encoding));

    if let Some(short) = encoding.len().checked_sub(1) {
        let mut writer = SliceWriter::new(&mut room[..short]);
        value.encode(&mut writer);
        let needed = encoding.len();
        assert_eq!(writer.finish(), Err(BufferTooSmall { needed }));
    }
}

/// Asserts that arbitrary bytes give an error inside the input, or a value that survives another
/// round trip.
fn is_read_or_refused<'a, T>(input: &'a [u8], again: &'a mut Vec<u8>)
where
    T: Encode + Decode<'a> + PartialEq + Debug,
{
    match T::decode_prefix(input) {
        Err(error) => assert!(error.offset <= input.len(), "{error}"),
        Ok(value) => {
            value.encode(again);
            assert_eq!(value.encoded_len(), again.len());
            assert_eq!(T::decode_exact(again).as_ref(), Ok(&value));
        }
    }
}

/// For each record: its laws for arbitrary fields, and arbitrary bytes read as one.
macro_rules! records {
    ($($name:ident: $type:ty = |$views:ident| $value:expr;)*) => {$(
        mod $name {
            use super::*;

            proptest! {
                #[test]
                fn obeys_the_laws(parts in parts()) {
                    let views = &Views::new(&parts);
                    let $views = views;
                    let value: $type = $value;
                    obeys(&value, &parts, rest_of(stringify!($name)), &mut Buffers::default());
                }

                #[test]
                fn is_read_from_any_bytes_or_refused(input in vec(any::<u8>(), 0..200)) {
                    is_read_or_refused::<$type>(&input, &mut Vec::new());
                }
            }
        }
    )*};
}

fn rest_of(name: &str) -> Rest {
    if name.starts_with("connect_") { Rest::MayBePart } else { Rest::Ignored }
}

records! {
    request_header: RequestHeader = |v| RequestHeader {
        xid: Xid::new(v.parts.ints[0]),
        opcode: OpCode::new(v.parts.ints[1]),
    };
    reply_header: ReplyHeader = |v| ReplyHeader {
        xid: Xid::new(v.parts.ints[0]),
        zxid: v.zxid(),
        error: v.error(),
    };
    connect_request: ConnectRequest<'_> = |v| ConnectRequest {
        protocol_version: v.parts.ints[0],
        last_zxid_seen: v.zxid(),
        timeout: v.parts.ints[1],
        session_id: v.session_id(),
        password: v.data(),
        read_only: v.parts.last,
    };
    connect_response: ConnectResponse<'_> = |v| ConnectResponse {
        protocol_version: v.parts.ints[0],
        timeout: v.parts.ints[1],
        session_id: v.session_id(),
        password: v.data(),
        read_only: v.parts.last,
    };
    auth_packet: AuthPacket<'_> = |v| AuthPacket {
        kind: v.parts.ints[0],
        scheme: v.path(),
        credential: Credential::new(v.data()),
    };
    create_request: CreateRequest<'_> = |v| v.create();
    create2_request: Create2Request<'_> = |v| Create2Request(v.create());
    create_container_request: CreateContainerRequest<'_> = |v| CreateContainerRequest(v.create());
    create_response: CreateResponse<'_> = |v| CreateResponse { path: v.path() };
    create2_response: Create2Response<'_> = |v| Create2Response {
        path: v.path(),
        stat: v.stat(),
    };
    delete_request: DeleteRequest<'_> = |v| v.delete();
    exists_request: ExistsRequest<'_> = |v| ExistsRequest {
        path: v.path(),
        watch: v.parts.flag,
    };
    exists_response: ExistsResponse = |v| ExistsResponse { stat: v.stat() };
    get_data_request: GetDataRequest<'_> = |v| GetDataRequest {
        path: v.path(),
        watch: v.parts.flag,
    };
    get_data_response: GetDataResponse<'_> = |v| GetDataResponse {
        data: v.data(),
        stat: v.stat(),
    };
    set_data_request: SetDataRequest<'_> = |v| v.set_data();
    set_data_response: SetDataResponse = |v| SetDataResponse { stat: v.stat() };
    check_version_request: CheckVersionRequest<'_> = |v| v.check();
    sync_request: SyncRequest<'_> = |v| SyncRequest { path: v.path() };
    sync_response: SyncResponse<'_> = |v| SyncResponse { path: v.path() };
    get_children_request: GetChildrenRequest<'_> = |v| GetChildrenRequest {
        path: v.path(),
        watch: v.parts.flag,
    };
    get_children_response: GetChildrenResponse<'_> = |v| GetChildrenResponse {
        children: v.list(0),
    };
    get_children2_request: GetChildren2Request<'_> = |v| GetChildren2Request {
        path: v.path(),
        watch: v.parts.flag,
    };
    get_children2_response: GetChildren2Response<'_> = |v| GetChildren2Response {
        children: v.list(0),
        stat: v.stat(),
    };
    watcher_event: WatcherEvent<'_> = |v| WatcherEvent {
        kind: EventType::new(v.parts.ints[0]),
        state: KeeperState::new(v.parts.ints[1]),
        path: v.path(),
    };
    set_watches: SetWatches<'_> = |v| SetWatches {
        relative_zxid: v.zxid(),
        data: v.list(0),
        exist: v.list(1),
        child: v.list(2),
    };
    set_watches2: SetWatches2<'_> = |v| SetWatches2 {
        relative_zxid: v.zxid(),
        data: v.list(0),
        exist: v.list(1),
        child: v.list(2),
        persistent: v.list(3),
        persistent_recursive: v.list(4),
    };
    add_watch_request: AddWatchRequest<'_> = |v| AddWatchRequest {
        path: v.path(),
        mode: AddWatchMode::new(v.parts.ints[0]),
    };
    add_watch_response: AddWatchResponse = |v| AddWatchResponse { error: v.error() };
    check_watches_request: CheckWatchesRequest<'_> = |v| CheckWatchesRequest {
        path: v.path(),
        kind: WatcherType::new(v.parts.ints[0]),
    };
    remove_watches_request: RemoveWatchesRequest<'_> = |v| RemoveWatchesRequest {
        path: v.path(),
        kind: WatcherType::new(v.parts.ints[0]),
    };
    create_ttl_request: CreateTtlRequest<'_> = |v| v.create_ttl();
    get_acl_request: GetAclRequest<'_> = |v| GetAclRequest { path: v.path() };
    get_acl_response: GetAclResponse<'_> = |v| GetAclResponse {
        acl: v.acl(),
        stat: v.stat(),
    };
    set_acl_request: SetAclRequest<'_> = |v| SetAclRequest {
        path: v.path(),
        acl: v.acl(),
        version: v.version(),
    };
    set_acl_response: SetAclResponse = |v| SetAclResponse { stat: v.stat() };
    get_all_children_number_request: GetAllChildrenNumberRequest<'_> =
        |v| GetAllChildrenNumberRequest { path: v.path() };
    get_all_children_number_response: GetAllChildrenNumberResponse =
        |v| GetAllChildrenNumberResponse { total_number: v.parts.ints[0] };
    get_ephemerals_request: GetEphemeralsRequest<'_> = |v| GetEphemeralsRequest {
        prefix_path: v.parts.last.map(|_| v.path()),
    };
    get_ephemerals_response: GetEphemeralsResponse<'_> = |v| GetEphemeralsResponse {
        ephemerals: v.list(0),
    };
    get_sasl_request: GetSaslRequest<'_> = |v| GetSaslRequest {
        token: Credential::new(v.data()),
    };
    set_sasl_response: SetSaslResponse<'_> = |v| SetSaslResponse {
        token: Credential::new(v.data()),
    };
    who_am_i_response: WhoAmIResponse<'_> = |v| WhoAmIResponse {
        client_info: v.identities(),
    };
    reconfig_request: ReconfigRequest<'_> = |v| ReconfigRequest {
        joining_servers: v.parts.last.map(|_| v.path()),
        leaving_servers: Some(v.path()),
        new_members: None,
        current_config: v.zxid(),
    };
    multi_read_request: MultiReadRequest<'_> = |v| v.reads();
    multi_read_response: MultiReadResponse<'_> = |v| v.read_results();
    stat: Stat = |v| v.stat();
    acl: Vector<'_, Acl<'_>> = |v| v.acl();
    multi_request: MultiRequest<'_> = |v| v.ops();
    multi_response: MultiResponse<'_> = |v| v.results();
}

proptest! {
    #[test]
    fn frames_follow_one_another(
        bodies in vec(vec(any::<u8>(), 0..40), 0..5),
        limit in 0..60_usize,
    ) {
        let mut stream = BytesMut::new();
        let mut fitting = Vec::new();
        for body in &bodies {
            let before = stream.clone();
            if put_frame(&mut stream, limit, &(), &Some(&body[..])).is_ok() {
                prop_assert!(body.len() + 4 <= limit);
                fitting.push(body);
            } else {
                prop_assert!(body.len() + 4 > limit);
                prop_assert_eq!(&stream, &before);
            }
        }
        let mut rest = &stream[..];
        for body in fitting {
            let length = frame_len(rest, limit).expect("within the limit").expect("four bytes");
            let (frame, behind) = rest.split_at(length + 4);
            prop_assert_eq!(<&[u8]>::decode_exact(&frame[4..]), Ok(&body[..]));
            rest = behind;
        }
        prop_assert_eq!(rest, b"");
    }

    #[test]
    fn lists_iterate_as_they_were_written(names in vec(any::<String>(), 0..20)) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let list = Vector::new(&names);
        let mut encoding = Vec::new();
        list.encode(&mut encoding);
        let read = Vector::<&str>::decode_exact(&encoding).expect("just written");
        prop_assert_eq!(read.len(), names.len());
        let mut iter = read.iter();
        for left in (0..names.len()).rev() {
            prop_assert!(iter.next().is_some());
            prop_assert_eq!(iter.len(), left);
        }
        prop_assert!(read.iter().eq(names.iter().copied()));
        prop_assert!(list.iter().eq(names.iter().copied()));
    }
}
