//! How sessions begin and go on.

use core::time::Duration;

use zk_embedded::Config;
use zk_jute::records::{CloseSession, ConnectRequest, ConnectResponse, CreateMode};
use zk_jute::{Decode, ErrorCode, OpCode, RequestHeader, SessionId, Xid, Zxid};

use crate::requests::{create, create_as, exists};
use crate::world::{TIMEOUT, World, frame, new_session, world};

#[test]
fn a_new_session_takes_the_next_zxid() {
    let mut world = world();
    let first = world.client();
    assert_eq!(world.zxid(), 1);
    let second = world.client();
    assert_eq!(world.zxid(), 2);
    assert_ne!(first.session(), second.session());
    assert_eq!(first.granted.timeout, 10_000);
    assert_eq!(first.granted.read_only, Some(false));
    assert_eq!(first.granted.password.len(), 16);
    assert_ne!(first.granted.password, second.granted.password);
}

/// Between 2 and 20 ticks.
#[test]
fn the_timeout_is_negotiated_on_every_connection() {
    let mut world = World::new(&Config::with_tick_time(Duration::from_secs(2)));
    let mut connection = world.open();
    let request = ConnectRequest { timeout: -1, ..new_session() };
    let granted = connection.shake_hands(&mut world, &request).expect("a session");
    assert_eq!(granted.timeout, 4000);
    let mut again = world.open();
    let request = ConnectRequest { timeout: 40_001, ..granted.again() };
    let resumed = again.shake_hands(&mut world, &request).expect("the session");
    assert_eq!((resumed.session, resumed.timeout), (granted.session, 40_000));
    world.advance(Duration::from_secs(39));
    assert!(world.server.database().has_session(granted.session));
}

#[test]
fn a_client_from_before_3_4_gets_no_read_only_byte() {
    let mut world = world();
    let mut connection = world.open();
    let request = ConnectRequest { read_only: None, ..new_session() };
    let granted = connection.shake_hands(&mut world, &request).expect("a session");
    assert_eq!(granted.read_only, None);
    let mut again = world.open();
    let wrong = ConnectRequest { password: None, read_only: None, ..granted.again() };
    again.send_frame(&mut world, &(), &wrong);
    assert_eq!(again.next_frame().map(|refusal| refusal.len()), Some(36));
}

#[test]
fn the_password_of_a_new_session_is_ignored() {
    let mut world = world();
    for password in [None, Some(&b""[..]), Some(&b"anything"[..])] {
        let mut connection = world.open();
        let request = ConnectRequest { password, protocol_version: 7, ..new_session() };
        assert!(connection.shake_hands(&mut world, &request).is_some());
    }
}

/// Exactly these bytes, then the connection is closed.
#[test]
fn an_unknown_session_or_wrong_password_is_refused() {
    let mut world = world();
    let client = world.client();
    let granted = &client.granted;
    let unknown = SessionId::new(granted.session.get() + 1);
    let refused = [
        ConnectRequest { session_id: unknown, ..granted.again() },
        ConnectRequest { password: Some(&[0; 16]), ..granted.again() },
        ConnectRequest { password: None, ..granted.again() },
    ];
    let zxid = world.zxid();
    for request in refused {
        let mut connection = world.open();
        connection.send_frame(&mut world, &(), &request);
        let frame = connection.next_frame().expect("a refusal");
        assert_eq!(ConnectResponse::decode_exact(&frame), Ok(ConnectResponse::REFUSED));
        assert!(connection.is_closed);
    }
    assert_eq!(world.zxid(), zxid);
}

/// Even a wrong password closes the connection that is open.
#[test]
fn a_handshake_that_names_a_session_closes_its_connection() {
    let mut world = world();
    let mut client = world.client();
    let granted = client.granted.clone();
    let mut impostor = world.open();
    let wrong = ConnectRequest { password: Some(&[1; 16]), ..granted.again() };
    impostor.shake_hands(&mut world, &wrong);
    client.connection.take(&mut world);
    assert!(client.connection.is_closed);
    let mut again = world.open();
    let resumed = again.shake_hands(&mut world, &granted.again()).expect("the session");
    assert_eq!(resumed, granted);
}

