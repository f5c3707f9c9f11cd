//! Cached trees, in virtual time.

use std::collections::BTreeMap;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::cache::{CacheChange, CacheChanges, CachedTree};
use election_tokio::{Client, CreateMode, Error, Version};
use zk_jute::OpCode;
use zk_jute::records::CreateMode as Kind;

use crate::server::{Server, settle, wait};

const ROOT: &str = "/config";

type Tree = BTreeMap<String, String>;

async fn create(client: &Client, path: &str) {
    client.create(path, path.to_owned(), CreateMode::Persistent).await.unwrap();
}

/// Waits until the tree is this one, and returns after that which the stream yields.
async fn becomes(cache: &CachedTree, expected: &[(&str, &str)]) {
    let expected: Tree =
        expected.iter().map(|(path, data)| ((*path).to_owned(), (*data).to_owned())).collect();
    for _ in 0..60 {
        cache.current().await.unwrap();
        if tree(cache) == expected {
            return;
        }
        wait(1).await;
    }
    panic!("{:?} and not {expected:?}", tree(cache));
}

fn tree(cache: &CachedTree) -> Tree {
    let text = |data: &[u8]| String::from_utf8(data.to_vec()).unwrap();
    let tree = cache.snapshot();
    let each = tree.iter();
    each.map(|(path, node)| (path.to_owned(), text(node.data.as_deref().unwrap_or(b"-")))).collect()
}

