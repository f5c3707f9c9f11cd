//! The fate of a session that was handed over and is gone.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Waker};
use core::time::Duration;

use election_tokio::lease::LeaseGrade;
use election_tokio::session::{Expiry, IfGone, OnExpiry, SessionEnd};
use election_tokio::{ConnectError, ConnectionState, CreateMode, ErrorCode, ErrorKind};
use tokio::time::timeout;
use zk_jute::OpCode;

use crate::lies::Lie;
use crate::server::{Server, settle, wait};

/// The caller that resumes chooses the reaction to a session that is gone at the start, and apart
/// from that the one to a later expiry.
#[tokio::test(start_paused = true)]
async fn what_follows_is_the_choice_of_who_resumes_until_there_is_a_session() {
    let server = Server::new();
    let gone = server.client().await.detach().expect("a session");
    server.expire();

    let fails = server.builder().resume(gone.clone(), IfGone::Fail).connect().await;
    assert!(matches!(fails, Err(ConnectError::SessionGone(Expiry::Refused))));

    let builder =
        server.builder().resume(gone.clone(), IfGone::StartAnew).on_expiry(OnExpiry::Close);
    let anew = builder.connect().await.expect("a new session");
    server.expire();
    wait(1).await;
    let end = SessionEnd::Expired(Expiry::Refused);
    assert_eq!(anew.connection_updates().latest(), ConnectionState::Closed { end });

    let ticket = server.client().await.detach().expect("a session");
    let resumed = server.builder().resume(ticket, IfGone::Fail).connect().await;
    let resumed = resumed.expect("it lives");
    server.expire();
    wait(1).await;
    let state = resumed.connection_updates().latest();
    assert!(matches!(state, ConnectionState::Connected { .. }), "{state:?}");
}

/// A server that has lost its ensemble answers `sync` and reads, and may not know of a znode that the session has
/// created elsewhere. It does not answer a request that needs a quorum's commit.
#[tokio::test(start_paused = true)]
async fn what_the_session_has_is_asked_for_behind_something_that_a_quorum_commits() {
    let server = Server::new();
    let client = server.builder().lease_grade(LeaseGrade::Contact).connect().await.unwrap();
    client.create("/own", "", CreateMode::Ephemeral).await.unwrap();
    server.lie_about(OpCode::MULTI, Lie::Silence);
    let deleted = timeout(Duration::from_secs(2), client.delete_ephemerals("/", |_| true)).await;
    assert!(deleted.is_err(), "{deleted:?}");
    assert_eq!(server.requests(OpCode::GET_EPHEMERALS), 0, "the read comes after it");

    server.cut();
    wait(3).await;
    let before = server.state().requests.len();
    let deleted = client.delete_ephemerals("/", |_| true).await;
    assert_eq!(deleted, Ok(vec!["/own".to_owned()]));
    let order = [OpCode::MULTI, OpCode::GET_EPHEMERALS, OpCode::DELETE];
    assert_eq!(server.state().requests[before..], order);

    server.lie_about(OpCode::MULTI, Lie::Code(ErrorCode::SYSTEM_ERROR));
    let refused = client.delete_ephemerals("/", |_| true).await.unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::SYSTEM_ERROR));
}

/// The proof on an earlier connection says nothing of the server behind the next one.
#[tokio::test(start_paused = true)]
async fn what_the_session_has_is_asked_for_on_the_connection_that_was_shown_to_be_good() {
    let server = Server::new();
    let client = server.builder().lease_grade(LeaseGrade::Contact).connect().await.unwrap();
    client.create("/own", "", CreateMode::Ephemeral).await.unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    {
        let mut deleted = pin!(client.delete_ephemerals("/", |_| true));
        assert!(deleted.as_mut().poll(&mut cx).is_pending());
        settle().await;
        // It is answered, but its caller has not come round to it.
        server.cut();
        wait(3).await;
        let mut connection = client.connection_updates();
        connection
            .wait_for(|state| matches!(state, ConnectionState::Connected { .. }))
            .await
            .unwrap();
        assert_eq!(server.state().accepted, 2);
        let error = deleted.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionLoss);
    }
    assert_eq!(server.requests(OpCode::DELETE), 0);
    assert_eq!(client.delete_ephemerals("/", |_| true).await.map(|paths| paths.len()), Ok(1));
}
