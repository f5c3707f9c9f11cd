//! Replies and the requests that they answer.

use bytes::{Bytes, BytesMut};
use zk_jute::records::{EventType, GetDataRequest};
use zk_jute::{ErrorCode, FrameError, OpCode, Xid, Zxid};
use zk_session::{Completion, ConnectionEnd, Event, Failure, ProtocolError, Watching};

use crate::lab::{Lab, SESSION, encoded, header};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

#[test]
fn replies_come_with_their_bodies_in_the_order_of_submission() {
    let mut lab = Lab::connected();
    lab.events();
    lab.session.submit(lab.now, 7, &READ).expect("accepted");
    lab.session.submit(lab.now, 8, &READ).expect("accepted");
    for (sent, zxid) in lab.sent().into_iter().zip([3, 4]) {
        let reply = (header(sent.xid, zxid, ErrorCode::OK), 0x0102_0304);
        let mut frame = BytesMut::new();
        zk_jute::Encode::encode(&reply.0, &mut frame);
        zk_jute::Encode::encode(&reply.1, &mut frame);
        lab.session.handle_frame(lab.now, frame.freeze());
    }
    let completed = |tag, zxid| Event::Completed {
        tag,
        outcome: Ok(Completion { zxid: Zxid::new(zxid), body: Bytes::from_static(&[1, 2, 3, 4]) }),
    };
    assert_eq!(lab.events(), [completed(7, 3), completed(8, 4)]);
}

/// A driver that has answers handed out at once is told of nothing out of its order.
#[test]
fn an_answer_that_is_picked_overtakes_nothing() {
    let mut lab = Lab::connected();
    lab.events();
    for tag in 1..=5 {
        lab.session.submit(lab.now, tag, &READ).expect("accepted");
    }
    let mut sent = lab.sent().into_iter();
    let mut answer = |lab: &mut Lab, error| {
        let frame = encoded(&header(sent.next().expect("a request").xid, 3, error));
        let pick = |tag| if tag % 2 == 1 { Ok(tag) } else { Err(tag) };
        lab.session.handle_frame_picking(lab.now, frame, pick).map(|(tag, _)| tag)
    };
    let told = |lab: &mut Lab| {
        let tag = |event| match event {
            Event::Completed { tag, outcome } => (tag, outcome.is_ok()),
            other => panic!("{other:?}"),
        };
        lab.events().into_iter().map(tag).collect::<Vec<_>>()
    };
    assert_eq!(answer(&mut lab, ErrorCode::OK), Some(1));
    assert_eq!(answer(&mut lab, ErrorCode::OK), None, "it is not picked");
    assert_eq!(answer(&mut lab, ErrorCode::OK), None, "an event waits before it");
    assert_eq!(told(&mut lab), [(2, true), (3, true)]);
    assert_eq!(answer(&mut lab, ErrorCode::NO_NODE), None);
    assert_eq!(told(&mut lab), [(4, false)]);
    assert_eq!(answer(&mut lab, ErrorCode::OK), Some(5));
    assert_eq!(told(&mut lab), []);
}

/// The body behind an error means nothing.
#[test]
fn an_error_is_a_refusal_whatever_follows_it() {
    let mut lab = Lab::connected();
    lab.events();
    lab.session.submit(lab.now, 7, &READ).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, 3, ErrorCode::new(-4711));
    let refused =
        Event::Completed { tag: 7, outcome: Err(Failure::Refused(ErrorCode::new(-4711))) };
    assert_eq!(lab.events(), [refused]);
    assert!(lab.session.is_connected());
}

/// An unknown, late or reserved number breaks the connection, not the session (ZOOKEEPER-2775).
#[test]
fn an_unexpected_reply_breaks_the_connection() {
    let wrong = [0, 2, 3, -3, -8, i32::MIN, i32::MAX];
    for got in wrong.map(Xid::new) {
        let mut lab = Lab::connected();
        lab.session.submit(lab.now, 7, &READ).expect("accepted");
        let expected = lab.sent_one().xid;
        lab.events();
        lab.reply(got, 3, ErrorCode::OK);
        let end = ConnectionEnd::Protocol(ProtocolError::UnexpectedReply {
            expected: Some(expected),
            got,
        });
        let events = lab.events();
        let [Event::Disconnected { end: told, .. }, Event::Completed { tag: 7, outcome }] =
            events.as_slice()
        else {
            unreachable!("{events:?}")
        };
        assert_eq!((told, outcome), (&end, &Err(Failure::ConnectionLoss)));
        assert_eq!(lab.connect().session, SESSION);
        lab.session.submit(lab.now, 8, &READ).expect("accepted");
        let sent = lab.sent_one();
        lab.reply(sent.xid, 3, ErrorCode::OK);
        assert_eq!(lab.events().len(), 2);
    }
}

