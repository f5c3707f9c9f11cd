//! The SASL exchange before everything else on a connection.

use core::time::Duration;

use bytes::{Bytes, BytesMut};
use zk_jute::records::{Credential, EventType, GetDataRequest, GetSaslRequest, SetSaslResponse};
use zk_jute::{Decode, Encode, ErrorCode, OpCode, Xid};
use zk_session::lease::LeaseGrade;
use zk_session::sasl::{Sasl, SaslAnswer, SaslChallenge, SaslFailure};
use zk_session::{
    ConnectionEnd, Event, Expiry, ProtocolError, ServerIndex, SessionEnd, SubmitError,
    TransportCommand, Watching, WhileDisconnected,
};

use crate::lab::{LEASE, Lab, SESSION, TIMEOUT, header};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };
const SERVER: ServerIndex = ServerIndex(0);

fn lab() -> Lab {
    Lab::with(1, |config| {
        config.sasl = Sasl::Required;
        config.while_disconnected = WhileDisconnected::Queue;
    })
}

/// Makes a session at the first word of the mechanism.
fn begun() -> Lab {
    let mut lab = lab();
    begin(&mut lab);
    lab
}

fn begin(lab: &mut Lab) {
    lab.connect();
    assert_eq!(lab.session.poll_sasl(), Some(SaslChallenge::Begin(SERVER)));
    assert_eq!(lab.session.poll_sasl(), None);
}

/// Sends a token and gives its number.
fn send(lab: &mut Lab, token: &[u8]) -> Xid {
    lab.session.handle_sasl(lab.now, SaslAnswer::Token(token));
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SASL);
    let request = GetSaslRequest::decode_exact(&sent.body).expect("a token");
    assert_eq!(request.token.expose(), Some(token));
    sent.xid
}

fn answer(lab: &mut Lab, xid: Xid, token: Option<&[u8]>) {
    let mut frame = BytesMut::new();
    header(xid, 0, ErrorCode::OK).encode(&mut frame);
    SetSaslResponse { token: Credential::new(token) }.encode(&mut frame);
    lab.session.handle_frame(lab.now, frame.freeze());
}

/// Exchanges two tokens each way, as in DIGEST-MD5.
fn exchange(lab: &mut Lab) {
    for (token, answered) in [(b"".as_slice(), b"who?".as_slice()), (b"me", b"indeed")] {
        let xid = send(lab, token);
        answer(lab, xid, Some(answered));
        let challenge = SaslChallenge::Token(Bytes::from_static(answered));
        assert_eq!(lab.session.poll_sasl(), Some(challenge));
    }
    lab.session.handle_sasl(lab.now, SaslAnswer::Done);
}

fn ended(lab: &mut Lab) -> Option<SessionEnd> {
    match lab.events().pop() {
        Some(Event::Ended(end)) => Some(end),
        _ => None,
    }
}

/// Asserts that the attempt failed and another one follows; returns its end.
fn attempt_failed(lab: &mut Lab) -> ConnectionEnd {
    let events = lab.events();
    let [Event::ConnectFailed { server: SERVER, end, .. }] = events.as_slice() else {
        unreachable!("{events:?}")
    };
    assert_eq!(lab.session.poll_sasl(), None);
    *end
}

/// The exchange, then identities, watches, requests; on every connection.
#[test]
fn every_request_waits_for_the_exchange() {
    let mut lab = begun();
    lab.session.authenticate(lab.now, "digest", b"a:1").expect("accepted");
    lab.session.submit(lab.now, 1, &READ).expect("queued");
    assert_eq!(lab.sent(), []);
    assert_eq!(lab.events(), []);
    assert!(!lab.session.is_connected());
    exchange(&mut lab);
    let connected = Event::Connected { session: SESSION, timeout: TIMEOUT, read_only: false };
    assert_eq!(lab.events(), core::slice::from_ref(&connected));
    let sent = lab.sent();
    assert_eq!(
        sent.iter().map(|sent| sent.opcode).collect::<Vec<_>>(),
        [OpCode::AUTH, OpCode::GET_DATA]
    );
    lab.reply(sent[1].xid, 1, ErrorCode::NO_NODE);
    lab.events();
    lab.watch(Watching::GetData("/a"), 2, 5);

    for _ in 0..2 {
        lab.close_by_server();
        lab.events();
        begin(&mut lab);
        lab.session.submit(lab.now, 3, &READ).expect("queued");
        exchange(&mut lab);
        assert_eq!(lab.opcodes_sent(), [OpCode::AUTH, OpCode::SET_WATCHES, OpCode::GET_DATA]);
        assert_eq!(lab.events().pop(), Some(connected.clone()));
    }
}

