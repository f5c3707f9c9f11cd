//! The embedded server in virtual time.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::BytesMut;
use tokio::sync::Notify;
use tokio::time;
use zk_embedded::{Config, ConnectionId, Instant, Standalone, Transmit};
use zk_jute::SessionId;

use crate::laws::{LEDGER, Laws};

const TICK: Duration = Duration::from_millis(200);

/// A server, and the law that guarded writes come in the order of their tokens.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    core: Arc<Mutex<Core>>,
    /// Something may be due earlier than before.
    timer: Arc<Notify>,
    origin: time::Instant,
    laws: Laws,
}

#[derive(Debug)]
struct Core {
    server: Standalone,
    carriers: BTreeMap<ConnectionId, Arc<Notify>>,
}

impl Server {
    pub(crate) fn start(laws: &Laws) -> Self {
        let server = Standalone::new(Instant::ORIGIN, &Config::with_tick_time(TICK));
        let core = Arc::new(Mutex::new(Core { server, carriers: BTreeMap::new() }));
        let timer = Arc::new(Notify::new());
        let server = Self { core, timer, origin: time::Instant::now(), laws: laws.clone() };
        tokio::spawn(server.clone().keep_time());
        server
    }

    /// A connection, and who is to be told that there is something to send.
    pub(crate) fn open(&self) -> Option<(ConnectionId, Arc<Notify>)> {
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let id = self.with(|server, now| server.open(now, peer)).ok()?;
        let carrier = Arc::new(Notify::new());
        self.core().carriers.insert(id, Arc::clone(&carrier));
        Some((id, carrier))
    }

    pub(crate) fn receive(&self, id: ConnectionId, bytes: &[u8]) {
        self.with(|server, now| server.receive(now, id, bytes));
    }

    /// What is to be sent.
    pub(crate) fn take(&self, id: ConnectionId) -> (BytesMut, Transmit) {
        let mut bytes = BytesMut::new();
        loop {
            let before = bytes.len();
            let transmit = self.with(|server, now| server.poll_transmit(now, id, &mut bytes));
            if bytes.len() == before {
                return (bytes, transmit);
            }
        }
    }

    pub(crate) fn close(&self, id: ConnectionId) {
        self.with(|server, _| server.close(id));
        self.core().carriers.remove(&id);
    }

    pub(crate) fn drop_connections(&self) {
        self.with(|server, _| server.drop_connections());
    }

    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        self.core().server.database().sessions().map(|(session, _)| session).collect()
    }

    pub(crate) fn children(&self, path: &str) -> Vec<String> {
        let core = self.core();
        let znode = core.server.database().znode(path);
        znode.into_iter().flat_map(|znode| znode.children().map(str::to_owned)).collect()
    }

    fn with<T>(&self, work: impl FnOnce(&mut Standalone, Instant) -> T) -> T {
        let result = self.with_core(work);
        self.timer.notify_one();
        result
    }

    fn with_core<T>(&self, work: impl FnOnce(&mut Standalone, Instant) -> T) -> T {
        let now = Instant::since_origin(self.origin.elapsed());
        let mut core = self.core();
        let result = work(&mut core.server, now);
        while let Some(id) = core.server.poll_ready() {
            if let Some(carrier) = core.carriers.get(&id) {
                carrier.notify_one();
            }
        }
        if let Some(ledger) = core.server.database().znode(LEDGER) {
            self.laws.ledger_shows(ledger.data().unwrap_or_default());
        }
        result
    }

    async fn keep_time(self) {
        loop {
            let due = self.with_core(|server, now| {
                server.handle_timeout(now);
                server.poll_timeout()
            });
            let due = due.map(|due| self.origin + due.elapsed());
            tokio::select! {
                biased;
                () = self.timer.notified() => {}
                () = time::sleep_until(due.unwrap_or(self.origin)), if due.is_some() => {}
            }
        }
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
