//! A server behind a TCP port, on tokio.

mod clock;
mod connection;
mod refusals;
mod shared;

use core::fmt;
use core::hash::BuildHasher as _;
use core::net::SocketAddr;
use core::time::Duration;
use std::hash::RandomState;
use std::io;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, ToSocketAddrs, lookup_host};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time;
use zk_jute::SessionId;

use self::connection::ConnectionTask;
pub use self::refusals::{Refusal, Refusals};
use self::shared::{Activity, Paused, Shared, wait_until_running};
use crate::config::{Config, Throttling};
use crate::database::Database;
use crate::standalone::{Standalone, UnknownSession};

/// How long to wait after a connection could not be accepted. Mostly the process has too many open
/// files.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A ZooKeeper server in this process, behind a TCP port, for development and tests. It is one
/// server and no ensemble, and keeps everything in memory.
///
/// It runs on tasks of the tokio runtime in which it was bound. Dropping it ends it at once, like
/// [`Server::shutdown`], but without waiting.
///
/// The [`Limits`](crate::Limits) of its configuration bound what clients can use. Bytes that do not
/// follow the protocol cost their connection and nothing else.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on `address` with the default [`Config`]; port 0 takes any free port.
    ///
    /// Session ids begin at random, so a client of an earlier server finds no session here.
    ///
    /// # Errors
    ///
    /// The error of the operating system, if the address cannot be resolved or listened on.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is left listening.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with IO and time.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let config = Config { seed: RandomState::new().hash_one(0), ..Config::default() };
        Self::bind_with(address, config).await
    }

    /// Listens on `address` with this configuration; port 0 takes any free port. It sets
    /// [`wall_clock_at_origin`](Config::wall_clock_at_origin) to the present.
    ///
    /// # Errors
    ///
    /// The error of the operating system, if the address cannot be resolved or listened on.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is left listening.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with IO and time.
    pub async fn bind_with(address: impl ToSocketAddrs, config: Config) -> io::Result<Self> {
        let listener = listen(address, config.listen_backlog).await?;
        let address = listener.local_addr()?;
        let shared =
            Arc::new(Shared::new(&Config { wall_clock_at_origin: clock::wall_clock(), ..config }));
        let (stop, stopped) = oneshot::channel();
        let accepting = tokio::spawn(accept(shared.clone(), listener, stopped));
        Ok(Self { shared, address, stop, accepting })
    }

    /// Returns the address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, closes all connections, and waits until both is done. The znodes and
    /// sessions are lost.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future, the server still stops, without waiting.
    pub async fn shutdown(mut self) {
        let (stop, _) = oneshot::channel();
        // An error means that the task has ended.
        let _ = core::mem::replace(&mut self.stop, stop).send(());
        let _ = (&mut self.accepting).await;
    }

    /// Expires a session at once, in the way in which sessions mostly expire: the server closes the
    /// client's connection without a word, as if the network had cut it, and ends the session, as
    /// if its timeout had passed meanwhile. The ephemeral znodes are gone when this returns. The
    /// client learns that its session has expired when it connects again.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session has ended, or never existed.
    pub fn expire(&self, session: SessionId) -> Result<(), UnknownSession> {
        self.shared.expire(session, Standalone::expire)
    }

    /// Expires a session at once while its client is connected, as a server does with a client that
    /// was silent for too long: it deletes the ephemeral znodes first, then closes the connection.
    /// A client that watches one of them gets the event of the deletion, and learns that its
    /// session has expired when it connects again. Apache ZooKeeper delivers that event in some
    /// runs and not in others, because it closes the connection right behind it; this server always
    /// delivers it.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session has ended, or never existed.
    pub fn expire_connected(&self, session: SessionId) -> Result<(), UnknownSession> {
        self.shared.expire(session, Standalone::expire_connected)
    }

    /// Closes all connections at once. The sessions go on, and clients may continue them.
    pub fn drop_connections(&self) {
        self.shared.drop_connections();
    }

    /// Stops all work, like a suspended process: sockets stay open, and the server reads, answers
    /// and accepts nothing until [`Server::resume`]. Its clock stands still too, so no session
    /// expires meanwhile.
    pub fn pause(&self) {
        self.shared.pause();
    }

    /// Continues after [`Server::pause`]. Every session has as much time left as it had then.
    pub fn resume(&self) {
        self.shared.resume();
    }

    /// Restarts the server, as from what it had on disk: it closes connections, and keeps znodes
    /// and sessions. Every session has the whole timeout again that it was *created* with: the
    /// timeout of a later connection is not on disk.
    pub fn restart(&self) {
        self.shared.restart();
    }

    /// Sets whether the server answers requests with `ThrottledOp`, as if they had waited too long.
    pub fn set_throttling(&self, throttling: Throttling) {
        self.shared.set_throttling(throttling);
    }

    /// Reports connections that the server closes at a limit of its configuration
    /// ([`Limits::max_client_connections`](crate::Limits::max_client_connections), by default 60).
    /// Like Apache's servers, it tells these clients nothing: they see the connection end, and try
    /// again. Refusals before this call are reported as well.
    pub fn refusals(&self) -> Refusals {
        self.shared.refusals()
    }

    /// Copies all znodes and sessions, as of one moment between two requests.
    pub fn snapshot(&self) -> Database {
        self.shared.snapshot()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // This ends the tasks of the connections, too.
        self.accepting.abort();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Listens on the first of the addresses on which that is possible.
async fn listen(address: impl ToSocketAddrs, backlog: u32) -> io::Result<TcpListener> {
    let mut outcome = Err(io::Error::new(io::ErrorKind::InvalidInput, "no address to listen on"));
    for address in lookup_host(address).await? {
        outcome = listen_on(address, backlog);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn listen_on(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // tokio does the same: it allows to listen on a port with connections that have just ended. On
    // Windows this would let another process listen on the port, too.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Accepts connections until told to stop, then ends them all.
async fn accept(shared: Arc<Shared>, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
    let mut tasks = JoinSet::new();
    tasks.spawn(run_timer(shared.clone()));
    let mut activity = shared.activity();
    loop {
        tokio::select! {
            // Told to stop, or the server was dropped.
            _ = &mut stopped => break,
            accepted = accept_one(&listener, &mut activity) => match accepted {
                // Like Apache's servers, it closes one too many without a word; `refusals` reports
                // it.
                Ok(stream) => if let Some(task) = ConnectionTask::new(&shared, stream) {
                    tasks.spawn(task.run());
                },
                Err(_) => time::sleep(ACCEPT_RETRY).await,
            },
            Some(_) = tasks.join_next() => {}
        }
    }
    drop(listener);
    tasks.shutdown().await;
}

/// Cancel safe.
async fn accept_one(
    listener: &TcpListener,
    activity: &mut watch::Receiver<Activity>,
) -> io::Result<tokio::net::TcpStream> {
    wait_until_running(activity).await;
    listener.accept().await.map(|(stream, _)| stream)
}

/// Does what is due, at its time.
async fn run_timer(shared: Arc<Shared>) {
    let mut activity = shared.activity();
    loop {
        match shared.handle_timeout() {
            Err(Paused) => wait_until_running(&mut activity).await,
            Ok(None) => shared.timer.notified().await,
            Ok(Some(due)) => tokio::select! {
                () = time::sleep_until(due) => {}
                () = shared.timer.notified() => {}
            },
        }
    }
}
