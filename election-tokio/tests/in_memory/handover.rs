//! What becomes of a session that was handed over and is gone.

use election_tokio::{ConnectError, ConnectionState, End, Expiry, IfGone};

use crate::server::{Server, wait};

/// What follows if the session is gone at the start is one thing, an expiry later on is another.
#[tokio::test(start_paused = true)]
async fn what_follows_is_the_choice_of_who_resumes_until_there_is_a_session() {
    let server = Server::new();
    let gone = server.client().await.detach().expect("a session");
    server.expire();

    let fails = server.builder().resume(gone.clone(), IfGone::Fail).connect().await;
    assert!(matches!(fails, Err(ConnectError::SessionGone(Expiry::Refused))));

    let builder = server.builder().resume(gone.clone(), IfGone::StartAnew).close_on_expiry();
    let anew = builder.connect().await.expect("a new session");
    server.expire();
    wait(1).await;
    let end = End::Expired(Expiry::Refused);
    assert_eq!(anew.connection().latest(), ConnectionState::Closed { end });

    let ticket = server.client().await.detach().expect("a session");
    let resumed = server.builder().resume(ticket, IfGone::Fail).connect().await;
    let resumed = resumed.expect("it lives");
    server.expire();
    wait(1).await;
    let state = resumed.connection().latest();
    assert!(matches!(state, ConnectionState::Connected { .. }), "{state:?}");
}
