//! The ends of sessions, containers and znodes with a time to live.

use core::time::Duration;

use zk_embedded::{Config, UnknownSession};
use zk_jute::records::{CreateContainerRequest, CreateMode, EventType, Ping, SyncRequest};
use zk_jute::{ErrorCode, SessionId, Xid};

use crate::requests::{create, create_as, create_ttl, delete, exists, set_data};
use crate::world::{World, world};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_silent_session_ends_after_its_timeout_and_not_before() {
    let mut world = World::new(&Config::with_tick_time(Duration::from_millis(500)));
    world.advance(Duration::from_millis(300));
    let mut client = world.client();
    let mut watcher = world.client();
    client.make(&mut world, &create_as("/e", CreateMode::EPHEMERAL));
    watcher.request(&mut world, &exists("/e", true));
    let session = client.session();
    // At the tick behind 300 ms + 10 s.
    world.advance(Duration::from_millis(10_199));
    watcher.request(&mut world, &Ping);
    assert!(world.server.database().has_session(session));
    let zxid = world.zxid();
    world.advance(Duration::from_millis(1));
    assert!(!world.server.database().has_session(session));
    assert_eq!(world.zxid(), zxid + 1);
    client.connection.take(&mut world);
    assert!(client.connection.is_closed);
    assert_eq!(client.connection.rest(), b"", "the connection is closed without a word");
    let deleted = (EventType::NODE_DELETED, "/e".to_owned());
    assert_eq!(watcher.events(&mut world), [deleted]);
    let mut again = world.open();
    let refused = again.shake_hands(&mut world, &client.granted.again()).expect("an answer");
    assert_eq!(refused.session, SessionId::NONE);
}

#[test]
fn any_request_keeps_a_session_alive() {
    let mut world = world();
    let mut client = world.client();
    for _ in 0..10 {
        world.advance(9 * SECOND);
        let (header, body) = client.request(&mut world, &Ping);
        assert_eq!((header.xid, header.error, body), (Xid::PING, ErrorCode::OK, Vec::new()));
        assert_eq!(header.zxid.get(), 1);
    }
    for _ in 0..3 {
        world.advance(9 * SECOND);
        assert_eq!(client.code(&mut world, &set_data("/", b"")), ErrorCode::OK);
        world.advance(9 * SECOND);
        assert_eq!(client.code(&mut world, &SyncRequest { path: "/" }), ErrorCode::OK);
        world.advance(9 * SECOND);
        assert_eq!(client.code(&mut world, &exists("/", false)), ErrorCode::OK);
    }
    world.advance(13 * SECOND);
    assert!(!world.server.database().has_session(client.session()));
}

#[test]
fn a_session_outlives_its_connection() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create_as("/e", CreateMode::EPHEMERAL));
    world.server.close(client.connection.id);
    world.advance(9 * SECOND);
    let mut again = world.open();
    again.shake_hands(&mut world, &client.granted.again()).expect("the session");
    world.advance(9 * SECOND);
    assert_eq!(world.paths(), ["/e"]);
    world.server.drop_connections();
    again.take(&mut world);
    assert!(again.is_closed);
    assert_eq!(world.paths(), ["/e"]);
    world.advance(4 * SECOND);
    assert_eq!(world.paths(), [""; 0]);
}

#[test]
fn a_session_can_be_ended_at_once() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &create_as("/e", CreateMode::EPHEMERAL));
    let session = client.session();
    assert_eq!(world.server.expire(world.now, session), Ok(()));
    assert_eq!(world.server.expire(world.now, session), Err(UnknownSession));
    client.connection.take(&mut world);
    assert!(client.connection.is_closed);
    assert_eq!(world.paths(), [""; 0]);
}

/// A server that has nothing to do asks for nothing.
#[test]
fn nothing_is_due_on_an_idle_server() {
    let mut world = world();
    assert_eq!(world.server.poll_timeout(), None);
    let mut client = world.client();
    assert!(world.server.poll_timeout().is_some());
    client.request(&mut world, &zk_jute::records::CloseSession);
    assert_eq!(world.server.poll_timeout(), None);
}

/// A container without children goes, if it ever had one (CURATOR-435).
#[test]
fn containers_go_with_their_last_child() {
    let mut world = world();
    let mut client = world.client();
    for path in ["/used", "/never", "/busy"] {
        let container = CreateContainerRequest(create_as(path, CreateMode::CONTAINER));
        assert_eq!(client.code(&mut world, &container), ErrorCode::OK);
    }
    client.make(&mut world, &create("/used/child"));
    client.make(&mut world, &create("/busy/child"));
    client.code(&mut world, &delete("/used/child"));
    client.request(&mut world, &exists("/used", true));
    for _ in 0..8 {
        world.advance(8 * SECOND);
        client.request(&mut world, &Ping);
    }
    assert_eq!(world.paths(), ["/busy", "/busy/child", "/never"]);
    let deleted = (EventType::NODE_DELETED, "/used".to_owned());
    assert_eq!(client.events(&mut world), [deleted]);
}

#[test]
fn a_time_to_live_counts_from_the_last_write_and_waits_for_children() {
    let mut config = Config::default();
    config.extended_types = zk_embedded::ExtendedTypes::Enabled;
    config.container_check_interval = SECOND;
    let mut world = World::new(&config);
    let mut client = world.client();
    for path in ["/plain", "/written", "/parent"] {
        assert_eq!(client.code(&mut world, &create_ttl(path, 5000)), ErrorCode::OK);
    }
    client.make(&mut world, &create("/parent/child"));
    for _ in 0..5 {
        world.advance(SECOND);
        client.code(&mut world, &set_data("/written", b""));
    }
    assert_eq!(world.paths().len(), 4, "exactly the time to live is not more than it");
    world.advance(SECOND);
    assert_eq!(world.paths(), ["/parent", "/parent/child", "/written"]);
    client.code(&mut world, &delete("/parent/child"));
    world.advance_to_timeout();
    assert_eq!(world.paths(), ["/written"]);
}
