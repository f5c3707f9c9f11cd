//! The operations of the client.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::error::{OpCode, PathError};
use election_tokio::session::Limits;
use election_tokio::watch::WatcherType;
use election_tokio::{
    Bytes, Client, ConnectError, CreateMode, ErrorCode, ErrorKind, OperationOutcome, SessionId,
    TransactionError, Version,
};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::raw::RawClient;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

on_both_servers! {
    #[tokio::test]
    znodes_of_each_kind_are_created,
    data_is_written_and_read_by_version,
    znodes_are_looked_for_and_deleted,
    an_error_names_its_operation_and_path,
    ten_thousand_children_come_in_one_reply,
    a_transaction_is_applied_as_a_whole,
    a_transaction_that_fails_in_the_middle_applies_nothing,
    a_guarded_transaction_fails_once_the_candidate_is_gone,
    a_chroot_is_invisible_to_its_client,
    a_chroot_that_does_not_exist_is_an_error_of_the_operations,
    a_chroot_is_created_where_that_is_asked_for,
    an_invalid_path_is_refused_before_anything_is_sent,
    a_request_that_is_too_large_is_refused_before_it_is_sent,
    an_answer_that_is_too_large_is_an_error_of_its_operation_alone,
    an_identity_opens_what_it_owns_also_after_a_reconnect;
}

const SESSION: Duration = Duration::from_secs(20);

/// Returns a client with a root znode of its own, and the path of that.
async fn client(server: ServerKind, label: &str) -> Result<(Client, String), TestFailure> {
    let server = server.shared()?;
    let chroot = server.fresh_chroot(label)?;
    let servers = format!("{}{chroot}", server.connect_string());
    let client = Client::builder(&servers).session_timeout(SESSION).connect().await?;
    Ok((client, chroot))
}

async fn znodes_of_each_kind_are_created(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "create").await?;
    let persistent = client.create("/plain", "data", CreateMode::Persistent).await?;
    assert_eq!(persistent.path, "/plain");
    assert_eq!(persistent.stat.data_length, 4);
    assert_eq!(persistent.stat.ephemeral_owner, SessionId::NONE);

    let ephemeral = client.create("/ephemeral", "", CreateMode::Ephemeral).await?;
    assert_ne!(ephemeral.stat.ephemeral_owner, SessionId::NONE);

    for mode in [CreateMode::PersistentSequential, CreateMode::EphemeralSequential] {
        let first = client.create("/plain/n-", "", mode).await;
        let (path, number) = (first?.path, "/plain/n-".len());
        assert_eq!(path.get(number..).map(str::len), Some(10), "{path}");
        let second = client.create("/plain/n-", "", mode).await?.path;
        assert!(path < second, "{path} {second}");
    }
    // A sequential name may be the number alone.
    let bare = client.create("/plain/", "", CreateMode::PersistentSequential).await?;
    assert_eq!(bare.path.len(), "/plain/0123456789".len());

    client.create("/container", "", CreateMode::Container).await?;
    let nested = client.create("/container/child", "", CreateMode::Persistent).await?;
    assert!(nested.stat.czxid > persistent.stat.czxid);

    let error = client.create("/plain", "", CreateMode::Persistent).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NODE_EXISTS));
    let error = client.create("/ephemeral/x", "", CreateMode::Persistent).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NO_CHILDREN_FOR_EPHEMERALS));
    let error = client.create("/a/b", "", CreateMode::Persistent).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NO_NODE));
    Ok(())
}

