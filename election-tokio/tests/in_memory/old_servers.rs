//! Servers that are older than an operation.

use core::time::Duration;

use election_tokio::ensemble::ServerVersion;
use election_tokio::error::OpCode;
use election_tokio::{Client, ConnectionState, CreateMode, Error, ErrorCode, ErrorKind, Ttl};

use crate::lies::Lie;
use crate::server::{Server, wait};

/// Asserts that the error names the operation and the release that brought it.
async fn is_refused(
    operation: OpCode,
    since: ServerVersion,
    call: impl AsyncFn(&Client) -> Result<(), Error>,
) {
    let server = Server::new();
    let client = server.client().await;
    client.create("/mine", "", CreateMode::Ephemeral).await.unwrap();
    server.lie_about(operation, Lie::TooNew);
    let error = call(&client).await.unwrap_err();
    assert_eq!(error.operation(), operation);
    assert_eq!(error.kind(), ErrorKind::Unsupported { since }, "{error}");
    assert_eq!(error.code(), Some(ErrorCode::UNIMPLEMENTED));
    assert!(!error.may_have_happened());
    let text = error.to_string();
    assert!(text.contains(operation.name().unwrap()), "{text}");
    assert!(text.contains(&since.to_string()), "{text}");

    // It cost the connection, and not the session.
    wait(1).await;
    assert!(matches!(client.connection_updates().latest(), ConnectionState::Connected { .. }));
    assert!(client.exists("/mine").await.unwrap().is_some());
    assert_eq!(server.state().accepted, 2);
}

#[tokio::test(start_paused = true)]
async fn a_mode_of_creation_that_the_server_does_not_know_is_named() {
    let ttl = CreateMode::PersistentWithTtl(Ttl::new(Duration::from_secs(1)).unwrap());
    let cases = [
        (CreateMode::Container, OpCode::CREATE_CONTAINER, ServerVersion::new(3, 5, 1)),
        (ttl, OpCode::CREATE_TTL, ServerVersion::new(3, 5, 3)),
    ];
    for (mode, operation, since) in cases {
        is_refused(operation, since, async |client| {
            client.create("/znode", "", mode).await.map(|_| ())
        })
        .await;
    }
}

/// Each znode once, with its metadata, and the connection is lost once.
#[tokio::test(start_paused = true)]
async fn servers_that_do_not_know_create2_are_asked_to_create() {
    let server = Server::new();
    let client = server.client().await;
    server.lie_about(OpCode::CREATE2, Lie::TooNew);
    for (mode, path, expected) in [
        (CreateMode::Persistent, "/a", "/a"),
        (CreateMode::Ephemeral, "/a/b", "/a/b"),
        (CreateMode::PersistentSequential, "/a/c-", "/a/c-0000000001"),
    ] {
        let created = client.create(path, "data", mode).await.unwrap();
        assert_eq!(created.path, expected);
        assert_eq!(client.get_data(expected).await.unwrap(), ("data".into(), created.stat));
    }
    let error = client.create("/a", "", CreateMode::Persistent).await.unwrap_err();
    assert_eq!((error.operation(), error.code()), (OpCode::CREATE, Some(ErrorCode::NODE_EXISTS)));
    let acls = election_tokio::acl::Acls::open();
    let created = client.create_with_parents("/x/y/z", "", CreateMode::Persistent, &acls).await;
    assert_eq!(created.unwrap().path, "/x/y/z");
    assert_eq!(server.requests(OpCode::CREATE2), 1);
    assert_eq!(server.state().accepted, 2);
}

/// A look that finds no znode is no lack of parents.
#[tokio::test(start_paused = true)]
async fn a_znode_that_is_deleted_before_its_metadata_are_read_is_created_once() {
    let server = Server::new();
    let client = server.client().await;
    server.lie_about(OpCode::CREATE2, Lie::TooNew);
    client.create("/a", "", CreateMode::Persistent).await.unwrap();
    let acls = election_tokio::acl::Acls::open();
    let before = server.requests(OpCode::CREATE);
    // To the look at the connection, and to that at the znode.
    server.lie_about(OpCode::EXISTS, Lie::Code(ErrorCode::NO_NODE));
    server.lie_about(OpCode::EXISTS, Lie::Code(ErrorCode::NO_NODE));
    let error = client.create_with_parents("/a/b", "", CreateMode::Persistent, &acls).await;
    assert_eq!(error.unwrap_err().to_string(), "exists /a/b: NoNode");
    assert_eq!(server.requests(OpCode::CREATE), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_the_server_does_not_know_is_named() {
    let three_six = ServerVersion::new(3, 6, 0);
    is_refused(OpCode::GET_EPHEMERALS, three_six, async |client| {
        client.get_ephemerals("/").await.map(|_| ())
    })
    .await;
    is_refused(OpCode::GET_ALL_CHILDREN_NUMBER, three_six, async |client| {
        client.get_all_children_number("/").await.map(|_| ())
    })
    .await;
    is_refused(OpCode::MULTI_READ, three_six, async |client| {
        client.multi_read().get_data("/").send().await.map(|_| ())
    })
    .await;
    is_refused(OpCode::WHO_AM_I, ServerVersion::new(3, 7, 0), async |client| {
        client.who_am_i().await.map(|_| ())
    })
    .await;
}

/// An answer with fewer results than there were reads, or with none at all.
#[tokio::test(start_paused = true)]
async fn an_answer_to_other_reads_is_an_error_of_the_whole() {
    for lie in [Lie::NoBody, Lie::NoResults] {
        let server = Server::new();
        let client = server.client().await;
        server.lie_about(OpCode::MULTI_READ, lie);
        let error = client.multi_read().get_data("/").send().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnreadableReply(_)), "{error}");
        client.exists("/").await.unwrap();
        assert_eq!(server.state().accepted, 1);
    }
}

/// The znode is created; the client ends before it can read the metadata.
#[tokio::test(start_paused = true)]
async fn a_create_whose_client_ends_before_the_look_may_have_happened() {
    let server = Server::new();
    let client = server.client().await;
    server.lie_about(OpCode::CREATE2, Lie::TooNew);
    client.create("/a", "", CreateMode::Persistent).await.unwrap();
    server.state().latency = Duration::from_millis(10);
    let looks = server.requests(OpCode::EXISTS);
    let creator = client.clone();
    let creating =
        tokio::spawn(async move { creator.create("/a/b", "", CreateMode::Persistent).await });
    while server.requests(OpCode::EXISTS) == looks {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.refuse();
    server.cut();
    wait(1).await;
    let closing = tokio::spawn(client.close());
    let error = creating.await.unwrap().unwrap_err();
    closing.abort();
    assert!(error.may_have_happened(), "{error}");
    assert_eq!(server.children("/a"), ["b"]);
}
