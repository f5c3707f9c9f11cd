//! Connecting, keeping a session, authenticating, closing.

use bytes::BytesMut;
use zk_jute::records::{
    AuthPacket, ClientInfo, CloseSession, ConnectRequest, ConnectResponse, Credential,
    GetSaslRequest, PASSWORD_LEN, Ping, ReconfigRequest, SetSaslResponse, WhoAmI, WhoAmIResponse,
};
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, DecodeError, DecodeErrorKind, Encode, ErrorCode, OpCode, Request,
    SessionId, Vector, Zxid, put_frame,
};

use super::{Case, failed, frame, reply, request};

const NEW: ConnectRequest<'_> = ConnectRequest {
    protocol_version: 0,
    last_zxid_seen: Zxid::ZERO,
    timeout: 10_000,
    session_id: SessionId::NONE,
    password: Some(&[0; PASSWORD_LEN]),
    read_only: Some(false),
};

const GRANTED: ConnectResponse<'_> = ConnectResponse {
    protocol_version: 0,
    timeout: 10_000,
    session_id: SessionId::new(0x0100_0011_548e_0000),
    password: Some(&[
        0x30, 0xd0, 0xad, 0x80, 0xfd, 0xf5, 0xe1, 0x4b, 0x8e, 0xd6, 0x73, 0x25, 0x0e, 0x37, 0xa0,
        0x89,
    ]),
    read_only: Some(false),
};

const AGAIN: ConnectRequest<'_> = ConnectRequest {
    last_zxid_seen: Zxid::new(5),
    session_id: SessionId::new(0x0100_0027_f3f8_0001),
    password: Some(&[
        0x8d, 0xf3, 0xcb, 0x1b, 0x1f, 0xb7, 0x5c, 0x41, 0xdd, 0xed, 0x76, 0x3e, 0x34, 0x06, 0xcf,
        0x51,
    ]),
    ..NEW
};

const DIGEST: AuthPacket<'_> =
    AuthPacket { kind: 0, scheme: "digest", credential: Credential::new(Some(b"bob:secret")) };

const LOCALHOST: ClientInfo<'_> = ClientInfo { auth_scheme: "ip", user: "127.0.0.1" };

pub(crate) const CASES: &[Case] = &[
    ("connect-new.request", |f| f.is((), NEW)),
    ("connect-new.reply", |f| f.is((), GRANTED)),
    ("connect-again.request", |f| f.is((), AGAIN)),
    ("connect-expired.reply", |f| {
        f.is((), ConnectResponse::REFUSED);
    }),
    ("connect-to-read-only.reply", |f| {
        f.is(failed(0, 0, ErrorCode::NOT_READ_ONLY), ());
    }),
    ("ping.request", |f| f.is(request(-2, OpCode::PING), ())),
    ("ping.reply", |f| f.is(reply(-2, 1), ())),
    ("ping-without-sasl.reply", |f| {
        let error = ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH;
        f.is(failed(-2, 0, error), ());
    }),
    ("auth.request", |f| f.is(request(-4, OpCode::AUTH), DIGEST)),
    ("auth.reply", |f| f.is(reply(-4, 0), ())),
    ("auth-failed.reply", |f| {
        f.is(failed(-4, 0, ErrorCode::AUTH_FAILED), ());
    }),
    ("sasl-without-sasl.request", |f| {
        let token = Credential::new(Some(b""));
        f.is(request(1, OpCode::SASL), GetSaslRequest { token });
    }),
    ("sasl-without-sasl.reply", |f| {
        let token = Credential::new(None);
        f.is(reply(1, 0), SetSaslResponse { token });
    }),
    ("sasl-failed.reply", |f| {
        f.starts_with(&failed(2, 0, ErrorCode::AUTH_FAILED));
    }),
    ("sasl-failed-but-required.reply", |f| {
        let error = ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH;
        f.starts_with(&failed(2, 0, error));
    }),
    ("who-am-i.request", |f| {
        f.is(request(29, OpCode::WHO_AM_I), ());
    }),
    ("who-am-i.reply", |f| {
        let client_info = Vector::new(&[LOCALHOST]);
        f.is(reply(29, 12), WhoAmIResponse { client_info });
    }),
    ("who-am-i-after-auth.request", |f| {
        f.is(request(30, OpCode::WHO_AM_I), ());
    }),
    ("who-am-i-after-auth.reply", |f| {
        const BOB: ClientInfo<'_> = ClientInfo { auth_scheme: "digest", user: "bob" };
        let client_info = Vector::new(&[BOB, LOCALHOST]);
        f.is(reply(30, 12), WhoAmIResponse { client_info });
    }),
    ("unknown-opcode.reply", |f| {
        f.is(failed(1, -1, ErrorCode::UNIMPLEMENTED), ());
    }),
    ("throttled.reply", |f| {
        f.is(failed(1002, 14, ErrorCode::THROTTLED_OP), ());
    }),
    ("reconfig-disabled.request", |f| {
        let body = ReconfigRequest {
            joining_servers: Some("server.4=h:1:2;3"),
            leaving_servers: None,
            new_members: None,
            current_config: Zxid::new(-1),
        };
        f.is(request(14, OpCode::RECONFIG), body);
    }),
    ("reconfig-disabled.reply", |f| {
        f.is(failed(14, 12, ErrorCode::RECONFIG_DISABLED), ());
    }),
    ("close-session.request", |f| {
        f.is(request(16, OpCode::CLOSE_SESSION), ());
    }),
    ("close-session.reply", |f| f.is(reply(16, 13), ())),
];