/// The server closes without an answer, so that the client tries another one.
#[test]
fn a_client_that_has_seen_more_is_sent_away() {
    let mut world = world();
    let client = world.client();
    let last = world.zxid();
    for (seen, accepted) in [(last, true), (last + 1, false), (-1, true), (i64::MAX, false)] {
        let mut connection = world.open();
        let last_zxid_seen = Zxid::new(seen);
        let request = ConnectRequest { last_zxid_seen, ..client.granted.again() };
        let granted = connection.shake_hands(&mut world, &request);
        assert_eq!(granted.is_some(), accepted, "{seen}");
        assert_eq!(connection.is_closed, !accepted, "{seen}");
    }
}

/// The server answers a request that comes behind the handshake after the handshake.
#[test]
fn requests_may_follow_the_handshake_at_once() {
    let mut world = world();
    let mut connection = world.open();
    let mut bytes = frame(&(), &new_session());
    let header = RequestHeader { xid: Xid::new(1), opcode: OpCode::CREATE };
    bytes.extend_from_slice(&frame(&header, &create_as("/a", CreateMode::EPHEMERAL)));
    let header = RequestHeader { xid: Xid::new(2), opcode: OpCode::EXISTS };
    bytes.extend_from_slice(&frame(&header, &exists("/a", false)));
    connection.send(&mut world, &bytes);
    let lengths: Vec<usize> =
        core::iter::from_fn(|| connection.next_frame()).map(|frame| frame.len()).collect();
    assert_eq!(lengths, [37, 16 + 6, 16 + 68]);
}

/// The reply, then the end; nothing behind it is answered.
#[test]
fn closing_a_session_takes_its_ephemerals_in_one_zxid() {
    let mut world = world();
    let mut client = world.client();
    let mut other = world.client();
    for path in ["/e1", "/e2", "/e3"] {
        client.make(&mut world, &create_as(path, CreateMode::EPHEMERAL));
    }
    client.make(&mut world, &create("/stays"));
    let (header, body) = client.request(&mut world, &CloseSession);
    assert_eq!((header.error, body), (ErrorCode::OK, Vec::new()));
    assert_eq!(header.zxid.get(), world.zxid());
    assert!(client.connection.is_closed);
    assert_eq!(world.paths(), ["/stays"]);
    let root = other.stat(&mut world, "/");
    assert_eq!(root.pzxid, header.zxid);
    let mut again = world.open();
    let refused = again.shake_hands(&mut world, &client.granted.again()).expect("an answer");
    assert_eq!(refused.session, SessionId::NONE);
}

#[test]
fn nothing_behind_the_end_of_a_session_is_answered() {
    let mut world = world();
    let mut client = world.client();
    let mut bytes = bytes::BytesMut::new();
    for (xid, opcode) in [(1, OpCode::CLOSE_SESSION), (2, OpCode::PING), (3, OpCode::SYNC)] {
        let xid = Xid::new(xid);
        bytes.extend_from_slice(&frame(&RequestHeader { xid, opcode }, &"/"));
    }
    let before = world.zxid();
    client.connection.send(&mut world, &bytes);
    let (header, _) = client.next_reply().expect("the reply to the first");
    assert_eq!(header.xid, Xid::new(1));
    assert_eq!(client.next_reply(), None);
    assert!(client.connection.is_closed);
    assert_eq!(world.zxid(), before + 1);
}

#[test]
fn a_connection_that_begins_no_session_is_closed() {
    let mut world = world();
    let mut silent = world.open();
    silent.send(&mut world, b"\0\0");
    let client = world.client();
    world.advance(Duration::from_secs(9));
    silent.take(&mut world);
    assert!(!silent.is_closed);
    world.advance(Duration::from_secs(1));
    silent.take(&mut world);
    assert!(silent.is_closed);
    assert!(!world.server.is_closing(client.connection.id));
    assert!(TIMEOUT >= Duration::from_secs(10), "or the session would have ended too");
}
