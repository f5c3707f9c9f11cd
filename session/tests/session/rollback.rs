//! Ensembles that were emptied, or restored from a copy: zxids go back from one session to the next.

use core::time::Duration;

use zk_jute::records::{ConnectResponse, CreateMode, CreateRequest, GetDataRequest, MultiRequest};
use zk_jute::{ErrorCode, Request, SessionId, Vector, Xid, Zxid};
use zk_session::{Event, Expiry, Failure, Rollback, Session, SessionEnd};

use crate::lab::{Lab, TIMEOUT};

const SEEN: i64 = 1_000;
const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };
const CREATE: CreateRequest<'_> =
    CreateRequest { path: "/a", data: None, acl: Vector::OPEN, mode: CreateMode::EPHEMERAL };

/// Returns the lab of a session that has seen this zxid, and that its server then refused to continue.
fn expired(seen: i64) -> Lab {
    let mut lab = Lab::connected();
    read(&mut lab, seen);
    expire(&mut lab);
    lab
}

fn expire(lab: &mut Lab) {
    lab.close_by_server();
    lab.open();
    lab.accept_as(SessionId::NONE, Duration::ZERO);
    lab.events();
    assert_eq!(lab.session.ended(), Some(SessionEnd::Expired(Expiry::Refused)));
}

fn replace(expired: &Lab) -> Lab {
    Lab::of(Session::replacing(&expired.session, Lab::config(1), 2, expired.now), expired.now)
}

/// Returns the lab of a session that replaces one which has seen this zxid.
fn next(seen: i64) -> Lab {
    let mut lab = replace(&expired(seen));
    assert_eq!(lab.connect().last_zxid_seen, Zxid::ZERO);
    lab.events();
    lab
}

fn send<Q: Request>(lab: &mut Lab, request: &Q) -> Xid {
    lab.session.submit(lab.now, 1, request).expect("it is connected");
    lab.sent_one().xid
}

fn read(lab: &mut Lab, zxid: i64) {
    let xid = send(lab, &READ);
    lab.reply(xid, zxid, ErrorCode::OK);
}

fn create(lab: &mut Lab, zxid: i64) {
    let xid = send(lab, &CREATE);
    lab.reply(xid, zxid, ErrorCode::OK);
}

/// Returns the rollbacks among the events since the last call.
fn rollbacks(lab: &mut Lab) -> Vec<Rollback> {
    let events = lab.events().into_iter();
    events
        .filter_map(|event| if let Event::RolledBack(it) = event { Some(it) } else { None })
        .collect()
}

const fn rollback(seen: i64, written: i64) -> Rollback {
    Rollback { seen: Zxid::new(seen), written: Zxid::new(written) }
}

#[test]
fn a_write_with_a_zxid_that_was_seen_before_shows_a_rollback_once() {
    for written in [4, SEEN] {
        let mut lab = next(SEEN);
        create(&mut lab, written);
        let events = lab.events();
        assert!(
            matches!(*events, [Event::RolledBack(it), Event::Completed { .. }] if it == rollback(SEEN, written)),
            "{events:?}"
        );
        create(&mut lab, written + 1);
        assert_eq!(rollbacks(&mut lab), []);
    }
}

#[test]
fn an_ensemble_that_goes_on_is_not_accused() {
    let mut lab = next(SEEN);
    create(&mut lab, SEEN + 1);
    assert_eq!(rollbacks(&mut lab), []);
}

/// A server that lags answers a read of a new session so, and a refusal or a multi says nothing of a commit.
#[test]
fn only_a_write_that_succeeded_shows_a_rollback() {
    let mut lab = next(SEEN);
    read(&mut lab, 3);
    let refused = send(&mut lab, &CREATE);
    lab.reply(refused, 4, ErrorCode::NODE_EXISTS);
    let multi = send(&mut lab, &MultiRequest::new(&[]));
    lab.reply(multi, 5, ErrorCode::OK);
    lab.pong(6);
    let events = lab.events();
    let refused = Err(Failure::Refused(ErrorCode::NODE_EXISTS));
    assert!(events.contains(&Event::Completed { tag: 1, outcome: refused }), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::RolledBack(_))), "{events:?}");
    create(&mut lab, 7);
    assert_eq!(rollbacks(&mut lab), [rollback(SEEN, 7)]);
}

/// The session in between has seen little, and written nothing.
#[test]
fn what_a_session_saw_counts_until_a_later_one_writes() {
    let mut lab = next(SEEN);
    read(&mut lab, 3);
    expire(&mut lab);
    let mut lab = replace(&lab);
    lab.connect();
    create(&mut lab, 7);
    assert_eq!(rollbacks(&mut lab), [rollback(SEEN, 7)]);
    expire(&mut lab);
    let mut lab = replace(&lab);
    lab.connect();
    create(&mut lab, 8);
    assert_eq!(rollbacks(&mut lab), [], "the session before reported it");
}

/// How other servers number transactions is not known.
#[test]
fn servers_that_are_not_zookeepers_are_not_accused() {
    let mut lab = replace(&expired(SEEN));
    lab.open();
    lab.receive(&ConnectResponse {
        protocol_version: 0,
        timeout: i32::try_from(TIMEOUT.as_millis()).expect("a timeout"),
        session_id: SessionId::new(7),
        password: Some(&[0; 16]),
        read_only: Some(false),
    });
    create(&mut lab, 4);
    assert_eq!(rollbacks(&mut lab), []);
}

/// Almost all answers take the short way past the queue of events.
#[test]
fn an_answer_that_is_picked_hides_no_rollback() {
    let mut lab = next(SEEN);
    let xid = send(&mut lab, &CREATE);
    let frame = crate::lab::encoded(&crate::lab::header(xid, 4, ErrorCode::OK));
    let picked = lab.session.handle_frame_picking(lab.now, frame, Ok::<u32, u32>);
    assert_eq!(picked, None);
    assert_eq!(rollbacks(&mut lab), [rollback(SEEN, 4)]);
}