#[test]
fn without_queueing_requests_are_refused_until_the_exchange_is_complete() {
    let mut lab = Lab::with(1, |config| config.sasl = Sasl::Required);
    begin(&mut lab);
    assert_eq!(lab.session.submit(lab.now, 1, &READ), Err(SubmitError::NotConnected));
    exchange(&mut lab);
    assert_eq!(lab.session.submit(lab.now, 1, &READ), Ok(()));
}

/// The server's clock for the session runs from the handshake: tokens are no requests to it.
#[test]
fn the_lease_and_the_next_ping_count_from_the_handshake() {
    let mut lab = begun();
    let handshake = lab.now;
    lab.pass(1900);
    assert_eq!(lab.sent(), []);
    exchange(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(handshake + LEASE));
    assert_eq!(lab.sent(), []);
    lab.pass(100);
    assert_eq!(lab.opcodes_sent(), [OpCode::PING]);
}

/// Either side may be the one that does not answer. The session ignores its later words.
#[test]
fn an_exchange_that_takes_too_long_costs_the_connection() {
    let silent_mechanism = |_: &mut Lab| ();
    let silent_server = |lab: &mut Lab| {
        send(lab, b"");
    };
    let silences: [fn(&mut Lab); 2] = [silent_mechanism, silent_server];
    for silence in silences {
        let mut lab = begun();
        silence(&mut lab);
        lab.pass(1999);
        assert_eq!(lab.events(), []);
        lab.pass(1);
        assert_eq!(attempt_failed(&mut lab), ConnectionEnd::TimedOut);
        assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
        lab.session.handle_sasl(lab.now, SaslAnswer::Done);
        lab.session.handle_sasl(lab.now, SaslAnswer::Token(b"late"));
        assert_eq!(lab.events(), []);
        begin(&mut lab);
        exchange(&mut lab);
        assert!(lab.session.is_connected());
    }
}

/// A key distribution centre that always takes longer than the share of a server is waited for in the
/// end.
#[test]
fn an_exchange_may_take_longer_with_each_round_that_came_to_nothing() {
    let mut lab = lab();
    let mut lasted = Vec::new();
    for _ in 0..2 {
        begin(&mut lab);
        let began = lab.now;
        while lab.events().is_empty() {
            lab.pass(1000);
        }
        lasted.push(lab.now.saturating_since(began).as_secs());
    }
    assert_eq!(lasted, [2, 4]);
}

#[test]
fn an_answer_that_is_not_awaited_is_ignored() {
    let mut lab = lab();
    lab.session.handle_sasl(lab.now, SaslAnswer::Done);
    begin(&mut lab);
    let xid = send(&mut lab, b"");
    lab.session.handle_sasl(lab.now, SaslAnswer::Token(b"twice"));
    lab.session.handle_sasl(lab.now, SaslAnswer::Done);
    lab.session.handle_sasl(lab.now, SaslAnswer::Failed(SaslFailure::Challenge));
    assert_eq!(lab.sent(), []);
    assert_eq!(lab.events(), []);
    answer(&mut lab, xid, Some(b"x"));
    lab.session.handle_sasl(lab.now, SaslAnswer::Done);
    assert!(lab.session.is_connected());
    lab.session.handle_sasl(lab.now, SaslAnswer::Failed(SaslFailure::Challenge));
    assert!(lab.session.is_connected());
}

