//! Watches that stay.

use core::time::Duration;

use election_tokio::acl::Acls;
use election_tokio::watch::{
    EventType, PersistentWatch, WatchLost, WatchMode, WatchUpdate, WatcherType,
};
use election_tokio::{Client, CreateMode, Error, ErrorKind, Version};
use futures_util::StreamExt;
use tokio::time::timeout;
use zk_test_kit::connection::has_expired;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Cut, Opcode, Proxy};
use zk_test_kit::server::{ServerKind, TestServer};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

const CREATED: EventType = EventType::NODE_CREATED;
const DELETED: EventType = EventType::NODE_DELETED;
const WRITTEN: EventType = EventType::NODE_DATA_CHANGED;
const CHILDREN: EventType = EventType::NODE_CHILDREN_CHANGED;

on_both_servers! {
    #[tokio::test]
    a_watch_sees_every_change_of_its_znode,
    a_recursive_watch_sees_a_whole_tree,
    watches_of_all_kinds_live_on_one_path,
    a_reconnect_is_reported_as_a_gap_and_the_watch_stands,
    a_gap_is_open_until_the_watches_are_set_again,
    paths_are_those_of_the_client_below_a_chroot,
    a_watch_that_is_dropped_or_removed_is_gone_from_the_server,
    a_future_that_is_dropped_leaves_no_watch,
    a_watch_is_lost_with_its_session,
    the_server_tells_which_watches_it_holds,
    an_election_and_a_watch_on_its_candidates_do_not_disturb_each_other;
}

/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(5);

async fn direct(server: &TestServer) -> Result<Client, TestFailure> {
    Ok(Client::builder(&server.connect_string()).connect().await?)
}

async fn next(watch: &mut PersistentWatch) -> Result<WatchUpdate, TestFailure> {
    let update = timeout(SOON, watch.next()).await?;
    Ok(update.unwrap_or(Err(WatchLost))?)
}

/// Returns the next updates, which are to be these changes.
async fn changes<const N: usize>(
    watch: &mut PersistentWatch,
) -> Result<[(String, EventType); N], TestFailure> {
    let mut changes = Vec::new();
    for _ in 0..N {
        changes.push(match next(watch).await? {
            WatchUpdate::Changed { path, event } => (path, event.kind),
            other => (format!("{other:?}"), EventType::NONE),
        });
    }
    Ok(changes.try_into().unwrap_or_else(|_| unreachable!("as many as asked for")))
}

async fn a_watch_sees_every_change_of_its_znode(server: ServerKind) -> TestResult {
    let client = direct(server.shared()?).await?;
    let path = unique_path("persistent");
    let child = format!("{path}/child");
    let mut watch = client.add_watch(&path, WatchMode::Persistent).await?;
    assert_eq!(watch.path(), path);
    for _ in 0..3 {
        client.create(&path, "", CreateMode::Persistent).await?;
        client.set_data(&path, "1", Version::ANY).await?;
        client.create(&child, "", CreateMode::Persistent).await?;
        client.set_data(&child, "1", Version::ANY).await?;
        client.delete(&child, Version::ANY).await?;
        client.delete(&path, Version::ANY).await?;
        let seen = [CREATED, WRITTEN, CHILDREN, CHILDREN, DELETED];
        assert_eq!(changes(&mut watch).await?, seen.map(|kind| (path.clone(), kind)));
    }
    Ok(())
}

async fn a_recursive_watch_sees_a_whole_tree(server: ServerKind) -> TestResult {
    let client = direct(server.shared()?).await?;
    let path = unique_path("recursive");
    let inner = format!("{path}/a/b");
    let mut watch = client.add_watch(&path, WatchMode::PersistentRecursive).await?;
    client.create_with_parents(&inner, "", CreateMode::Persistent, &Acls::open()).await?;
    client.set_data(&inner, "1", Version::ANY).await?;
    client.create(&format!("{path}x"), "", CreateMode::Ephemeral).await?;
    client
        .transaction()
        .delete(&inner, Version::ANY)
        .set_data(&path, "2", Version::ANY)
        .commit()
        .await?;
    let seen = [
        (path.clone(), CREATED),
        (format!("{path}/a"), CREATED),
        (inner.clone(), CREATED),
        (inner.clone(), WRITTEN),
        (inner, DELETED),
        (path, WRITTEN),
    ];
    assert_eq!(changes(&mut watch).await?, seen);
    Ok(())
}

