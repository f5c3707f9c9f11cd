//! The moments at which the client asks a source of servers.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::io;
use std::sync::Arc;

use election_tokio::{
    Client, ConnectionState,
    source::{ServerAddress, source_fn},
    transport::{Connecting, Connector},
};
use tokio::sync::Notify;

use crate::server::{Server, settle, wait};

fn address(host: &str) -> ServerAddress {
    ServerAddress { host: host.to_owned(), port: 2181 }
}

/// Once for each round of attempts, and not while there is a connection.
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
    let ConnectionState::Suspended { failures, .. } = client.connection_updates().latest() else {
        unreachable!("no server serves")
    };
    let rounds = usize::try_from(failures).expect("64 bits").div_ceil(2);
    assert!(rounds > 2, "{failures}");
    assert_eq!(asked.load(Ordering::Relaxed), 1 + rounds);
    server.accept();
    wait(2).await;
    assert!(client.exists("/").await.expect("connected again").is_some());
}

/// The client asks the source again only when the last answer has come.
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
    let state = client.connection_updates().latest();
    assert!(matches!(state, ConnectionState::Suspended { failures: 2.., .. }), "{state:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

/// Has the answer for the host `slow` only when it is told to.
#[derive(Debug)]
struct Gated {
    server: Server,
    gate: Arc<Notify>,
    behind: Behind,
}

#[derive(Clone, Copy, Debug)]
enum Behind {
    Transport,
    Error,
}

impl Connector for Gated {
    fn connect<'a>(&'a self, address: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            if address.host == "slow" {
                self.gate.notified().await;
                if let Behind::Error = self.behind {
                    return Err(io::Error::other("behind the gate"));
                }
            }
            self.server.connect(address).await
        })
    }
}

/// The result of the last attempt does not pass for that of the attempt that a new list begins: the
/// handshake would be lost with the transport of the former, and a failure would cost a server its
/// turn.
#[tokio::test(start_paused = true)]
async fn an_attempt_of_the_old_list_does_not_pass_for_one_of_the_new_list() {
    for behind in [Behind::Transport, Behind::Error] {
        let server = Server::new();
        let gate = Arc::new(Notify::new());
        let connector = Gated { server: server.clone(), gate: Arc::clone(&gate), behind };
        let client = Client::builder("slow").connector(connector).start().expect("it is valid");
        settle().await;
        client.update_servers([address("new")]).expect("there is one");
        gate.notify_one();
        settle().await;
        let state = client.connection_updates().latest();
        assert!(matches!(state, ConnectionState::Connected { .. }), "{behind:?} {state:?}");
    }
}
