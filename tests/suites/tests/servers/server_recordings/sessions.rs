//! When sessions end, and what their clients hear of it.

use core::time::Duration;
use std::time::Instant;

use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::raw::{CreateMode, RawClient, RawError, RawSession};
use zk_test_kit::server::{ServerKind, Settings, TestServer};
use zk_test_kit::wait::{SOON, eventually};

use crate::server_recordings::requests::SESSION;

on_both_servers! {
    #[test]
    a_session_ends_in_the_tick_behind_its_timeout,
    a_smaller_timeout_of_a_later_connection_counts_at_once,
    a_restart_forgets_what_was_granted_after_the_creation,
    the_client_of_an_expired_session_gets_no_answer;
}

const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(25);
/// More than a slow machine takes, and far less than what separates short from long.
const SLACK: Duration = Duration::from_secs(15);

/// Waits until the znode is gone; tells when it was known to be.
fn end_of(server: &TestServer, path: &str) -> Result<Instant, RawError> {
    let mut watcher = RawClient::connect(server.addr(), SESSION)?;
    if watcher.watch(path)? {
        watcher.next_notification()?;
    }
    Ok(Instant::now())
}

/// Checks that the server refuses a session after it has deleted the session's znodes. The server deletes
/// them before it closes the session's connections: a connection that comes in between is closed with
/// these, without an answer.
fn is_over(server: &TestServer, session: &RawSession) -> TestResult {
    let what = "the session is refused";
    Ok(eventually(SOON, what, || match RawClient::resume(server.addr(), session) {
        Err(RawError::SessionExpired) => true,
        Err(RawError::Connection(_)) => false,
        other => panic!("{other:?}"),
    })?)
}

/// Makes a session with an ephemeral znode, made with the one timeout and resumed with the other;
/// and the moment before it was heard of last.
fn resumed(
    server: &TestServer,
    path: &str,
    [first, second]: [Duration; 2],
) -> Result<(RawClient, Instant), RawError> {
    let mut client = RawClient::connect(server.addr(), first)?;
    assert_eq!(client.session().timeout, first);
    client.create(path, CreateMode::Ephemeral)?;
    let mut session = client.session().clone();
    session.timeout = second;
    let heard = Instant::now();
    let client = RawClient::resume(server.addr(), &session)?;
    assert_eq!(client.session().timeout, second, "what the client is told");
    Ok((client, heard))
}

/// In (T, T + tick]: no earlier is exact, no later as far as the machine is fast.
fn a_session_ends_in_the_tick_behind_its_timeout(server: ServerKind) -> TestResult {
    let tick_time = Duration::from_secs(1);
    let server = server.start_with(&Settings { tick_time, ..Settings::default() })?;
    let mut client = RawClient::connect(server.addr(), SHORT)?;
    client.create("/e", CreateMode::Ephemeral)?;
    let heard = Instant::now();
    client.ping()?;
    let lasted = end_of(&server, "/e")? - heard;
    assert!(lasted > SHORT, "{lasted:?}");
    assert!(lasted < SHORT + tick_time + SLACK, "{lasted:?}");
    Ok(())
}

fn a_smaller_timeout_of_a_later_connection_counts_at_once(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let (_client, heard) = resumed(&server, "/e", [LONG, SHORT])?;
    let lasted = end_of(&server, "/e")? - heard;
    assert!(lasted > SHORT && lasted < SHORT + SLACK, "{lasted:?}");
    Ok(())
}

fn a_restart_forgets_what_was_granted_after_the_creation(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let (client, _) = resumed(&server, "/e", [SHORT, LONG])?;
    let (_other, _) = resumed(&server, "/f", [LONG, SHORT])?;
    let before = Instant::now();
    server.restart()?;
    let after = Instant::now();
    let session = client.session().clone();
    drop(client);
    let end = end_of(&server, "/e")?;
    assert!(end - before > SHORT, "{:?}", end - before);
    assert!(end - after < SHORT + SLACK, "{:?}, and not {:?}", end - after, session.timeout);
    is_over(&server, &session)?;
    let end = end_of(&server, "/f")?;
    assert!(end - before > LONG, "{:?}: a session that was made with more", end - before);
    Ok(())
}

/// Its own ephemeral znode goes before its connection does, so that it may see the event.
fn the_client_of_an_expired_session_gets_no_answer(server_kind: ServerKind) -> TestResult {
    let server = server_kind.start()?;
    let mut client = RawClient::connect(server.addr(), SHORT)?;
    client.create("/e", CreateMode::Ephemeral)?;
    assert!(client.watch("/e")?);
    let session = client.session().clone();
    let rest = client.rest()?;
    let is_event = rest.len() == 34 && rest.get(4..8) == Some(&(-1_i32).to_be_bytes());
    assert!(rest.is_empty() || is_event, "{rest:?}");
    if server_kind == ServerKind::Embedded {
        assert!(is_event, "Apache's is cut off if the socket is full");
    }
    let mut client = RawClient::connect(server.addr(), SHORT)?;
    client.create("/e", CreateMode::Ephemeral)?;
    assert_eq!(client.rest()?, b"", "the connection is closed, without a word");
    is_over(&server, &session)?;
    Ok(())
}
