//! When a source of servers is asked.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use election_tokio::{Client, ConnectionState, ServerAddress, source_fn};

use crate::server::{Server, wait};

fn address(host: &str) -> ServerAddress {
    ServerAddress { host: host.to_owned(), port: 2181 }
}

/// C-64: once for each round of attempts, and not while there is a connection.
#[tokio::test(start_paused = true)]
async fn a_source_is_asked_for_each_round_of_attempts() {
    let server = Server::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let source = source_fn(move || {
        count.fetch_add(1, Ordering::Relaxed);
        core::future::ready(Ok(vec![address("one"), address("two")]))
    });
    let builder = Client::builder_from(source, "/").connector(server.clone());
    let client = builder.connect().await.expect("the server is there");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    wait(60).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1);

    server.refuse();
    server.cut();
    wait(5).await;
    let ConnectionState::Suspended { failures, .. } = client.connection().latest() else {
        unreachable!("no server serves")
    };
    let rounds = usize::try_from(failures).expect("64 bits").div_ceil(2);
    assert!(rounds > 2, "{failures}");
    assert_eq!(asked.load(Ordering::Relaxed), 1 + rounds);
    server.accept();
    wait(2).await;
    assert!(client.exists("/").await.expect("connected again").is_some());
}

/// What one attempt asks does not have to be there before the next one begins.
#[tokio::test(start_paused = true)]
async fn a_slow_source_is_asked_one_question_at_a_time() {
    let server = Server::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let source = source_fn(move || {
        let earlier = count.fetch_add(1, Ordering::Relaxed);
        async move {
            if earlier > 0 {
                wait(3).await;
            }
            Ok(vec![address("one")])
        }
    });
    let builder = Client::builder_from(source, "/").connector(server.clone());
    let client = builder.connect().await.expect("the server is there");
    server.refuse();
    server.cut();
    wait(2).await;
    let state = client.connection().latest();
    assert!(matches!(state, ConnectionState::Suspended { failures: 2.., .. }), "{state:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}
