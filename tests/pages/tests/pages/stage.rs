//! The stage for a program of a page: a fresh server, and the files that the program names.
#![expect(clippy::panic, reason = "a test fails by panicking")]

use core::cell::Cell;
use core::error::Error;
use core::pin::Pin;
use core::time::Duration;
use std::fs;

use election_tokio::election::Leadership;
use election_tokio::{Client, CreateMode};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use zk_test_kit::certificates::Authority;
use zk_test_kit::zookeeper::{ClientAuth, Options, SecurePort, Server};

/// The password that a program takes.
pub(crate) const PASSWORD: &str = "secret";
/// The time that a program may take.
const BOUND: Duration = Duration::from_secs(60);
/// How long a program that does not end is watched.
const LOOK: Duration = Duration::from_secs(2);
/// Pages with programs that watch, or wait for other processes, and so may go on for ever.
const GOING_ON: [&str; 7] = [
    "docs/barrier.md",
    "docs/cache.md",
    "docs/configuration.md",
    "docs/double-barrier.md",
    "docs/group-membership.md",
    "docs/operating.md",
    "docs/two-phase-commit.md",
];

thread_local! {
    static SERVERS: Cell<&'static str> = const { Cell::new("") };
    static SECURE_SERVERS: Cell<&'static str> = const { Cell::new("") };
    static FOLDER: Cell<&'static str> = const { Cell::new("") };
}

/// Returns the server of this test, in place of those on the page.
pub(crate) fn servers() -> &'static str {
    SERVERS.get()
}

/// Returns its port for TLS.
pub(crate) fn secure_servers() -> &'static str {
    SECURE_SERVERS.get()
}

/// Returns the folder with certificates, in place of that on the page.
pub(crate) fn folder() -> &'static str {
    FOLDER.get()
}

pub(crate) async fn client() -> Result<Client, Box<dyn Error>> {
    Ok(Client::builder(servers()).connect().await?)
}

pub(crate) async fn leadership() -> Result<Leadership, Box<dyn Error>> {
    let client = client().await?;
    for path in ["/app", "/app/state"] {
        client.create(path, "41", CreateMode::Persistent).await?;
    }
    let nomination = client.election("/app/leader").nominate()?;
    // Dropped, it would withdraw.
    Ok(Box::leak(Box::new(nomination)).elected().await?)
}

/// A function of a block, called.
pub(crate) type Program = Pin<Box<dyn Future<Output = Result<(), Box<dyn Error>>>>>;

/// A fresh server, and what a program needs beside it.
pub(crate) struct Stage {
    place: &'static str,
    runtime: Runtime,
    _server: Server,
    _certificates: TempDir,
}

impl Stage {
    /// Starts a server for the program at a place, as in `README.md:44`.
    pub(crate) fn start(place: &'static str) -> Self {
        let certificates = TempDir::new().expect("a folder");
        let authority = Authority::new("Reports").expect("a CA");
        let me = authority.client("me").expect("a certificate");
        for (name, text) in
            [("ca.pem", authority.pem()), ("me.pem", me.certificate), ("me.key", me.key)]
        {
            fs::write(certificates.path().join(name), text).expect("a file");
        }
        let of_server = authority.server(&["127.0.0.1"]).expect("a certificate");
        let port = SecurePort {
            key_store: format!("{}{}", of_server.key, of_server.certificate),
            trust_store: authority.pem(),
            client_auth: ClientAuth::Need,
        };
        let server = Options::new().secure_port(port).start_server().expect("a server");
        let secure = server.secure_addr().expect("a port for TLS");
        // The program takes a `&'static str`, as that on its page is one.
        SERVERS.set(server.addr().to_string().leak());
        SECURE_SERVERS.set(secure.to_string().leak());
        FOLDER.set(certificates.path().display().to_string().leak());
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { place, runtime, _server: server, _certificates: certificates }
    }

    /// Checks what a `fn main` returned.
    pub(crate) fn finish(&self, outcome: Result<(), Box<dyn Error>>) {
        if let Err(error) = outcome {
            panic!("{}: {error}", self.place);
        }
    }

    /// Runs the programs of a block, one after the other, to their ends. If the page is among those that go on, the
    /// others would wait for the first: that one alone is run, until it has had time to fail.
    pub(crate) fn block_on(&self, programs: Vec<Program>) {
        let goes_on = GOING_ON.iter().any(|page| self.place.starts_with(page));
        let (bound, most) = if goes_on { (LOOK, 1) } else { (BOUND, programs.len()) };
        for program in programs.into_iter().take(most) {
            match self.runtime.block_on(async { timeout(bound, program).await }) {
                Ok(outcome) => self.finish(outcome),
                Err(_) => assert!(goes_on, "{}: no end within {BOUND:?}", self.place),
            }
        }
    }
}