/// Going on would be to go on unauthenticated, without a word.
#[test]
fn a_server_that_takes_no_part_ends_the_session() {
    for tokens in [0, 1] {
        let mut lab = begun();
        for _ in 0..tokens {
            let xid = send(&mut lab, b"");
            answer(&mut lab, xid, Some(b"who?"));
        }
        let xid = send(&mut lab, b"me");
        answer(&mut lab, xid, None);
        assert_eq!(ended(&mut lab), Some(SessionEnd::SaslFailed(SaslFailure::NotOffered)));
    }
}

/// The last word of GSSAPI is the client's, and the server's answer to it has no token.
#[test]
fn the_answer_to_the_last_token_completes_the_exchange() {
    for confirmation in [None, Some(b"".as_slice())] {
        let mut lab = begun();
        let xid = send(&mut lab, b"hello");
        answer(&mut lab, xid, Some(b"hello"));
        lab.session.handle_sasl(lab.now, SaslAnswer::LastToken(b"bye"));
        assert_eq!(lab.events(), []);
        let sent = lab.sent_one();
        answer(&mut lab, sent.xid, confirmation);
        assert!(matches!(lab.events().as_slice(), [Event::Connected { .. }]));
    }
}

#[test]
fn refused_credentials_end_the_session() {
    for error in [ErrorCode::AUTH_FAILED, ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH] {
        let mut lab = begun();
        let xid = send(&mut lab, b"me");
        lab.reply(xid, 0, error);
        lab.close_by_server();
        assert_eq!(ended(&mut lab), Some(SessionEnd::AuthFailed(error)));
    }
}

#[test]
fn a_mechanism_that_fails_ends_the_session() {
    let mut lab = begun();
    let xid = send(&mut lab, b"me");
    answer(&mut lab, xid, Some(b"I am not who you think"));
    lab.session.handle_sasl(lab.now, SaslAnswer::Failed(SaslFailure::ServerUnproved));
    assert_eq!(ended(&mut lab), Some(SessionEnd::SaslFailed(SaslFailure::ServerUnproved)));
    assert_eq!(lab.sent(), []);
}

#[test]
fn a_token_above_the_frame_limit_ends_the_session() {
    let mut lab = Lab::with(1, |config| {
        config.sasl = Sasl::Required;
        config.limits.max_frame = 100;
    });
    begin(&mut lab);
    lab.session.handle_sasl(lab.now, SaslAnswer::Token(&[0; 100]));
    assert_eq!(ended(&mut lab), Some(SessionEnd::SaslFailed(SaslFailure::TokenTooLong)));
}

/// An error that says nothing of the credentials is worth another attempt.
#[test]
fn another_refusal_costs_the_connection() {
    let mut lab = begun();
    let xid = send(&mut lab, b"me");
    lab.reply(xid, 0, ErrorCode::MARSHALLING_ERROR);
    let refused = ProtocolError::SaslRefused(ErrorCode::MARSHALLING_ERROR);
    assert_eq!(attempt_failed(&mut lab), ConnectionEnd::Protocol(refused));
}

/// Servers before 3.5.9 close without a word. That is tried again, ever more rarely, and not for
/// ever: each accepted handshake keeps the session alive on the server, its ephemeral znodes too.
#[test]
fn a_server_that_closes_in_the_exchange_is_no_hot_loop() {
    let mut lab = lab();
    begin(&mut lab);
    exchange(&mut lab);
    lab.events();
    let connected_at = lab.now;
    lab.close_by_server();
    lab.events();
    let mut attempts = 0;
    let end = loop {
        begin(&mut lab);
        send(&mut lab, b"");
        lab.close_by_server();
        attempts += 1;
        let events = lab.events();
        let told = |event: &Event<u32, u32>| {
            matches!(event, Event::ConnectFailed { end: ConnectionEnd::ClosedInSasl, .. })
        };
        assert!(events.iter().any(told), "{events:?}");
        let until_dead = TIMEOUT * 4 / 3;
        if lab.session.poll_timeout().is_some_and(|at| at >= connected_at + until_dead) {
            lab.pass(10_000);
            break lab.events().pop();
        }
    };
    assert_eq!(end, Some(Event::Ended(SessionEnd::Expired(Expiry::Unreachable))));
    assert!((5..60).contains(&attempts), "{attempts}");
}

