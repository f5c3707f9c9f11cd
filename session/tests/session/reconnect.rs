//! Losing a connection and making the next one.

use core::time::Duration;
use std::collections::BTreeSet;

use zk_jute::records::{EventType, GetDataRequest};
use zk_jute::{ErrorCode, Zxid};
use zk_session::{
    ConnectionEnd, Event, Expiry, Failure, Session, SessionEnd, TransportCommand, Watching,
    WhileDisconnected,
};

use crate::lab::{Lab, after};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

#[test]
fn what_was_in_flight_ends_as_connection_loss() {
    let mut lab = Lab::connected();
    lab.events();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    lab.sent();
    lab.session.submit(lab.now, 2, &READ).expect("accepted");
    lab.close_by_server();
    let lost = |tag| Event::Completed { tag, outcome: Err(Failure::ConnectionLoss) };
    let disconnected =
        Event::Disconnected { end: ConnectionEnd::Closed, lease_deadline: Some(after(5400)) };
    assert_eq!(lab.events(), [disconnected, lost(1), lost(2)]);
    lab.connect();
    assert_eq!(lab.sent(), [], "nothing is sent again");
}

/// An event's -1 does not overwrite what was seen, and what was seen is sent
/// (bonifaido/rust-zookeeper #50).
#[test]
fn the_handshake_tells_the_highest_zxid_seen() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, 41, ErrorCode::NO_NODE);
    lab.notify(-1, EventType::NODE_DELETED, "/b");
    lab.pass(2000);
    lab.pong(40);
    assert_eq!(lab.session.last_zxid(), Zxid::new(41));
    lab.close_by_server();
    assert_eq!(lab.connect().last_zxid_seen, Zxid::new(41));
}

/// Since 3.9 an event carries its transaction, and a server that lacks it is in the past.
#[test]
fn the_zxid_of_an_event_counts_for_the_handshake() {
    let mut lab = Lab::connected();
    lab.notify(77, EventType::NODE_DELETED, "/b");
    lab.close_by_server();
    assert_eq!(lab.connect().last_zxid_seen, Zxid::new(77));
}

/// A frame that does not fit proves nothing about what the server has applied.
#[test]
fn the_zxid_of_an_unexpected_reply_does_not_count() {
    let mut lab = Lab::connected();
    lab.reply(zk_jute::Xid::new(9), i64::MAX, ErrorCode::OK);
    assert_eq!(lab.connect().last_zxid_seen, Zxid::ZERO);
}

#[test]
fn all_servers_are_tried_in_turn() {
    let mut lab = Lab::with(3, |_| ());
    let mut tried = BTreeSet::new();
    for _ in 0..3 {
        tried.insert(lab.wanted_server());
        lab.close_by_server();
    }
    assert_eq!(tried.len(), 3);
}

#[test]
fn a_failed_attempt_tells_its_server_and_when_the_next_one_begins() {
    let mut lab = Lab::new();
    let tried = lab.wanted_server();
    lab.close_by_server();
    let events = lab.events();
    let [Event::ConnectFailed { server, end, retry_at }] = events.as_slice() else {
        unreachable!("{events:?}")
    };
    assert_eq!((*server, *end), (tried, ConnectionEnd::Closed));
    assert_eq!(lab.session.poll_timeout(), Some(*retry_at));
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    assert_eq!(lab.session.poll_transport(), None);
}