async fn data_is_written_and_read_by_version(server: ServerKind) -> TestResult {
    let (client, chroot) = client(server, "data").await?;
    let created = client.create("/znode", "one", CreateMode::Persistent).await?;
    assert_eq!(client.get_data("/znode").await?, ("one".into(), created.stat));
    let stat = client.set_data("/znode", "two", Version::new(0)).await?;
    assert_eq!(stat.version, Version::new(1));
    let error = client.set_data("/znode", "three", Version::new(0)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::BAD_VERSION));
    client.set_data("/znode", "", Version::ANY).await?;
    assert_eq!(client.get_data("/znode").await?.0, "");

    // No data at all reads as empty.
    let path = format!("{chroot}/null");
    let body = [
        &u32::try_from(path.len())?.to_be_bytes()[..],
        path.as_bytes(),
        &(-1_i32).to_be_bytes(),
        &1_i32.to_be_bytes(),
        &31_i32.to_be_bytes(),
        b"\0\0\0\x05world\0\0\0\x06anyone",
        &0_i32.to_be_bytes(),
    ];
    let mut raw = RawClient::connect(server.shared()?.addr(), SESSION)?;
    raw.request(Opcode::CREATE, &body.concat())?;
    let (data, stat) = client.get_data("/null").await?;
    assert_eq!((data.len(), stat.data_length), (0, 0));
    Ok(())
}

async fn znodes_are_looked_for_and_deleted(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "delete").await?;
    assert_eq!(client.exists("/znode").await?, None);
    let created = client.create("/znode", "", CreateMode::Persistent).await?;
    assert_eq!(client.exists("/znode").await?, Some(created.stat));
    client.create("/znode/child", "", CreateMode::Persistent).await?;
    let error = client.delete("/znode", Version::ANY).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NOT_EMPTY));
    client.delete("/znode/child", Version::new(0)).await?;
    let error = client.delete("/znode", Version::new(7)).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::BAD_VERSION));
    client.delete("/znode", Version::new(0)).await?;
    assert_eq!(client.exists("/znode").await?, None);
    client.sync("/").await?;
    Ok(())
}

async fn an_error_names_its_operation_and_path(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "errors").await?;
    let missing = "/there/is/none";
    let create = CreateMode::Persistent;
    let errors = [
        ("create2", client.create(missing, "", create).await.unwrap_err()),
        ("delete", client.delete(missing, Version::ANY).await.unwrap_err()),
        ("getData", client.get_data(missing).await.unwrap_err()),
        ("setData", client.set_data(missing, "", Version::ANY).await.unwrap_err()),
        ("getChildren2", client.get_children(missing).await.unwrap_err()),
        ("getData", client.get_data_and_watch(missing).await.unwrap_err()),
        ("getChildren2", client.get_children_and_watch(missing).await.unwrap_err()),
    ];
    for (operation, error) in errors {
        assert_eq!(error.kind(), ErrorKind::Refused(ErrorCode::NO_NODE));
        assert_eq!(error.path(), missing);
        assert_eq!(error.to_string(), format!("{operation} {missing}: NoNode"));
        assert!(!error.may_have_happened());
    }
    Ok(())
}

/// One reply of half a megabyte.
async fn ten_thousand_children_come_in_one_reply(server: ServerKind) -> TestResult {
    const CHILDREN: usize = 10_000;
    const NAME: &str = "_c_00112233-4455-6677-8899-aabbccddeeff-latch-";
    let (client, chroot) = client(server, "children").await?;
    for _ in 0..CHILDREN / 500 {
        let transaction = (0..500).fold(client.transaction(), |transaction, _| {
            transaction.create(&format!("/{NAME}"), "", CreateMode::PersistentSequential)
        });
        transaction.commit().await?;
    }
    let proxy = Proxy::to(server.shared()?.addr())?;
    let servers = format!("{}{chroot}", proxy.connect_string());
    let reader = Client::builder(&servers).connect().await?;
    let children = reader.get_children("/").await?;
    assert_eq!(usize::try_from(children.stat().num_children)?, CHILDREN);
    let mut names: Vec<_> = children.iter().collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHILDREN);
    assert!(names.iter().all(|name| name.starts_with(NAME)));
    assert_eq!(proxy.counters().replies(Opcode::GET_CHILDREN2), 1);
    Ok(())
}

