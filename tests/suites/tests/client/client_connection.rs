//! Connections and sessions of the client: how they come, go, and are told of.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use election_tokio::session::{SessionEnd, WhileDisconnected};
use election_tokio::{Client, ConnectError, ConnectionState, CreateMode, ErrorKind, Version};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use zk_test_kit::connection::unserved;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Directions, FrameKind, Proxy};
use zk_test_kit::raw::RawClient;
use zk_test_kit::server::{ServerKind, Settings};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

on_both_servers! {
    #[tokio::test]
    the_timeout_that_the_server_granted_is_visible,
    the_states_of_a_connection_come_in_order,
    the_states_of_a_session_that_expires_come_in_order,
    requests_in_flight_at_a_cut_end_and_are_sent_once,
    while_disconnected_requests_fail_at_once_or_wait,
    one_good_server_among_bad_ones_is_found,
    a_connect_that_fails_names_the_server_and_the_reason,
    a_client_that_starts_without_a_server_shows_it_and_connects_later,
    after_an_expiry_operations_go_on_in_a_new_session,
    ephemeral_znodes_go_with_the_client,
    a_close_without_a_server_ends_with_an_error;

    #[test]
    the_end_of_the_runtime_ends_what_waits_on_its_client;
}

const SESSION: Duration = Duration::from_secs(20);

/// The timeout of a session that the test lets expire, or does not want to wait for.
const SHORT: Duration = Duration::from_secs(5);

async fn until(
    client: &Client,
    condition: impl FnMut(&ConnectionState) -> bool,
) -> Result<ConnectionState, TestFailure> {
    let mut connection = client.connection_updates();
    Ok(timeout(SOON, connection.wait_for(condition)).await??)
}

async fn until_connected(client: &Client) -> Result<ConnectionState, TestFailure> {
    until(client, |state| matches!(state, ConnectionState::Connected { .. })).await
}

/// Starts a server that accepts connections, answers with `answer`, and closes.
fn pretender(answer: &'static [u8]) -> io::Result<String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            // The whole handshake, so that the end is not a reset.
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(answer);
        }
    });
    Ok(address)
}

async fn the_timeout_that_the_server_granted_is_visible(server: ServerKind) -> TestResult {
    let settings = Settings { max_session_timeout: Duration::from_secs(3), ..Settings::default() };
    let server = server.start_with(&settings)?;
    let client =
        Client::builder(&server.connect_string()).session_timeout(SESSION).connect().await?;
    let ConnectionState::Connected { timeout, read_only, .. } = until_connected(&client).await?
    else {
        panic!("not connected");
    };
    assert_eq!((timeout, read_only), (Duration::from_secs(3), false));
    Ok(())
}

/// Connecting, Connected, Suspended, Connected (the same session), Closed.
async fn the_states_of_a_connection_come_in_order(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).session_timeout(SESSION).start()?;
    let nothing_yet = ConnectionState::Connecting { failures: 0, last_failure: None };
    assert_eq!(client.connection_updates().latest(), nothing_yet);
    let first = until_connected(&client).await?;

    proxy.refuse();
    proxy.cut();
    until(&client, |state| matches!(state, ConnectionState::Suspended { failures: 1.., .. }))
        .await?;
    proxy.accept()?;
    assert_eq!(until_connected(&client).await?, first);
    let connection = client.connection_updates();
    client.close().await?;
    let closed = ConnectionState::Closed { end: SessionEnd::Closed };
    assert_eq!(connection.latest(), closed);
    Ok(())
}

/// Connected, Suspended, Expired, Connected (a new session); the expiry is told without any server
/// in reach (CURATOR-367, ZOOKEEPER-4508).
async fn the_states_of_a_session_that_expires_come_in_order(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&proxy.connect_string()).session_timeout(SHORT);
    let client = builder.start()?;
    let first = until_connected(&client).await?;
    proxy.refuse();
    proxy.cut();
    until(&client, |state| matches!(state, ConnectionState::Suspended { .. })).await?;
    // The first attempt of the next session may have failed before the test looks.
    until(&client, |state| {
        matches!(state, ConnectionState::Expired { .. } | ConnectionState::Connecting { .. })
    })
    .await?;
    proxy.accept()?;
    assert_ne!(until_connected(&client).await?, first);
    Ok(())
}

