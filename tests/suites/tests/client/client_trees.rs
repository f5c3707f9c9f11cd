//! The client creates znodes with their parents, and deletes whole trees.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use election_tokio::acl::{Acls, Permissions};
use election_tokio::error::PathError;
use election_tokio::{Client, CreateMode, ErrorCode, ErrorKind, Version};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::zookeeper::unique_path;

on_both_servers! {
    #[tokio::test]
    a_znode_is_created_with_its_parents,
    an_error_of_a_creation_with_parents_names_the_znode_that_is_in_the_way,
    the_parents_of_a_znode_get_its_access_list,
    a_tree_is_deleted_from_the_leaves,
    a_tree_with_what_may_not_be_deleted_is_left_in_part,
    a_tree_that_two_delete_is_deleted_once,
    a_chroot_is_deleted_as_the_root_of_its_client,
    bad_input_is_refused_before_anything_is_sent;
}

const PERSISTENT: CreateMode = CreateMode::Persistent;

async fn client(server: ServerKind, label: &str) -> Result<(Client, String), TestFailure> {
    let server = server.shared()?;
    let chroot = server.fresh_chroot(label)?;
    let servers = format!("{}{chroot}", server.connect_string());
    Ok((Client::builder(&servers).connect().await?, chroot))
}

async fn a_znode_is_created_with_its_parents(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "parents").await?;
    let open = Acls::open();
    let created = client.create_with_parents("/a/b/c", "data", PERSISTENT, &open).await?;
    assert_eq!(client.get_data("/a/b/c").await?, ("data".into(), created.stat));
    assert_eq!(client.get_data("/a/b").await?.0, "");

    // Some are there, or all.
    let mode = CreateMode::EphemeralSequential;
    let created = client.create_with_parents("/a/x/n-", "", mode, &open).await?;
    assert_eq!(created.path, "/a/x/n-0000000000");
    let created = client.create_with_parents("/a/x/", "", mode, &open).await?;
    assert_eq!(created.path, "/a/x/0000000001");
    assert_eq!(client.get_all_children_number("/").await?, 6);

    let error = client.create_with_parents("/a/b/c", "", PERSISTENT, &open).await.unwrap_err();
    assert_eq!(error.to_string(), "create2 /a/b/c: NodeExists");
    Ok(())
}

async fn an_error_of_a_creation_with_parents_names_the_znode_that_is_in_the_way(
    server: ServerKind,
) -> TestResult {
    let (client, chroot) = client(server, "parents-errors").await?;
    let open = Acls::open();
    client.create("/ephemeral", "", CreateMode::Ephemeral).await?;
    let created = client.create_with_parents("/ephemeral/b/c/d", "", PERSISTENT, &open).await;
    let text = "create2 /ephemeral/b: NoChildrenForEphemerals";
    assert_eq!(created.unwrap_err().to_string(), text);

    let closed = Acls::read_only();
    client.create_with_acl("/closed", "", PERSISTENT, &closed).await?;
    let created = client.create_with_parents("/closed/b/c/d", "", PERSISTENT, &open).await;
    assert_eq!(created.unwrap_err().to_string(), "create2 /closed/b: NoAuth");
    // The list has to let the client create children.
    let created = client.create_with_parents("/new/b/c", "", PERSISTENT, &closed).await;
    assert_eq!(created.unwrap_err().to_string(), "create2 /new/b: NoAuth");

    // A chroot is not the client's to create.
    let servers = format!("{}{chroot}/missing", server.shared()?.connect_string());
    let outside = Client::builder(&servers).connect().await?;
    for path in ["/a", "/a/b"] {
        let created = outside.create_with_parents(path, "", PERSISTENT, &open).await;
        assert_eq!(created.unwrap_err().kind(), ErrorKind::NoChroot, "{path}");
    }
    assert_eq!(client.exists("/missing").await?, None);
    Ok(())
}

/// Also below a znode of others', that this client may not create beside.
async fn the_parents_of_a_znode_get_its_access_list(server: ServerKind) -> TestResult {
    let (others, chroot) = client(server, "parents-acl").await?;
    let servers = format!("{}{chroot}", server.shared()?.connect_string());
    let owner = Client::builder(&servers).auth("digest", b"bob:secret").connect().await?;
    let list = Acls::creator_all();
    owner.create("/top", "", PERSISTENT).await?;
    others.set_acl("/", &Acls::read_only(), Version::ANY).await?;
    owner.create_with_parents("/top/a/b/c", "", PERSISTENT, &list).await?;
    for path in ["/top/a", "/top/a/b", "/top/a/b/c"] {
        let error = others.get_data(path).await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::NO_AUTH), "{path}");
        let own = owner.get_acl(path).await?.iter().next().map(|entry| entry.permissions);
        assert_eq!(own, Some(Permissions::ALL), "{path}");
    }
    Ok(())
}

