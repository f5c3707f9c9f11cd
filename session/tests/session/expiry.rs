//! Sessions that end without being asked to.

use zk_jute::records::{ConnectResponse, GetDataRequest};
use zk_jute::{ErrorCode, SessionId, Xid};
use zk_session::lease::LeaseGrade;
use zk_session::{
    ConnectionEnd, Event, Expiry, Failure, SessionEnd, SubmitError, TransportCommand, Watching,
};

use crate::lab::{Lab, SESSION, TIMEOUT, after};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

#[test]
fn a_refused_session_is_expired_and_takes_its_watches_along() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.open();
    lab.events();
    lab.receive(&ConnectResponse::REFUSED);
    let end = SessionEnd::Expired(Expiry::Refused);
    assert_eq!(lab.events(), [Event::WatchLost { watcher: 1 }, Event::Ended(end)]);
    assert_eq!(lab.session.ended(), Some(end));
    assert_eq!(lab.session.poll_timeout(), None);
    assert_eq!(lab.session.lease_deadline(), None);
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    let submitted = lab.session.submit(lab.now, 1, &READ);
    assert_eq!(submitted, Err(SubmitError::Closed));
}

/// A server hands out another session instead of refusing this one (`ClickHouse` #116690).
#[test]
fn another_session_id_is_the_expiry_of_this_session() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.open();
    lab.events();
    let other = SessionId::new(0x55);
    lab.accept_as(other, TIMEOUT);
    assert_eq!(
        lab.events(),
        [
            Event::WatchLost { watcher: 1 },
            Event::Ended(SessionEnd::Expired(Expiry::Replaced(other)))
        ]
    );
}

/// With no server in reach, four thirds of the timeout after the last sign of life
/// (ZOOKEEPER-4508).
#[test]
fn the_session_is_declared_dead_at_four_thirds_of_the_timeout() {
    let mut lab = Lab::connected();
    lab.sleep(1000);
    lab.notify(-1, zk_jute::records::EventType::NODE_DELETED, "/b");
    lab.close_by_server();
    lab.pass(7999);
    assert_eq!(lab.session.ended(), None);
    lab.pass(1);
    assert_eq!(lab.now, after(9000));
    let end = SessionEnd::Expired(Expiry::Unreachable);
    assert_eq!(lab.events().last(), Some(&Event::Ended(end)));
}

/// Also while an attempt to connect hangs.
#[test]
fn the_session_is_declared_dead_in_the_midst_of_an_attempt() {
    let mut lab = Lab::connected();
    lab.close_by_server();
    lab.wanted_server();
    lab.pass(5000);
    lab.open();
    lab.pass(3000);
    assert_eq!(lab.session.ended(), Some(SessionEnd::Expired(Expiry::Unreachable)));
}

/// Every server closes the connection in the handshake, because it is behind (kazoo #42).
#[test]
fn servers_that_refuse_by_closing_are_tried_until_the_session_is_dead() {
    let mut lab = Lab::with(3, |_| ());
    lab.connect();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, 1_000_000, ErrorCode::NO_NODE);
    lab.close_by_server();
    lab.events();
    let mut attempts = 0;
    while lab.session.ended().is_none() {
        if let Some(TransportCommand::Connect(_)) = lab.session.poll_transport() {
            lab.session.handle_opened(lab.now);
            lab.close_by_server();
            attempts += 1;
        }
        lab.now = lab.session.poll_timeout().unwrap_or(lab.now);
        lab.tick();
    }
    assert_eq!(lab.session.ended(), Some(SessionEnd::Expired(Expiry::Unreachable)));
    assert_eq!(lab.now, after(8000));
    assert!((10..200).contains(&attempts), "{attempts} attempts");
}

/// A leader of the ensemble that was deposed, and does not know it, says so of sessions that live
/// on: the next handshake decides.
#[test]
fn a_reply_that_tells_the_expiry_ends_the_connection_alone() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    lab.session.submit(lab.now, 2, &READ).expect("accepted");
    let sent = lab.sent().swap_remove(0);
    lab.events();
    lab.reply(sent.xid, 9, ErrorCode::SESSION_EXPIRED);
    let completed = |tag, failure| Event::Completed { tag, outcome: Err(failure) };
    let end = ConnectionEnd::ExpiryClaimed;
    assert_eq!(
        lab.events(),
        [
            completed(1, Failure::Refused(ErrorCode::SESSION_EXPIRED)),
            Event::Disconnected { end, lease_deadline: Some(after(5400)) },
            completed(2, Failure::ConnectionLoss),
        ]
    );
    assert_eq!(lab.connect().session, SESSION);
    assert!(matches!(*lab.events(), [Event::Connected { session: SESSION, .. }]));
}

#[test]
fn a_ping_that_tells_the_expiry_ends_the_connection_alone() {
    for grade in [LeaseGrade::Contact, LeaseGrade::Quorum] {
        let mut lab = Lab::connected_with(|config| config.grade = grade);
        lab.events();
        lab.pass(2000);
        lab.reply(Xid::PING, 1, ErrorCode::SESSION_EXPIRED);
        let end = ConnectionEnd::ExpiryClaimed;
        let lease_deadline = Some(after(5400));
        assert_eq!(lab.events(), [Event::Disconnected { end, lease_deadline }]);
        lab.open();
        lab.events();
        lab.receive(&ConnectResponse::REFUSED);
        assert_eq!(lab.events(), [Event::Ended(SessionEnd::Expired(Expiry::Refused))]);
    }
}

/// `setWatches` passes the leader's check of the session as well.
#[test]
fn watches_that_are_not_set_since_the_session_is_said_to_be_expired_are_kept() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 1, 5);
    lab.close_by_server();
    lab.connect();
    let set = lab.sent_one();
    lab.events();
    lab.reply(set.xid, 9, ErrorCode::SESSION_EXPIRED);
    let events = lab.events();
    let end = ConnectionEnd::ExpiryClaimed;
    assert!(matches!(*events, [Event::Disconnected { end: e, .. }] if e == end), "{events:?}");
    lab.connect();
    assert_eq!(lab.sent_one().opcode, set.opcode);
}

/// Without a session there is nothing to lose: the search goes on.
#[test]
fn a_session_that_was_never_granted_does_not_expire() {
    let mut lab = Lab::new();
    lab.pass(600_000);
    assert_eq!(lab.session.ended(), None);
    let failures = lab.events().len();
    assert!((40..60).contains(&failures), "{failures} failures");
}
