//! The two servers that one and the same test runs on: Apache ZooKeeper's and the embedded one.
//!
//! A test takes a [`ServerKind`] and is named in [`on_both_servers!`](crate::on_both_servers): then it
//! exists twice, as `apache::…` and as `embedded::…`.

mod both;
mod embedded;
mod settings;

use core::net::SocketAddr;
use std::io;
use std::sync::OnceLock;

use zk_embedded::Throttling;

use self::embedded::EmbeddedServer;
pub use self::settings::{Backlog, Settings};
use crate::raw::RawError;
use crate::zookeeper::{
    self, FourLetterError, ServerVersion, fresh_chroot_at, release_at, watch_count_at,
};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Apache ZooKeeper, as a process of its own.
    Apache,
    /// The embedded server, in this process, on a thread of its own.
    Embedded,
}

impl ServerKind {
    /// Returns the server of this kind that the tests of this process share; the first caller
    /// starts it.
    ///
    /// # Errors
    ///
    /// The same for each caller: a start that failed is not tried again.
    pub fn shared(self) -> Result<&'static TestServer, &'static StartError> {
        static APACHE: OnceLock<Result<TestServer, StartError>> = OnceLock::new();
        static EMBEDDED: OnceLock<Result<TestServer, StartError>> = OnceLock::new();
        let shared = match self {
            Self::Apache => &APACHE,
            Self::Embedded => &EMBEDDED,
        };
        shared.get_or_init(|| self.start()).as_ref()
    }

    /// Starts a server of the test's own.
    pub fn start(self) -> Result<TestServer, StartError> {
        self.start_with(&Settings::default())
    }

    /// Starts a server of the test's own that differs from the shared one.
    pub fn start_with(self, settings: &Settings) -> Result<TestServer, StartError> {
        Ok(TestServer(match self {
            Self::Apache => Running::Apache(settings.for_apache().start_server()?),
            Self::Embedded => Running::Embedded(EmbeddedServer::start(settings.for_embedded())?),
        }))
    }
}

/// A running server of either kind. Dropped: it is gone, with all that it held.
#[derive(Debug)]
pub struct TestServer(Running);

#[derive(Debug)]
enum Running {
    Apache(zookeeper::Server),
    Embedded(EmbeddedServer),
}

/// A server did not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Apache ZooKeeper.
    #[error(transparent)]
    Apache(#[from] zookeeper::StartError),
    /// The embedded server.
    #[error("the embedded server could not be started")]
    Embedded(#[from] io::Error),
}

impl TestServer {
    /// Returns the address to which clients connect.
    pub const fn addr(&self) -> SocketAddr {
        match &self.0 {
            Running::Apache(server) => server.addr(),
            Running::Embedded(server) => server.addr(),
        }
    }

    /// Returns the connect string of this server: `host:port`.
    pub fn connect_string(&self) -> String {
        self.addr().to_string()
    }

    /// Creates an empty znode at a [`unique_path`](zookeeper::unique_path) and gives that path, to
    /// be used as a chroot (append it to the connect string) or as the parent of whatever the test
    /// creates.
    pub fn fresh_chroot(&self, label: &str) -> Result<String, RawError> {
        fresh_chroot_at(self.addr(), label)
    }

    /// Returns the release of the server; for the embedded one, the one that it answers as.
    pub fn release(&self) -> Result<ServerVersion, FourLetterError> {
        release_at(self.addr())
    }

    /// Returns the watches that the server holds, over all connections.
    pub fn watch_count(&self) -> Result<u64, FourLetterError> {
        watch_count_at(self.addr())
    }

    /// Ends the server without a word to its clients, and starts it again with what it had.
    pub fn restart(&self) -> Result<(), StartError> {
        match &self.0 {
            Running::Apache(server) => server.restart()?,
            Running::Embedded(server) => server.restart(),
        }
        Ok(())
    }

    /// Sets whether the server answers requests with `ThrottledOp` from now on; the embedded server alone. Apache's
    /// finds so by itself ([`Settings::backlog`]).
    pub fn set_throttling(&self, throttling: Throttling) {
        if let Running::Embedded(server) = &self.0 {
            server.set_throttling(throttling);
        }
    }

    /// Ends the server, for good, without a word to its clients. Nothing to do if it is gone.
    pub fn kill(&self) -> io::Result<()> {
        match &self.0 {
            Running::Apache(server) => server.kill(),
            Running::Embedded(server) => {
                server.kill();
                Ok(())
            }
        }
    }
}
