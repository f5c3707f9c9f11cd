//! The server behind a TCP port, on tokio.

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

/// How long to wait after a connection could not be accepted, which mostly means that the process
/// has too many files open.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// A ZooKeeper server in this process, behind a TCP port. It keeps everything in memory and nothing
/// on disk, and is one server, not an ensemble: for development and tests.
///
/// It runs on tasks of the tokio runtime in which it was bound. Dropping it ends it at once, like
/// [`Server::shutdown`], but without waiting.
///
/// What clients can do to it is bounded by the [`Limits`](crate::Limits) of its configuration.
/// Bytes that are no protocol cost their connection and nothing else.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on `address` with the default [`Config`]; port 0 takes any free one.
    ///
    /// Session ids begin at random, so that a client of an earlier server gets no session here.
    ///
    /// # Errors
    ///
    /// What the operating system says if the address cannot be resolved or listened on.
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

    /// Listens on `address`; port 0 takes any free one. The configuration's
    /// [`wall_clock_at_origin`](Config::wall_clock_at_origin) is set to the present.
    ///
    /// # Errors
    ///
    /// What the operating system says if the address cannot be resolved or listened on.
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

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, closes all connections, and waits until both is done. Everything that the
    /// server held is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropped before it ends, it still stops the server, without waiting.
    pub async fn shutdown(mut self) {
        let (stop, _) = oneshot::channel();
        // An error means that the task has ended already.
        let _ = core::mem::replace(&mut self.stop, stop).send(());
        let _ = (&mut self.accepting).await;
    }

    /// Expires a session at once, in the way in which sessions mostly expire: the server closes the
    /// client's connection without a word, as if the network had cut it, and ends the session, as if
    /// its timeout had passed meanwhile. The ephemeral znodes are gone when this returns; the client
    /// learns that its session has expired when it connects again.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session is over already, or never was.
    pub fn expire(&self, session: SessionId) -> Result<(), UnknownSession> {
        self.shared.expire(session, Standalone::expire)
    }

    /// Expires a session at once while its client is connected, as a server does to a client that
    /// was silent for too long: the ephemeral znodes go first, then the connection. A client that
    /// watches one of them is told that it is deleted, and only when it connects again, that its
    /// session has expired. Apache ZooKeeper delivers that event in some runs and not in others,
    /// since it closes the connection right behind it; this server always delivers it.
    ///
    /// # Errors
    ///
    /// [`UnknownSession`] if the session is over already, or never was.
    pub fn expire_connected(&self, session: SessionId) -> Result<(), UnknownSession> {
        self.shared.expire(session, Standalone::expire_connected)
    }

    /// Closes all connections at once. The sessions go on: their clients may come back.
    pub fn drop_connections(&self) {
        self.shared.drop_connections();
    }

    /// Stops doing anything, as a process does that is suspended: sockets stay open, nothing is
    /// read, answered or accepted, until [`Server::resume`]. Time stands still too, so that no
    /// session expires meanwhile.
    pub fn pause(&self) {
        self.shared.pause();
    }

    /// Goes on after [`Server::pause`], with every session as much time to live as it had then.
    pub fn resume(&self) {
        self.shared.resume();
    }

    /// Starts again, as a server does with what it had on disk: connections are closed, znodes and
    /// sessions stay. Every session has the whole timeout before it that it was *created* with:
    /// what was granted to it on a later connection is not on any disk.
    pub fn restart(&self) {
        self.shared.restart();
    }

    /// Whether requests are answered with `ThrottledOp` from now on, as if they had waited too long.
    pub fn set_throttling(&self, throttling: Throttling) {
        self.shared.set_throttling(throttling);
    }

    /// Tells of connections that are closed at a limit of the configuration
    /// ([`Limits::max_client_connections`](crate::Limits::max_client_connections), which is 60 unless
    /// set otherwise). Their clients are told nothing, as by Apache's servers: they see a connection
    /// that ends, and try again. What was refused before this call is told, too.
    pub fn refusals(&self) -> Refusals {
        self.shared.refusals()
    }

    /// A copy of all znodes and sessions, as of one moment between two requests.
    pub fn snapshot(&self) -> Database {
        self.shared.snapshot()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Takes with it the tasks of the connections.
        self.accepting.abort();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Listens on the first of the addresses that can be listened on.
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
    // As tokio does: a port whose connections have just ended can be listened on. On Windows this would
    // let another process listen on it, too.
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
                // One too many is closed without a word, as real servers do; the owner is told.
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

/// Does what is due when it is.
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