/// Whatever was sent when the connection is lost may or may not have happened, and is not sent
/// again.
async fn requests_in_flight_at_a_cut_end_and_are_sent_once(server: ServerKind) -> TestResult {
    const WRITES: u64 = 200;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client =
        Client::builder(&proxy.connect_string()).session_timeout(SESSION).connect().await?;
    let path = unique_path("counter");
    client.create(&path, "", CreateMode::Persistent).await?;
    let cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::SET_DATA).skipping(50));
    let mut writes = JoinSet::new();
    for _ in 0..WRITES {
        let (client, path) = (client.clone(), path.clone());
        writes.spawn(async move { client.set_data(&path, "", Version::ANY).await });
    }
    let (mut done, mut open, mut not_sent) = (0, 0, 0);
    while let Some(outcome) = writes.join_next().await {
        match outcome?.map_err(|error| error.kind()) {
            Ok(_) => done += 1,
            Err(ErrorKind::ConnectionLoss) => open += 1,
            Err(ErrorKind::NotConnected) => not_sent += 1,
            Err(kind) => panic!("{kind:?}"),
        }
    }
    cut.happened(SOON).await?;
    assert!(done == 50 && open > 0, "{done} {open} {not_sent}");
    assert_eq!(done + open + not_sent, WRITES);
    until_connected(&client).await?;
    client.sync(&path).await?;
    let arrived = proxy.counters().arrived(FrameKind::Request(Opcode::SET_DATA));
    assert!(arrived <= done + open, "{arrived} requests for {done} + {open}");
    let version = client.exists(&path).await?.map_or(-1, |stat| stat.version.get());
    assert!(u64::try_from(version)? > done, "the write without an answer has happened");
    assert!(u64::try_from(version)? <= arrived);
    Ok(())
}

async fn while_disconnected_requests_fail_at_once_or_wait(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = || Client::builder(&proxy.connect_string()).session_timeout(SESSION);
    let refusing = builder().connect().await?;
    let queueing = builder().while_disconnected(WhileDisconnected::Queue).connect().await?;
    let suspended = |state: &ConnectionState| matches!(state, ConnectionState::Suspended { .. });
    proxy.refuse();
    proxy.cut();
    until(&refusing, suspended).await?;
    until(&queueing, suspended).await?;
    assert_eq!(refusing.exists("/").await.unwrap_err().kind(), ErrorKind::NotConnected);
    let mut waiting = Box::pin(queueing.exists("/"));
    assert!(timeout(Duration::from_millis(50), &mut waiting).await.is_err());
    proxy.accept()?;
    assert!(timeout(SOON, waiting).await??.is_some());
    Ok(())
}

/// Servers that do not answer, close at once or speak something else do not keep the client from
/// the one that works.
async fn one_good_server_among_bad_ones_is_found(server: ServerKind) -> TestResult {
    let silent = Proxy::to(server.shared()?.addr())?;
    silent.black_hole(Directions::Both);
    let (_held, nobody) = unserved()?;
    let servers = [
        nobody,
        pretender(b"")?,
        pretender(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")?,
        silent.connect_string(),
        "no-such-host.invalid:2181".to_owned(),
        server.shared()?.connect_string(),
    ]
    .join(",");
    for _ in 0..5 {
        let builder = Client::builder(&servers).session_timeout(SHORT);
        let client = builder.connect_timeout(SOON).connect().await?;
        assert!(client.exists("/").await?.is_some());
        client.close().await?;
    }
    Ok(())
}

/// Each kind of bad server is named, with the reason.
async fn a_connect_that_fails_names_the_server_and_the_reason(server: ServerKind) -> TestResult {
    let silent = Proxy::to(server.shared()?.addr())?;
    silent.black_hole(Directions::Both);
    let (_held, nobody) = unserved()?;
    let cases = [
        (nobody, "refused"),
        (pretender(b"")?, "closed"),
        (pretender(b"HTTP/1.1 400 Bad Request\r\n\r\n")?, "limit"),
        (silent.connect_string(), "timed out"),
        ("no-such-host.invalid:2181".to_owned(), "lookup"),
    ];
    for (server, reason) in cases {
        let started = Instant::now();
        let builder = Client::builder(&server).session_timeout(Duration::from_millis(500));
        let after = Duration::from_secs(2);
        let error = builder.connect_timeout(after).connect().await.unwrap_err();
        assert!(started.elapsed() >= after);
        let text = error.to_string();
        assert!(text.contains(&server) && text.contains(reason), "{server} {reason}: {text}");
        assert!(matches!(error, ConnectError::NoServer { last_failure: Some(_), .. }));
    }
    Ok(())
}

/// Without a server the state says so, and once there is one the client goes on (kazoo #83).
async fn a_client_that_starts_without_a_server_shows_it_and_connects_later(
    server: ServerKind,
) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    proxy.refuse();
    let client = Client::builder(&proxy.connect_string()).start()?;
    let failed = |state: &ConnectionState| {
        matches!(state, ConnectionState::Connecting { failures: 2.., last_failure: Some(_) })
    };
    until(&client, failed).await?;
    assert_eq!(client.exists("/").await.unwrap_err().kind(), ErrorKind::NotConnected);
    proxy.accept()?;
    until_connected(&client).await?;
    assert!(client.exists("/").await?.is_some());
    Ok(())
}