/// Returns the changes up to the next moment.
async fn until_current(changes: &mut CacheChanges) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        told.push(match changes.next().await.unwrap().unwrap() {
            CacheChange::Created { path, .. } => format!("+{path}"),
            CacheChange::Changed { path, .. } => format!("~{path}"),
            CacheChange::Deleted { path, .. } => format!("-{path}"),
            CacheChange::Unreadable { path, .. } => format!("?{path}"),
            CacheChange::Current(_) if told.is_empty() => continue,
            CacheChange::Current(_) => return told,
            other => panic!("{other:?}"),
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_tree_is_kept_over_lost_connections_and_expired_sessions() {
    for server in [Server::new(), Server::older_than_3_6()] {
        let (client, other) = (server.client().await, server.client().await);
        let cache = client.cache(ROOT).keep().unwrap();
        let mut changes = cache.changes();
        becomes(&cache, &[]).await;
        create(&other, ROOT).await;
        create(&other, "/config/a").await;
        create(&other, "/config/a/x").await;
        let all =
            [("/config", "/config"), ("/config/a", "/config/a"), ("/config/a/x", "/config/a/x")];
        becomes(&cache, &all).await;
        other.set_data("/config/a", "1", Version::ANY).await.unwrap();
        becomes(&cache, &[all[0], ("/config/a", "1"), all[2]]).await;
        let told = until_current(&mut changes).await;
        assert_eq!(told, ["+/config", "+/config/a", "+/config/a/x"]);

        // Deleted, created and written while the client is away.
        server.refuse();
        server.cut();
        let away = server.raw();
        away.delete("/config/a/x").unwrap();
        away.create("/config/b", Kind::PERSISTENT).unwrap();
        server.accept();
        becomes(&cache, &[all[0], ("/config/a", "1"), ("/config/b", "")]).await;
        assert_eq!(until_current(&mut changes).await, ["-/config/a/x", "+/config/b"]);

        server.expire();
        let away = server.raw();
        away.delete("/config/a").unwrap();
        becomes(&cache, &[all[0], ("/config/b", "")]).await;
        assert_eq!(until_current(&mut changes).await, ["-/config/a"]);

        // The root is deleted, and made again.
        let other = server.client().await;
        assert_eq!(other.delete_tree(ROOT).await.unwrap(), 2);
        becomes(&cache, &[]).await;
        create(&other, ROOT).await;
        becomes(&cache, &all[..1]).await;
        let told = until_current(&mut changes).await;
        assert_eq!(told, ["-/config", "+/config", "-/config/b"]);
        drop((cache, changes));
        settle().await;
        wait(1).await;
        assert_eq!(server.watches(), 0, "watches are removed with the cache");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_keeps_its_scope_alone() {
    for server in [Server::new(), Server::older_than_3_6()] {
        let client = server.client().await;
        for path in ["/config", "/config/a", "/config/a/x", "/config/b", "/config/b/y"] {
            create(&client, path).await;
        }
        let levels = client.cache(ROOT).depth(1).without_data().keep().unwrap();
        becomes(&levels, &[("/config", "-"), ("/config/a", "-"), ("/config/b", "-")]).await;
        let filtered = client.cache(ROOT).filter(|path| path != "/config/a").keep().unwrap();
        let kept = ["/config", "/config/b", "/config/b/y"].map(|path| (path, path));
        becomes(&filtered, &kept).await;
        create(&client, "/config/a/z").await;
        create(&client, "/config/c").await;
        becomes(
            &levels,
            &["/config", "/config/a", "/config/b", "/config/c"].map(|path| (path, "-")),
        )
        .await;
        becomes(&filtered, &[&kept[..], &[("/config/c", "/config/c")]].concat()).await;
        let children = filtered.children(ROOT);
        assert_eq!(children, ["b", "c"]);
        let node = filtered.get("/config/c").unwrap();
        assert_eq!((node.data_length, node.data.as_deref()), (9, Some(&b"/config/c"[..])));
    }
}

/// Servers send no event of an access list. The looks for that do not wait for a pause of the other changes.
#[tokio::test(start_paused = true)]
async fn a_busy_cache_looks_for_what_it_could_not_read() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    for path in [ROOT, "/config/a", "/config/b"] {
        create(&other, path).await;
    }
    let unreadable = Acls::new().world(Permissions::WRITE | Permissions::ADMIN);
    other.set_acl("/config/a", &unreadable, Version::ANY).await.unwrap();
    let cache = client.cache(ROOT).keep().unwrap();
    becomes(&cache, &[(ROOT, ROOT), ("/config/b", "/config/b")]).await;
    other.set_acl("/config/a", &Acls::open(), Version::ANY).await.unwrap();
    for _ in 0..10 {
        wait(10).await;
        other.set_data("/config/b", "", Version::ANY).await.unwrap();
    }
    assert!(cache.get("/config/a").is_some(), "it is read once in 86 s");
}

/// Requests of a fill, of a change, and after a lost connection.
#[tokio::test(start_paused = true)]
async fn what_a_cache_costs() {
    let server = Server::new();
    let (client, other) = (server.client().await, server.client().await);
    create(&other, ROOT).await;
    for number in 0..600 {
        create(&other, &format!("{ROOT}/{number}")).await;
    }
    let mut before = server.requested().len();
    let mut asked = || {
        let asked = server.requested().split_off(before);
        before += asked.len();
        asked
    };
    let cache = client.cache(ROOT).keep().unwrap();
    let mut changes = cache.changes();
    assert_eq!(until_current(&mut changes).await.len(), 601);
    let fill = asked();
    let count = |opcode| fill.iter().filter(|asked| **asked == opcode).count();
    assert_eq!((count(OpCode::ADD_WATCH), count(OpCode::GET_CHILDREN2)), (1, 1));
    assert_eq!((count(OpCode::GET_DATA), fill.len()), (601, 603));
    other.set_data("/config/7", "new", Version::ANY).await.unwrap();
    assert_eq!(until_current(&mut changes).await, ["~/config/7"]);
    assert_eq!(asked(), [OpCode::SET_DATA, OpCode::MULTI_READ]);
    other.delete("/config/7", Version::ANY).await.unwrap();
    assert_eq!(until_current(&mut changes).await, ["-/config/7"]);
    assert_eq!(asked(), [OpCode::DELETE, OpCode::MULTI_READ]);
    create(&other, "/config/7").await;
    assert_eq!(until_current(&mut changes).await, ["+/config/7"]);
    assert_eq!(asked(), [OpCode::CREATE2, OpCode::GET_DATA]);
    server.cut();
    let (zxid, mut later) = (cache.current().await.unwrap(), None);
    server.raw().create("/config/new", Kind::PERSISTENT).unwrap();
    while later.is_none_or(|later| later == zxid) {
        wait(1).await;
        later = Some(cache.current().await.unwrap());
    }
    assert_eq!(until_current(&mut changes).await, ["+/config/new"]);
    let again: Vec<_> = asked().into_iter().filter(|asked| *asked == OpCode::MULTI_READ).collect();
    assert_eq!(again.len(), 3, "601 znodes, 256 in a request");
}

/// Each reader that waits hears why its cache ended.
#[tokio::test(start_paused = true)]
async fn a_cache_ends_with_its_client() {
    let server = Server::new();
    let client = server.client().await;
    let cache = client.cache(ROOT).keep().unwrap();
    let mut changes = cache.changes();
    cache.current().await.unwrap();
    client.clone().close().await.unwrap();
    let mut last = changes.next().await;
    while let Some(Ok(_)) = last {
        last = changes.next().await;
    }
    assert!(matches!(last, Some(Err(_))), "{last:?}");
    assert!(changes.next().await.is_none());
    let failed: Result<_, Error> = cache.current().await;
    assert!(failed.is_err(), "{failed:?}");
    assert!(client.cache("no path").keep().is_err());
}
