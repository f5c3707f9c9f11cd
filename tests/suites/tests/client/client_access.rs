//! The client reads and sets access lists, and asks for its identities.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use election_tokio::acl::{Acl, AclError, Acls, Permissions};
use election_tokio::error::OpCode;
use election_tokio::{Client, CreateMode, ErrorCode, ErrorKind, TransactionError, Version};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::server::ServerKind;
use zk_test_kit::zookeeper::unique_path;

on_both_servers! {
    #[tokio::test]
    an_access_list_is_read_and_replaced_by_its_version,
    a_znode_of_its_creator_is_closed_to_others,
    a_transaction_creates_znodes_with_access_lists,
    an_access_list_that_the_server_refuses_changes_nothing,
    an_access_list_that_no_server_takes_is_not_sent;
}

const BOB: &str = "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=";

async fn stranger(server: ServerKind) -> Result<Client, TestFailure> {
    Ok(Client::builder(&server.shared()?.connect_string()).connect().await?)
}

async fn bob(server: ServerKind) -> Result<Client, TestFailure> {
    let servers = server.shared()?.connect_string();
    Ok(Client::builder(&servers).auth("digest", b"bob:secret").connect().await?)
}

async fn an_access_list_is_read_and_replaced_by_its_version(server: ServerKind) -> TestResult {
    let chroot = server.shared()?.fresh_chroot("acl")?;
    let servers = format!("{}{chroot}", server.shared()?.connect_string());
    let client = Client::builder(&servers).connect().await?;
    client.create("/znode", "", CreateMode::Persistent).await?;
    let access = client.get_acl("/znode").await?;
    assert_eq!(access.to_acls(), Acls::open());
    assert_eq!(access.acl_version(), Version::new(0));
    assert_eq!(Some(*access.stat()), client.exists("/znode").await?);

    let more = access.to_acls().digest(Permissions::READ | Permissions::ADMIN, BOB);
    let stat = client.set_acl("/znode", &more, access.acl_version()).await?;
    assert_eq!((stat.aversion, stat.version), (Version::new(1), Version::new(0)));
    assert_eq!(client.get_acl("/znode").await?.to_acls(), more);

    let error = client.set_acl("/znode", &more, Version::new(0)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::BAD_VERSION));
    client.set_acl("/znode", &Acls::read_only(), Version::ANY).await?;
    assert_eq!(client.get_acl("/znode").await?.iter().collect::<Vec<_>>(), [Acl::READ_ONLY]);
    // No client may administer it any more.
    let error = client.set_acl("/znode", &more, Version::ANY).await.unwrap_err();
    assert_eq!(error.to_string(), "setACL /znode: NoAuth");

    let error = client.get_acl("/missing").await.unwrap_err();
    assert_eq!(error.to_string(), "getACL /missing: NoNode");
    let error = client.set_acl("/missing", &more, Version::ANY).await.unwrap_err();
    assert_eq!(error.to_string(), "setACL /missing: NoNode");
    Ok(())
}

async fn a_znode_of_its_creator_is_closed_to_others(server: ServerKind) -> TestResult {
    let (bob, stranger) = (bob(server).await?, stranger(server).await?);
    let path = unique_path("private");
    let list = Acls::creator_all();
    bob.create_with_acl(&path, "data", CreateMode::Persistent, &list).await?;
    let access = bob.get_acl(&path).await?;
    assert_eq!(access.to_acls(), Acls::new().digest(Permissions::ALL, BOB));
    assert!(!format!("{access:?}").contains("fyVm"));
    for error in [
        stranger.get_acl(&path).await.unwrap_err(),
        stranger.get_data(&path).await.unwrap_err(),
        stranger.set_acl(&path, &Acls::open(), Version::ANY).await.unwrap_err(),
    ] {
        assert_eq!(error.code(), Some(ErrorCode::NO_AUTH), "{error}");
    }

    // A client that may read the znode sees the users with access, and not their digests.
    let readable = access.to_acls().world(Permissions::READ);
    bob.set_acl(&path, &readable, access.acl_version()).await?;
    let seen = stranger.get_acl(&path).await?;
    let redacted = Acls::new().digest(Permissions::ALL, "bob:x").world(Permissions::READ);
    assert_eq!(seen.to_acls(), redacted);
    assert_eq!(stranger.get_data(&path).await?.0, "data");
    Ok(())
}

async fn a_transaction_creates_znodes_with_access_lists(server: ServerKind) -> TestResult {
    let bob = bob(server).await?;
    let (open, closed) = (unique_path("open"), unique_path("closed"));
    let (mode, creator) = (CreateMode::Ephemeral, Acls::creator_all());
    let created = bob.transaction().create(&open, "", mode);
    created.create_with_acl(&closed, "", mode, &creator).commit().await?;
    assert_eq!(bob.get_acl(&open).await?.to_acls(), Acls::open());
    let list = Acls::new().digest(Permissions::ALL, BOB);
    assert_eq!(bob.get_acl(&closed).await?.to_acls(), list);

    let refused = stranger(server).await?.transaction().check("/", Version::ANY);
    let refused = refused.create_with_acl("/x", "", mode, &creator).commit().await.unwrap_err();
    let (operation, code) = (OpCode::CREATE2, ErrorCode::INVALID_ACL);
    let path = "/x".to_owned();
    assert_eq!(refused, TransactionError::Refused { index: 1, operation, path, code });
    Ok(())
}

async fn an_access_list_that_the_server_refuses_changes_nothing(server: ServerKind) -> TestResult {
    let stranger = stranger(server).await?;
    let path = unique_path("invalid-acl");
    stranger.create(&path, "", CreateMode::Ephemeral).await?;
    let unknown = Acls::open().with(Permissions::ALL, "no-such-scheme", "x");
    for list in [Acls::creator_all(), unknown] {
        let error = stranger.set_acl(&path, &list, Version::ANY).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused(ErrorCode::INVALID_ACL), "{list:?}");
    }
    let access = stranger.get_acl(&path).await?;
    assert_eq!((access.acl_version(), access.to_acls()), (Version::new(0), Acls::open()));
    Ok(())
}

async fn an_access_list_that_no_server_takes_is_not_sent(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let all = Permissions::ALL;
    let cases = [
        (Acls::new(), AclError::Empty),
        (Acls::open().digest(all, "bob:secret"), AclError::DigestForm),
        (Acls::new().with(all, "world", "somebody"), AclError::NotAnyone),
    ];
    for (list, reason) in cases {
        let kind = ErrorKind::InvalidAcl(reason);
        let error = client.set_acl("/znode", &list, Version::ANY).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(!error.may_have_happened());
        let created = client.create_with_acl("/znode", "", CreateMode::Container, &list).await;
        assert_eq!(created.unwrap_err().kind(), kind);
        let transaction =
            client.transaction().create_with_acl("/z", "", CreateMode::Container, &list);
        let error = transaction.commit().await.unwrap_err();
        assert!(matches!(&error, TransactionError::Request(error) if error.kind() == kind));
    }
    client.get_acl("a").await.unwrap_err();
    client.set_acl("a", &Acls::open(), Version::ANY).await.unwrap_err();
    client.exists("/").await?;
    let counters = proxy.counters();
    assert_eq!(counters.requests_but_upkeep(), 1);
    Ok(())
}
