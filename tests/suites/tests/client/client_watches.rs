//! One-shot watches.

use core::time::Duration;

use election_tokio::{
    Client, ConnectionState, CreateMode, Error, Version,
    watch::{EventType, OneshotWatch, WatchEvent, WatchLost},
};
use tokio::task::JoinSet;
use tokio::time::timeout;
use zk_test_kit::connection::has_expired;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

on_both_servers! {
    #[tokio::test]
    each_kind_of_change_fires_the_watches_on_it,
    watches_on_one_znode_share_one_notification,
    a_change_during_an_outage_fires_after_it,
    a_watch_outlives_its_connection,
    fifty_thousand_watches_are_set_again_in_pieces,
    a_dropped_watch_is_taken_down,
    a_lost_watch_is_dropped_without_harm_to_those_of_the_next_session,
    a_watch_is_lost_with_its_session;
}

async fn through(proxy: &Proxy) -> Result<Client, TestFailure> {
    let builder = Client::builder(&proxy.connect_string());
    Ok(builder.session_timeout(Duration::from_secs(20)).connect().await?)
}

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(5);

async fn direct(server: &TestServer) -> Result<Client, TestFailure> {
    Ok(Client::builder(&server.connect_string()).connect().await?)
}

async fn fired(watch: OneshotWatch) -> Result<EventType, TestFailure> {
    let event: Result<WatchEvent, WatchLost> = timeout(SOON, watch).await?;
    Ok(event?.kind)
}

/// Waits until the client is served on another connection than the first ones.
async fn reconnected(proxy: &Proxy, client: &Client, connections: u64) -> TestResult {
    let served = eventually_async(SOON, "it is served again", async || {
        proxy.counters().accepted > connections && client.sync("/").await.is_ok()
    });
    Ok(served.await?)
}

async fn each_kind_of_change_fires_the_watches_on_it(server: ServerKind) -> TestResult {
    let client = direct(server.shared()?).await?;
    let path = unique_path("watch");
    let child = format!("{path}/child");

    let (none, created) = client.exists_and_watch(&path).await?;
    assert_eq!(none, None);
    client.create(&path, "", CreateMode::Persistent).await?;
    assert_eq!(fired(created).await?, EventType::NODE_CREATED);

    let (_, _, data) = client.get_data_and_watch(&path).await?;
    let (_, exists) = client.exists_and_watch(&path).await?;
    let (_, children) = client.get_children_and_watch(&path).await?;
    client.set_data(&path, "new", Version::ANY).await?;
    assert_eq!(fired(data).await?, EventType::NODE_DATA_CHANGED);
    assert_eq!(fired(exists).await?, EventType::NODE_DATA_CHANGED);
    client.create(&child, "", CreateMode::Persistent).await?;
    assert_eq!(fired(children).await?, EventType::NODE_CHILDREN_CHANGED);

    let (_, children) = client.get_children_and_watch(&child).await?;
    let (_, _, data) = client.get_data_and_watch(&child).await?;
    client.delete(&child, Version::ANY).await?;
    assert_eq!(fired(children).await?, EventType::NODE_DELETED);
    assert_eq!(fired(data).await?, EventType::NODE_DELETED);
    Ok(())
}

/// Several watches on one znode are one at the server and fire together, once.
async fn watches_on_one_znode_share_one_notification(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = through(&proxy).await?;
    let path = unique_path("shared");
    client.create(&path, "", CreateMode::Ephemeral).await?;
    let mut watches = Vec::new();
    for _ in 0..10 {
        watches.push(client.get_data_and_watch(&path).await?.2);
    }
    client.set_data(&path, "1", Version::ANY).await?;
    client.set_data(&path, "2", Version::ANY).await?;
    for watch in watches {
        assert_eq!(fired(watch).await?, EventType::NODE_DATA_CHANGED);
    }
    client.sync("/").await?;
    assert_eq!(proxy.counters().notifications(), 1);
    Ok(())
}

/// A change during an outage is reported after it (kazoo #116, rust-zookeeper #97).
async fn a_change_during_an_outage_fires_after_it(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = through(&proxy).await?;
    let other = direct(server.shared()?).await?;
    let (deleted, created) = (unique_path("deleted"), unique_path("created"));
    let (written, parent) = (unique_path("written"), unique_path("parent"));
    for path in [&deleted, &written, &parent] {
        other.create(path, "", CreateMode::Persistent).await?;
    }
    let (_, _, on_deleted) = client.get_data_and_watch(&deleted).await?;
    let (_, on_created) = client.exists_and_watch(&created).await?;
    let (_, _, on_written) = client.get_data_and_watch(&written).await?;
    let (_, on_parent) = client.get_children_and_watch(&parent).await?;
    proxy.refuse();
    proxy.cut();
    other.delete(&deleted, Version::ANY).await?;
    other.create(&created, "", CreateMode::Ephemeral).await?;
    other.set_data(&written, "x", Version::ANY).await?;
    other.create(&format!("{parent}/child"), "", CreateMode::Ephemeral).await?;
    proxy.accept()?;
    assert_eq!(fired(on_deleted).await?, EventType::NODE_DELETED);
    assert_eq!(fired(on_created).await?, EventType::NODE_CREATED);
    assert_eq!(fired(on_written).await?, EventType::NODE_DATA_CHANGED);
    assert_eq!(fired(on_parent).await?, EventType::NODE_CHILDREN_CHANGED);
    Ok(())
}

