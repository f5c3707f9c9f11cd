//! The client's reads beside those of a single znode: its ephemeral znodes, the size of a tree,
//! several reads at once, and its identities.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use election_tokio::acl::{Acls, Permissions};
use election_tokio::error::PathError;
use election_tokio::{Client, CreateMode, ErrorCode, ErrorKind, ReadOutcome};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::zookeeper::ServerVersion;

on_both_servers! {
    #[tokio::test]
    ephemeral_znodes_are_listed_by_prefix,
    a_chroot_is_invisible_in_a_list_of_ephemeral_znodes,
    the_descendants_of_a_znode_are_counted,
    each_of_several_reads_succeeds_or_fails_alone,
    an_empty_list_of_reads_sends_nothing,
    a_connection_is_known_by_its_address_and_identities,
    invalid_paths_are_refused_before_anything_is_sent;
}

const EPHEMERAL: CreateMode = CreateMode::Ephemeral;
const PERSISTENT: CreateMode = CreateMode::Persistent;

async fn client(server: ServerKind, label: &str) -> Result<(Client, String), TestFailure> {
    let server = server.shared()?;
    let chroot = server.fresh_chroot(label)?;
    let servers = format!("{}{chroot}", server.connect_string());
    let client = Client::builder(&servers).auth("digest", b"bob:secret").connect().await?;
    Ok((client, chroot))
}

async fn ephemerals(client: &Client, prefix: &str) -> Result<Vec<String>, TestFailure> {
    let mut paths = client.get_ephemerals(prefix).await?;
    paths.sort_unstable();
    Ok(paths)
}

async fn ephemeral_znodes_are_listed_by_prefix(server: ServerKind) -> TestResult {
    let (client, chroot) = client(server, "ephemerals").await?;
    assert!(client.get_ephemerals("/").await?.is_empty());
    for path in ["/a", "/b"] {
        client.create(path, "", PERSISTENT).await?;
    }
    for path in ["/a/1", "/a/2", "/ab", "/b/1"] {
        client.create(path, "", EPHEMERAL).await?;
    }
    assert_eq!(ephemerals(&client, "/").await?, ["/a/1", "/a/2", "/ab", "/b/1"]);
    assert_eq!(ephemerals(&client, "/a").await?, ["/a/1", "/a/2", "/ab"]);
    assert_eq!(ephemerals(&client, "/a/").await?, ["/a/1", "/a/2"]);
    assert_eq!(ephemerals(&client, "/missing").await?, [""; 0]);

    // Other sessions' are not.
    let servers = format!("{}{chroot}", server.shared()?.connect_string());
    let other = Client::builder(&servers).connect().await?;
    assert_eq!(ephemerals(&other, "/").await?, [""; 0]);
    Ok(())
}

async fn a_chroot_is_invisible_in_a_list_of_ephemeral_znodes(server: ServerKind) -> TestResult {
    let chroot = server.shared()?.fresh_chroot("ephemerals-chroot")?;
    let servers = server.shared()?.connect_string();
    let outside = Client::builder(&servers).connect().await?;
    let mine = format!("{chroot}/mine");
    outside.create(&mine, "", EPHEMERAL).await?;
    assert_eq!(ephemerals(&outside, "/").await?, [mine.as_str()]);
    assert_eq!(ephemerals(&outside, &chroot).await?, [mine.as_str()]);

    let inside = Client::builder(&format!("{servers}{chroot}")).connect().await?;
    inside.create("/x", "", EPHEMERAL).await?;
    assert_eq!(ephemerals(&inside, "/").await?, ["/x"]);
    assert_eq!(ephemerals(&inside, "/x").await?, ["/x"]);
    assert_eq!(ephemerals(&inside, &chroot).await?, [""; 0]);

    // The chroot itself may be an ephemeral znode.
    let root = Client::builder(&format!("{servers}{chroot}/root")).connect().await?;
    root.create("/", "", EPHEMERAL).await?;
    assert_eq!(ephemerals(&root, "/").await?, ["/"]);
    Ok(())
}

