//! The lease counts with the least timeout that any server ever granted to the session.

use core::time::Duration;

use zk_session::lease::LeaseGrade;
use zk_session::{Config, Event, ReadOnlyServers};

use crate::beats::*;
use crate::lab::{LEASE, Lab, SESSION, TIMEOUT, after};

const GRADES: [LeaseGrade; 3] = [LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum];

fn connected(grade: LeaseGrade) -> Lab {
    Lab::connected_with(|config| accept_all(config, grade))
}

fn accept_all(config: &mut Config, grade: LeaseGrade) {
    config.grade = grade;
    config.read_only_servers = ReadOnlyServers::Accept;
}

fn reconnect(lab: &mut Lab, timeout: Duration) {
    lab.close_by_server();
    lab.open();
    lab.accept_as(SESSION, timeout);
}

/// From the handshake on, the servers go by the timeout that it brought.
#[test]
fn a_shorter_timeout_shortens_what_was_proved() {
    for grade in GRADES {
        let mut lab = connected(grade);
        lab.close_by_server();
        lab.open();
        let opened_at = lab.now;
        lab.accept_as(SESSION, Duration::from_secs(2));
        let deadline = opened_at + Duration::from_millis(1800);
        assert_eq!(lab.session.lease_deadline(), Some(deadline), "{grade:?}");
    }
}

/// A server that restarts, or a new leader of the ensemble, starts the session's clock with the
/// timeout of its creation.
#[test]
fn a_longer_timeout_does_not_lengthen_the_lease() {
    let mut lab = connected(LeaseGrade::Quorum);
    start(&mut lab);
    reconnect(&mut lab, 10 * TIMEOUT);
    let sent_at = lab.now;
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE), "by the handshake");
    lab.pass(2000);
    beat(&mut lab);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE), "by the heartbeat");
    lab.pass(1999);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    beat(&mut lab);
    let sent_at = sent_at + Duration::from_secs(2);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE));
}

/// A member that the session has left may hand over an old touch, late.
#[test]
fn a_timeout_in_between_counts_for_ever() {
    for grade in GRADES {
        let mut lab = connected(grade);
        reconnect(&mut lab, Duration::from_secs(4));
        reconnect(&mut lab, TIMEOUT);
        let left = lab.session.lease_deadline().expect("a lease").saturating_since(lab.now);
        assert!(left <= Duration::from_millis(3600), "{grade:?}: {left:?}");
    }
}

/// Read-only servers of some releases go on with a session of the ensemble.
#[test]
fn the_timeout_of_a_read_only_server_counts() {
    let mut lab = Lab::with(1, |config| accept_all(config, LeaseGrade::Contact));
    lab.open();
    lab.accept_as(SESSION, 2 * TIMEOUT);
    lab.close_by_server();
    lab.open();
    lab.accept_read_only(SESSION);
    reconnect(&mut lab, 2 * TIMEOUT);
    assert_eq!(lab.session.lease_deadline(), Some(lab.now + LEASE));
}

/// A session that a read-only server makes is none of the ensemble: its timeout is forgotten with
/// it.
#[test]
fn a_new_session_counts_with_its_own_timeout() {
    let mut lab = Lab::with(1, |config| accept_all(config, LeaseGrade::Quorum));
    lab.open();
    lab.accept_read_only(SESSION);
    reconnect(&mut lab, 2 * TIMEOUT);
    assert_eq!(lab.session.lease_deadline(), Some(lab.now + 2 * LEASE));
}

/// The connection goes by what was negotiated for it: pings, silence.
#[test]
fn the_connection_goes_by_the_negotiated_timeout() {
    let mut lab = connected(LeaseGrade::Quorum);
    reconnect(&mut lab, 2 * TIMEOUT);
    lab.events();
    lab.pass(3999);
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    assert_eq!(lab.sent_one().opcode, zk_jute::OpCode::PING);
    lab.pass(3999);
    assert!(!lab.events().iter().any(|event| matches!(event, Event::Disconnected { .. })));
    lab.pass(1);
    assert!(matches!(lab.events().last(), Some(Event::Disconnected { .. })));
}

/// Under `Contact` it is pings that prove the lease.
#[test]
fn pings_that_prove_the_lease_go_by_the_least_timeout() {
    let mut lab = connected(LeaseGrade::Contact);
    reconnect(&mut lab, 10 * TIMEOUT);
    lab.events();
    for _ in 0..10 {
        lab.pass(2000);
        assert_eq!(lab.sent_one().opcode, zk_jute::OpCode::PING);
        lab.pong(1);
    }
    assert_eq!(lab.events(), []);
    assert!(lab.now > after(20_000));
}
