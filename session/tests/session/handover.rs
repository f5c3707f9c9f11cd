//! A session that another process goes on with (D-8).

use core::time::Duration;

use zk_jute::records::{ConnectResponse, GetDataRequest, MultiResult};
use zk_jute::{ErrorCode, OpCode, Zxid};
use zk_session::lease::{LeaseGrade, LeaseUpkeep};
use zk_session::{
    Config, Event, Expiry, Failure, Session, SessionEnd, SessionTicket, TransportCommand, Watching,
};

use crate::lab::{LEASE, Lab, PASSWORD, SESSION, TIMEOUT};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

/// Makes a session that was given up after it had seen transaction 41.
fn detached() -> (Lab, SessionTicket) {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 7, 41);
    let ticket = lab.session.detach(lab.now).expect("a session");
    (lab, ticket)
}

fn resumed(lab: &Lab, ticket: &SessionTicket, grade: LeaseGrade) -> Lab {
    let mut config = Config::new(core::num::NonZeroUsize::MIN);
    config.session_timeout = ticket.timeout();
    config.grade = grade;
    Lab::of(Session::resume(ticket, config, 2, lab.now), lab.now)
}

#[test]
fn a_session_that_is_given_up_ends_here_without_a_word_to_the_server() {
    let mut lab = Lab::connected();
    lab.watch(Watching::GetData("/a"), 7, 41);
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    let ticket = lab.session.detach(lab.now).expect("a session");
    assert_eq!((ticket.session(), ticket.timeout()), (SESSION, TIMEOUT));
    assert_eq!(ticket.last_zxid(), Zxid::new(41));
    let lost = Event::Completed { tag: 1, outcome: Err(Failure::ConnectionLoss) };
    let over = [lost, Event::WatchLost { watcher: 7 }, Event::Ended(SessionEnd::Detached)];
    assert_eq!(lab.events(), over);
    assert_eq!(lab.sent(), [], "no closeSession");
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    assert_eq!(lab.session.lease_deadline(), None);
    assert_eq!(lab.session.detach(lab.now), None, "there is one ticket");
}

#[test]
fn a_session_without_a_connection_can_be_given_up() {
    let mut lab = Lab::connected();
    lab.close_by_server();
    lab.open();
    let ticket = lab.session.detach(lab.now).expect("a session");
    assert_eq!(resumed(&lab, &ticket, LeaseGrade::Contact).connect().session, SESSION);
}

#[test]
fn what_is_no_session_yet_or_no_more_is_not_given_up() {
    let mut new = Lab::new();
    assert_eq!(new.session.detach(new.now), None);
    assert_eq!(new.connect().session.get(), 0, "it goes on");

    let mut makeshift = Lab::new();
    makeshift.open();
    makeshift.accept_read_only(SESSION);
    assert_eq!(makeshift.session.detach(makeshift.now), None);
    assert!(makeshift.session.is_connected());

    let mut closing = Lab::connected();
    closing.session.close(closing.now);
    assert_eq!(closing.session.detach(closing.now), None);
    assert_eq!(closing.session.ended(), None);
}

/// Also in another process, nothing that was seen is unseen.
#[test]
fn the_session_is_resumed_with_all_that_the_ticket_holds() {
    let (lab, ticket) = detached();
    let ticket = ticket.expose().parse().expect("a ticket");
    let mut lab = resumed(&lab, &ticket, LeaseGrade::Contact);
    let handshake = lab.open();
    assert_eq!((handshake.session, handshake.password), (SESSION, PASSWORD.to_vec()));
    assert_eq!((handshake.last_zxid_seen, handshake.timeout), (Zxid::new(41), 6000));
    lab.accept();
    assert!(matches!(*lab.events(), [Event::Connected { session: SESSION, .. }]));
    assert_eq!(lab.sent(), [], "no watch is set again");
}