/// The same reply comes twice.
#[test]
fn a_second_reply_to_a_request_breaks_the_connection() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 7, &READ).expect("accepted");
    let sent = lab.sent_one();
    lab.reply(sent.xid, 3, ErrorCode::OK);
    lab.events();
    lab.reply(sent.xid, 3, ErrorCode::OK);
    let events = lab.events();
    assert!(
        matches!(
            events.as_slice(),
            [Event::Disconnected {
                end: ConnectionEnd::Protocol(ProtocolError::UnexpectedReply { expected: None, .. }),
                ..
            }]
        ),
        "{events:?}"
    );
}

#[test]
fn a_frame_without_a_whole_header_breaks_the_connection() {
    for length in 0..16 {
        let mut lab = Lab::connected();
        lab.events();
        lab.session.handle_frame(lab.now, Bytes::from(vec![0; length]));
        let events = lab.events();
        assert!(
            matches!(
                events.as_slice(),
                [Event::Disconnected {
                    end: ConnectionEnd::Protocol(ProtocolError::Undecodable(_)),
                    ..
                }]
            ),
            "{length}: {events:?}"
        );
    }
}

#[test]
fn a_ping_reply_does_not_disturb_the_order_of_the_others() {
    let mut lab = Lab::connected();
    lab.pass(2000);
    lab.session.submit(lab.now, 7, &READ).expect("accepted");
    let read = lab.sent().pop().expect("the read");
    lab.pong(3);
    lab.pong(3);
    lab.reply(read.xid, 3, ErrorCode::OK);
    assert!(lab.session.is_connected());
}

/// The session was used over another connection: this one is dropped, and made anew
/// (ZOOKEEPER-2886).
#[test]
fn session_moved_breaks_the_connection() {
    let mut lab = Lab::connected();
    lab.session.submit(lab.now, 7, &READ).expect("accepted");
    let sent = lab.sent_one();
    lab.events();
    let deadline = lab.session.lease_deadline();
    lab.sleep(10);
    lab.reply(sent.xid, 3, ErrorCode::SESSION_MOVED);
    let events = lab.events();
    assert!(
        matches!(
            events.as_slice(),
            [
                Event::Completed {
                    tag: 7,
                    outcome: Err(Failure::Refused(ErrorCode::SESSION_MOVED)),
                },
                Event::Disconnected {
                    end: ConnectionEnd::Protocol(ProtocolError::SessionMoved),
                    ..
                }
            ]
        ),
        "{events:?}"
    );
    assert_eq!(lab.session.lease_deadline(), deadline, "no evidence");
    assert_eq!(lab.connect().session, SESSION);
}

/// For drivers that do not split frames: however the bytes arrive, the frames are the same.
#[test]
fn bytes_are_split_into_frames_wherever_they_are_cut() {
    let reply = |xid, zxid| {
        let mut frame = BytesMut::new();
        zk_jute::put_frame(&mut frame, 100, &header(xid, zxid, ErrorCode::OK), &7)
            .expect("below the limit");
        frame
    };
    let length = 2 * reply(Xid::FIRST, 3).len();
    for cut in 0..=length {
        let mut lab = Lab::connected();
        lab.events();
        for tag in [7, 8] {
            lab.session.submit(lab.now, tag, &READ).expect("accepted");
        }
        let sent = lab.sent();
        let mut stream = reply(sent[0].xid, 3);
        stream.extend_from_slice(&reply(sent[1].xid, 4));
        let mut input = stream.split_to(cut);
        lab.session.handle_bytes(lab.now, &mut input, 100);
        input.extend_from_slice(&stream);
        lab.session.handle_bytes(lab.now, &mut input, 100);
        assert_eq!(lab.events().len(), 2, "cut at {cut}");
        assert!(input.is_empty());
    }
}