/// Servers before 3.9 keep one watch for each path and connection, the last one (ZOOKEEPER-4466).
async fn watches_of_all_kinds_live_on_one_path(server: ServerKind) -> TestResult {
    let client = direct(server.shared()?).await?;
    for order in 0..6 {
        let path = unique_path("kinds");
        let child = format!("{path}/child");
        client.create(&path, "", CreateMode::Persistent).await?;
        let exact = async || client.add_watch(&path, WatchMode::Persistent).await;
        let tree = async || client.add_watch(&path, WatchMode::PersistentRecursive).await;
        let data = async || Ok::<_, Error>(client.get_data_and_watch(&path).await?.2);
        let (mut persistent, mut recursive, once) = match order {
            0 => (exact().await?, tree().await?, data().await?),
            1 => {
                let once = data().await?;
                (exact().await?, tree().await?, once)
            }
            2 => {
                let (recursive, once) = (tree().await?, data().await?);
                (exact().await?, recursive, once)
            }
            3 => {
                let (once, recursive) = (data().await?, tree().await?);
                (exact().await?, recursive, once)
            }
            4 => {
                let (persistent, once) = (exact().await?, data().await?);
                (persistent, tree().await?, once)
            }
            _ => {
                let (recursive, persistent) = (tree().await?, exact().await?);
                (persistent, recursive, data().await?)
            }
        };
        drop(client.exists_and_watch(&path).await?);
        let (_, children) = client.get_children_and_watch(&path).await?;
        client.create(&child, "", CreateMode::Persistent).await?;
        assert_eq!(timeout(SOON, children).await??.kind, CHILDREN, "order {order}");
        client.set_data(&path, "1", Version::ANY).await?;
        assert_eq!(timeout(SOON, once).await??.kind, WRITTEN, "order {order}");
        client.delete(&child, Version::ANY).await?;
        client.delete(&path, Version::ANY).await?;
        let seen = [CHILDREN, WRITTEN, CHILDREN, DELETED].map(|kind| (path.clone(), kind));
        assert_eq!(changes(&mut persistent).await?, seen, "order {order}");
        let seen = [(&child, CREATED), (&path, WRITTEN), (&child, DELETED), (&path, DELETED)];
        let seen = seen.map(|(path, kind)| (path.clone(), kind));
        assert_eq!(changes(&mut recursive).await?, seen, "order {order}");
    }
    Ok(())
}

/// Servers keep no events for persistent watches.
async fn a_reconnect_is_reported_as_a_gap_and_the_watch_stands(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let other = direct(server.shared()?).await?;
    let path = unique_path("gap");
    other.create(&path, "", CreateMode::Persistent).await?;
    let mut exact = client.add_watch(&path, WatchMode::Persistent).await?;
    let mut recursive = client.add_watch(&path, WatchMode::PersistentRecursive).await?;
    for _ in 0..3 {
        proxy.refuse();
        proxy.cut();
        other.set_data(&path, "missed", Version::ANY).await?;
        proxy.accept()?;
        assert_eq!(next(&mut exact).await?, WatchUpdate::ChangesMissed);
        assert_eq!(next(&mut recursive).await?, WatchUpdate::ChangesMissed);
        other.set_data(&path, "seen", Version::ANY).await?;
        for watch in [&mut exact, &mut recursive] {
            assert_eq!(changes(watch).await?, [(path.clone(), WRITTEN)]);
        }
    }
    Ok(())
}

/// The reconnect that breaks off between the handshake and the watches.
async fn a_gap_is_open_until_the_watches_are_set_again(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let path = unique_path("gap");
    let mut watch = client.add_watch(&path, WatchMode::Persistent).await?;
    let cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::SET_WATCHES2));
    proxy.cut();
    assert_eq!(next(&mut watch).await?, WatchUpdate::ChangesMissed);
    cut.happened(SOON).await?;
    assert!(proxy.counters().accepted >= 3, "after the second reconnect, not after the first");
    let other = direct(server.shared()?).await?;
    other.create(&path, "", CreateMode::Ephemeral).await?;
    assert_eq!(changes(&mut watch).await?, [(path.clone(), CREATED)]);
    Ok(())
}

async fn paths_are_those_of_the_client_below_a_chroot(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let chroot = server.fresh_chroot("persistent")?;
    let address = format!("{}{chroot}", server.connect_string());
    let client = Client::builder(&address).connect().await?;
    let mut whole = client.add_watch("/", WatchMode::PersistentRecursive).await?;
    client.create("/a", "", CreateMode::Persistent).await?;
    client.set_data("/", "1", Version::ANY).await?;
    let seen = [("/a".to_owned(), CREATED), ("/".to_owned(), WRITTEN)];
    assert_eq!(changes(&mut whole).await?, seen);
    Ok(())
}