async fn a_transaction_is_applied_as_a_whole(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "multi").await?;
    client.create("/counter", "0", CreateMode::Persistent).await?;
    let results = client
        .transaction()
        .check("/counter", Version::new(0))
        .set_data("/counter", "1", Version::new(0))
        .create("/log-", "first", CreateMode::PersistentSequential)
        .create("/box", "", CreateMode::Container)
        .create("/short", "", CreateMode::Ephemeral)
        .delete("/short", Version::ANY)
        .commit()
        .await?;
    let [
        OperationOutcome::Checked,
        OperationOutcome::DataSet(stat),
        OperationOutcome::Created(log),
        OperationOutcome::Created(container),
        OperationOutcome::Created(short),
        OperationOutcome::Deleted,
    ] = results.as_slice()
    else {
        panic!("{results:?}");
    };
    assert_eq!(stat.version, Version::new(1));
    assert!(log.starts_with("/log-0") && container == "/box" && short == "/short");
    assert!(client.transaction().commit().await?.is_empty());
    Ok(())
}

async fn a_transaction_that_fails_in_the_middle_applies_nothing(server: ServerKind) -> TestResult {
    let (client, _) = client(server, "multi-fails").await?;
    let error = client
        .transaction()
        .create("/one", "", CreateMode::Persistent)
        .create("/two", "", CreateMode::Persistent)
        .delete("/missing", Version::ANY)
        .create("/three", "", CreateMode::Persistent)
        .commit()
        .await
        .unwrap_err();
    let refused = TransactionError::Refused {
        index: 2,
        operation: OpCode::DELETE,
        path: "/missing".to_owned(),
        code: ErrorCode::NO_NODE,
    };
    assert_eq!(error, refused);
    assert!(!error.may_have_happened());
    assert_eq!(
        error.to_string(),
        "nothing was applied: operation 2, delete /missing, was refused: NoNode"
    );
    assert_eq!(client.get_children("/").await?.iter().count(), 0);
    Ok(())
}

/// Guarded writes are applied only while the nominee stands, whatever it believes itself.
async fn a_guarded_transaction_fails_once_the_candidate_is_gone(server: ServerKind) -> TestResult {
    let (client, chroot) = client(server, "guarded").await?;
    let mut nomination = client.election("/election").nominate()?;
    let leadership = nomination.elected().await?;
    let write = || leadership.transaction().create("/work-", "", CreateMode::PersistentSequential);
    let results = write().commit().await?;
    assert!(
        matches!(results.as_slice(), [OperationOutcome::Created(path)] if path.starts_with("/work-"))
    );

    let error = leadership.transaction().delete("/missing", Version::ANY).commit().await;
    assert!(matches!(error, Err(TransactionError::Refused { index: 0, .. })), "{error:?}");

    let mut operator = RawClient::connect(server.shared()?.addr(), SESSION)?;
    operator.delete(&format!("{chroot}/election/{}", leadership.candidate()))?;
    assert_eq!(write().commit().await, Err(TransactionError::NotHeld));
    assert_eq!(client.get_children("/").await?.iter().count(), 2);
    Ok(())
}

async fn a_chroot_is_invisible_to_its_client(server: ServerKind) -> TestResult {
    let (client, chroot) = client(server, "chroot").await?;
    let mut outside = RawClient::connect(server.shared()?.addr(), SESSION)?;
    assert_eq!(client.create("/a", "", CreateMode::Persistent).await?.path, "/a");
    assert!(outside.exists(&format!("{chroot}/a"))?);
    assert_eq!(client.get_children("/").await?.iter().collect::<Vec<_>>(), ["a"]);
    let created = client.transaction().create("/a/b-", "", CreateMode::PersistentSequential);
    let created = created.commit().await?;
    assert_eq!(created, [OperationOutcome::Created("/a/b-0000000000".to_owned())]);
    client.get_data("/").await?;
    client.sync("/").await?;
    Ok(())
}