/// Opening a transport does not reset the backoff, nor does a session that is accepted and ended
/// before long, since its first request may be what the server does not take (ZOOKEEPER-706), and
/// one answer costs a server nothing that answers the next with something unreadable; a connection
/// that lasted does.
#[test]
fn only_a_connection_that_lasted_resets_the_backoff() {
    let mut lab = Lab::with(1, |config| {
        config.session_timeout = Duration::from_secs(600);
    });
    lab.open();
    lab.accept_as(crate::lab::SESSION, Duration::from_secs(600));
    lab.watch(Watching::GetData("/a"), 7, 1);
    lab.close_by_server();
    assert!(longest_wait(&mut lab, Lab::close_by_server) > Duration::from_millis(500));

    let accepted = |lab: &mut Lab| lab.accept_as(crate::lab::SESSION, Duration::from_secs(600));
    let dropped = |lab: &mut Lab| {
        accepted(lab);
        lab.close_by_server();
    };
    assert!(longest_wait(&mut lab, dropped) > Duration::from_millis(500));

    let throttled = |lab: &mut Lab| {
        accepted(lab);
        let set = lab.sent_one();
        lab.reply(set.xid, 0, ErrorCode::THROTTLED_OP);
    };
    assert!(longest_wait(&mut lab, throttled) > Duration::from_millis(500));

    let served_once = |lab: &mut Lab| {
        accepted(lab);
        lab.pong(0);
        lab.sleep(900);
        lab.pong(0);
        lab.close_by_server();
    };
    assert!(longest_wait(&mut lab, served_once) > Duration::from_millis(500));

    let lasted_and_broke = |lab: &mut Lab| {
        accepted(lab);
        lab.sleep(5000);
        lab.pong(0);
        lab.reply(zk_jute::Xid::new(77), 1, ErrorCode::OK);
    };
    assert!(longest_wait(&mut lab, lasted_and_broke) > Duration::from_millis(500));

    let lasted = |lab: &mut Lab| {
        accepted(lab);
        lab.sleep(1000);
        lab.close_by_server();
    };
    assert!(longest_wait(&mut lab, lasted) <= Duration::from_millis(10));
}

/// Callers wait. One that has lasted, and is the only one, is not back yet.
#[test]
fn another_server_is_dialled_at_once_after_a_connection_that_lasted() {
    for servers in [1, 3] {
        let mut lab = Lab::with(servers, |_| ());
        let mut waited = Vec::new();
        for _ in 0..20 {
            let connected = lab.connect().server;
            lab.sleep(1000);
            lab.close_by_server();
            lab.events();
            let due = lab.session.poll_timeout().expect("a next attempt");
            waited.push(due.saturating_since(lab.now));
            assert_eq!(lab.wanted_server() == connected, servers == 1);
            lab.close_by_server();
            lab.events();
        }
        let never = waited.iter().all(|wait| *wait == Duration::ZERO);
        assert_eq!(never, servers > 1, "{waited:?}");
    }
}

/// The requests that a server can cause if it answers each one once and then breaks the protocol, or says that the
/// session is over, for as long as it likes.
#[test]
fn a_server_that_answers_and_then_breaks_off_is_dialled_at_the_pace_of_the_cap() {
    let breaks: [fn(&mut Lab); 3] = [
        |lab| lab.reply(zk_jute::Xid::new(77), 1, ErrorCode::OK),
        |lab| lab.reply(zk_jute::Xid::PING, 1, ErrorCode::SESSION_EXPIRED),
        Lab::close_by_server,
    ];
    for broken in breaks {
        let mut lab = Lab::new();
        let begun = lab.now;
        for _ in 0..200 {
            lab.connect();
            lab.pong(1);
            broken(&mut lab);
            lab.events();
        }
        let took = lab.now.saturating_since(begun);
        assert!(took > Duration::from_secs(60), "200 connections within {took:?}");
    }
}

/// A server that refuses each session at its second connection ends it as expired: the session that
/// takes its place has no fresh backoff.
#[test]
fn a_session_in_the_place_of_an_expired_one_goes_on_with_its_backoff() {
    let mut lab = Lab::new();
    let begun = lab.now;
    for seed in 0..200 {
        lab.connect();
        lab.pong(1);
        lab.close_by_server();
        lab.open();
        lab.accept_as(zk_jute::SessionId::NONE, Duration::ZERO);
        let expired = SessionEnd::Expired(Expiry::Refused);
        assert_eq!(lab.session.ended(), Some(expired));
        let next = Session::replacing(&lab.session, Lab::config(1), seed, lab.now);
        lab = Lab::of(next, lab.now);
    }
    let took = lab.now.saturating_since(begun);
    assert!(took > Duration::from_secs(60), "200 sessions within {took:?}");
}

/// Returns how often a client dials within ten seconds if every server makes a session with this
/// timeout, and then says nothing.
fn dials(servers: usize, granted: Duration) -> usize {
    let mut lab = Lab::with(servers, |_| ());
    let (mut dials, end) = (0, lab.now + Duration::from_secs(10));
    for seed in 0_i64.. {
        while lab.session.ended().is_none() && lab.now < end {
            if let Some(TransportCommand::Connect(_)) = lab.session.poll_transport() {
                dials += 1;
                lab.session.handle_opened(lab.now);
                lab.accept_as(zk_jute::SessionId::new(seed + 1), granted);
            }
            lab.pass(1);
            lab.events();
        }
        if end <= lab.now {
            break;
        }
        let config = Lab::config(servers);
        let next = Session::replacing(&lab.session, config, seed.unsigned_abs(), lab.now);
        lab = Lab::of(next, lab.now);
    }
    dials
}

