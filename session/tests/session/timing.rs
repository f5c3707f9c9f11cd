//! Pings, silence, attempts to connect.

use core::time::Duration;

use zk_jute::records::{GetDataRequest, SetDataRequest};
use zk_jute::{ErrorCode, OpCode, Version, Xid};
use zk_session::{ConnectionEnd, Event, TransportCommand};

use crate::lab::{Lab, SESSION, after};

#[test]
fn a_ping_leaves_when_nothing_was_sent_for_a_third_of_the_timeout() {
    let mut lab = Lab::connected();
    lab.pass(1999);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    let ping = lab.sent_one();
    assert_eq!((ping.xid, ping.opcode), (Xid::PING, OpCode::PING));
    lab.pong(1);
    lab.pass(1999);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    assert_eq!(lab.opcodes_sent(), [OpCode::PING]);
}

#[test]
fn a_request_counts_as_a_ping() {
    let mut lab = Lab::connected();
    lab.pass(1500);
    let read = GetDataRequest { path: "/a", watch: false };
    lab.session.submit(lab.now, 1, &read).expect("accepted");
    lab.pass(1999);
    assert_eq!(lab.opcodes_sent(), [OpCode::GET_DATA]);
    lab.pass(1);
    assert_eq!(lab.opcodes_sent(), [OpCode::PING]);
}

#[test]
fn one_ping_at_a_time_is_on_its_way() {
    let mut lab = Lab::connected();
    lab.pass(3900);
    assert_eq!(lab.opcodes_sent(), [OpCode::PING]);
}

/// A ping overtakes the requests that wait for the transport (kazoo #364).
#[test]
fn a_ping_is_sent_before_requests_that_were_queued_earlier() {
    let mut lab = Lab::connected();
    let data = vec![0; 1_000_000];
    for tag in 0..4 {
        let write = SetDataRequest { path: "/a", data: Some(&data), version: Version::ANY };
        lab.session.submit(lab.now, tag, &write).expect("accepted");
    }
    lab.pass(2000);
    let opcodes = lab.opcodes_sent();
    assert_eq!(opcodes.first(), Some(&OpCode::PING));
    assert_eq!(opcodes.len(), 5);
}

/// A half-open connection is left at two thirds of the timeout, pings or not (kazoo #66).
#[test]
fn a_silent_connection_is_given_up_at_two_thirds_of_the_timeout() {
    let mut lab = Lab::connected();
    lab.pass(3999);
    assert!(lab.session.is_connected());
    lab.events();
    lab.pass(1);
    let silent =
        Event::Disconnected { end: ConnectionEnd::Silent, lease_deadline: Some(after(5400)) };
    assert_eq!(lab.events(), [silent]);
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    assert_eq!(lab.connect().session, SESSION);
    assert!(lab.now < after(4020), "the next attempt follows at once");
}

#[test]
fn whatever_arrives_breaks_the_silence() {
    let mut lab = Lab::connected();
    lab.pass(3000);
    lab.pong(1);
    lab.pass(3999);
    assert!(lab.session.is_connected());
    lab.pass(1);
    assert!(!lab.session.is_connected());
}

/// Each of two servers gets a sixth of the timeout, for the transport and again for the handshake:
/// both can be tried three times while the session lives.
#[test]
fn an_attempt_to_connect_is_given_up_after_its_share_of_the_timeout() {
    let mut lab = Lab::with(2, |_| ());
    let first = lab.wanted_server();
    lab.pass(999);
    assert_eq!(lab.events(), []);
    lab.pass(1);
    let events = lab.events();
    let timed_out = |server| match events.as_slice() {
        [Event::ConnectFailed { server: tried, end, .. }] => {
            *tried == server && *end == ConnectionEnd::TimedOut
        }
        _ => false,
    };
    assert!(timed_out(first), "{events:?}");

    let second = lab.open().server;
    assert_ne!(first, second);
    lab.pass(999);
    assert_eq!(lab.events(), []);
    lab.pass(1);
    let events = lab.events();
    assert!(
        matches!(
            events.as_slice(),
            [Event::ConnectFailed { server, end: ConnectionEnd::TimedOut, .. }] if *server == second
        ),
        "{events:?}"
    );
}

/// Name servers may be slow, and TLS takes round trips: before the first session the attempts last
/// longer with each round, so a transport that takes longer than its share is opened in the end.
#[test]
fn without_a_session_attempts_last_longer_with_each_round_that_came_to_nothing() {
    let mut lab = Lab::with(2, |_| ());
    let mut lasted = Vec::new();
    for _ in 0..12 {
        lab.wanted_server();
        let began = lab.now;
        lab.now = lab.session.poll_timeout().expect("an attempt has an end");
        lasted.push(lab.now.saturating_since(began).as_secs());
        lab.tick();
    }
    assert_eq!(lasted, [1, 1, 2, 2, 4, 4, 8, 8, 12, 12, 12, 12]);
}

/// It is made again by the next server, if there is one that answers.
#[test]
fn with_a_session_no_attempt_lasts_longer_than_its_share() {
    let mut lab = Lab::with(2, |_| ());
    lab.connect();
    lab.close_by_server();
    while lab.session.ended().is_none() {
        if let Some(TransportCommand::Connect(_)) = lab.session.poll_transport() {
            let due = lab.session.poll_timeout().expect("an attempt has an end");
            assert!(due.saturating_since(lab.now) <= Duration::from_secs(1));
        }
        lab.now = lab.session.poll_timeout().unwrap_or(lab.now);
        lab.tick();
    }
}

/// A timeout of nothing is legal to ask for: the server grants its least.
#[test]
fn an_attempt_lasts_a_while_even_if_no_timeout_is_asked_for() {
    let mut lab = Lab::with(1, |config| config.session_timeout = Duration::ZERO);
    lab.wanted_server();
    lab.pass(99);
    assert_eq!(lab.events(), []);
    lab.pass(1);
    assert_eq!(lab.events().len(), 1);
}

#[test]
fn a_call_before_anything_is_due_does_nothing() {
    let mut lab = Lab::connected();
    let due = lab.session.poll_timeout();
    lab.events();
    for _ in 0..3 {
        lab.sleep(500);
        lab.tick();
        assert_eq!(lab.session.poll_timeout(), due);
    }
    assert_eq!(lab.events(), []);
    assert_eq!(lab.sent(), []);
    let read = GetDataRequest { path: "/a", watch: false };
    lab.session.submit(lab.now, 1, &read).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, 1, ErrorCode::OK);
    assert_eq!(lab.events().len(), 1);
}

/// One server that never answers must not cost the session.
#[test]
fn an_attempt_takes_three_seconds_at_most() {
    let mut lab = Lab::with(1, |config| config.session_timeout = Duration::from_secs(60));
    lab.wanted_server();
    lab.pass(2999);
    assert_eq!(lab.events(), []);
    lab.pass(1);
    assert!(matches!(lab.events().as_slice(), [Event::ConnectFailed { .. }]));
}