/// The connection comes about; the operations say what is missing, and where.
async fn a_chroot_that_does_not_exist_is_an_error_of_the_operations(
    server: ServerKind,
) -> TestResult {
    let missing = unique_path("missing");
    let servers = format!("{}{missing}", server.shared()?.connect_string());
    let client = Client::builder(&servers).connect().await?;
    let error = client.create("/a", "", CreateMode::Persistent).await.unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::NoChroot, &*missing));
    assert!(error.is_no_node());
    assert!(error.advice().is_some_and(|advice| advice.contains("create_chroot")));
    let (mode, open) = (CreateMode::Persistent, Acls::open());
    let deep = client.create_with_parents("/a/b/c", "", mode, &open).await;
    assert_eq!(deep.unwrap_err().kind(), ErrorKind::NoChroot);
    assert_eq!(client.get_data("/").await.unwrap_err().kind(), ErrorKind::NoChroot);
    let below = client.get_data("/a").await.unwrap_err().kind();
    assert_eq!(below, ErrorKind::Refused(ErrorCode::NO_NODE), "the chroot may be there");
    assert_eq!(client.exists("/").await?, None);
    Ok(())
}

async fn a_chroot_is_created_where_that_is_asked_for(server: ServerKind) -> TestResult {
    let outer = unique_path("created-chroot");
    let servers = format!("{}{outer}/inner", server.shared()?.connect_string());
    for number in 0..2 {
        let client = Client::builder(&servers).create_chroot().connect().await?;
        client.create(&format!("/{number}"), "", CreateMode::Ephemeral).await?;
    }
    // Where the chroot is there, no permission to create it is needed.
    let operator = Client::builder(&server.shared()?.connect_string()).connect().await?;
    operator.set_acl(&outer, &Acls::read_only(), Version::ANY).await?;
    let client = Client::builder(&servers).create_chroot().connect().await?;
    client.create("/a", "", CreateMode::Ephemeral).await?;
    // Nor the permission to read it, although servers since 3.8.4 forbid to look at it then.
    let unread = Acls::default().world(Permissions::CREATE);
    operator.set_acl(&format!("{outer}/inner"), &unread, Version::ANY).await?;
    let client = Client::builder(&servers).create_chroot().connect().await?;
    client.create("/b", "", CreateMode::Ephemeral).await?;
    // And where it is not, the refusal is told.
    let closed = format!("{}{outer}/other/inner", server.shared()?.connect_string());
    let error = Client::builder(&closed).create_chroot().connect().await.unwrap_err();
    let ConnectError::ChrootNotCreated(error) = error else { panic!("{error:?}") };
    assert!(error.is_no_auth() && error.path() == format!("{outer}/other"), "{error}");
    Ok(())
}

async fn an_invalid_path_is_refused_before_anything_is_sent(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let cases = [
        ("", PathError::NotAbsolute),
        ("a", PathError::NotAbsolute),
        ("/a/", PathError::TrailingSlash),
        ("/a//b", PathError::EmptyPart),
        ("/a/../b", PathError::RelativePart),
        ("/a\0b", PathError::Character('\0')),
    ];
    for (path, reason) in cases {
        let kind = ErrorKind::InvalidPath(reason);
        assert_eq!(client.exists(path).await.unwrap_err().kind(), kind);
        assert_eq!(client.get_data(path).await.unwrap_err().kind(), kind);
        assert_eq!(client.get_children(path).await.unwrap_err().kind(), kind);
        assert_eq!(client.sync(path).await.unwrap_err().kind(), kind);
        assert_eq!(client.set_data(path, "", Version::ANY).await.unwrap_err().kind(), kind);
        assert_eq!(client.delete(path, Version::ANY).await.unwrap_err().kind(), kind);
        let created = client.create(path, "", CreateMode::Persistent).await;
        assert_eq!(created.unwrap_err().kind(), kind);
        assert_eq!(client.exists_and_watch(path).await.unwrap_err().kind(), kind);
        let transaction = client.transaction().check("/", Version::ANY);
        let error = transaction.delete(path, Version::ANY).commit().await.unwrap_err();
        assert!(matches!(&error, TransactionError::Request(error) if error.kind() == kind));
        assert!(client.election(path).nominate().is_err());
    }
    client.exists("/").await?;
    let counters = proxy.counters();
    assert_eq!(counters.requests_but_upkeep(), 1);
    Ok(())
}

