//! Mechanisms that take their time, fail, or say nothing.

use core::future::{pending, ready};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use election_tokio::error::OpCode;
use election_tokio::sasl::{SaslError, SaslFailure, SaslMechanism, SaslStep, SaslStepping, Secret};
use election_tokio::session::SessionEnd;
use election_tokio::source::ServerAddress;
use election_tokio::{ConnectError, ConnectionState};
use tokio::time::{Instant, sleep};

use crate::lies::Lie;
use crate::server::{Server, wait};

/// A mechanism made of a function that is told how often it was asked to begin.
struct Scripted<F>(F, Arc<AtomicUsize>);

impl<F> core::fmt::Debug for Scripted<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Scripted")
    }
}

impl<F: Fn(usize) -> SaslStepping + Send + Sync + 'static> SaslMechanism for Scripted<F> {
    fn begin(&self, server: &ServerAddress) -> SaslStepping {
        assert_eq!(server.host, "in-memory");
        (self.0)(self.1.fetch_add(1, Ordering::Relaxed))
    }
}

/// Returns a mechanism with this script, and the count of its exchanges.
fn scripted<F>(script: F) -> (impl SaslMechanism, Arc<AtomicUsize>)
where
    F: Fn(usize) -> SaslStepping + Send + Sync + 'static,
{
    let begun = Arc::new(AtomicUsize::new(0));
    (Scripted(script, Arc::clone(&begun)), begun)
}

/// Exchanges two tokens, each after a second.
fn slow(_: usize) -> SaslStepping {
    Box::pin(async {
        sleep(Duration::from_secs(1)).await;
        Ok(SaslStep::send(Secret::new("one"), async |answer| {
            assert_eq!(answer, "one");
            sleep(Duration::from_secs(1)).await;
            Ok(SaslStep::send(Secret::new("two"), |answer| {
                assert_eq!(answer, "two");
                ready(Ok(SaslStep::Done))
            }))
        }))
    })
}

#[tokio::test(start_paused = true)]
async fn a_mechanism_may_take_its_time_while_everybody_waits() {
    let server = Server::new();
    let (mechanism, begun) = scripted(slow);
    let start = Instant::now();
    let client = server.builder().sasl(mechanism).connect().await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(2));
    client.exists("/a").await.unwrap();
    let exchange = [OpCode::SASL; 2];
    assert_eq!(server.requested(), [&exchange[..], &[OpCode::EXISTS]].concat());

    server.state().requests.clear();
    server.cut();
    wait(3).await;
    assert!(matches!(client.connection_updates().latest(), ConnectionState::Connected { .. }));
    assert_eq!(server.requested(), exchange);
    assert_eq!(begun.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn the_last_token_may_be_the_clients() {
    let server = Server::new();
    let (mechanism, _) = scripted(|_| {
        let last = |_| ready(Ok(SaslStep::SendLast(Secret::new("bye"))));
        Box::pin(ready(Ok(SaslStep::send(Secret::new("hello"), last))))
    });
    let client = server.builder().sasl(mechanism).connect().await.unwrap();
    client.exists("/a").await.unwrap();
    assert_eq!(server.requests(OpCode::SASL), 2);
}

#[tokio::test(start_paused = true)]
async fn a_mechanism_that_is_not_available_is_asked_again() {
    let server = Server::new();
    let (mechanism, begun) = scripted(|begun| {
        if begun < 3 {
            let error = io::Error::new(io::ErrorKind::TimedOut, "no key server in reach");
            return Box::pin(ready(Err(SaslError::Unavailable(error))));
        }
        slow(begun)
    });
    let client = server.builder().sasl(mechanism).start().unwrap();
    let mut connection = client.connection_updates();
    let failed = connection
        .wait_for(|state| matches!(state, ConnectionState::Connecting { failures: 1.., .. }));
    let Ok(ConnectionState::Connecting { last_failure: Some(failure), .. }) = failed.await else {
        unreachable!("it fails at first");
    };
    assert!(failure.to_string().contains("no key server in reach"), "{failure}");
    wait(5).await;
    client.exists("/a").await.unwrap();
    assert_eq!(begun.load(Ordering::Relaxed), 4);
}

/// The step is dropped, and begun again on the next connection.
#[tokio::test(start_paused = true)]
async fn a_mechanism_that_says_nothing_is_given_up() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let server = Server::new();
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let (mechanism, begun) = scripted(move |begun| {
        let step = Dropped(Arc::clone(&count));
        Box::pin(async move {
            let _step = step;
            if begun < 2 { pending().await } else { slow(begun).await }
        })
    });
    let client = server.builder().sasl(mechanism).start().unwrap();
    wait(2).await;
    assert_eq!((begun.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed)), (1, 0));
    wait(10).await;
    client.exists("/a").await.unwrap();
    assert_eq!((begun.load(Ordering::Relaxed), dropped.load(Ordering::Relaxed)), (3, 3));
    assert_eq!(server.state().accepted, 3);
}

/// Nothing is tried again.
#[tokio::test(start_paused = true)]
async fn a_mechanism_that_fails_for_good_ends_the_client() {
    let server = Server::new();
    let failure = SaslFailure::ServerUnproved;
    let (mechanism, begun) = scripted(move |_| {
        let doubt = move |_| ready(Err(SaslError::Failed(failure)));
        Box::pin(ready(Ok(SaslStep::send(Secret::new("who are you?"), doubt))))
    });
    let refused = server.builder().sasl(mechanism).connect().await.map(drop);
    assert_eq!(refused, Err(ConnectError::Ended(SessionEnd::SaslFailed(failure))));
    wait(60).await;
    assert_eq!((begun.load(Ordering::Relaxed), server.state().accepted), (1, 1));
}

/// Answers that are none cost the connection.
#[tokio::test(start_paused = true)]
async fn an_exchange_that_goes_wrong_is_begun_again() {
    for lie in [Lie::WrongXid, Lie::Stub, Lie::NegativeLength, Lie::NoBody, Lie::Silence] {
        let server = Server::new();
        server.lie_about(OpCode::SASL, lie);
        let (mechanism, begun) = scripted(slow);
        let client = server.builder().sasl(mechanism).connect().await.unwrap();
        client.exists("/a").await.unwrap();
        assert_eq!(begun.load(Ordering::Relaxed), 2, "{lie:?}");
    }
}
