//! Bounds on frames, requests and bytes.

use zk_jute::records::{GetDataRequest, SetDataRequest};
use zk_jute::{ErrorCode, OpCode, Version};
use zk_session::{Config, SubmitError, Watching, WhileDisconnected};

use crate::lab::{Lab, TIMEOUT};

const READ: GetDataRequest<'_> = GetDataRequest { path: "/a", watch: false };

fn write(data: &[u8]) -> SetDataRequest<'_> {
    SetDataRequest { path: "/a", data: Some(data), version: Version::ANY }
}

fn queue(config: &mut Config) {
    config.while_disconnected = WhileDisconnected::Queue;
}

#[test]
fn a_request_above_the_servers_limit_is_refused() {
    let mut lab = Lab::connected();
    // A header, a path, a length before the data, a version.
    let overhead = 8 + 6 + 4 + 4;
    let mut data = vec![0; 0xF_FFFF - overhead];
    let submitted = lab.session.submit(lab.now, 1, &write(&data));
    assert_eq!(submitted, Ok(()));
    data.push(0);
    let refused = SubmitError::TooLarge { length: 0x10_0000, limit: 0xF_FFFF };
    let submitted = lab.session.submit(lab.now, 2, &write(&data));
    assert_eq!(submitted, Err(refused));
    assert_eq!(lab.sent().len(), 1, "no trace of the refused one");
}

#[test]
fn requests_in_flight_are_bounded() {
    let mut lab = Lab::connected_with(|config| config.limits.max_in_flight = 2);
    for tag in 0..2 {
        assert!(!lab.session.is_full());
        lab.session.submit(lab.now, tag, &READ).expect("accepted");
    }
    assert!(lab.session.is_full());
    let refused = lab.session.submit(lab.now, 2, &READ);
    assert_eq!(refused, Err(SubmitError::Full));
    let sent = lab.sent();
    lab.reply(sent.first().expect("sent").xid, 1, ErrorCode::OK);
    lab.session.submit(lab.now, 2, &READ).expect("accepted");
}

#[test]
fn queued_requests_count_and_go_on_counting_once_they_are_sent() {
    let mut lab = Lab::with(1, |config| {
        queue(config);
        config.limits.max_in_flight = 2;
    });
    for tag in 0..2 {
        lab.session.submit(lab.now, tag, &READ).expect("queued");
    }
    assert!(lab.session.is_full());
    lab.connect();
    let refused = lab.session.submit(lab.now, 2, &READ);
    assert_eq!(refused, Err(SubmitError::Full));
}

#[test]
fn bytes_to_be_sent_are_bounded() {
    let limit = |config: &mut Config| {
        queue(config);
        config.limits.max_queued_bytes = 1000;
    };
    for mut lab in [Lab::connected_with(limit), Lab::with(1, limit)] {
        let data = [0; 600];
        for tag in 0..2 {
            lab.session.submit(lab.now, tag, &write(&data)).expect("one may go beyond");
        }
        let refused = lab.session.submit(lab.now, 2, &READ);
        assert_eq!(refused, Err(SubmitError::Full));
        if lab.session.is_connected() {
            lab.sent();
            lab.session.submit(lab.now, 2, &READ).expect("accepted");
        }
    }
}

/// The way out must not be barred by what is in flight.
#[test]
fn a_full_session_can_be_closed() {
    let mut lab = Lab::connected_with(|config| config.limits.max_in_flight = 1);
    lab.session.submit(lab.now, 1, &READ).expect("accepted");
    lab.session.close(lab.now);
    assert_eq!(lab.sent().len(), 2);
}

/// Loses connections over a frame above a server's `jute.maxbuffer`, of which the server says
/// nothing. Without a bound, one that asks again after each loss loses all of them.
#[test]
fn a_request_over_which_connection_after_connection_ends_is_held_back_in_the_end() {
    let mut lab = Lab::connected();
    let long = vec![0; 20_000];
    let mut losses = 0;
    let refused = loop {
        assert!(losses < 10, "connections are lost for ever");
        lab.events();
        if let Err(error) = lab.session.submit(lab.now, 1, &write(&long)) {
            break error;
        }
        losses += 1;
        lab.sent();
        lab.close_by_server();
        lab.connect();
    };
    let length = 8 + 6 + 4 + 4 + long.len();
    assert_eq!(refused, SubmitError::Suspected { length, limit: length - 1 });
    assert_eq!(lab.session.submit(lab.now, 2, &READ), Ok(()), "others go on");
}

/// So are the watches of a session, which sets them again on each connection.
#[test]
fn watches_are_set_again_in_ever_shorter_requests() {
    const LIMIT: usize = 10_000;
    let mut lab = Lab::connected();
    for number in 0..2_000 {
        let path = format!("/watched/{number}");
        lab.watch(Watching::Exists(&path), number, 1);
    }
    lab.close_by_server();
    for losses in 0.. {
        assert!(losses < 20, "connections are lost for ever");
        lab.connect();
        let sent = lab.sent();
        if sent.iter().all(|sent| sent.body.len() + 8 <= LIMIT) {
            assert!(sent.iter().filter(|sent| sent.opcode == OpCode::SET_WATCHES).count() > 1);
            break;
        }
        lab.close_by_server();
    }
    assert!(lab.now.elapsed() < 10 * TIMEOUT, "{:?}", lab.now);
}
