//! Cached trees beside writers, while connections are cut, servers change, and sessions expire.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use election_tokio::cache::{CacheChange, CacheChanges, CachedNode};
use election_tokio::{Client, CreateMode, Error, Version, Zxid};
use tokio::time::{Instant, sleep};
use zk_test_kit::connection::has_expired;
use zk_test_kit::election::{Arena, LASTING, connect, soon};
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;
use zk_test_kit::zookeeper::{Member, Options, unique_path};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    a_cache_is_what_writers_wrote_at_each_moment_under_cuts,
    a_cache_goes_on_after_its_session_and_its_root;
}

const TREE: &str = "/tree";
const WRITERS: usize = 2;
const WRITES: u32 = 400;
/// Bounds the time until a reader has heard of enough moments.
const MOMENTS_WITHIN: Duration = Duration::from_secs(120);
/// The timeout of a session that the test lets expire.
const SHORT: Duration = Duration::from_secs(6);

/// By path: the transaction that created a znode, and that wrote it last.
type State = BTreeMap<String, (Zxid, Zxid)>;
/// The states of a writer's tree, by the transaction that made each.
type Log = BTreeMap<Zxid, State>;

fn identity(node: &CachedNode) -> (Zxid, Zxid) {
    (node.czxid, node.mzxid)
}

/// Folds changes, and checks that each fits to what came before.
#[derive(Default)]
struct Fold {
    state: State,
    /// What all of it was at each moment that was told.
    moments: Vec<(Zxid, State)>,
}

impl Fold {
    fn take_in(&mut self, change: CacheChange) {
        let Self { state, moments } = self;
        match change {
            CacheChange::Created { path, node } => {
                let before = state.insert(path.to_string(), identity(&node));
                assert_eq!(before, None, "{path} is told twice");
            }
            CacheChange::Changed { path, before, node } => {
                assert!(node.mzxid > before.mzxid, "{path} went back");
                let known = state.insert(path.to_string(), identity(&node));
                assert_eq!(known, Some(identity(&before)), "{path}");
            }
            CacheChange::Deleted { path, before } => {
                assert_eq!(state.remove(&*path), Some(identity(&before)), "{path}");
            }
            CacheChange::Current(zxid) => moments.push((zxid, state.clone())),
            other => unreachable!("{other:?}"),
        }
    }

    /// Takes in changes until the reader knows a moment that is not before this one.
    async fn reaches(&mut self, changes: &mut CacheChanges, zxid: Zxid) -> TestResult {
        while self.moments.last().is_none_or(|(last, _)| *last < zxid) {
            match soon("a change", changes.next()).await? {
                Some(change) => self.take_in(change?),
                None => return Err(io::Error::other("the stream is over").into()),
            }
        }
        Ok(())
    }
}

/// Creates, writes and deletes the children of its own node, and returns what that made of them.
///
/// It does so until the reader has heard of enough moments, `WRITES` times at least.
async fn write(
    client: Client,
    node: String,
    (seed, is_enough): (u64, Arc<AtomicBool>),
) -> Result<Log, Error> {
    let mut rng = fastrand::Rng::with_seed(seed);
    client.create(&node, "", CreateMode::Persistent).await?;
    let mut state = State::new();
    let mut log = Log::new();
    let mut number = 0;
    while number < WRITES || !is_enough.load(Ordering::SeqCst) {
        number += 1;
        let path = format!("{node}/{}", rng.u8(..8));
        let zxid = match state.get(&path).copied() {
            None => {
                let data = number.to_string();
                let stat = client.create(&path, data, CreateMode::Persistent).await?.stat;
                state.insert(path, (stat.czxid, stat.mzxid));
                stat.czxid
            }
            Some((czxid, _)) if rng.bool() => {
                let stat = client.set_data(&path, number.to_string(), Version::ANY).await?;
                state.insert(path, (czxid, stat.mzxid));
                stat.mzxid
            }
            Some(_) => {
                client.delete(&path, Version::ANY).await?;
                state.remove(&path);
                client.get_children(&node).await?.stat().pzxid
            }
        };
        log.insert(zxid, state.clone());
        sleep(Duration::from_millis(rng.u64(..5))).await;
    }
    Ok(log)
}