#[test]
fn only_the_expired_reply_is_a_refusal() {
    let expired = frame("connect-expired.reply").payload();
    let expired = ConnectResponse::decode_exact(expired).expect("a connect reply");
    assert!(expired.is_refused());
    assert!(!GRANTED.is_refused());
}

/// Clients before 3.4 leave the last byte out, and are answered without it.
#[test]
fn the_read_only_byte_may_be_missing() {
    let request = frame("connect-new.request").payload();
    let old = &request[..request.len() - 1];
    let read_only = None;
    assert_eq!(old.len(), 44);
    assert_eq!(ConnectRequest::decode_exact(old), Ok(ConnectRequest { read_only, ..NEW }));
    assert_eq!(written(&ConnectRequest { read_only, ..NEW }), old);

    let reply = frame("connect-new.reply").payload();
    let old = &reply[..reply.len() - 1];
    assert_eq!(old.len(), 36);
    assert_eq!(ConnectResponse::decode_exact(old), Ok(ConnectResponse { read_only, ..GRANTED }));
    assert_eq!(written(&ConnectResponse { read_only, ..GRANTED }), old);
}

/// The answer of a read-only server without local sessions is a reply header: it must not pass
/// for a refused session, which would end the session's life.
#[test]
fn a_reply_header_in_place_of_a_connect_reply_is_an_error() {
    let odd = frame("connect-to-read-only.reply").payload();
    assert_eq!(
        ConnectResponse::decode_prefix(odd),
        Err(DecodeError { kind: DecodeErrorKind::Truncated { needed: 4, left: 0 }, offset: 16 })
    );
}

#[test]
fn requests_without_a_body_are_their_header() {
    let mut output = BytesMut::new();
    put_frame(&mut output, DEFAULT_MAX_FRAME, &request(-2, Ping::OPCODE), &Ping)
        .expect("a small frame");
    assert_eq!(output, frame("ping.request").bytes);
    output.clear();
    put_frame(&mut output, DEFAULT_MAX_FRAME, &request(16, CloseSession::OPCODE), &CloseSession)
        .expect("a small frame");
    assert_eq!(output, frame("close-session.request").bytes);
    output.clear();
    put_frame(&mut output, DEFAULT_MAX_FRAME, &request(29, WhoAmI::OPCODE), &WhoAmI)
        .expect("a small frame");
    assert_eq!(output, frame("who-am-i.request").bytes);
}

#[test]
fn secrets_do_not_show() {
    let shown = format!("{DIGEST:?} {AGAIN:?} {GRANTED:?}");
    assert!(!shown.contains("bob"), "{shown}");
    assert!(!shown.contains("98, 111, 98"), "{shown}");
    assert!(!shown.contains("password"), "{shown}");
}

fn written(value: &impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}