/// Leaves the runtime to the client, which may still have to take watches down.
async fn no_watch_is_left(server: &TestServer) -> TestResult {
    let is_so = async || server.watch_count().is_ok_and(|count| count == 0);
    Ok(eventually_async(SOON, "no watch is left", is_so).await?)
}

/// A server does not keep what no caller waits for (CURATOR-107).
async fn a_watch_that_is_dropped_or_removed_is_gone_from_the_server(
    server: ServerKind,
) -> TestResult {
    let server = server.start()?;
    let client = direct(&server).await?;
    for path in ["/a", "/b", "/c"] {
        let removed = client.add_watch(path, WatchMode::PersistentRecursive).await?;
        drop(client.add_watch(path, WatchMode::Persistent).await?);
        let (_, once) = client.exists_and_watch(path).await?;
        removed.remove().await?;
        assert!(client.check_watches(path, WatcherType::ANY).await?, "the one-shot one needs it");
        drop(once);
        assert!(!client.check_watches(path, WatcherType::ANY).await?);
    }
    no_watch_is_left(&server).await
}

async fn a_future_that_is_dropped_leaves_no_watch(server: ServerKind) -> TestResult {
    let server = server.start()?;
    let client = direct(&server).await?;
    for _ in 0..20 {
        let watch = client.add_watch("/a", WatchMode::Persistent);
        let mut watch = core::pin::pin!(watch);
        assert!(futures_util::poll!(watch.as_mut()).is_pending());
    }
    client.sync("/").await?;
    no_watch_is_left(&server).await
}

async fn a_watch_is_lost_with_its_session(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&proxy.connect_string());
    let client = builder.session_timeout(SHORT).connect().await?;
    let path = unique_path("lost");
    let mut watch = client.add_watch(&path, WatchMode::Persistent).await?;
    client.create(&path, "", CreateMode::Ephemeral).await?;
    let mut connection = client.connection_updates();
    proxy.refuse();
    proxy.cut();
    let expired = connection.wait_for(has_expired);
    assert!(timeout(SOON, expired).await?.is_ok());
    assert_eq!(changes(&mut watch).await?, [(path.clone(), CREATED)]);
    // As a stream, this time.
    assert_eq!(timeout(SOON, StreamExt::next(&mut watch)).await?, Some(Err(WatchLost)));
    assert_eq!(timeout(SOON, watch.next()).await?, None);
    Ok(())
}

async fn the_server_tells_which_watches_it_holds(server: ServerKind) -> TestResult {
    let client = direct(server.shared()?).await?;
    let path = unique_path("check");
    assert!(!client.check_watches(&path, WatcherType::ANY).await?);
    let (_, watch) = client.exists_and_watch(&path).await?;
    assert!(client.check_watches(&path, WatcherType::DATA).await?);
    assert!(!client.check_watches(&path, WatcherType::CHILDREN).await?);
    drop(watch);
    assert!(!client.check_watches(&path, WatcherType::DATA).await?);
    let refused: Result<bool, Error> = client.check_watches("no path", WatcherType::ANY).await;
    assert!(matches!(refused.map_err(|error| error.kind()), Err(ErrorKind::InvalidPath(_))));
    Ok(())
}

/// The candidates watch each other on the same connection, by one-shot watches on the same paths.
async fn an_election_and_a_watch_on_its_candidates_do_not_disturb_each_other(
    server: ServerKind,
) -> TestResult {
    let client = direct(server.shared()?).await?;
    let path = unique_path("election");
    let mut first = client.election(&path).data("1").nominate()?;
    let leadership = timeout(SOON, first.elected()).await??;
    let candidate = format!("{path}/{}", leadership.candidate());
    let mut tree = client.add_watch(&path, WatchMode::PersistentRecursive).await?;
    let exact = client.add_watch(&candidate, WatchMode::Persistent).await?;
    let mut second = client.election(&path).data("2").nominate()?;
    let created = changes::<1>(&mut tree).await?;
    assert_eq!(created[0].1, CREATED);
    drop(exact);
    timeout(SOON, leadership.resign()).await??;
    timeout(SOON, second.elected()).await??;
    assert_eq!(changes(&mut tree).await?, [(candidate, DELETED)]);
    Ok(())
}
