//! Sessions that are asked to end.

use zk_jute::records::{ConnectResponse, GetDataRequest};
use zk_jute::{ErrorCode, OpCode};
use zk_session::{Event, Failure, SessionEnd, SubmitError, TransportCommand};

use crate::lab::Lab;

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

#[test]
fn requests_before_the_close_are_completed_first() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    lab.session.close(lab.now);
    lab.session.close(lab.now);
    assert!(!lab.session.is_connected());
    let refused = lab.session.submit(lab.now, 2, &READ);
    assert_eq!(refused, Err(SubmitError::Closed));
    lab.events();
    let sent = lab.sent();
    let opcodes: Vec<_> = sent.iter().map(|sent| sent.opcode).collect();
    assert_eq!(opcodes, [OpCode::GET_DATA, OpCode::CLOSE_SESSION]);
    for sent in sent {
        lab.reply(sent.xid, 3, ErrorCode::OK);
    }
    let events = lab.events();
    assert!(
        matches!(
            events.as_slice(),
            [Event::Completed { tag: 1, outcome: Ok(_) }, Event::Ended(SessionEnd::Closed)]
        ),
        "{events:?}"
    );
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    assert_eq!(lab.session.poll_timeout(), None);
}

/// Closing is bounded by the timeout, although something arrives all the time (CURATOR-194).
#[test]
fn a_close_without_an_answer_is_given_up_after_the_timeout() {
    let mut lab = Lab::connected();
    lab.session.close(lab.now);
    for _ in 0..5 {
        lab.pass(1000);
        lab.notify(-1, zk_jute::records::EventType::NODE_DELETED, "/b");
    }
    lab.pass(999);
    assert_eq!(lab.session.ended(), None);
    lab.pass(1);
    assert_eq!(lab.session.ended(), Some(SessionEnd::Abandoned));
}

#[test]
fn a_connection_lost_while_closing_abandons_the_session() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    lab.session.close(lab.now);
    lab.events();
    lab.close_by_server();
    let lost = Event::Completed { tag: 1, outcome: Err(Failure::ConnectionLoss) };
    assert_eq!(lab.events(), [lost, Event::Ended(SessionEnd::Abandoned)]);
    assert_eq!(lab.sent(), [], "what was not sent by then is not sent any more");
}

#[test]
fn without_a_connection_the_session_is_abandoned_at_once() {
    let mut waiting = Lab::connected();
    waiting.close_by_server();
    let mut opening = Lab::new();
    opening.wanted_server();
    let mut handshaking = Lab::new();
    handshaking.open();
    for mut lab in [waiting, opening, handshaking] {
        lab.events();
        lab.session.close(lab.now);
        assert_eq!(lab.events(), [Event::Ended(SessionEnd::Abandoned)]);
        assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Disconnect));
    }
}

/// A read-only server refuses to close a session of the ensemble.
#[test]
fn a_refused_close_is_no_close() {
    let cases = [
        (ErrorCode::NOT_READ_ONLY, SessionEnd::Abandoned),
        (ErrorCode::SESSION_EXPIRED, SessionEnd::Closed),
    ];
    for (error, end) in cases {
        let mut lab = Lab::connected();
        lab.session.close(lab.now);
        let sent = lab.sent_one();
        lab.reply(sent.xid, 3, error);
        assert_eq!(lab.session.ended(), Some(end));
    }
}

/// The server may refuse requests that were sent before the close; its answer to the close decides.
#[test]
fn an_expiry_that_is_claimed_while_closing_leaves_the_close_to_be_answered() {
    let mut lab = Lab::connected();
    let read = GetDataRequest { path: "/a", watch: false };
    lab.session.submit(lab.now, 1, &read).expect("accepted");
    lab.session.close(lab.now);
    let [asked, close] = lab.sent().try_into().expect("two requests");
    lab.reply(asked.xid, 3, ErrorCode::SESSION_EXPIRED);
    assert_eq!(lab.session.ended(), None);
    lab.reply(close.xid, 3, ErrorCode::SESSION_EXPIRED);
    assert_eq!(lab.session.ended(), Some(SessionEnd::Closed));
}

#[test]
fn nothing_moves_a_session_that_is_over() {
    let mut lab = Lab::new();
    lab.session.close(lab.now);
    lab.events();
    lab.session.poll_transport();
    lab.session.handle_opened(lab.now);
    lab.receive(&ConnectResponse::REFUSED);
    lab.accept();
    lab.close_by_server();
    lab.session.close(lab.now);
    lab.sleep(100_000);
    lab.tick();
    assert_eq!(lab.events(), []);
    assert_eq!(lab.session.poll_transport(), None);
    assert_eq!(lab.sent(), []);
}