async fn a_tree_is_deleted_from_the_leaves(server: ServerKind) -> TestResult {
    const WIDE: usize = 500;
    let (client, chroot) = client(server, "tree").await?;
    let open = Acls::open();
    client.create_with_parents("/tree/a/b/c", "", PERSISTENT, &open).await?;
    client.set_data("/tree/a", "a version", Version::ANY).await?;
    client.create("/tree/ephemeral", "", CreateMode::Ephemeral).await?;
    client.create("/tree/container", "", CreateMode::Container).await?;
    client.create("/tree-top", "", PERSISTENT).await?;
    let wide = (0..WIDE).fold(client.transaction(), |transaction, _| {
        transaction.create("/tree/a/n-", "", CreateMode::PersistentSequential)
    });
    wide.commit().await?;

    let proxy = Proxy::to(server.shared()?.addr())?;
    let deleter = Client::builder(&format!("{}{chroot}", proxy.connect_string())).connect().await?;
    let size = u64::try_from(6 + WIDE)?;
    assert_eq!(deleter.delete_tree("/tree").await?, size);
    assert_eq!(client.get_children("/").await?.iter().collect::<Vec<_>>(), ["tree-top"]);
    assert_eq!(proxy.counters().requests(Opcode::DELETE), size);
    assert_eq!(deleter.delete_tree("/tree").await?, 0);
    Ok(())
}

async fn a_tree_with_what_may_not_be_deleted_is_left_in_part(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "tree-closed").await?;
    client.create("/tree", "", PERSISTENT).await?;
    let list = Acls::new().world(Permissions::READ | Permissions::CREATE);
    client.create_with_acl("/tree/closed", "", PERSISTENT, &list).await?;
    client.create("/tree/closed/a", "", PERSISTENT).await?;
    let error = client.delete_tree("/tree").await.unwrap_err();
    assert_eq!(error.to_string(), "delete /tree/closed/a: NoAuth");

    let hidden = Acls::new().world(Permissions::DELETE);
    client.create_with_acl("/hidden", "", PERSISTENT, &hidden).await?;
    let error = client.delete_tree("/hidden").await.unwrap_err();
    assert_eq!(error.to_string(), "getChildren2 /hidden: NoAuth");
    assert!(client.exists("/tree/closed/a").await?.is_some());
    Ok(())
}

async fn a_tree_that_two_delete_is_deleted_once(server: ServerKind) -> TestResult {
    const WIDE: usize = 300;
    let (one, chroot) = client(server, "tree-twice").await?;
    let servers = format!("{}{chroot}", server.shared()?.connect_string());
    let other = Client::builder(&servers).connect().await?;
    one.create("/tree", "", PERSISTENT).await?;
    let wide = (0..WIDE).fold(one.transaction(), |transaction, index| {
        let path = format!("/tree/{index}");
        transaction.create(&path, "", PERSISTENT).create(&format!("{path}/x"), "", PERSISTENT)
    });
    wide.commit().await?;
    let (first, second) = tokio::join!(one.delete_tree("/tree"), other.delete_tree("/tree"));
    assert_eq!(first? + second?, u64::try_from(1 + 2 * WIDE)?);
    assert_eq!(one.exists("/tree").await?, None);
    Ok(())
}

async fn a_chroot_is_deleted_as_the_root_of_its_client(server: ServerKind) -> TestResult {
    let (inside, chroot) = client(server, "tree-chroot").await?;
    inside.create("/a", "", PERSISTENT).await?;
    assert_eq!(inside.delete_tree("/").await?, 2);
    let outside = Client::builder(&server.shared()?.connect_string()).connect().await?;
    assert_eq!(outside.exists(&chroot).await?, None);
    Ok(())
}

async fn bad_input_is_refused_before_anything_is_sent(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let open = Acls::open();
    let cases = [
        ("", PathError::NotAbsolute),
        ("a", PathError::NotAbsolute),
        ("/a/", PathError::TrailingSlash),
        ("/a//b", PathError::EmptyPart),
        ("/a/../b", PathError::RelativePart),
    ];
    for (path, reason) in cases {
        let kind = ErrorKind::InvalidPath(reason);
        assert_eq!(client.delete_tree(path).await.unwrap_err().kind(), kind);
        let created = client.create_with_parents(path, "", PERSISTENT, &open).await;
        assert_eq!(created.unwrap_err().kind(), kind);
    }
    for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"] {
        let kind = ErrorKind::InvalidPath(PathError::Permanent);
        assert_eq!(client.delete_tree(path).await.unwrap_err().kind(), kind);
    }
    let path = format!("{}/a", unique_path("no-acl"));
    let created = client.create_with_parents(&path, "", PERSISTENT, &Acls::new()).await;
    assert!(matches!(created.unwrap_err().kind(), ErrorKind::InvalidAcl(_)));
    client.exists("/").await?;
    let counters = proxy.counters();
    assert_eq!(counters.requests_but_upkeep(), 1);
    Ok(())
}