/// A request above the server's limit would cost the connection: it is not sent.
async fn a_request_that_is_too_large_is_refused_before_it_is_sent(
    server: ServerKind,
) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let client = Client::builder(&proxy.connect_string()).connect().await?;
    let limit = Limits::default().max_frame;
    let data = Bytes::from(vec![0; limit]);
    let error = client.set_data("/znode", data.clone(), Version::ANY).await.unwrap_err();
    let ErrorKind::TooLarge { length, limit: named } = error.kind() else {
        panic!("{error:?}");
    };
    assert!(length > limit && named == limit);
    assert!(!error.may_have_happened());
    assert_eq!(proxy.counters().requests(Opcode::SET_DATA), 0);

    // The largest that fits goes through.
    let path = unique_path("large");
    let overhead = length - limit + path.len() + "/znode".len();
    client.create(&path, "", CreateMode::Ephemeral).await?;
    let data = data.slice(..limit - overhead);
    client.set_data(&path, data.clone(), Version::ANY).await?;
    assert_eq!(client.get_data(&path).await?.0, data);
    Ok(())
}

/// No reconnect, no loop, and what is asked for beside it is answered (druid #10808 reconnected for
/// ever).
async fn an_answer_that_is_too_large_is_an_error_of_its_operation_alone(
    server: ServerKind,
) -> TestResult {
    const LIMIT: usize = 100_000;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let builder = Client::builder(&proxy.connect_string()).max_reply(LIMIT);
    let client = builder.session_timeout(SESSION).connect().await?;
    let path = unique_path("large");
    client.create(&path, vec![7; 3 * LIMIT], CreateMode::Ephemeral).await?;
    for _ in 0..3 {
        let (read, exists) = tokio::join!(client.get_data_and_watch(&path), client.exists(&path));
        let error = read.map(|_| ()).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::ReplyTooLarge { length, limit: LIMIT }
                if length > 3 * LIMIT),
            "{error}"
        );
        assert!(error.to_string().starts_with(&format!("getData {path}")), "{error}");
        assert!(exists?.is_some());
    }
    assert!(!client.check_watches(&path, WatcherType::ANY).await?, "no watch is left");
    let stat = client.set_data(&path, "small", Version::ANY).await?;
    assert_eq!(client.get_data(&path).await?, ("small".into(), stat));
    assert_eq!(proxy.counters().accepted, 1);
    Ok(())
}

/// An identity is presented on every connection, before anything else (kazoo #172).
async fn an_identity_opens_what_it_owns_also_after_a_reconnect(server: ServerKind) -> TestResult {
    let proxy = Proxy::to(server.shared()?.addr())?;
    let owner =
        Client::builder(&proxy.connect_string()).auth("digest", b"user:secret").connect().await?;
    let stranger = Client::builder(&server.shared()?.connect_string()).connect().await?;
    let path = unique_path("private");
    owner.create_with_acl(&path, "data", CreateMode::Persistent, &Acls::creator_all()).await?;
    let error = stranger.get_data(&path).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NO_AUTH));
    for cuts in 0..3 {
        let read =
            eventually_async(SOON, "it can be read", async || match owner.get_data(&path).await {
                Ok((data, _)) => data == "data",
                Err(error) => {
                    assert_ne!(error.code(), Some(ErrorCode::NO_AUTH), "after {cuts} cuts");
                    false
                }
            });
        read.await?;
        proxy.cut();
    }
    assert!(!format!("{owner:?}").contains("secret"));
    Ok(())
}
