//! The deviations of other servers: each profile beside Apache ZooKeeper.

use core::time::Duration;

use zk_embedded::{Config, Profile};
use zk_jute::records::{ConnectRequest, Create2Request, CreateMode, WhoAmI};
use zk_jute::{Encode, ErrorCode, OpCode, Request, RequestHeader, Xid};

use crate::requests::{create, create_as};
use crate::world::{Client, World, new_session};

const OTHERS: [Profile; 3] = [Profile::Keeper, Profile::KeeperBefore2512, Profile::RaftKeeper];

fn like(profile: Profile) -> (World, Client) {
    let mut world = World::new(&Config::default().like(profile));
    let client = world.client();
    (world, client)
}

/// Sends a request, and returns whether the connection goes on, and the length of the answer.
fn sent<R: Request>(world: &mut World, client: &mut Client, request: &R) -> (bool, usize) {
    let header = RequestHeader { xid: Xid::new(7), opcode: R::OPCODE };
    client.connection.send_frame(world, &header, request);
    (!client.connection.is_closed, client.connection.rest().len())
}

#[test]
fn only_apache_zookeeper_gives_out_passwords() {
    assert_ne!(like(Profile::ZooKeeper).1.granted.password, [0; 16]);
    for profile in OTHERS {
        assert_eq!(like(profile).1.granted.password, [0; 16], "{profile:?}");
    }
}

#[test]
fn keeper_continues_no_session_and_raftkeeper_any_that_is_named() {
    for profile in OTHERS.into_iter().chain([Profile::ZooKeeper]) {
        let (mut world, client) = like(profile);
        let mut again = world.open();
        let wrong =
            ConnectRequest { password: Some(b"0123456789abcdef"), ..client.granted.again() };
        let granted = again.shake_hands(&mut world, &wrong).expect("an answer");
        match profile {
            Profile::ZooKeeper => assert_eq!(granted.session.get(), 0),
            Profile::RaftKeeper => assert_eq!(granted.session, client.session()),
            _ => {
                assert_ne!(granted.session, client.session(), "{profile:?}");
                assert_ne!(granted.session.get(), 0, "{profile:?}");
                assert!(world.server.database().has_session(client.session()), "it lives on");
            }
        }
    }
}

#[test]
fn a_member_of_keeper_that_shuts_down_ends_the_sessions_of_its_clients() {
    for profile in OTHERS.into_iter().chain([Profile::ZooKeeper]) {
        let (mut world, mut client) = like(profile);
        client.make(&mut world, &create_as("/e", CreateMode::EPHEMERAL));
        world.server.shut_down(world.now);
        client.connection.take(&mut world);
        assert!(client.connection.is_closed, "{profile:?}");
        let lives_on = matches!(profile, Profile::ZooKeeper | Profile::RaftKeeper);
        assert_eq!(world.server.database().has_session(client.session()), lives_on, "{profile:?}");
        assert_eq!(world.paths().is_empty(), !lives_on, "{profile:?}");
    }
}

#[test]
fn unknown_operations_are_answered_by_apache_zookeeper_alone() {
    let create2 = Create2Request(create("/z"));
    for (profile, goes_on) in [(Profile::KeeperBefore2512, false), (Profile::RaftKeeper, true)] {
        let (mut world, mut client) = like(profile);
        assert_eq!(sent(&mut world, &mut client, &create2), (goes_on, 0), "{profile:?}");
        let (mut world, mut client) = like(profile);
        assert_eq!(client.code(&mut world, &create("/z")), ErrorCode::OK, "{profile:?}");
    }
    let (mut world, mut client) = like(Profile::Keeper);
    assert_eq!(client.code(&mut world, &create2), ErrorCode::OK);
    assert_eq!(sent(&mut world, &mut client, &WhoAmI), (false, 0));
    let (mut world, mut client) = like(Profile::ZooKeeper);
    let mut body = Vec::new();
    WhoAmI.encode(&mut body);
    let (header, _) = client.raw_request(&mut world, OpCode::new(4711), &body);
    assert_eq!(header.error, ErrorCode::UNIMPLEMENTED);
}

#[test]
fn keeper_grants_other_timeouts() {
    let granted = |profile, timeout| {
        let (mut world, _) = like(profile);
        let request = ConnectRequest { timeout, ..new_session() };
        let granted = world.open().shake_hands(&mut world, &request).expect("a session");
        Duration::from_millis(granted.timeout.unsigned_abs().into()).as_secs()
    };
    assert_eq!([0, 1, 200_000].map(|asked| granted(Profile::Keeper, asked)), [30, 10, 100]);
    assert_eq!([0, 1, 200_000].map(|asked| granted(Profile::ZooKeeper, asked)), [4, 4, 40]);
}
