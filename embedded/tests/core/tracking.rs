//! How sessions are tracked: what counts as a touch, with which timeout, and how an end comes about.

use core::time::Duration;

use zk_embedded::{Config, ExpiryPace, Throttling};
use zk_jute::records::{AuthPacket, ConnectRequest, CreateMode, Credential, EventType, Ping};
use zk_jute::{ErrorCode, OpCode, RequestHeader, SessionId, Xid};

use crate::requests::{create, create_as, exists};
use crate::world::{Client, World, frame, world};

const SECOND: Duration = Duration::from_secs(1);

/// Makes a server with ticks of a second, which grants every timeout that a client asks for.
fn exact() -> World {
    let mut config = Config::with_tick_time(SECOND);
    config.session_timeouts = SECOND..=SECOND * 100;
    World::new(&config)
}

fn is_alive(world: &World, session: SessionId) -> bool {
    world.server.database().has_session(session)
}

/// Goes on with the client's session on another connection, and asks for so many seconds.
fn resume(world: &mut World, client: &Client, seconds: i32) {
    let request = ConnectRequest { timeout: seconds * 1000, ..client.granted.again() };
    let granted = world.open().shake_hands(world, &request).expect("an answer");
    assert_eq!((granted.session, granted.timeout), (client.session(), seconds * 1000));
}

/// A smaller timeout counts at once, and a restart brings back that of the creation.
#[test]
fn the_timeout_of_the_last_touch_counts_until_a_restart() {
    let mut world = exact();
    let client = world.client();
    resume(&mut world, &client, 3);
    world.advance(SECOND * 3);
    assert!(is_alive(&world, client.session()));
    world.advance(SECOND);
    assert!(!is_alive(&world, client.session()), "four seconds, and not eleven");
    let client = world.client();
    resume(&mut world, &client, 50);
    world.server.restart(world.now);
    world.advance(SECOND * 10);
    assert!(is_alive(&world, client.session()));
    world.advance(SECOND);
    assert!(!is_alive(&world, client.session()), "eleven seconds, and not fifty-one");
}

/// A request of any kind counts once it has come whole; a request that authenticates does not
/// count.
#[test]
fn whole_requests_count() {
    let ping = frame(&RequestHeader { xid: Xid::PING, opcode: OpCode::PING }, &Ping);
    let auth = AuthPacket { kind: 0, scheme: "digest", credential: Credential::new(Some(b"a:b")) };
    let auth = frame(&RequestHeader { xid: Xid::AUTH, opcode: OpCode::AUTH }, &auth);
    let two = [&auth[..], &ping[..]].concat();
    for (bytes, counts) in
        [(&ping[..], true), (&ping[..11], false), (&auth[..], false), (&two[..], true)]
    {
        let mut world = exact();
        let mut client = world.client();
        world.advance(SECOND * 5);
        for byte in bytes {
            client.connection.send(&mut world, &[*byte]);
        }
        world.advance(SECOND * 6);
        assert_eq!(is_alive(&world, client.session()), counts, "{bytes:?}");
    }
}

/// From the poll of its bucket on a session is lost, and does not know.
#[test]
fn touches_in_the_window_are_in_vain() {
    let mut world = exact();
    let to_proposal = Duration::ZERO;
    world.server.set_expiry_pace(ExpiryPace { to_closing: SECOND / 2, to_proposal });
    let mut client = world.client();
    world.advance(SECOND * 11);
    assert_eq!(client.code(&mut world, &create("/a")), ErrorCode::OK);
    resume(&mut world, &client, 10);
    world.advance(SECOND / 2);
    assert!(!is_alive(&world, client.session()));
    assert_eq!(world.paths(), ["/a"]);
}

