//! The state that the tasks of a server share: the core, behind a lock.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::vec;
use std::vec::Vec;

use bytes::BytesMut;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time;
use zk_jute::SessionId;

use super::clock::Clock;
use super::refusals::{RefusalLog, Refusals};
use crate::config::{Config, Throttling};
use crate::database::Database;
use crate::standalone::{Standalone, UnknownSession};
use crate::time::Instant;
use crate::transport::{ConnectionId, TooManyConnections, Transmit};

/// Bytes read from one connection at a time.
const READ_SIZE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Shared {
    core: Mutex<Core>,
    /// Something is due earlier than the timer knows.
    pub(super) timer: Notify,
    activity: watch::Sender<Activity>,
    /// Counts the times that all connections were dropped.
    dropped: watch::Sender<u64>,
    refusals: RefusalLog,
}

/// The activity of the server: it works, or is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    Running,
    Paused,
}

/// Waits while the server is paused. Cancel safe.
pub(super) async fn wait_until_running(activity: &mut watch::Receiver<Activity>) {
    let running = |activity: &Activity| *activity == Activity::Running;
    // This cannot fail: the sender lives as long as the tasks.
    let _ = activity.wait_for(running).await;
}

#[derive(Debug)]
struct Core {
    standalone: Standalone,
    clock: Clock,
    tasks: BTreeMap<ConnectionId, Arc<Notify>>,
    /// The time that the timer waits for.
    armed: Option<Instant>,
    /// One buffer for all connections: an idle connection costs nothing.
    read_buffer: Vec<u8>,
}

/// The server is paused.
#[derive(Debug)]
pub(super) struct Paused;

impl Shared {
    pub(super) fn new(config: &Config) -> Self {
        let clock = Clock::start_at(Instant::ORIGIN);
        Self {
            core: Mutex::new(Core {
                standalone: Standalone::new(clock.now(), config),
                clock,
                tasks: BTreeMap::new(),
                armed: None,
                read_buffer: vec![0; READ_SIZE],
            }),
            timer: Notify::new(),
            activity: watch::Sender::new(Activity::Running),
            dropped: watch::Sender::new(0),
            refusals: RefusalLog::default(),
        }
    }

    pub(super) fn activity(&self) -> watch::Receiver<Activity> {
        self.activity.subscribe()
    }

    pub(super) fn dropped(&self) -> watch::Receiver<u64> {
        self.dropped.subscribe()
    }

    pub(super) fn refusals(&self) -> Refusals {
        self.refusals.subscribe()
    }

    /// Registers a connection with the core, or reports that it is refused.
    pub(super) fn open(
        &self,
        peer: SocketAddr,
    ) -> Result<(ConnectionId, Arc<Notify>), TooManyConnections> {
        let mut core = self.lock();
        let now = core.clock.now();
        let opened = core.standalone.open(now, peer);
        let id = opened.inspect_err(|reason| self.refusals.note(peer, *reason))?;
        let wake = Arc::new(Notify::new());
        core.tasks.insert(id, wake.clone());
        self.wake_others(&mut core);
        Ok((id, wake))
    }

    pub(super) fn close(&self, id: ConnectionId) {
        let mut core = self.lock();
        core.tasks.remove(&id);
        core.standalone.close(id);
    }

    /// Moves what is to be sent to `output`.
    pub(super) fn poll_transmit(
        &self,
        id: ConnectionId,
        output: &mut BytesMut,
    ) -> Result<Transmit, Paused> {
        let mut core = self.lock();
        let now = core.running()?;
        let transmit = core.standalone.poll_transmit(now, id, output);
        self.wake_others(&mut core);
        Ok(transmit)
    }

    /// Reads what the socket has, without waiting, and returns how much.
    pub(super) fn receive(
        &self,
        id: ConnectionId,
        stream: &TcpStream,
    ) -> Result<io::Result<usize>, Paused> {
        let mut guard = self.lock();
        let now = guard.running()?;
        let core = &mut *guard;
        let read = stream.try_read(&mut core.read_buffer);
        if let Ok(length) = read {
            let bytes = core.read_buffer.get(..length).unwrap_or_default();
            core.standalone.receive(now, id, bytes);
            self.wake_others(core);
        }
        Ok(read)
    }

    pub(super) fn wants_input(&self, id: ConnectionId) -> bool {
        self.lock().standalone.wants_input(id)
    }

    /// Returns whether the core has closed the connection.
    pub(super) fn is_closing(&self, id: ConnectionId) -> bool {
        self.lock().standalone.is_closing(id)
    }

    /// Does what is due, and returns when the next thing will be.
    pub(super) fn handle_timeout(&self) -> Result<Option<time::Instant>, Paused> {
        let mut core = self.lock();
        let now = core.running()?;
        core.standalone.handle_timeout(now);
        core.armed = core.standalone.poll_timeout();
        self.wake_others(&mut core);
        Ok(core.armed.and_then(|due| core.clock.when(due)))
    }

    pub(super) fn expire(
        &self,
        session: SessionId,
        expire: fn(&mut Standalone, Instant, SessionId) -> Result<(), UnknownSession>,
    ) -> Result<(), UnknownSession> {
        let mut core = self.lock();
        let now = core.clock.now();
        expire(&mut core.standalone, now, session)?;
        self.wake_others(&mut core);
        Ok(())
    }

    pub(super) fn drop_connections(&self) {
        let mut core = self.lock();
        core.standalone.drop_connections();
        self.wake_others(&mut core);
        self.dropped.send_modify(|times| *times += 1);
    }

    pub(super) fn restart(&self) {
        let mut core = self.lock();
        let now = core.clock.now();
        core.standalone.restart(now);
        self.wake_others(&mut core);
        self.dropped.send_modify(|times| *times += 1);
    }

    pub(super) fn set_throttling(&self, throttling: Throttling) {
        self.lock().standalone.set_throttling(throttling);
    }

    pub(super) fn pause(&self) {
        let mut core = self.lock();
        let at = core.clock.now();
        core.clock = Clock::Stopped { at };
        self.activity.send_replace(Activity::Paused);
    }

    pub(super) fn resume(&self) {
        let mut core = self.lock();
        let from = core.clock.now();
        core.clock = Clock::start_at(from);
        self.activity.send_replace(Activity::Running);
    }

    pub(super) fn snapshot(&self) -> Database {
        self.lock().standalone.database().clone()
    }

    /// Wakes the tasks of connections that have something to send, and the timer if something is
    /// due earlier than it knows.
    fn wake_others(&self, core: &mut Core) {
        while let Some(id) = core.standalone.poll_ready() {
            if let Some(task) = core.tasks.get(&id) {
                task.notify_one();
            }
        }
        let due = core.standalone.poll_timeout();
        if due.is_some_and(|due| core.armed.is_none_or(|armed| due < armed)) {
            core.armed = due;
            self.timer.notify_one();
        }
    }

    /// Locks the core. A poisoned lock is used all the same: no code that holds the lock panics.
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Core {
    fn running(&self) -> Result<Instant, Paused> {
        match self.clock {
            Clock::Running { .. } => Ok(self.clock.now()),
            Clock::Stopped { .. } => Err(Paused),
        }
    }
}