/// The handshake alone does not show that the server has its leader; and what a heartbeat then
/// shows may come while the session is being closed, so a later one has to follow.
#[test]
fn the_lease_of_a_resumed_session_is_proved_anew() {
    let (lab, ticket) = detached();
    let mut lab = resumed(&lab, &ticket, LeaseGrade::Quorum);
    lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: "/e/c" }).expect("a path");
    let sent_at = lab.now;
    lab.connect();
    assert_eq!(lab.session.lease_deadline(), None);
    let heartbeat = lab.sent_one();
    lab.answer_heartbeat(&heartbeat, 42, MultiResult::Check);
    let confirmation = lab.sent_one();
    lab.reply(confirmation.xid, 42, ErrorCode::OK);
    assert_eq!(lab.session.lease_deadline(), None);
    lab.pass(500);
    let settling = lab.sent_one();
    lab.answer_heartbeat(&settling, 42, MultiResult::Check);
    assert_eq!(lab.session.lease_deadline(), Some(sent_at + LEASE));
}

/// A server that restarts, or a new leader of the ensemble, goes by the timeout that the session
/// was made with.
#[test]
fn a_resumed_session_counts_with_the_least_timeout_that_it_ever_had() {
    for grade in [LeaseGrade::Contact, LeaseGrade::Quorum] {
        let mut lab = Lab::connected_with(|config| config.grade = grade);
        lab.close_by_server();
        lab.open();
        lab.accept_as(SESSION, Duration::from_secs(20));
        let ticket = lab.session.detach(lab.now).expect("a session");
        assert_eq!(ticket.timeout(), Duration::from_secs(20));
        assert_eq!(ticket.least_timeout(), TIMEOUT);
        let ticket = ticket.expose().parse().expect("a ticket");
        let mut lab = resumed(&lab, &ticket, grade);
        lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: "/e/c" }).expect("a path");
        let sent_at = lab.now;
        assert_eq!(lab.open().timeout, 20_000);
        lab.accept_as(SESSION, Duration::from_secs(20));
        settle(&mut lab);
        let sent_later =
            sent_at + Duration::from_millis(if grade == LeaseGrade::Contact { 500 } else { 0 });
        assert_eq!(lab.session.lease_deadline(), Some(sent_later + LEASE), "{grade:?}");
    }
}

/// Answers whatever comes within a settling time, at once.
fn settle(lab: &mut Lab) {
    for wait in [0, 500] {
        lab.pass(wait);
        loop {
            let sent = lab.sent();
            if sent.is_empty() {
                break;
            }
            for request in sent {
                match request.opcode {
                    OpCode::MULTI => lab.answer_heartbeat(&request, 42, MultiResult::Check),
                    _ => lab.reply(request.xid, 42, ErrorCode::OK),
                }
            }
        }
    }
}

/// A pause between two connections of one session: what the first server granted still counts.
#[test]
fn a_ticket_that_was_handed_on_twice_knows_the_least_of_all() {
    let (lab, ticket) = detached();
    let mut second = resumed(&lab, &ticket, LeaseGrade::Quorum);
    second.open();
    second.accept_as(SESSION, Duration::from_secs(4));
    let ticket = second.session.detach(second.now).expect("a session");
    let mut third = resumed(&second, &ticket, LeaseGrade::Quorum);
    third.open();
    third.accept_as(SESSION, Duration::from_secs(9));
    let ticket = third.session.detach(third.now).expect("a session");
    assert_eq!(ticket.timeout(), Duration::from_secs(9));
    assert_eq!(ticket.least_timeout(), Duration::from_secs(4));
}

#[test]
fn a_session_that_is_gone_says_so() {
    let (lab, ticket) = detached();
    let mut refused = resumed(&lab, &ticket, LeaseGrade::Contact);
    refused.open();
    refused.receive(&ConnectResponse::REFUSED);
    assert_eq!(refused.events(), [Event::Ended(SessionEnd::Expired(Expiry::Refused))]);

    let mut alone = resumed(&lab, &ticket, LeaseGrade::Contact);
    alone.pass(8000);
    assert_eq!(alone.session.ended(), Some(SessionEnd::Expired(Expiry::Unreachable)));
}