#[tokio::test]
async fn a_connect_string_that_cannot_be_used_is_refused() {
    for servers in ["", ",", "host:port", "host:2181/chroot/", "host:2181/a//b", "host:99999"] {
        let error = Client::builder(servers).start().unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("invalid "), "{servers:?}: {text}");
    }
}

/// A session that a server let expire is followed by a new one, and operations go on
/// (rust-zookeeper #62).
async fn after_an_expiry_operations_go_on_in_a_new_session(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let proxy = Proxy::to(server.addr())?;
    let builder = Client::builder(&proxy.connect_string()).session_timeout(SHORT);
    let client = builder.connect().await?;
    client.create("/mine", "", CreateMode::Ephemeral).await?;
    let first = until_connected(&client).await?;
    proxy.refuse();
    proxy.cut();
    let mut observer = RawClient::connect(server.addr(), SESSION)?;
    let gone = eventually_async(SOON, "the session expires", async || {
        observer.exists("/mine").is_ok_and(|exists| !exists)
    });
    gone.await?;
    proxy.accept()?;
    let second = |state: &ConnectionState| {
        matches!(state, ConnectionState::Connected { .. }) && *state != first
    };
    until(&client, second).await?;
    client.create("/mine", "", CreateMode::Ephemeral).await?;
    Ok(())
}

/// A confirmed close leaves nothing; nor does the drop of the last clone, a moment later.
async fn ephemeral_znodes_go_with_the_client(server: ServerKind) -> TestResult {
    let mut observer = RawClient::connect(server.shared()?.addr(), SESSION)?;
    let path = unique_path("ephemeral");
    let servers = server.shared()?.connect_string();
    let builder = || Client::builder(&servers).session_timeout(SESSION);
    let client = builder().connect().await?;
    client.create(&path, "", CreateMode::Ephemeral).await?;
    let clone = client.clone();
    client.close().await?;
    assert!(!observer.exists(&path)?);
    assert_eq!(clone.exists("/").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(clone.close().await, Ok(()));

    let client = builder().connect().await?;
    client.create(&path, "", CreateMode::Ephemeral).await?;
    let clone = client.clone();
    drop(client);
    clone.sync("/").await?;
    assert!(observer.exists(&path)?);
    let dropped = Instant::now();
    drop(clone);
    let gone = eventually_async(SOON, "it goes", async || {
        observer.exists(&path).is_ok_and(|exists| !exists)
    });
    gone.await?;
    assert!(dropped.elapsed() < SESSION, "it went by itself");
    Ok(())
}

/// A close that no server can confirm ends all the same, and says so (CURATOR-194).
async fn a_close_without_a_server_ends_with_an_error(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = || Client::builder(&proxy.connect_string()).session_timeout(SHORT);
    let silenced = builder().connect().await?;
    proxy.black_hole(Directions::ToServer);
    timeout(SOON, silenced.close()).await?.expect_err("nobody confirms it");
    proxy.heal_by_cutting();
    let disconnected = builder().connect().await?;
    proxy.refuse();
    proxy.cut();
    timeout(SOON, disconnected.close()).await?.expect_err("nobody confirms it");
    Ok(())
}

/// A runtime that shuts down takes the client's task along: what waits elsewhere ends.
fn the_end_of_the_runtime_ends_what_waits_on_its_client(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let (dying, other) = (runtime()?, runtime()?);
    let builder = Client::builder(&proxy.connect_string()).session_timeout(SESSION);
    let client = dying.block_on(builder.connect())?;
    proxy.black_hole(Directions::ToServer);
    let waiting = {
        let client = client.clone();
        other.spawn(async move { client.exists("/").await })
    };
    let mut nomination = client.election("/never").nominate()?;
    let elected = other.spawn(async move { nomination.elected().await.map(|_| ()) });
    proxy.wait_for(SOON, "the request is on its way", |counters| {
        counters.arrived(FrameKind::Request(Opcode::EXISTS)) > 0
    })?;
    drop(dying);
    let error = other.block_on(async { timeout(SOON, waiting).await })??.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLoss);
    other.block_on(async { timeout(SOON, elected).await })??.expect_err("it is over");
    let error = other.block_on(client.exists("/")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    other.block_on(async { timeout(SOON, client.close()).await })?.expect_err("nobody confirms it");
    Ok(())
}
