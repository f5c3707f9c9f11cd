//! Watches of a client that may not read (ZOOKEEPER-4799).

use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{CreateMode, Notification, RawClient, RawError};
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::zookeeper::{FourLetterError, ServerVersion};

use crate::server_recordings::requests::{
    HIDDEN, NO_AUTH, OPEN, SESSION, create, permit, read, set_data, set_watches,
};

on_both_servers! {
    #[test]
    an_event_that_the_watcher_may_not_read_is_dropped_and_its_watch_with_it,
    a_new_znode_is_told_by_its_own_access_list,
    a_change_of_the_children_is_told_by_the_access_list_of_the_parent,
    what_was_missed_is_told_whatever_the_access_list_says,
    exists_needs_the_permission_to_read;
}

const CREATED: i32 = 1;
const DELETED: i32 = 2;
const DATA_CHANGED: i32 = 3;

/// Releases with the fix; Debian has it in its 3.8.0, which cannot be told from Apache's own.
fn filters_events(server: &TestServer) -> Result<bool, FourLetterError> {
    let release = server.release()?;
    let is_between = |first, end| release >= first && release < end;
    Ok(is_between(ServerVersion::new(3, 8, 0), ServerVersion::new(3, 8, 1))
        || is_between(ServerVersion::new(3, 8, 4), ServerVersion::new(3, 9, 0))
        || release >= ServerVersion::new(3, 9, 2))
}

/// Returns the notifications that have come before the answer to a ping: a connection is one queue.
fn told(client: &mut RawClient) -> Result<Vec<(i32, String)>, RawError> {
    client.ping()?;
    let told = client.notifications().into_iter();
    Ok(told.map(|Notification { event_type, path }| (event_type, path)).collect())
}

fn an_event_that_the_watcher_may_not_read_is_dropped_and_its_watch_with_it(
    server: ServerKind,
) -> TestResult {
    let server = server.start()?;
    if !filters_events(&server)? {
        return Ok(());
    }
    let mut watcher = RawClient::connect(server.addr(), SESSION)?;
    let mut other = RawClient::connect(server.addr(), SESSION)?;
    for change in ["delete", "write"] {
        other.create("/n", CreateMode::Persistent)?;
        assert!(watcher.watch("/n")?);
        permit(&mut other, "/n", HIDDEN)?;
        assert_eq!(told(&mut watcher)?, [], "a new access list is no event");
        match change {
            "delete" => other.delete("/n")?,
            _ => other.request(Opcode::SET_DATA, &set_data("/n")).map(drop)?,
        }
        assert_eq!(told(&mut watcher)?, [], "{change}");
        assert_eq!(server.watch_count()?, 0, "the watch of {change} is gone");
        if change == "delete" {
            other.create("/n", CreateMode::Persistent)?;
        }
        permit(&mut other, "/n", OPEN)?;
        other.request(Opcode::SET_DATA, &set_data("/n"))?;
        assert_eq!(told(&mut watcher)?, [], "and does not come back with the permission");
        assert!(watcher.watch("/n")?);
        other.delete("/n")?;
        assert_eq!(told(&mut watcher)?, [(DELETED, "/n".to_owned())]);
    }
    Ok(())
}

fn a_new_znode_is_told_by_its_own_access_list(server: ServerKind) -> TestResult {
    let server = server.start()?;
    if !filters_events(&server)? {
        return Ok(());
    }
    let mut watcher = RawClient::connect(server.addr(), SESSION)?;
    let mut other = RawClient::connect(server.addr(), SESSION)?;
    for (permissions, expected) in [(HIDDEN, vec![]), (OPEN, vec![(CREATED, "/n".to_owned())])] {
        assert!(!watcher.watch("/n")?);
        other.request(Opcode::CREATE, &create("/n", permissions))?;
        assert_eq!(told(&mut watcher)?, expected);
        assert_eq!(server.watch_count()?, 0);
        other.delete("/n")?;
    }
    Ok(())
}

fn a_change_of_the_children_is_told_by_the_access_list_of_the_parent(
    server: ServerKind,
) -> TestResult {
    let server = server.start()?;
    if !filters_events(&server)? {
        return Ok(());
    }
    let mut watcher = RawClient::connect(server.addr(), SESSION)?;
    let mut other = RawClient::connect(server.addr(), SESSION)?;
    other.create("/p", CreateMode::Persistent)?;
    watcher.request(Opcode::GET_CHILDREN, &read("/p", 1))?;
    permit(&mut other, "/p", HIDDEN)?;
    other.create("/p/a", CreateMode::Persistent)?;
    assert_eq!(told(&mut watcher)?, []);
    assert_eq!(server.watch_count()?, 0);
    // The child's own list does not matter.
    permit(&mut other, "/p", OPEN)?;
    watcher.request(Opcode::GET_CHILDREN, &read("/p", 1))?;
    other.request(Opcode::CREATE, &create("/p/b", HIDDEN))?;
    assert_eq!(told(&mut watcher)?, [(4, "/p".to_owned())]);
    Ok(())
}

fn what_was_missed_is_told_whatever_the_access_list_says(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let mut watcher = RawClient::connect(server.addr(), SESSION)?;
    watcher.request(Opcode::CREATE, &create("/n", HIDDEN))?;
    let seen = 0;
    watcher.request(Opcode::SET_WATCHES, &set_watches(seen, [&["/n", "/gone"], &["/n"], &[]]))?;
    let expected = [(DATA_CHANGED, "/n"), (DELETED, "/gone"), (CREATED, "/n")];
    assert_eq!(told(&mut watcher)?, expected.map(|(kind, path)| (kind, path.to_owned())));
    Ok(())
}

fn exists_needs_the_permission_to_read(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    client.request(Opcode::CREATE, &create("/n", HIDDEN))?;
    let looked = client.watch("/n");
    // Debian's 3.8.0 filters events, and does not ask here.
    let is_guarded = filters_events(&server)? && server.release()? >= ServerVersion::new(3, 8, 4);
    if is_guarded {
        assert!(matches!(looked, Err(RawError::Refused { code: NO_AUTH, .. })), "{looked:?}");
        assert_eq!(server.watch_count()?, 0, "no watch is left");
    } else {
        assert!(matches!(looked, Ok(true)), "{looked:?}");
        assert_eq!(server.watch_count()?, 1);
    }
    Ok(())
}