/// A driver that lacks the mechanism drops the transport.
#[test]
fn a_close_while_the_mechanism_works_is_the_drivers() {
    let mut lab = begun();
    lab.close_by_server();
    assert_eq!(attempt_failed(&mut lab), ConnectionEnd::Closed);
}

#[test]
fn foreign_frames_cost_the_connection() {
    let foreign: [fn(&mut Lab, Xid); 7] = [
        |lab, _| lab.pong(1),
        |lab, _| lab.reply(Xid::AUTH, 0, ErrorCode::OK),
        |lab, _| lab.notify(1, EventType::NODE_DELETED, "/a"),
        |lab, xid| lab.reply(Xid::new(xid.get() + 1), 0, ErrorCode::OK),
        |lab, xid| lab.reply(xid, 0, ErrorCode::OK),
        |lab, _| lab.session.handle_frame(lab.now, Bytes::from_static(b"\0")),
        |lab, _| lab.accept(),
    ];
    for send_foreign in foreign {
        let mut lab = begun();
        let xid = send(&mut lab, b"");
        send_foreign(&mut lab, xid);
        assert!(matches!(attempt_failed(&mut lab), ConnectionEnd::Protocol(_)));
        begin(&mut lab);
        exchange(&mut lab);
        assert!(lab.session.is_connected());
    }
}

#[test]
fn a_server_that_speaks_out_of_turn_costs_the_connection() {
    let mut lab = begun();
    answer(&mut lab, Xid::new(1), Some(b"me first"));
    let expected = ProtocolError::UnexpectedReply { expected: None, got: Xid::new(1) };
    assert_eq!(attempt_failed(&mut lab), ConnectionEnd::Protocol(expected));
}

#[test]
fn a_close_in_the_exchange_abandons_the_session() {
    let mut lab = begun();
    lab.session.close(lab.now);
    assert_eq!(ended(&mut lab), Some(SessionEnd::Abandoned));
    assert_eq!(lab.session.poll_sasl(), None);
}

/// The server's clock goes by the timeout of the last handshake, exchange or not.
#[test]
fn a_shorter_timeout_shortens_the_lease_before_the_exchange() {
    for grade in [LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum] {
        let mut lab = Lab::with(1, |config| {
            config.sasl = Sasl::Required;
            config.grade = grade;
        });
        begin(&mut lab);
        exchange(&mut lab);
        assert_eq!(lab.session.lease_deadline(), Some(lab.now + LEASE));
        lab.close_by_server();
        lab.open();
        lab.accept_as(SESSION, Duration::from_secs(2));
        let shorter = lab.now + Duration::from_millis(1800);
        assert_eq!(lab.session.lease_deadline(), Some(shorter));
    }
}

/// The server refuses whatever comes first, be it a ping or the watches.
#[test]
fn a_session_without_sasl_ends_where_it_is_demanded() {
    let demanded = ErrorCode::SESSION_CLOSED_REQUIRE_SASL_AUTH;
    let mut lab = Lab::connected();
    lab.pass(2000);
    assert_eq!(lab.opcodes_sent(), [OpCode::PING]);
    lab.reply(Xid::PING, 0, demanded);
    assert_eq!(ended(&mut lab), Some(SessionEnd::AuthFailed(demanded)));

    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.connect();
    let sent = lab.sent_one();
    assert_eq!(sent.opcode, OpCode::SET_WATCHES);
    lab.reply(sent.xid, 0, demanded);
    assert_eq!(ended(&mut lab), Some(SessionEnd::AuthFailed(demanded)));
}

#[test]
fn tokens_are_not_shown() {
    let mut lab = begun();
    for answer in [SaslAnswer::Token(b"secret"), SaslAnswer::LastToken(b"secret")] {
        let shown = format!("{answer:?}");
        assert!(shown.contains("redacted") && !shown.contains("115, 101"), "{shown}");
    }
    lab.session.handle_sasl(lab.now, SaslAnswer::Token(b"secret"));
    let shown = format!("{:?}", lab.session);
    assert!(!shown.contains("secret") && !shown.contains("115, 101"), "{shown}");
}