#[test]
fn a_frame_length_that_cannot_be_ends_the_connection() {
    let mut lab = Lab::connected();
    lab.events();
    let mut input = BytesMut::from(&[0xff; 4][..]);
    lab.session.handle_bytes(lab.now, &mut input, 100);
    assert!(input.is_empty());
    assert_eq!(broken_by(&lab.events()), Some(FrameError::Negative(-1)));
}

fn broken_by(events: &[Event<u32, u32>]) -> Option<FrameError> {
    events.iter().find_map(|event| match event {
        Event::Disconnected {
            end: ConnectionEnd::Protocol(ProtocolError::Frame(error)), ..
        } => Some(*error),
        _ => None,
    })
}

const TOO_LONG: FrameError = FrameError::TooLong { length: 200, limit: 100 };

/// Returns a frame of 200 bytes that begins like a reply to this.
fn long_reply(xid: Xid) -> BytesMut {
    let mut frame = BytesMut::from(&200_i32.to_be_bytes()[..]);
    frame.extend_from_slice(&encoded(&header(xid, 5, ErrorCode::OK)));
    frame.resize(204, 0);
    frame
}

/// The request fails, and the connection goes on; nothing loops (apache/druid #10808).
#[test]
fn a_reply_above_the_limit_is_an_error_of_its_request_alone() {
    let mut lab = Lab::connected();
    lab.events();
    for tag in [7, 8] {
        lab.session.submit(lab.now, tag, &READ).expect("accepted");
    }
    let [first, second] = lab.sent().try_into().expect("two requests");
    let mut stream = long_reply(first.xid);
    zk_jute::put_frame(&mut stream, 100, &header(second.xid, 6, ErrorCode::OK), &7)
        .expect("below the limit");
    let mut input = BytesMut::new();
    for byte in stream {
        input.extend_from_slice(&[byte]);
        lab.session.handle_bytes(lab.now, &mut input, 100);
    }
    let events = lab.events();
    let too_large = Failure::ReplyTooLarge { length: 200, limit: 100 };
    assert_eq!(events.first(), Some(&Event::Completed { tag: 7, outcome: Err(too_large) }));
    assert!(matches!(events.get(1), Some(Event::Completed { tag: 8, outcome: Ok(_) })));
    assert!(lab.session.is_connected());
    assert_eq!(lab.session.last_zxid(), Zxid::new(6));
}

/// Its caller does not know the state that the watch would tell changes of.
#[test]
fn a_watch_that_comes_with_a_reply_above_the_limit_is_taken_down() {
    let mut lab = Lab::connected();
    lab.events();
    let read = Watching::GetChildren("/a");
    lab.session.submit_watching(lab.now, 1, read, 1).expect("accepted");
    let sent = lab.sent_one();
    lab.session.handle_bytes(lab.now, &mut long_reply(sent.xid), 100);
    assert_eq!(lab.events().len(), 1);
    assert_eq!(lab.opcodes_sent(), [OpCode::REMOVE_WATCHES]);
    lab.notify(6, EventType::NODE_DELETED, "/a");
    assert_eq!(lab.events(), []);
}

/// Nothing else that a server sends is so long.
#[test]
fn what_is_no_reply_to_a_caller_breaks_the_connection_if_it_is_above_the_limit() {
    for xid in [Xid::NOTIFICATION, Xid::PING, Xid::AUTH, Xid::new(4711)] {
        let mut lab = Lab::connected();
        lab.events();
        lab.session.submit(lab.now, 7, &READ).expect("accepted");
        lab.session.handle_bytes(lab.now, &mut long_reply(xid), 100);
        assert_eq!(broken_by(&lab.events()), Some(TOO_LONG), "{xid}");
    }
    let mut lab = Lab::new();
    lab.open();
    lab.session.handle_bytes(lab.now, &mut long_reply(Xid::FIRST), 100);
    assert!(matches!(lab.events().as_slice(), [Event::ConnectFailed { .. }]));
}
