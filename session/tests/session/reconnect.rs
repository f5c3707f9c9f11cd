//! Losing a connection and making the next one.

use core::time::Duration;
use std::collections::BTreeSet;

use zk_jute::records::{EventType, GetDataRequest};
use zk_jute::{ErrorCode, Zxid};
use zk_session::{ConnectionEnd, Event, Failure, TransportCommand, Watching, WhileDisconnected};

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
/// before anything is answered in it, since its first request may be what the server does not take
/// (ZOOKEEPER-706); the first answer does.
#[test]
fn only_a_session_that_is_served_resets_the_backoff() {
    let mut lab = Lab::with(1, |config| {
        config.session_timeout = Duration::from_secs(600);
    });
    lab.open();
    lab.accept_as(crate::lab::SESSION, Duration::from_secs(600));
    lab.watch(Watching::GetData("/a"), 7, 1);
    lab.close_by_server();
    let mut refused = |lab: &mut Lab| {
        lab.open();
        lab.close_by_server();
        let due = lab.session.poll_timeout().expect("a next attempt");
        due.saturating_since(lab.now)
    };
    let longest = |lab: &mut Lab, refused: &mut dyn FnMut(&mut Lab) -> Duration| {
        (0..30).map(|_| refused(lab)).max().expect("waits")
    };
    assert!(longest(&mut lab, &mut refused) > Duration::from_millis(500));

    let mut dropped = |lab: &mut Lab| {
        lab.open();
        lab.accept_as(crate::lab::SESSION, Duration::from_secs(600));
        lab.close_by_server();
        lab.events();
        let due = lab.session.poll_timeout().expect("a next attempt");
        due.saturating_since(lab.now)
    };
    assert!(longest(&mut lab, &mut dropped) > Duration::from_millis(500));

    let mut throttled = |lab: &mut Lab| {
        lab.open();
        lab.accept_as(crate::lab::SESSION, Duration::from_secs(600));
        let set = lab.sent_one();
        lab.reply(set.xid, 0, ErrorCode::THROTTLED_OP);
        lab.events();
        let due = lab.session.poll_timeout().expect("a next attempt");
        due.saturating_since(lab.now)
    };
    assert!(longest(&mut lab, &mut throttled) > Duration::from_millis(500));

    lab.open();
    lab.accept_as(crate::lab::SESSION, Duration::from_secs(600));
    lab.pong(0);
    lab.close_by_server();
    lab.events();
    let due = lab.session.poll_timeout().expect("a next attempt");
    assert!(due.saturating_since(lab.now) <= Duration::from_millis(10));
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
