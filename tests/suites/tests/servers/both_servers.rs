//! The harness's two kinds of servers: the guarantees to a test that runs on either.

use core::time::Duration;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::raw::{CreateMode, RawClient};
use zk_test_kit::server::{ServerKind, Settings};

on_both_servers! {
    #[test]
    a_server_is_of_the_kind_that_was_asked_for,
    each_test_gets_a_chroot_of_its_own,
    watches_are_counted,
    settings_reach_the_server,
    a_killed_server_is_gone;
}

const SESSION: Duration = Duration::from_secs(30);

fn a_server_is_of_the_kind_that_was_asked_for(server: ServerKind) -> TestResult {
    let mut stream = TcpStream::connect(server.shared()?.addr())?;
    stream.write_all(b"srvr")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    assert_eq!(answer.contains("zk-embedded"), server == ServerKind::Embedded, "{answer}");
    assert!(answer.contains("Mode: standalone"), "{answer}");
    Ok(())
}

fn each_test_gets_a_chroot_of_its_own(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let (one, two) = (server.fresh_chroot("chroot")?, server.fresh_chroot("chroot")?);
    assert_ne!(one, two);
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    assert!(client.exists(&one)? && client.exists(&two)?);
    Ok(())
}

fn watches_are_counted(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    client.watch("/zookeeper")?;
    client.watch("/missing")?;
    assert_eq!(server.watch_count()?, 2);
    client.create("/missing", CreateMode::Persistent)?;
    client.next_notification()?;
    assert_eq!(server.watch_count()?, 1);
    Ok(())
}

fn settings_reach_the_server(server: ServerKind) -> TestResult {
    let max_session_timeout = Duration::from_secs(5);
    let server = server.start_with(&Settings { max_session_timeout, ..Settings::default() })?;
    let client = RawClient::connect(server.addr(), SESSION)?;
    assert_eq!(client.session().timeout, max_session_timeout);
    let client = RawClient::connect(server.addr(), Duration::from_millis(1))?;
    assert_eq!(client.session().timeout, Duration::from_millis(400), "two ticks of 200 ms");
    Ok(())
}

fn a_killed_server_is_gone(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let client = RawClient::connect(server.addr(), SESSION)?;
    server.kill()?;
    server.kill()?;
    client.wait_for_end()?;
    assert!(RawClient::connect(server.addr(), SESSION).is_err());
    Ok(())
}
