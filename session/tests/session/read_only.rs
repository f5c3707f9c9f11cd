//! Servers that are cut off from their ensemble, and the way back to one that takes writes.

use core::time::Duration;

use zk_jute::records::{EventType, GetDataRequest, SetWatches};
use zk_jute::{Decode, ErrorCode, OpCode, SessionId, Zxid};
use zk_session::lease::{LeaseGrade, LeaseUpkeep};
use zk_session::{
    ConnectionEnd, Event, Failure, ProbeAnswer, ReadOnlyServers, ServerIndex, TransportCommand,
    Watching,
};

use crate::lab::{Lab, SESSION};

const MAKESHIFT: SessionId = SessionId::new(0x77);
const OTHER_MAKESHIFT: SessionId = SessionId::new(0x78);

fn accepting(servers: usize) -> Lab {
    Lab::with(servers, |config| config.read_only_servers = ReadOnlyServers::Accept)
}

fn connected_read_only(servers: usize) -> Lab {
    let mut lab = accepting(servers);
    lab.open();
    lab.accept_read_only(MAKESHIFT);
    lab.events();
    lab
}

/// Lets time pass until the session asks a server; how long that took.
fn next_probe(lab: &mut Lab) -> (ServerIndex, Duration) {
    let begun = lab.now;
    loop {
        if let Some(server) = lab.session.poll_probe() {
            return (server, lab.now.saturating_since(begun));
        }
        lab.now = lab.session.poll_timeout().expect("something to do").max(lab.now);
        lab.tick();
        if !lab.opcodes_sent().is_empty() {
            lab.pong(0);
        }
    }
}

#[test]
fn only_who_accepts_them_tells_a_server_so() {
    assert_eq!(Lab::new().open().read_only, Some(false));
    assert_eq!(accepting(1).open().read_only, Some(true));
}

/// No other server knows the session of a read-only one, and none of its own.
#[test]
fn a_session_of_a_read_only_server_is_replaced_by_the_next_one() {
    let mut lab = connected_read_only(1);
    assert_eq!(lab.session.id(), Some(MAKESHIFT));
    assert!(lab.session.is_read_only());
    lab.close_by_server();
    let handshake = lab.open();
    assert_eq!((handshake.session, handshake.password), (SessionId::NONE, vec![0; 16]));
    lab.accept_read_only(OTHER_MAKESHIFT);
    assert_eq!(lab.session.id(), Some(OTHER_MAKESHIFT));
    lab.close_by_server();
    assert_eq!(lab.connect().session, SessionId::NONE);
    assert!(!lab.session.is_read_only());
    lab.close_by_server();
    assert_eq!(lab.open().session, SESSION, "that of a server which takes writes stays");
}

/// Where releases before 3.7 let a read-only server go on with a session, it stays the same.
#[test]
fn a_session_of_the_ensemble_stays_that_on_a_read_only_server() {
    let mut lab = accepting(1);
    lab.connect();
    lab.close_by_server();
    assert_eq!(lab.open().session, SESSION);
    lab.accept_read_only(SESSION);
    assert!(lab.session.is_read_only());
    lab.close_by_server();
    assert_eq!(lab.open().session, SESSION);
}

/// Nothing can be lost with it, so nothing is.
#[test]
fn a_session_of_a_read_only_server_is_not_declared_dead() {
    let mut lab = connected_read_only(1);
    lab.close_by_server();
    lab.pass(1_000_000);
    assert_eq!(lab.session.ended(), None);
    assert_eq!(lab.open().session, SessionId::NONE);
}

/// A nominee that led by it would lead beside the ensemble's leader.
#[test]
fn a_read_only_server_never_proves_a_lease() {
    for grade in [LeaseGrade::Contact, LeaseGrade::Sync, LeaseGrade::Quorum] {
        let mut lab = Lab::with(1, |config| {
            config.read_only_servers = ReadOnlyServers::Accept;
            config.grade = grade;
        });
        lab.open();
        lab.accept_read_only(MAKESHIFT);
        lab.session.keep_lease(lab.now, LeaseUpkeep::InForce { znode: "/e/c" }).expect("a path");
        let read = GetDataRequest { path: "/a", watch: false };
        lab.session.submit(lab.now, 1, &read).expect("accepted");
        let sent = lab.sent_one();
        assert_eq!(sent.opcode, OpCode::GET_DATA, "no heartbeat");
        lab.reply(sent.xid, 1, ErrorCode::NO_NODE);
        lab.pass(2000);
        lab.pong(1);
        assert_eq!(lab.session.lease_deadline(), None);
        assert!(!lab.session.lease_is_secure(lab.now));

        lab.close_by_server();
        lab.connect();
        assert!(lab.session.lease_deadline().is_some(), "a new session is a proof");
    }
}