/// Has writers write beside the cache of `client` while `disturb` goes on, and compares what the stream told at each
/// moment with what they wrote.
async fn compare(client: &Client, writer: &Client, disturb: impl AsyncFn()) -> TestResult {
    writer.create(TREE, "", CreateMode::Persistent).await?;
    let cache = client.cache(TREE).keep()?;
    let mut changes = cache.changes();
    let (mut fold, mut logs) = (Fold::default(), Vec::new());
    let is_enough = Arc::new(AtomicBool::new(false));
    let writing: Vec<_> = (0..WRITERS)
        .map(|number| {
            let seed = u64::try_from(number).expect("small");
            let told = (seed, Arc::clone(&is_enough));
            tokio::spawn(write(writer.clone(), format!("{TREE}/{number}"), told))
        })
        .collect();
    let deadline = Instant::now() + MOMENTS_WITHIN;
    while !writing.iter().all(tokio::task::JoinHandle::is_finished) {
        assert!(Instant::now() < deadline, "{} moments in all the time", fold.moments.len());
        let mut disturbance = core::pin::pin!(disturb());
        loop {
            tokio::select! {
                change = changes.next() => match change {
                    Some(change) => {
                        fold.take_in(change?);
                        is_enough.store(fold.moments.len() > 20, Ordering::SeqCst);
                    }
                    None => return Err(io::Error::other("the stream is over").into()),
                },
                () = &mut disturbance => break,
            }
        }
    }
    for writer in writing {
        logs.push(writer.await??);
    }
    let last = logs.iter().filter_map(|log| log.keys().next_back()).max().copied();
    fold.reaches(&mut changes, last.ok_or_else(|| io::Error::other("no write"))?).await?;
    for (zxid, state) in &fold.moments {
        for (number, log) in logs.iter().enumerate() {
            let written = log.range(..=zxid).next_back();
            let written = written.map(|(_, state)| state.clone()).unwrap_or_default();
            let prefix = format!("{TREE}/{number}/");
            let told = state.iter().filter(|(path, _)| path.starts_with(&prefix));
            let told: State = told.map(|(path, znode)| (path.clone(), *znode)).collect();
            assert_eq!(told, written, "of writer {number} at {zxid:?}");
        }
    }
    Ok(())
}

async fn a_cache_is_what_writers_wrote_at_each_moment_under_cuts(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "caches").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = arena.client_by(&proxy).await?;
    let pause = Duration::from_millis(100);
    compare(&client, &arena.admin, async || {
        sleep(pause).await;
        proxy.cut();
    })
    .await?;
    assert!(proxy.counters().accepted > 5, "{:?}", proxy.counters());
    Ok(())
}

/// Each connection goes to another member than the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_is_what_writers_wrote_while_its_server_changes() -> TestResult {
    let ensemble = Options::new().start_ensemble()?;
    ensemble.wait_for_leader(SOON)?;
    let members = [Member::First, Member::Second, Member::Third];
    let chroot = unique_path("caches");
    let admin = connect(&ensemble.connect_string(), LASTING).await?;
    admin.create(&chroot, "", CreateMode::Persistent).await?;
    let proxies: Vec<Arc<Proxy>> = members
        .iter()
        .map(|member| Proxy::to(ensemble.member(*member).addr()).map(Arc::new))
        .collect::<Result<_, _>>()?;
    let names: Vec<_> = proxies.iter().map(|proxy| proxy.connect_string()).collect();
    let client = connect(&format!("{}{chroot}", names.join(",")), LASTING).await?;
    let writer = connect(&format!("{}{chroot}", ensemble.connect_string()), LASTING).await?;
    compare(&client, &writer, async || {
        sleep(Duration::from_millis(150)).await;
        for proxy in &proxies {
            proxy.cut();
        }
    })
    .await
}

async fn a_cache_goes_on_after_its_session_and_its_root(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "caches").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = connect(&arena.servers_by(&proxy), SHORT).await?;
    let admin = &arena.admin;
    admin.create(TREE, "", CreateMode::Persistent).await?;
    let old = admin.create("/tree/old", "1", CreateMode::Persistent).await?;
    let cache = client.cache(TREE).keep()?;
    let (mut changes, mut fold) = (cache.changes(), Fold::default());
    fold.reaches(&mut changes, old.stat.czxid).await?;
    assert_eq!(fold.state.len(), 2);

    let mut connection = client.connection_updates();
    proxy.refuse();
    proxy.cut();
    soon("the session expires", connection.wait_for(has_expired)).await??;
    assert_eq!(admin.delete_tree(TREE).await?, 2);
    proxy.accept()?;
    let gone = admin.create("/marker", "", CreateMode::Persistent).await?;
    fold.reaches(&mut changes, gone.stat.czxid).await?;
    assert_eq!(fold.state, State::new());
    assert!(cache.get(TREE).is_none());

    let root = admin.create(TREE, "new", CreateMode::Persistent).await?;
    let new = admin.create("/tree/new", "2", CreateMode::Persistent).await?;
    fold.reaches(&mut changes, new.stat.czxid).await?;
    let znode = |stat: &election_tokio::Stat| (stat.czxid, stat.mzxid);
    let expected =
        [(TREE.to_owned(), znode(&root.stat)), ("/tree/new".to_owned(), znode(&new.stat))];
    assert_eq!(fold.state, State::from(expected));
    assert_eq!(
        cache.get("/tree/new").and_then(|node| node.data.clone()).as_deref(),
        Some(&b"2"[..])
    );
    Ok(())
}
