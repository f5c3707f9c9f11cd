//! Clients with servers that are not the same for ever.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use core::time::Duration;
use std::io;
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex};

use election_tokio::source::{ConnectString, NoServers, ServerAddress, ServerFile, source_fn};
use election_tokio::{
    Client, ConnectError, ConnectFailure, ConnectionState, NoMoreUpdates, SessionId,
};
use tokio::time::timeout;
use zk_test_kit::connection::unserved;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

on_both_servers! {
    #[tokio::test]
    a_client_follows_its_source_to_where_the_server_has_moved,
    a_file_is_read_again_until_it_names_a_server_that_serves,
    a_source_that_fails_costs_nothing_but_a_note,
    a_source_that_never_answers_does_not_keep_a_client_from_reconnecting,
    a_list_that_is_pushed_is_used_from_then_on,
    a_server_is_reached_by_ipv6;
}

const SESSION: Duration = Duration::from_secs(20);

/// The answer of a source, for a test to change.
type Answer = Arc<Mutex<Result<Vec<ServerAddress>, &'static str>>>;

fn addresses(servers: &str) -> Vec<ServerAddress> {
    servers.parse::<ConnectString>().unwrap().servers().cloned().collect()
}

async fn client_of(answer: &Answer) -> Result<Client, TestFailure> {
    let answer = Arc::clone(answer);
    let source = source_fn(move || {
        let answer = answer.lock().unwrap().clone().map_err(io::Error::other);
        core::future::ready(answer)
    });
    let builder = Client::builder_from(source, "/").session_timeout(SESSION);
    Ok(builder.connect_timeout(SOON).connect().await?)
}

async fn until<T>(
    client: &Client,
    mut wanted: impl FnMut(&ConnectionState) -> Option<T>,
) -> Result<T, TestFailure> {
    let mut connection = client.connection_updates();
    let state = timeout(SOON, connection.wait_for(|state| wanted(state).is_some())).await??;
    Ok(wanted(&state).ok_or(NoMoreUpdates)?)
}

async fn session(client: &Client) -> Result<SessionId, TestFailure> {
    until(client, |state| match state {
        ConnectionState::Connected { session, .. } => Some(*session),
        _ => None,
    })
    .await
}

/// Waits until the last failed attempt of a client without a connection is as wanted, and returns
/// it.
async fn failure(
    client: &Client,
    wanted: impl Fn(&ConnectFailure) -> bool,
) -> Result<Arc<ConnectFailure>, TestFailure> {
    until(client, |state| match state {
        ConnectionState::Suspended { last_failure: Some(failure), .. } if wanted(failure) => {
            Some(Arc::clone(failure))
        }
        _ => None,
    })
    .await
}

/// Ends the connection, and lets none follow it.
async fn lose(client: &Client, proxy: &Proxy) -> TestResult {
    proxy.refuse();
    proxy.cut();
    until(client, |state| matches!(state, ConnectionState::Suspended { .. }).then_some(())).await
}

/// A server that comes back under another address is found there, and the session goes on
/// (ZOOKEEPER-2184).
async fn a_client_follows_its_source_to_where_the_server_has_moved(
    server: ServerKind,
) -> TestResult {
    let old = Proxy::to(server.shared()?.addr())?;
    let new = Proxy::to(server.shared()?.addr())?;
    let answer = Answer::new(Mutex::new(Ok(addresses(&old.connect_string()))));
    let client = client_of(&answer).await?;
    let before = session(&client).await?;
    old.refuse();
    old.cut();
    failure(&client, |_| true).await?;
    let (_held, nobody) = unserved()?;
    *answer.lock().unwrap() = Ok(addresses(&format!("{nobody},{}", new.connect_string())));
    assert_eq!(session(&client).await?, before);
    assert!(client.exists("/").await?.is_some());
    Ok(())
}