async fn the_descendants_of_a_znode_are_counted(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "descendants").await?;
    assert_eq!(client.get_all_children_number("/").await?, 0);
    for path in ["/a", "/a/b", "/a/b/c", "/ab"] {
        client.create(path, "", PERSISTENT).await?;
    }
    for (path, count) in [("/", 4), ("/a", 2), ("/a/b", 1), ("/a/b/c", 0), ("/ab", 0)] {
        assert_eq!(client.get_all_children_number(path).await?, count, "{path}");
    }
    let error = client.get_all_children_number("/missing").await.unwrap_err();
    assert_eq!(error.to_string(), "getAllChildrenNumber /missing: NoNode");
    let closed = Acls::new().world(Permissions::WRITE | Permissions::DELETE);
    client.create_with_acl("/closed", "", PERSISTENT, &closed).await?;
    let error = client.get_all_children_number("/closed").await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NO_AUTH));
    Ok(())
}

async fn each_of_several_reads_succeeds_or_fails_alone(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "multi-read").await?;
    let closed = Acls::new().world(Permissions::WRITE);
    client.create_with_acl("/closed", "", PERSISTENT, &closed).await?;
    let created = client.create("/a", "data", PERSISTENT).await?;
    client.create("/b", "", PERSISTENT).await?;
    for name in ["/b/1", "/b/2"] {
        client.create(name, "", PERSISTENT).await?;
    }
    let read = client
        .multi_read()
        .get_data("/a")
        .get_data("/missing")
        .get_children("/b")
        .get_children("/a")
        .get_children("/missing")
        .get_data("/closed");
    let results = read.clone().send().await?;
    let [
        Ok(data),
        Err(no_data),
        Ok(ReadOutcome::Children(names)),
        Ok(none),
        Err(no_list),
        Err(denied),
    ] = results.as_slice()
    else {
        panic!("{results:?}");
    };
    assert_eq!(*data, ReadOutcome::Data("data".into(), created.stat));
    let mut names = names.clone();
    names.sort_unstable();
    assert_eq!(names, ["1", "2"]);
    assert_eq!(*none, ReadOutcome::Children(Vec::new()));
    assert_eq!(no_data.to_string(), "getData /missing: NoNode");
    assert_eq!(no_list.to_string(), "getChildren /missing: NoNode");
    assert_eq!(denied.to_string(), "getData /closed: NoAuth");

    // Of the paths, all or none are sent.
    let error = read.get_data("b").send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidPath(PathError::NotAbsolute));
    Ok(())
}

async fn an_empty_list_of_reads_sends_nothing(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    assert!(client.multi_read().send().await?.is_empty());
    client.exists("/").await?;
    assert_eq!(proxy.counters().requests(Opcode::MULTI_READ), 0);
    Ok(())
}

async fn a_connection_is_known_by_its_address_and_identities(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "who-am-i").await?;
    let since = ServerVersion::new(3, 7, 0);
    if server.shared()?.release()? < since {
        let error = client.who_am_i().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported { since });
        return Ok(());
    }
    let identities = client.who_am_i().await?;
    let mut names: Vec<_> =
        identities.iter().map(|known| (known.scheme.as_str(), known.user.as_str())).collect();
    names.sort_unstable();
    assert_eq!(names, [("digest", "bob"), ("ip", "127.0.0.1")]);
    Ok(())
}

async fn invalid_paths_are_refused_before_anything_is_sent(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let cases = [
        ("", PathError::NotAbsolute),
        ("a", PathError::NotAbsolute),
        ("/a//b", PathError::EmptyPart),
        ("/a/../b", PathError::RelativePart),
        ("/a\0b", PathError::Character('\0')),
    ];
    for (path, reason) in cases {
        let kind = ErrorKind::InvalidPath(reason);
        assert_eq!(client.get_ephemerals(path).await.unwrap_err().kind(), kind);
        assert_eq!(client.get_all_children_number(path).await.unwrap_err().kind(), kind);
        let read = client.multi_read().get_data("/").get_children(path);
        assert_eq!(read.send().await.unwrap_err().kind(), kind);
    }
    client.exists("/").await?;
    let counters = proxy.counters();
    assert_eq!(counters.requests_but_upkeep(), 1);
    Ok(())
}