#[test]
fn a_lease_that_was_proved_before_is_not_put_off() {
    let mut lab = accepting(1);
    lab.connect();
    lab.close_by_server();
    let deadline = lab.session.lease_deadline();
    assert!(deadline.is_some());
    lab.open();
    lab.accept_read_only(SESSION);
    lab.pass(2000);
    lab.pong(1);
    assert_eq!(lab.session.lease_deadline(), deadline);
    lab.pass(3000);
    lab.pong(1);
    lab.events();
    lab.pass(1000);
    assert!(lab.events().contains(&Event::LeaseLapsed));
}

/// After 100 ms, then after twice as long each time, up to a minute.
#[test]
fn all_servers_are_asked_in_turn_ever_more_rarely() {
    let mut lab = connected_read_only(3);
    let mut waits = Vec::new();
    let mut asked = Vec::new();
    for _ in 0..14 {
        let (server, wait) = next_probe(&mut lab);
        lab.session.handle_probed(lab.now, server, ProbeAnswer::Other);
        waits.push(wait.as_millis());
        asked.push(server);
    }
    let expected = [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200];
    assert_eq!(waits[..10], expected);
    assert_eq!(waits[10..], [60_000; 4]);
    assert_eq!(asked[..3], asked[3..6]);
    let mut all = asked[..3].to_vec();
    all.sort();
    assert_eq!(all, [0, 1, 2].map(ServerIndex));
    assert!(lab.session.is_read_only());
}

#[test]
fn a_server_that_does_not_answer_is_passed_over() {
    let mut lab = connected_read_only(2);
    let (silent, _) = next_probe(&mut lab);
    let (next, wait) = next_probe(&mut lab);
    assert_ne!(silent, next);
    assert_eq!(wait, Duration::from_millis(1200), "a second, and the pause");
    lab.session.handle_probed(lab.now, silent, ProbeAnswer::ReadWrite);
    assert!(lab.session.is_connected(), "its answer comes too late");
}

#[test]
fn the_session_goes_to_the_server_that_takes_writes_and_its_watches_with_it() {
    let mut lab = connected_read_only(5);
    lab.watch(Watching::GetData("/a"), 9, 40);
    let read = GetDataRequest { path: "/b", watch: false };
    let (server, _) = next_probe(&mut lab);
    lab.session.submit(lab.now, 1, &read).expect("accepted");
    lab.session.handle_probed(lab.now, server, ProbeAnswer::ReadWrite);
    let outdone = Event::Disconnected { end: ConnectionEnd::LeftReadOnly, lease_deadline: None };
    let lost = Event::Completed { tag: 1, outcome: Err(Failure::ConnectionLoss) };
    assert_eq!(lab.events(), [outdone, lost]);
    assert_eq!(lab.session.poll_transport(), Some(TransportCommand::Connect(server)));
    lab.session.handle_opened(lab.now);
    lab.session.poll_transmit(&mut bytes::BytesMut::new());
    lab.accept();
    let events = lab.events();
    let [Event::Connected { session: SESSION, read_only: false, .. }] = *events else {
        unreachable!("{events:?}")
    };
    let sent = lab.sent_one();
    let set_again = SetWatches::decode_exact(&sent.body).expect("watches");
    assert_eq!(set_again.relative_zxid, Zxid::new(40));
    assert_eq!(set_again.data.iter().collect::<Vec<_>>(), ["/a"]);
    lab.notify(-1, EventType::NODE_DATA_CHANGED, "/a");
    assert!(matches!(*lab.events(), [Event::Fired { watcher: 9, .. }]));
}

/// An index of the old list means another server in the new one.
#[test]
fn another_list_of_servers_voids_the_question() {
    let mut lab = connected_read_only(2);
    let (server, _) = next_probe(&mut lab);
    let count = core::num::NonZeroUsize::new(3).expect("a server");
    lab.session.handle_servers(lab.now, count);
    lab.session.handle_probed(lab.now, server, ProbeAnswer::ReadWrite);
    assert!(lab.session.is_connected());
    let (_, wait) = next_probe(&mut lab);
    assert_eq!(wait, Duration::from_millis(100));
}

#[test]
fn only_two_letters_say_that_a_server_takes_writes() {
    assert_eq!(ProbeAnswer::from_bytes(b"rw"), ProbeAnswer::ReadWrite);
    let refused = b"isro is not executed because it is not in the whitelist.\n".as_slice();
    for answer in [b"".as_slice(), b"r", b"ro", b"null", b"rw\n", refused] {
        assert_eq!(ProbeAnswer::from_bytes(answer), ProbeAnswer::Other);
    }
}