async fn a_watch_outlives_its_connection(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = through(&proxy).await?;
    let path = unique_path("outlives");
    client.create(&path, "", CreateMode::Persistent).await?;
    let (_, _, mut watch) = client.get_data_and_watch(&path).await?;
    for cuts in 1..=3 {
        proxy.cut();
        reconnected(&proxy, &client, cuts).await?;
        assert!(timeout(Duration::ZERO, &mut watch).await.is_err(), "nothing has changed");
    }
    client.set_data(&path, "x", Version::ANY).await?;
    assert_eq!(fired(watch).await?, EventType::NODE_DATA_CHANGED);
    client.sync("/").await?;
    let counters = proxy.counters();
    assert_eq!((counters.requests(Opcode::SET_WATCHES), counters.notifications()), (3, 1));
    Ok(())
}

/// The watches of a session are set again in several requests, below every limit (ZOOKEEPER-706).
async fn fifty_thousand_watches_are_set_again_in_pieces(server: ServerKind) -> TestResult {
    const TASKS: usize = 50;
    const EACH: usize = 1000;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = through(&proxy).await?;
    let parent = unique_path(&"long-name".repeat(11));
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let (client, parent) = (client.clone(), parent.clone());
        tasks.spawn(async move {
            let mut watches = Vec::new();
            for number in 0..EACH {
                let path = format!("{parent}-{task}-{number}");
                watches.push((client.exists_and_watch(&path).await?.1, path));
            }
            Ok::<_, Error>(watches)
        });
    }
    let mut watches = Vec::new();
    while let Some(set) = tasks.join_next().await {
        watches.append(&mut set??);
    }
    proxy.cut();
    reconnected(&proxy, &client, 1).await?;
    let requests = proxy.counters().requests(Opcode::SET_WATCHES);
    assert!((40..60).contains(&requests), "{requests}");
    for (watch, path) in watches.into_iter().step_by(4999) {
        client.create(&path, "", CreateMode::Ephemeral).await?;
        assert_eq!(fired(watch).await?, EventType::NODE_CREATED);
    }
    Ok(())
}

/// The server keeps no watch that no caller waits for (CURATOR-107), and an event that crosses with
/// the removal is dropped (zookeeper-client-rust #22).
async fn a_dropped_watch_is_taken_down(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let (client, other) = (direct(&server).await?, direct(&server).await?);
    let (_, kept) = client.exists_and_watch("/kept").await?;
    let (_, also_kept) = client.get_children_and_watch("/").await?;
    for number in 0..100 {
        let path = format!("/dropped-{number}");
        let (_, watch) = client.exists_and_watch(&path).await?;
        let created = other.create(&path, "", CreateMode::Ephemeral);
        let (created, ()) = tokio::join!(created, async { drop(watch) });
        created?;
    }
    assert_eq!(fired(also_kept).await?, EventType::NODE_CHILDREN_CHANGED);
    // The runtime is left to the client, which may still have to take watches down.
    eventually_async(SOON, "the server keeps one watch", async || {
        server.watch_count().is_ok_and(|watches| watches == 1)
    })
    .await?;
    client.create("/kept", "", CreateMode::Ephemeral).await?;
    assert_eq!(fired(kept).await?, EventType::NODE_CREATED);
    Ok(())
}

/// A session counts its watches from one: what is left of an earlier one is not to be taken for
/// one of the next.
async fn a_lost_watch_is_dropped_without_harm_to_those_of_the_next_session(
    server: ServerKind,
) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&proxy.connect_string());
    let client = builder.session_timeout(SHORT).connect().await?;
    let mut connection = client.connection_updates();
    let (_, old) = client.exists_and_watch("/never").await?;
    proxy.refuse();
    proxy.cut();
    let expired = connection.wait_for(has_expired);
    assert!(timeout(SOON, expired).await?.is_ok());
    proxy.accept()?;
    let connected = connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. }));
    assert!(timeout(SOON, connected).await?.is_ok());
    let path = unique_path("new");
    let (_, new) = client.exists_and_watch(&path).await?;
    drop(old);
    client.create(&path, "", CreateMode::Ephemeral).await?;
    assert_eq!(fired(new).await?, EventType::NODE_CREATED);
    Ok(())
}

async fn a_watch_is_lost_with_its_session(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&proxy.connect_string());
    let client = builder.session_timeout(SHORT).connect().await?;
    let mut connection = client.connection_updates();
    let (_, on_expiry) = client.exists_and_watch("/never").await?;
    proxy.refuse();
    proxy.cut();
    let expired = connection.wait_for(has_expired);
    assert!(timeout(SOON, expired).await?.is_ok());
    assert_eq!(timeout(SOON, on_expiry).await?, Err(WatchLost));
    proxy.accept()?;
    let connected = connection.wait_for(|state| matches!(state, ConnectionState::Connected { .. }));
    assert!(timeout(SOON, connected).await?.is_ok());
    let (_, on_close) = client.exists_and_watch("/never").await?;
    client.close().await?;
    assert_eq!(timeout(SOON, on_close).await?, Err(WatchLost));
    Ok(())
}
