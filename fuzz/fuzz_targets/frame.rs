//! Splits a byte stream into frames, and reads each payload as every record that it could be, in
//! both directions. Each record that can be read has to survive being written and read again.

#![no_main]
#![forbid(unsafe_code)]

use core::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use zk_jute::records::{
    Acl, AddWatchRequest, AddWatchResponse, AuthPacket, CheckVersionRequest, CheckWatchesRequest,
    ConnectRequest, ConnectResponse, Create2Request, Create2Response, CreateContainerRequest,
    CreateRequest, CreateResponse, CreateTtlRequest, DeleteRequest, ExistsRequest, ExistsResponse,
    GetAclRequest, GetAclResponse, GetAllChildrenNumberRequest, GetAllChildrenNumberResponse,
    GetChildren2Request, GetChildren2Response, GetChildrenRequest, GetChildrenResponse,
    GetDataRequest, GetDataResponse, GetEphemeralsRequest, GetEphemeralsResponse, GetSaslRequest,
    MultiReadRequest, MultiReadResponse, MultiRequest, MultiResponse, ReconfigRequest,
    RemoveWatchesRequest, SetAclRequest, SetAclResponse, SetDataRequest, SetDataResponse,
    SetSaslResponse, SetWatches, SetWatches2, SyncRequest, SyncResponse, WatcherEvent,
    WhoAmIResponse,
};
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, Encode, FrameError, OpCode, ReplyHeader, RequestHeader, Vector, Xid,
    frame_len,
};

fuzz_target!(|stream: &[u8]| {
    let mut rest = stream;
    while let Some((payload, behind)) = split_frame(rest) {
        read_as_connect(payload);
        read_as_request(payload);
        read_as_reply(payload);
        rest = behind;
    }
});

/// Splits off the first frame: its payload, and the bytes behind the frame.
fn split_frame(input: &[u8]) -> Option<(&[u8], &[u8])> {
    match frame_len(input, DEFAULT_MAX_FRAME) {
        Ok(Some(length)) => {
            assert!(length <= DEFAULT_MAX_FRAME);
            input.get(4..)?.split_at_checked(length)
        }
        Ok(None) => {
            assert!(input.len() < 4);
            None
        }
        Err(FrameError::Negative(length)) => {
            assert!(length < 0);
            None
        }
        Err(FrameError::TooLong { length, limit }) => {
            assert!(length > limit);
            None
        }
        Err(error) => panic!("not an error of reading: {error}"),
    }
}

fn read_as_connect(payload: &[u8]) {
    round_trip::<ConnectRequest<'_>>(payload, &mut Vec::new());
    round_trip::<ConnectResponse<'_>>(payload, &mut Vec::new());
}

macro_rules! read_as {
    ($input:expr; $($type:ty),* $(,)?) => {{
        $(round_trip::<$type>($input, &mut Vec::new());)*
    }};
}

fn read_as_request(payload: &[u8]) {
    let Some((header, body)) = split_header::<RequestHeader>(payload) else {
        return;
    };
    match header.opcode {
        OpCode::AUTH => read_as!(body; AuthPacket<'_>),
        OpCode::CREATE => read_as!(body; CreateRequest<'_>),
        OpCode::CREATE2 => read_as!(body; Create2Request<'_>),
        OpCode::CREATE_CONTAINER => read_as!(body; CreateContainerRequest<'_>),
        OpCode::CREATE_TTL => read_as!(body; CreateTtlRequest<'_>),
        OpCode::GET_ACL => read_as!(body; GetAclRequest<'_>),
        OpCode::SET_ACL => read_as!(body; SetAclRequest<'_>),
        OpCode::GET_EPHEMERALS => read_as!(body; GetEphemeralsRequest<'_>),
        OpCode::GET_ALL_CHILDREN_NUMBER => read_as!(body; GetAllChildrenNumberRequest<'_>),
        OpCode::MULTI_READ => read_as!(body; MultiReadRequest<'_>),
        OpCode::ADD_WATCH => read_as!(body; AddWatchRequest<'_>),
        OpCode::CHECK_WATCHES => read_as!(body; CheckWatchesRequest<'_>),
        OpCode::REMOVE_WATCHES => read_as!(body; RemoveWatchesRequest<'_>),
        OpCode::RECONFIG => read_as!(body; ReconfigRequest<'_>),
        OpCode::SASL => read_as!(body; GetSaslRequest<'_>),
        OpCode::DELETE => read_as!(body; DeleteRequest<'_>),
        OpCode::EXISTS => read_as!(body; ExistsRequest<'_>),
        OpCode::GET_DATA => read_as!(body; GetDataRequest<'_>),
        OpCode::SET_DATA => read_as!(body; SetDataRequest<'_>),
        OpCode::CHECK => read_as!(body; CheckVersionRequest<'_>),
        OpCode::SYNC => read_as!(body; SyncRequest<'_>),
        OpCode::GET_CHILDREN => read_as!(body; GetChildrenRequest<'_>),
        OpCode::GET_CHILDREN2 => read_as!(body; GetChildren2Request<'_>),
        OpCode::MULTI => read_as!(body; MultiRequest<'_>),
        OpCode::SET_WATCHES => read_as!(body; SetWatches<'_>),
        OpCode::SET_WATCHES2 => read_as!(body; SetWatches2<'_>),
        _ => {}
    }
}

/// Reads the payload as any reply: a reply does not say what it answers, a notification aside.
fn read_as_reply(payload: &[u8]) {
    let Some((header, body)) = split_header::<ReplyHeader>(payload) else {
        return;
    };
    if header.xid == Xid::NOTIFICATION {
        read_as!(body; WatcherEvent<'_>);
        return;
    }
    read_as!(
        body;
        CreateResponse<'_>,
        Create2Response<'_>,
        ExistsResponse,
        GetDataResponse<'_>,
        SetDataResponse,
        SyncResponse<'_>,
        GetChildrenResponse<'_>,
        GetChildren2Response<'_>,
        Vector<'_, Acl<'_>>,
        MultiResponse<'_>,
        MultiReadResponse<'_>,
        GetAclResponse<'_>,
        SetAclResponse,
        GetEphemeralsResponse<'_>,
        GetAllChildrenNumberResponse,
        AddWatchResponse,
        WhoAmIResponse<'_>,
        SetSaslResponse<'_>,
    );
}

fn split_header<'a, H>(payload: &'a [u8]) -> Option<(H, &'a [u8])>
where
    H: Encode + Decode<'a> + PartialEq + Debug,
{
    let header = H::decode_prefix(payload).ok()?;
    // A header has one form only, so its encoding is what was read.
    let mut again = Vec::new();
    header.encode(&mut again);
    let body = payload.strip_prefix(&again[..]);
    assert!(body.is_some(), "{header:?} is written otherwise");
    Some((header, body?))
}

fn round_trip<'a, T>(input: &'a [u8], again: &'a mut Vec<u8>)
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