/// However short the sessions are that servers grant, and whichever side notices their end.
#[test]
fn a_session_that_did_not_live_charges_the_backoff() {
    for servers in [1, 3, 5] {
        for millis in [1, 10, 50, 99, 100, 150, 300, 700, 1000] {
            let dials = dials(servers, Duration::from_millis(millis));
            assert!(dials <= 60, "{dials} dials of {servers} servers that grant {millis} ms");
        }
    }
}

/// A timeout that is granted far below what was asked for, and that no connection can keep, is refused.
#[test]
fn an_absurd_timeout_is_refused() {
    let mut lab = Lab::new();
    lab.open();
    lab.accept_as(zk_jute::SessionId::new(7), Duration::from_millis(99));
    let (granted, asked) = (Duration::from_millis(99), crate::lab::TIMEOUT);
    let error = zk_session::ProtocolError::TimeoutTooShort { granted, asked };
    let events = lab.events();
    assert!(
        matches!(events[..], [Event::ConnectFailed { end: ConnectionEnd::Protocol(found), .. }]
            if found == error),
        "{events:?}"
    );
    assert_eq!(lab.session.id(), None, "the session is not taken");
    lab.open();
    lab.accept_as(zk_jute::SessionId::new(8), Duration::from_millis(100));
    assert!(lab.session.is_connected());
    let mut lab = Lab::with(1, |config| config.session_timeout = Duration::from_millis(40));
    lab.open();
    lab.accept_as(zk_jute::SessionId::new(9), Duration::from_millis(40));
    assert!(lab.session.is_connected(), "it was asked for");
}

/// Returns the longest of many waits after an attempt that goes so once the transport is open.
fn longest_wait(lab: &mut Lab, mut goes: impl FnMut(&mut Lab)) -> Duration {
    let mut longest = Duration::ZERO;
    for _ in 0..30 {
        lab.open();
        goes(lab);
        lab.events();
        let due = lab.session.poll_timeout().expect("a next attempt");
        longest = longest.max(due.saturating_since(lab.now));
    }
    longest
}

/// The loss of one server costs no more than a short wait for each of the others.
#[test]
fn a_round_of_all_servers_is_one_step_of_the_backoff() {
    let mut lab = Lab::with(32, |_| ());
    for _ in 0..32 {
        lab.wanted_server();
        lab.close_by_server();
        let due = lab.session.poll_timeout().expect("a next attempt");
        assert!(due.saturating_since(lab.now) <= Duration::from_millis(10));
    }
}

#[test]
fn requests_are_refused_without_a_connection() {
    let mut lab = Lab::new();
    assert_eq!(lab.session.submit(lab.now, 1, &READ), Err(zk_session::SubmitError::NotConnected));
    lab.open();
    assert_eq!(lab.session.submit(lab.now, 1, &READ), Err(zk_session::SubmitError::NotConnected));
}

#[test]
fn queued_requests_outlive_failed_attempts_and_leave_in_order() {
    let mut lab = Lab::with(1, |config| {
        config.while_disconnected = WhileDisconnected::Queue;
    });
    lab.session.submit(lab.now, 1, &READ).expect("queued");
    lab.open();
    lab.close_by_server();
    lab.session.submit(lab.now, 2, &READ).expect("queued");
    lab.connect();
    lab.session.submit(lab.now, 3, &READ).expect("sent");
    lab.events();
    for (tag, sent) in (1..).zip(lab.sent()) {
        lab.reply(sent.xid, 1, ErrorCode::NO_NODE);
        let refused = Event::Completed { tag, outcome: Err(Failure::Refused(ErrorCode::NO_NODE)) };
        assert_eq!(lab.events(), [refused]);
    }
}

#[test]
fn requests_that_were_never_sent_say_so_when_the_session_ends() {
    let mut lab = Lab::connected_with(|config| {
        config.while_disconnected = WhileDisconnected::Queue;
    });
    lab.close_by_server();
    lab.session.submit(lab.now, 1, &READ).expect("queued");
    lab.pass(8000);
    let unsent = Event::Completed { tag: 1, outcome: Err(Failure::NotSent) };
    assert!(lab.events().contains(&unsent));
}
