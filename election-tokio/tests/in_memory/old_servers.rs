//! Servers that are older than an operation.

use core::time::Duration;

use election_tokio::{
    Client, ConnectionState, CreateMode, Error, ErrorCode, ErrorKind, OpCode, ServerVersion, Ttl,
};

use crate::server::{Lie, Server, wait};

/// The error names the operation and the release that brought it.
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
        (CreateMode::Persistent, OpCode::CREATE2, ServerVersion::new(3, 5, 0)),
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
