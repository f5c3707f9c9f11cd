//! Identities of a connection.

use core::time::Duration;

use zk_jute::records::{AuthPacket, GetDataRequest};
use zk_jute::{Decode, ErrorCode, OpCode, Xid};
use zk_session::{Event, SessionEnd, SubmitError, Watching, WhileDisconnected};

use crate::lab::{Lab, SESSION, TIMEOUT};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

#[test]
fn an_identity_is_presented_at_once_on_a_connection() {
    let mut lab = Lab::connected();
    lab.events();
    let kept = lab.session.authenticate(lab.now, "digest", b"user:secret");
    kept.expect("accepted");
    let sent = lab.sent_one();
    assert_eq!((sent.xid, sent.opcode), (Xid::AUTH, OpCode::AUTH));
    let packet = AuthPacket::decode_exact(&sent.body).expect("an auth packet");
    assert_eq!(packet.scheme, "digest");
    assert_eq!(packet.credential.expose(), Some(b"user:secret".as_slice()));
    lab.reply(Xid::AUTH, 0, ErrorCode::OK);
    assert_eq!(lab.events(), []);
    assert!(lab.session.is_connected());
}

/// On every connection, before the watches and before all requests (kazoo #172).
#[test]
fn identities_come_first_on_every_connection() {
    let mut lab = Lab::connected_with(|config| {
        config.while_disconnected = WhileDisconnected::Queue;
    });
    for credential in [b"a:1", b"b:2"] {
        let kept = lab.session.authenticate(lab.now, "digest", credential);
        kept.expect("accepted");
    }
    lab.sent();
    lab.watch(Watching::GetData("/a"), 1, 5);
    for _ in 0..2 {
        lab.close_by_server();
        lab.session.submit(lab.now, 1, &READ).expect("queued");
        lab.connect();
        assert_eq!(
            lab.opcodes_sent(),
            [OpCode::AUTH, OpCode::AUTH, OpCode::SET_WATCHES, OpCode::GET_DATA]
        );
    }
}

/// A server that demands an identity refuses whatever comes before it, a ping
/// too. One is due at once if the handshake took long.
#[test]
fn no_ping_overtakes_an_identity() {
    let mut lab = Lab::with(1, |config| config.session_timeout = Duration::from_secs(30));
    let kept = lab.session.authenticate(lab.now, "digest", b"a:1");
    kept.expect("accepted");
    lab.open();
    lab.sleep(2500);
    lab.accept_as(SESSION, TIMEOUT);
    lab.tick();
    assert_eq!(lab.opcodes_sent(), [OpCode::AUTH, OpCode::PING]);
    // Nor one that has not been taken out for two seconds.
    lab.pong(1);
    lab.sleep(1000);
    let kept = lab.session.authenticate(lab.now, "digest", b"b:2");
    kept.expect("accepted");
    lab.session.handle_timeout(lab.now + Duration::from_secs(2));
    assert_eq!(lab.opcodes_sent(), [OpCode::AUTH, OpCode::PING]);
}

#[test]
fn an_identity_that_is_given_early_waits_for_the_connection() {
    let mut lab = Lab::new();
    let kept = lab.session.authenticate(lab.now, "digest", b"a:1");
    kept.expect("accepted");
    lab.connect();
    assert_eq!(lab.opcodes_sent(), [OpCode::AUTH]);
}

/// A refusal is told, and is the end: trying again would change nothing.
#[test]
fn a_refused_identity_ends_the_session() {
    let mut lab = Lab::connected();
    let kept = lab.session.authenticate(lab.now, "digest", b"a:1");
    kept.expect("accepted");
    lab.events();
    lab.reply(Xid::AUTH, 0, ErrorCode::AUTH_FAILED);
    let end = SessionEnd::AuthFailed(ErrorCode::AUTH_FAILED);
    assert_eq!(lab.events(), [Event::Ended(end)]);
}

/// A server that demands SASL says so in the reply to whatever comes first.
#[test]
fn a_server_that_demands_authentication_ends_the_session() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, 0, ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH);
    let end = SessionEnd::AuthFailed(ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH);
    assert_eq!(lab.events().last(), Some(&Event::Ended(end)));
}

/// A server drops the connection for it, each time anew.
#[test]
fn an_identity_above_the_frame_limit_is_refused() {
    let mut lab = Lab::connected_with(|config| config.limits.max_frame = 100);
    // A header, a kind, a scheme, a length before the credential.
    let overhead = 8 + 4 + 10 + 4;
    let mut credential = vec![b'x'; 100 - overhead];
    let kept = lab.session.authenticate(lab.now, "digest", &credential);
    assert_eq!(kept, Ok(()));
    credential.push(b'x');
    let refused = SubmitError::TooLarge { length: 101, limit: 100 };
    let kept = lab.session.authenticate(lab.now, "digest", &credential);
    assert_eq!(kept, Err(refused));
    assert_eq!(lab.sent().len(), 1);
}

#[test]
fn a_session_that_ends_takes_no_identity() {
    let mut lab = Lab::connected();
    lab.session.close(lab.now);
    let kept = lab.session.authenticate(lab.now, "digest", b"a:1");
    assert_eq!(kept, Err(SubmitError::Closed));
}

#[test]
fn secrets_are_not_shown() {
    let mut lab = Lab::connected();
    let kept = lab.session.authenticate(lab.now, "digest", b"user:secret");
    kept.expect("accepted");
    let shown = format!("{:?}", lab.session);
    assert!(!shown.contains("secret") && !shown.contains("sixteen"));
}
