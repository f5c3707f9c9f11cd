//! Servers that break the protocol, fall silent, or change their minds.

use core::time::Duration;

use election_tokio::session::{Backoff, Expiry, OnExpiry, SessionEnd};
use election_tokio::{ConnectionState, CreateMode, ErrorCode, ErrorKind, Version};
use zk_jute::OpCode;

use crate::lies::Lie;
use crate::server::{Server, settle, wait};

/// Whatever the server answers, the request ends with an error, the connection is dropped at once,
/// and the next one works.
#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_the_protocol_ends_the_connection_at_once() {
    for lie in [Lie::WrongXid, Lie::Stub, Lie::NegativeLength] {
        let server = Server::new();
        // Time enough to see that the connection is dropped before the next one is made.
        let slow = Backoff { base: Duration::from_secs(2), cap: Duration::from_secs(2) };
        let client = server.builder().backoff(slow).connect().await.unwrap();
        server.lie_about(OpCode::EXISTS, lie);
        server.refuse();
        let error = client.exists("/znode").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLoss, "{lie:?}");
        assert!(error.may_have_happened());
        settle().await;
        assert!(server.state().connections() == 0, "still connected after {lie:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_answer_that_breaks_the_protocol_the_session_goes_on() {
    for lie in [Lie::WrongXid, Lie::Stub, Lie::NegativeLength] {
        let server = Server::new();
        let client = server.client().await;
        client.create("/mine", "", CreateMode::Ephemeral).await.unwrap();
        server.lie_about(OpCode::EXISTS, lie);
        client.exists("/znode").await.unwrap_err();
        wait(1).await;
        assert!(client.exists("/mine").await.unwrap().is_some(), "{lie:?}");
        assert_eq!(server.state().accepted, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ends_too_early_is_an_error_of_its_request_alone() {
    let server = Server::new();
    let client = server.client().await;
    server.lie_about(OpCode::GET_DATA, Lie::NoBody);
    let error = client.get_data("/znode").await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnreadableReply(_)), "{error}");
    assert!(error.to_string().starts_with("getData /znode: unreadable reply"), "{error}");
    client.exists("/znode").await.unwrap();
    assert_eq!(server.state().accepted, 1);
}

/// A request to a server that is silent ends when the connection is given up, after two thirds of
/// the timeout.
#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_after_two_thirds_of_the_timeout() {
    let server = Server::new();
    let client = server.builder().session_timeout(Duration::from_secs(9)).connect().await.unwrap();
    server.read_only_next(0);
    let started = tokio::time::Instant::now();
    let error = client.exists("/znode").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionLoss);
    assert_eq!(started.elapsed().as_secs(), 6);
}

/// After an expiry the client makes a new session, and operations go on.
#[tokio::test(start_paused = true)]
async fn an_expired_session_is_followed_by_a_new_one() {
    let server = Server::new();
    let client = server.client().await;
    let mut connection = client.connection_updates();
    let first = session(&connection.latest_and_update());
    client.create("/mine", "", CreateMode::Ephemeral).await.unwrap();
    let (_, watch) = client.exists_and_watch("/other").await.unwrap();
    server.expire();
    watch.await.expect_err("the session of the watch is over");
    wait(1).await;
    assert_ne!(session(&connection.latest_and_update()), first);
    assert_eq!(client.exists("/mine").await.unwrap(), None);
    client.create("/mine", "", CreateMode::Ephemeral).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_on_expiry_closes() {
    let server = Server::new();
    let client = server.builder().on_expiry(OnExpiry::Close).connect().await.unwrap();
    server.expire();
    wait(1).await;
    let end = SessionEnd::Expired(Expiry::Refused);
    assert_eq!(client.connection_updates().latest(), ConnectionState::Closed { end });
    let error = client.exists("/znode").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(client.close().await, Ok(()));
    assert!(server.state().connections() == 0);
}

/// The client does not renew a session that a server calls expired while it is being closed: no
/// call would close the new one.
#[tokio::test(start_paused = true)]
async fn a_client_that_is_being_closed_makes_no_new_session() {
    let server = Server::new();
    let client = server.client().await;
    let bystander = client.clone();
    server.read_only_next(0);
    server.lie_about(OpCode::EXISTS, Lie::Code(ErrorCode::SESSION_EXPIRED));
    let read = tokio::spawn(async move { bystander.exists("/znode").await });
    settle().await;
    let closing = tokio::spawn(client.close());
    settle().await;
    server.read_freely();
    read.await.unwrap().unwrap_err();
    let closed = tokio::time::timeout(Duration::from_secs(60), closing).await;
    assert_eq!(closed.expect("close() ends").unwrap(), Ok(()));
    assert_eq!(server.state().accepted, 1);
}

/// Without a confirmation `close` ends after the session timeout, and says so.
#[tokio::test(start_paused = true)]
async fn a_close_that_nobody_confirms_ends_with_an_error() {
    let server = Server::new();
    let client = server.client().await;
    server.lie_about(OpCode::CLOSE_SESSION, Lie::Silence);
    server.read_only_next(0);
    let started = tokio::time::Instant::now();
    client.close().await.unwrap_err();
    assert!(started.elapsed() <= Duration::from_secs(10), "{:?}", started.elapsed());

    let server = Server::new();
    let client = server.client().await;
    server.refuse();
    server.cut();
    settle().await;
    client.close().await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn requests_in_flight_at_a_cut_end_in_order_and_are_not_sent_again() {
    let server = Server::new();
    let client = server.client().await;
    client.create("/znode", "", CreateMode::Persistent).await.unwrap();
    server.read_only_next(3);
    let writes: Vec<_> = (0..10)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.set_data("/znode", "x", Version::ANY).await })
        })
        .collect();
    settle().await;
    server.cut();
    settle().await;
    server.read_freely();
    let mut done = 0;
    for write in writes {
        match write.await.unwrap() {
            Ok(_) => done += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionLoss),
        }
    }
    assert_eq!(done, 3);
    wait(1).await;
    let (_, stat) = client.get_data("/znode").await.unwrap();
    assert_eq!(stat.version, Version::new(3));
    assert_eq!(server.requests(OpCode::SET_DATA), 3);
}

fn session(state: &ConnectionState) -> election_tokio::SessionId {
    match state {
        ConnectionState::Connected { session, .. } => *session,
        other => panic!("not connected: {other:?}"),
    }
}
