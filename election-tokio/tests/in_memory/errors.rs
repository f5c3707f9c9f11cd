//! Errors of a user's transports and sources, which may run anything when they are dropped, also a call
//! on the client that had them: no lock is held meanwhile.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io;
use std::sync::{Arc, OnceLock};

use election_tokio::source::{ServerAddress, source_fn};
use election_tokio::transport::{Connecting, Connector};
use election_tokio::{Client, ConnectionState};

use crate::server::{Server, wait};
use crate::wakers::comes_to_an_end;

#[derive(Default)]
struct State {
    client: OnceLock<Client>,
    dropped: AtomicUsize,
}

/// Calls the client when it is dropped.
struct Meddling(Arc<State>);

impl Meddling {
    fn error(state: &Arc<State>) -> io::Error {
        io::Error::other(Self(Arc::clone(state)))
    }
}

impl Drop for Meddling {
    fn drop(&mut self) {
        if let Some(client) = self.0.client.get() {
            client.session_id();
            client.connection_updates().latest();
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Meddling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meddling")
    }
}

impl fmt::Display for Meddling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("meddling")
    }
}

impl core::error::Error for Meddling {}

struct Failing {
    server: Server,
    state: Arc<State>,
}

impl fmt::Debug for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failing")
    }
}

impl Connector for Failing {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let connected = self.server.connect(server).await;
            connected.map_err(|_| Meddling::error(&self.state))
        })
    }
}

#[test]
fn an_error_may_call_the_client_when_it_is_dropped() {
    comes_to_an_end(async || {
        let state = Arc::new(State::default());
        let server = Server::new();
        let failing = Failing { server: server.clone(), state: Arc::clone(&state) };
        let source = {
            let (state, asked) = (Arc::clone(&state), AtomicUsize::new(0));
            source_fn(move || {
                let first = asked.fetch_add(1, Ordering::Relaxed) == 0;
                let servers = vec![ServerAddress { host: "in-memory".to_owned(), port: 2181 }];
                let answer = if first { Ok(servers) } else { Err(Meddling::error(&state)) };
                async move { answer }
            })
        };
        let builder = Client::builder_from(source, "/").connector(failing);
        let client = builder.connect().await.expect("a session");
        assert!(state.client.set(client.clone()).is_ok());
        server.refuse();
        server.cut();
        wait(60).await;
        // More than the lines that are told at once.
        assert!(state.dropped.load(Ordering::Relaxed) > 40);
        server.accept();
        client
            .connection_updates()
            .wait_for(ConnectionState::is_connected)
            .await
            .expect("it connects");
    });
}