/// Between closing and its end a session gets no answer at its leader, and is refused elsewhere.
#[test]
fn a_closing_session_gets_no_answer() {
    let mut world = exact();
    let to_closing = Duration::ZERO;
    world.server.set_expiry_pace(ExpiryPace { to_closing, to_proposal: SECOND / 2 });
    let mut client = world.client();
    world.advance(SECOND * 11);
    let ping = frame(&RequestHeader { xid: Xid::PING, opcode: OpCode::PING }, &Ping);
    client.connection.send(&mut world, &ping);
    let write = RequestHeader { xid: Xid::new(9), opcode: OpCode::CREATE };
    client.connection.send_frame(&mut world, &write, &create("/a"));
    assert_eq!(client.connection.rest(), b"");
    assert!(!client.connection.is_closed);
    assert!(is_alive(&world, client.session()));
    let refused = world.open().shake_hands(&mut world, &client.granted.again());
    assert_eq!(refused.expect("an answer").session, SessionId::NONE);
    world.advance(SECOND / 2);
    client.connection.take(&mut world);
    assert!(client.connection.is_closed);
    assert_eq!(world.paths(), [""; 0]);
}

/// That it was closing was in the memory of the process: what is on disk is a session.
#[test]
fn a_session_that_was_closing_when_the_server_stopped_goes_on() {
    let mut world = exact();
    let to_closing = Duration::ZERO;
    world.server.set_expiry_pace(ExpiryPace { to_closing, to_proposal: SECOND / 2 });
    let client = world.client();
    world.advance(SECOND * 11);
    world.server.restart(world.now);
    let mut again = world.open();
    let granted = again.shake_hands(&mut world, &client.granted.again()).expect("an answer");
    assert_eq!(granted.session, client.session());
    let write = RequestHeader { xid: Xid::new(9), opcode: OpCode::CREATE };
    again.send_frame(&mut world, &write, &create("/a"));
    assert_eq!(world.paths(), ["/a"]);
}

/// As it is on Apache's: its own ephemeral znode goes before its connection does.
#[test]
fn an_expired_session_is_told_of_its_own_end_by_events_alone() {
    let mut world = world();
    let mut client = world.client();
    let mut other = world.client();
    client.make(&mut world, &create_as("/e", CreateMode::EPHEMERAL));
    client.request(&mut world, &exists("/e", true));
    other.request(&mut world, &exists("/e", true));
    world.server.expire_connected(world.now, client.session()).expect("the session");
    let deleted = [(EventType::NODE_DELETED, "/e".to_owned())];
    assert_eq!(client.events(&mut world), deleted);
    assert!(client.connection.is_closed);
    assert_eq!(other.events(&mut world), deleted);
}

/// A session mostly expires while its client is cut off: the client hears nothing at all.
#[test]
fn a_session_that_expires_behind_a_cut_is_told_nothing() {
    let mut world = world();
    let mut client = world.client();
    let mut other = world.client();
    client.make(&mut world, &create_as("/e", CreateMode::EPHEMERAL));
    client.request(&mut world, &exists("/e", true));
    other.request(&mut world, &exists("/e", true));
    world.server.expire(world.now, client.session()).expect("the session");
    assert_eq!(client.events(&mut world), []);
    assert!(client.connection.is_closed);
    assert_eq!(client.connection.rest(), b"");
    assert_eq!(other.events(&mut world), [(EventType::NODE_DELETED, "/e".to_owned())]);
    let refused = world.open().shake_hands(&mut world, &client.granted.again());
    assert_eq!(refused.expect("an answer").session, SessionId::NONE);
}

#[test]
fn throttled_requests_are_heard_and_not_done() {
    let mut world = exact();
    let mut client = world.client();
    world.server.set_throttling(Throttling::On);
    for _ in 0..3 {
        world.advance(SECOND * 5);
        assert_eq!(client.code(&mut world, &create("/a")), ErrorCode::THROTTLED_OP);
        assert_eq!(client.code(&mut world, &exists("/", true)), ErrorCode::THROTTLED_OP);
    }
    assert_eq!(client.code(&mut world, &Ping), ErrorCode::OK);
    let (header, _) = client.raw_request(&mut world, OpCode::new(999), &[]);
    assert_eq!(header.error, ErrorCode::UNIMPLEMENTED, "an unknown operation, as ever");
    let mut client = world.client();
    let closed = client.code(&mut world, &zk_jute::records::CloseSession);
    assert_eq!(closed, ErrorCode::OK);
    assert_eq!(world.paths(), [""; 0]);
}