async fn a_file_is_read_again_until_it_names_a_server_that_serves(
    server: ServerKind,
) -> TestResult {
    let folder = std::env::temp_dir().join(format!("servers-{}-{server:?}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("servers");
    let client =
        Client::builder_from(ServerFile::new(&file), "/").session_timeout(SESSION).start()?;
    let fails_with = |part: &'static str| {
        until(&client, move |state| match state {
            ConnectionState::Connecting { last_failure: Some(failure), .. } => {
                failure.to_string().contains(part).then_some(())
            }
            _ => None,
        })
    };
    fails_with("no server is known").await?;
    std::fs::write(&file, "# nobody yet\n")?;
    fails_with("names none").await?;
    let (_held, nobody) = unserved()?;
    std::fs::write(&file, format!("{nobody} # gone\n"))?;
    fails_with("refused").await?;
    let next = folder.join("next");
    std::fs::write(&next, server.shared()?.connect_string())?;
    std::fs::rename(&next, &file)?;
    session(&client).await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// A failed lookup is never fatal, and the last known servers stay.
async fn a_source_that_fails_costs_nothing_but_a_note(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let answer = Answer::new(Mutex::new(Ok(addresses(&proxy.connect_string()))));
    let client = client_of(&answer).await?;
    let before = session(&client).await?;
    *answer.lock().unwrap() = Err("the registry is down");
    proxy.refuse();
    proxy.cut();
    let outdated = failure(&client, |failure| {
        matches!(failure, ConnectFailure::Server { outdated: Some(_), .. })
    });
    let text = outdated.await?.to_string();
    assert!(text.contains(&proxy.connect_string()) && text.contains("registry"), "{text}");
    *answer.lock().unwrap() = Ok(Vec::new());
    failure(&client, |failure| failure.to_string().contains("names none")).await?;
    proxy.accept()?;
    assert_eq!(session(&client).await?, before);

    let nothing = Answer::new(Mutex::new(Err("the registry is down")));
    let source = source_fn(move || {
        core::future::ready(nothing.lock().unwrap().clone().map_err(io::Error::other))
    });
    let builder = Client::builder_from(source, "/").connect_timeout(Duration::from_secs(1));
    let error = builder.connect().await.unwrap_err();
    assert!(error.to_string().contains("registry"), "{error}");
    let ConnectError::NoServer { last_failure: Some(failure), .. } = error else {
        return Err(error.into());
    };
    assert!(matches!(*failure, ConnectFailure::NoneKnown { .. }), "{failure}");
    Ok(())
}

async fn a_source_that_never_answers_does_not_keep_a_client_from_reconnecting(
    server: ServerKind,
) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let first = Mutex::new(Some(addresses(&proxy.connect_string())));
    let source = source_fn(move || {
        let first = first.lock().unwrap().take();
        async move {
            match first {
                Some(servers) => Ok(servers),
                None => core::future::pending().await,
            }
        }
    });
    let client = Client::builder_from(source, "/").session_timeout(SESSION).connect().await?;
    let before = session(&client).await?;
    for _ in 0..3 {
        lose(&client, &proxy).await?;
        proxy.accept()?;
        assert_eq!(session(&client).await?, before);
    }
    Ok(())
}

async fn a_list_that_is_pushed_is_used_from_then_on(server: ServerKind) -> TestResult {
    let old = Proxy::to(server.shared()?.addr())?;
    let new = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&old.connect_string()).session_timeout(SESSION).connect().await?;
    let before = session(&client).await?;
    assert_eq!(client.update_servers([]), Err(NoServers));
    client.update_servers(addresses(&new.connect_string()))?;
    assert!(client.exists("/").await?.is_some(), "the connection stays");
    assert_eq!(new.connections().len(), 0);
    for proxy in [&old, &new, &new] {
        lose(&client, proxy).await?;
        new.accept()?;
        old.accept()?;
        assert_eq!(session(&client).await?, before);
        assert_eq!((old.connections().len(), new.connections().len()), (0, 1));
    }
    Ok(())
}

/// By way of a relay, since the servers here listen on IPv4; on a machine without IPv6, nothing.
async fn a_server_is_reached_by_ipv6(server: ServerKind) -> TestResult {
    let Ok(relay) = tokio::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else {
        eprintln!("not tried: this machine has no IPv6");
        return Ok(());
    };
    let servers = format!("unresolvable.invalid:2181,{}", relay.local_addr()?);
    assert!(servers.contains(",[::1]:"), "{servers}");
    let server = server.shared()?.addr();
    let relaying = tokio::spawn(async move {
        let (mut inner, _) = relay.accept().await?;
        let mut outer = tokio::net::TcpStream::connect(server).await?;
        tokio::io::copy_bidirectional(&mut inner, &mut outer).await
    });
    let builder = Client::builder(&servers).session_timeout(SESSION).connect_timeout(SOON);
    let client = builder.connect().await?;
    assert!(client.exists("/").await?.is_some());
    timeout(SOON, client.close()).await??;
    let (sent, received) = relaying.await??;
    assert!(sent > 0 && received > 0);
    Ok(())
}
