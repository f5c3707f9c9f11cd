//! The first frame in either direction.

use core::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use zk_jute::records::{ConnectResponse, PASSWORD_LEN};
use zk_jute::{Encode, ErrorCode, SessionId, Xid, Zxid};
use zk_session::{ConnectionEnd, Event, ProtocolError, TransportCommand};

use crate::lab::{Lab, PASSWORD, SESSION, TIMEOUT, after, header};

#[test]
fn a_new_session_is_asked_for_with_zeros_and_the_configured_timeout() {
    let handshake = Lab::new().open();
    assert_eq!(handshake.session, SessionId::NONE);
    assert_eq!(handshake.password, [0; PASSWORD_LEN]);
    assert_eq!(handshake.last_zxid_seen, Zxid::ZERO);
    assert_eq!(handshake.timeout, 6000);
}

#[test]
fn the_granted_timeout_may_differ_from_the_requested_one_and_is_the_one_that_counts() {
    let mut lab = Lab::new();
    lab.open();
    lab.accept_as(SESSION, Duration::from_secs(3));
    let connected =
        Event::Connected { session: SESSION, timeout: Duration::from_secs(3), read_only: false };
    assert_eq!(lab.events(), [connected]);
    assert_eq!(lab.session.lease_deadline(), Some(after(2700)));
    assert_eq!(lab.session.poll_timeout(), Some(after(1000)));
    assert!(lab.session.is_connected());
}

/// Every connection asks for the configured timeout again, with the granted id and password.
#[test]
fn the_session_is_resumed_with_what_the_server_granted() {
    let mut lab = Lab::new();
    lab.open();
    lab.accept_as(SESSION, Duration::from_secs(3));
    lab.close_by_server();
    let handshake = lab.open();
    assert_eq!(handshake.session, SESSION);
    assert_eq!(handshake.password, PASSWORD);
    assert_eq!(handshake.timeout, 6000);
}

#[test]
fn an_answer_without_the_read_only_byte_is_an_answer() {
    let mut lab = Lab::new();
    lab.open();
    lab.receive(&ConnectResponse {
        protocol_version: 0,
        timeout: 6000,
        session_id: SESSION,
        password: Some(&PASSWORD),
        read_only: None,
    });
    let connected = Event::Connected { session: SESSION, timeout: TIMEOUT, read_only: false };
    assert_eq!(lab.events(), [connected]);
}

#[test]
fn a_read_only_server_is_told_apart() {
    let mut lab = Lab::new();
    lab.open();
    lab.receive(&ConnectResponse {
        protocol_version: 0,
        timeout: 6000,
        session_id: SESSION,
        password: Some(&PASSWORD),
        read_only: Some(true),
    });
    let events = lab.events();
    assert!(matches!(events.as_slice(), [Event::Connected { read_only: true, .. }]), "{events:?}");
}

/// A read-only server may answer a handshake with a reply header, the error -119.
#[test]
fn an_answer_that_is_too_short_is_a_failed_attempt_and_no_expiry() {
    let mut refusal_without_password = BytesMut::new();
    refusal_without_password.put_bytes(0, 16);
    (-1).encode(&mut refusal_without_password);
    let mut not_read_only = BytesMut::new();
    header(Xid::new(0), 9, ErrorCode::NOT_READ_ONLY).encode(&mut not_read_only);
    let mut one_byte_missing = BytesMut::new();
    ConnectResponse { read_only: None, ..ConnectResponse::REFUSED }.encode(&mut one_byte_missing);
    one_byte_missing.truncate(35);

    for answer in [refusal_without_password, not_read_only, one_byte_missing, BytesMut::new()] {
        let mut lab = Lab::connected();
        lab.close_by_server();
        lab.open();
        lab.events();
        lab.session.handle_frame(lab.now, answer.freeze());
        let events = lab.events();
        assert!(
            matches!(
                events.as_slice(),
                [Event::ConnectFailed {
                    end: ConnectionEnd::Protocol(ProtocolError::Undecodable(_)),
                    ..
                }]
            ),
            "{events:?}"
        );
        assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
        assert_eq!(lab.connect().session, SESSION);
    }
}

#[test]
fn a_server_that_makes_no_session_is_left_for_another_try() {
    let mut lab = Lab::new();
    lab.open();
    lab.receive(&ConnectResponse::REFUSED);
    let events = lab.events();
    assert!(
        matches!(events.as_slice(), [Event::ConnectFailed { end: ConnectionEnd::Refused, .. }]),
        "{events:?}"
    );
    assert_eq!(lab.connect().session, SessionId::NONE);
}

#[test]
fn frames_without_a_connection_are_ignored() {
    let mut lab = Lab::new();
    lab.session.handle_frame(lab.now, Bytes::from_static(&[0; 37]));
    lab.session.handle_closed(lab.now);
    lab.session.handle_opened(lab.now);
    assert_eq!(lab.events(), []);
    assert_eq!(lab.sent(), []);
}
