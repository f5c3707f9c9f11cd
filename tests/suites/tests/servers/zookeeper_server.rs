//! The harness's single server, with hand-written protocol bytes.

use core::time::Duration;

use zk_test_kit::failure::TestResult;
use zk_test_kit::raw::{CreateMode, RawClient, RawError};
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::{Mode, Options, StartError, shared};

const SESSION: Duration = Duration::from_secs(30);

#[test]
fn a_server_serves_and_tells_about_itself() -> TestResult {
    let server = shared()?;
    assert_eq!(server.mode()?, Mode::Standalone);
    assert!(server.four_letter("mntr")?.contains("zk_version"));
    assert_eq!(server.four_letter("ruok")?, "imok");
    assert_eq!(server.connect_string(), server.addr().to_string());
    Ok(())
}

#[test]
fn each_test_gets_a_chroot_of_its_own() -> TestResult {
    let server = shared()?;
    let (one, two) = (server.fresh_chroot("chroot")?, server.fresh_chroot("chroot")?);
    assert_ne!(one, two);
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    assert!(client.exists(&one)? && client.exists(&two)?);
    Ok(())
}

#[test]
fn a_server_counts_its_watches() -> TestResult {
    let server = Options::new().start_server()?;
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    assert_eq!(server.watch_count()?, 0);
    client.watch("/zookeeper")?;
    client.watch("/missing")?;
    assert_eq!(server.watch_count()?, 2);
    client.create("/missing", CreateMode::Persistent)?;
    let fired = client.next_notification()?;
    assert_eq!((fired.event_type, fired.path.as_str()), (1, "/missing"));
    assert_eq!(server.watch_count()?, 1);
    Ok(())
}

#[test]
fn a_killed_and_restarted_server_keeps_sessions_and_ephemerals() -> TestResult {
    let server = Options::new().start_server()?;
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    client.create("/ephemeral", CreateMode::Ephemeral)?;
    client.ping()?;
    let session = client.session().clone();
    let address = server.addr();

    server.kill()?;
    assert!(client.ping().is_err());
    assert!(RawClient::connect(address, SESSION).is_err());
    assert_eq!(server.process_id(), None);

    server.restart()?;
    assert_eq!(server.addr(), address);
    let mut resumed = RawClient::resume(address, &session)?;
    assert_eq!(resumed.session().id, session.id);
    assert!(resumed.exists("/ephemeral")?);
    resumed.close()?;
    let refused = RawClient::resume(address, &session);
    assert!(matches!(refused, Err(RawError::SessionExpired)), "{refused:?}");
    Ok(())
}

#[test]
fn a_paused_server_is_silent_and_a_resumed_one_answers_what_was_asked() -> TestResult {
    let server = Options::new().start_server()?;
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    server.pause()?;
    // The kernel accepts the connection; no process answers.
    assert!(server.mode().is_err());
    client.send_create("/asked-while-paused", CreateMode::Ephemeral)?;
    server.resume()?;
    client.ping().expect_err("the reply to the create comes first");
    server.wait_until_serving()?;
    let mut other = RawClient::connect(server.addr(), SESSION)?;
    assert!(other.exists("/asked-while-paused")?);
    Ok(())
}

#[test]
fn a_session_without_pings_expires_after_its_negotiated_timeout() -> TestResult {
    let server = Options::new().start_server()?;
    let shortest = RawClient::connect(server.addr(), Duration::from_millis(1))?;
    assert_eq!(shortest.session().timeout, Duration::from_millis(400), "two ticks of 200 ms");
    shortest.wait_for_end()?;

    let mut client = RawClient::connect(server.addr(), Duration::from_secs(6))?;
    client.create("/ephemeral", CreateMode::Ephemeral)?;
    let mut observer = RawClient::connect(server.addr(), SESSION)?;
    eventually(SOON, "the ephemeral znode is gone", || {
        observer.exists("/ephemeral").is_ok_and(|exists| !exists)
    })?;
    client.wait_for_end()?;
    Ok(())
}

#[test]
fn options_reach_the_server() -> TestResult {
    let server = Options::new()
        .min_session_timeout(Duration::from_secs(3))
        .max_session_timeout(Duration::from_secs(5))
        .max_client_connections(2)
        .jute_max_buffer(4_000)
        .start_server()?;
    let mut first = RawClient::connect(server.addr(), Duration::from_millis(1))?;
    let second = RawClient::connect(server.addr(), SESSION)?;
    assert_eq!(first.session().timeout, Duration::from_secs(3));
    assert_eq!(second.session().timeout, Duration::from_secs(5));
    assert!(RawClient::connect(server.addr(), SESSION).is_err(), "a third connection");
    let long = format!("/{}", "x".repeat(4_000));
    assert!(first.create(&long, CreateMode::Persistent).is_err(), "beyond jute.maxbuffer");
    Ok(())
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let refused = Options::new().config_line("tickTime=nonsense").start_server();
    let Err(error @ StartError::Exited { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(error.to_string().contains("nonsense"), "{error}");
}
