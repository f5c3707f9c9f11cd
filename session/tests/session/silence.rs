//! Servers that are silent while something is in flight.

use core::time::Duration;

use bytes::BytesMut;
use zk_jute::records::{ConnectResponse, EventType, GetDataRequest, SetDataRequest};
use zk_jute::{ErrorCode, Version, Xid};
use zk_session::{Config, ConnectionEnd, Event, SilentServers, TransportCommand};

use crate::lab::{Lab, SESSION, Sent, TIMEOUT, encoded, header};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

/// A 15th of the timeout.
const BOUND: u64 = 400;

/// Longer than a connection has to last for the next one to follow at once.
const LONG: u64 = 1_500;

fn lab() -> Lab {
    lab_with(2, |_| ())
}

fn lab_with(servers: usize, adjust: impl FnOnce(&mut Config)) -> Lab {
    let mut lab = Lab::with(servers, adjust);
    lab.connect();
    lab.pass(LONG);
    lab.events();
    lab
}

fn ask(lab: &mut Lab) -> Sent {
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    lab.sent_one()
}

fn answer(lab: &mut Lab, sent: &Sent) {
    lab.reply(sent.xid, 1, ErrorCode::OK);
}

/// Returns how long it is until the session leaves the server, and how the connection ends.
fn leaves(lab: &mut Lab) -> (u64, ConnectionEnd) {
    let begun = lab.now;
    loop {
        let disconnected = lab.events().into_iter().find_map(|event| match event {
            Event::Disconnected { end, .. } => Some(end),
            _ => None,
        });
        if let Some(end) = disconnected {
            let lasted = lab.now.saturating_since(begun).as_millis();
            return (u64::try_from(lasted).expect("short"), end);
        }
        lab.now = lab.session.poll_timeout().expect("it goes on").max(lab.now);
        lab.tick();
    }
}

fn overdue(millis: u64) -> (u64, ConnectionEnd) {
    (millis, ConnectionEnd::Overdue(Duration::from_millis(millis)))
}

/// The silence of two thirds of the timeout, which counts from what was received last.
fn silent(millis: u64) -> (u64, ConnectionEnd) {
    (millis, ConnectionEnd::Silent)
}

#[test]
fn a_server_that_is_silent_is_left_for_another_one_at_once() {
    let mut lab = lab();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
    let left = lab.now;
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    assert_eq!(lab.connect().session, SESSION);
    assert_eq!(lab.now, left);
}

#[test]
fn the_bound_is_a_quarter_of_a_second_at_least() {
    let mut lab = Lab::with(2, |_| ());
    lab.open();
    lab.accept_as(SESSION, Duration::from_secs(2));
    lab.events();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(250));
}

#[test]
fn a_silence_with_nothing_in_flight_is_none() {
    let mut lab = lab();
    lab.pass(499);
    assert!(lab.session.is_connected());
    assert_eq!(lab.sent(), []);
    lab.pass(1);
    assert_eq!(lab.sent_one().xid, Xid::PING);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
}

#[test]
fn whatever_comes_in_ends_the_silence() {
    let mut lab = lab();
    let (first, _second) = (ask(&mut lab), ask(&mut lab));
    lab.pass(BOUND - 100);
    lab.notify(1, EventType::NODE_CREATED, "/b");
    lab.pass(BOUND - 100);
    answer(&mut lab, &first);
    // That one has waited for twice as long as the time since the last frame.
    assert_eq!(leaves(&mut lab), overdue(4 * (BOUND - 100)));
}

#[test]
fn the_only_server_is_not_left() {
    let mut lab = lab_with(1, |_| ());
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), silent(4_000 - LONG));
}

#[test]
fn a_silent_server_may_be_endured() {
    let mut lab = lab_with(2, |config| config.silent_servers = SilentServers::Endure);
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), silent(4_000 - LONG));
}

/// Some servers leave a request without an answer, and serve the next.
#[test]
fn a_server_of_another_family_is_not_left() {
    let mut lab = Lab::with(2, |_| ());
    lab.open();
    lab.receive(&ConnectResponse {
        protocol_version: 0,
        timeout: 6_000,
        session_id: SESSION,
        password: Some(&[0; 16]),
        read_only: Some(false),
    });
    lab.pass(LONG);
    lab.events();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), silent(4_000 - LONG));
}

/// The session would end without a word that it is closed.
#[test]
fn a_server_that_is_to_close_the_session_is_not_left() {
    let mut lab = lab();
    lab.session.close(lab.now);
    lab.pass(BOUND + 100);
    assert_eq!(lab.events(), []);
}

#[test]
fn a_wait_doubles_the_bound_for_a_minute() {
    let mut lab = lab();
    let sent = ask(&mut lab);
    lab.pass(BOUND - 100);
    answer(&mut lab, &sent);
    for _ in 0..59 {
        // Quick ones do not shorten it.
        lab.sleep(1_000);
        let sent = ask(&mut lab);
        answer(&mut lab, &sent);
    }
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(2 * (BOUND - 100)));
}

#[test]
fn a_wait_is_forgotten_in_the_end() {
    let mut lab = lab();
    let sent = ask(&mut lab);
    lab.pass(BOUND - 100);
    answer(&mut lab, &sent);
    serve_for_minutes(&mut lab, 3);
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
}

/// Answers at once, for so long.
fn serve_for_minutes(lab: &mut Lab, minutes: u64) {
    for _ in 0..minutes * 2 {
        lab.sleep(30_000);
        let sent = ask(lab);
        answer(lab, &sent);
    }
}

/// Is silent for so long, and goes on with all that was asked meanwhile.
fn pause(lab: &mut Lab, millis: u64) {
    let sent = ask(lab);
    lab.pass(millis);
    let is_ping = |sent: &Sent| sent.xid == Xid::PING;
    if lab.sent().iter().any(is_ping) {
        lab.pong(1);
    }
    answer(lab, &sent);
    assert!(lab.session.is_connected());
    lab.events();
}

/// Servers pause now and then, and would be left each time.
#[test]
fn a_pause_is_remembered_for_ten_minutes() {
    let mut lab = lab();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
    lab.connect();
    lab.sent();
    serve_for_minutes(&mut lab, 9);
    pause(&mut lab, 2 * BOUND - 1);
    serve_for_minutes(&mut lab, 9);
    pause(&mut lab, 2 * BOUND);
    serve_for_minutes(&mut lab, 30);
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
}

/// The next server is as silent: both pause, or neither reaches its leader.
#[test]
fn an_outage_of_all_servers_counts_as_one_wait() {
    let mut lab = lab();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
    lab.open();
    lab.sleep(300);
    lab.accept();
    lab.events();
    lab.sent();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(2 * (BOUND + 300)));
}

/// Where every server is slow, few connections are left: the bound soon is the one of a session that knows no
/// other server.
#[test]
fn each_departure_doubles_the_bound() {
    let mut lab = lab();
    for bound in [BOUND, 2 * BOUND, 4 * BOUND, 8 * BOUND] {
        ask(&mut lab);
        assert_eq!(leaves(&mut lab), overdue(bound));
        lab.connect();
        lab.pass(LONG);
        lab.sent();
        let sent = ask(&mut lab);
        answer(&mut lab, &sent);
        lab.events();
    }
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), silent(4_000));
}

/// What a session has measured holds for the next one, too.
#[test]
fn the_next_session_goes_on_with_the_bound() {
    let mut lab = lab();
    ask(&mut lab);
    leaves(&mut lab);
    let now = lab.now;
    let session = zk_session::Session::replacing(&lab.session, Lab::config(2), 1, now);
    let mut lab = Lab::of(session, now);
    lab.connect();
    lab.events();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(2 * BOUND));
}

/// A process that stood still has not listened: the answer may wait where the session has not seen it.
#[test]
fn a_caller_that_comes_late_begins_to_wait_anew() {
    let mut lab = lab();
    let sent = ask(&mut lab);
    lab.sleep(BOUND + BOUND / 4 + 1);
    lab.tick();
    assert!(lab.session.is_connected());
    lab.pass(BOUND - 1);
    assert!(lab.session.is_connected());
    answer(&mut lab, &sent);
    assert!(lab.session.is_connected());
    let mut lab = self::lab();
    ask(&mut lab);
    lab.sleep(BOUND + BOUND / 4);
    lab.tick();
    assert!(!lab.session.is_connected());
}

/// A request that waited for a connection has not waited for the server.
#[test]
fn what_was_submitted_without_a_connection_waits_from_its_beginning() {
    let mut lab = Lab::with(2, |config| {
        config.while_disconnected = zk_session::WhileDisconnected::Queue;
    });
    lab.session.submit(lab.now, 1, &READ).expect("queued");
    lab.sleep(700);
    lab.connect();
    let sent = lab.sent_one();
    lab.pass(100);
    answer(&mut lab, &sent);
    lab.events();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
}

/// A long reply comes over a slow link for as long as it takes.
#[test]
fn a_part_of_a_frame_ends_the_silence() {
    let mut lab = lab();
    let sent = ask(&mut lab);
    let mut reply = encoded(&header(sent.xid, 1, ErrorCode::OK)).to_vec();
    reply.resize(2_000, 0);
    let mut bytes = BytesMut::from(&2_000_u32.to_be_bytes()[..]);
    bytes.extend_from_slice(&reply);
    let mut input = BytesMut::new();
    for part in bytes.chunks(500) {
        lab.pass(BOUND - 1);
        assert!(lab.session.is_connected());
        input.extend_from_slice(part);
        lab.session.handle_bytes(lab.now, &mut input, 10_000);
    }
    assert!(matches!(lab.events().as_slice(), [.., Event::Completed { outcome: Ok(_), .. }]));
    let mut lab = self::lab();
    ask(&mut lab);
    lab.pass(BOUND - 1);
    lab.session.handle_progress(lab.now);
    assert_eq!(leaves(&mut lab), overdue(BOUND));
}

/// A long request leaves over a slow link for as long as it takes, and so does what waits behind it.
#[test]
fn a_server_is_not_left_while_a_long_request_is_on_its_way() {
    let mut lab = lab();
    let data = vec![0; 33 * 1024];
    let write = SetDataRequest { path: "/a", data: Some(&data), version: Version::ANY };
    lab.session.submit(lab.now, 1, &write).expect("accepted");
    let long = lab.sent_one();
    let short = ask(&mut lab);
    lab.pass(BOUND * 2);
    assert!(lab.session.is_connected());
    answer(&mut lab, &long);
    answer(&mut lab, &short);
    lab.events();
    ask(&mut lab);
    assert_eq!(leaves(&mut lab), overdue(BOUND * 4));
}

#[test]
fn a_driver_learns_by_when_to_look_again() {
    let mut lab = lab();
    assert_eq!(lab.session.bound_on_silence(), Some(TIMEOUT / 15));
    ask(&mut lab);
    let next = lab.session.poll_timeout().expect("it goes on");
    assert_eq!(next, lab.now + TIMEOUT / 15);
    assert_eq!(lab_with(1, |_| ()).session.bound_on_silence(), None);
}
