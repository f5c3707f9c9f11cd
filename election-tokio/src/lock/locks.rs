//! Several locks at once: all or none.

mod error;
mod guard;
mod lost;

use core::fmt;
use std::collections::BTreeMap;

use bytes::Bytes;
use election_core::format::Format;
use election_core::lock::WhenBusy;
use tokio::time::{Instant, timeout_at};

pub use error::{LocksError, LocksLost};
pub use guard::LocksGuard;

use self::lost::unless_lost;
use super::{Lock, LockGuard};
use crate::acl::Acls;
use crate::client::Client;
use crate::telemetry::work_metrics::LocksMeter;

/// Several locks, held all or none; made by [`Client::locks`].
///
/// Every contender takes them in one order, that of their paths on the server, whatever the order in which
/// they were given. So of contenders that share several locks none waits for one that waits for it.
///
/// A contender that waits for a later lock holds the earlier ones. It begins anew if it loses one of them
/// meanwhile.
#[derive(Clone)]
#[must_use = "locks do nothing until they are asked for"]
pub struct Locks {
    client: Client,
    /// As they were given.
    locks: Vec<(String, Lock)>,
}

impl Client {
    /// Returns the locks at these paths, to be held together, each alone, in the format of
    /// [`Client::lock`]. [`Locks::shared`] adds some to be shared.
    pub fn locks<P: Into<String>>(&self, paths: impl IntoIterator<Item = P>) -> Locks {
        let lock = |path: P| {
            let path = path.into();
            let lock = self.write_lock(&path);
            (path, lock)
        };
        Locks { client: self.clone(), locks: paths.into_iter().map(lock).collect() }
    }
}

impl Locks {
    /// Waits until all are held. Lost connections and expired sessions do not end the wait: it begins anew.
    ///
    /// Cancel safe: dropping the future gives up the places in the queues, and the locks.
    ///
    /// # Errors
    ///
    /// [`LocksError`]: waiting does not repair it. No lock is held then.
    pub async fn lock(&self) -> Result<LocksGuard, LocksError> {
        loop {
            if let Some(guard) = self.acquired(WhenBusy::Wait).await? {
                return Ok(guard);
            }
        }
    }

    /// Waits until all are held, until the deadline at most; then returns `None`. The places in the queues
    /// are given up by then, and the locks, whose znodes are deleted in the background.
    ///
    /// Cancel safe, as [`Locks::lock`].
    ///
    /// # Errors
    ///
    /// Those of [`Locks::lock`].
    pub async fn lock_until(&self, deadline: Instant) -> Result<Option<LocksGuard>, LocksError> {
        match timeout_at(deadline, self.lock()).await {
            Ok(guard) => guard.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Takes the locks if all are free; otherwise returns `None`, and leaves nothing behind. Servers may
    /// be behind, so a lock that has just become free may count as held. Without a connection this
    /// waits for one.
    ///
    /// Cancel safe, as [`Locks::lock`].
    ///
    /// # Errors
    ///
    /// Those of [`Locks::lock`].
    pub async fn try_lock(&self) -> Result<Option<LocksGuard>, LocksError> {
        self.acquired(WhenBusy::GiveUp).await
    }

    async fn acquired(&self, when_busy: WhenBusy) -> Result<Option<LocksGuard>, LocksError> {
        let meter = LocksMeter::start();
        match self.taken(when_busy).await {
            Ok(Some(held)) => Ok(Some(LocksGuard::new(self.client.clone(), held, meter.held()))),
            Ok(None) => {
                meter.not_held("busy");
                Ok(None)
            }
            Err(error) => {
                meter.not_held("failed");
                Err(error)
            }
        }
    }

    /// Takes one after the other. Returns `None` if the contender does not wait, and others are in the way.
    async fn taken(
        &self,
        when_busy: WhenBusy,
    ) -> Result<Option<Vec<(String, LockGuard)>>, LocksError> {
        let order = self.in_order()?;
        'anew: loop {
            let mut held: Vec<(String, LockGuard)> = Vec::with_capacity(order.len());
            for lock in &order {
                let next = async {
                    match when_busy {
                        WhenBusy::Wait => lock.lock().await.map(Some),
                        WhenBusy::GiveUp => lock.try_lock().await,
                    }
                };
                match unless_lost(&held, next).await {
                    Ok(Ok(Some(guard))) => held.push((lock.path().to_owned(), guard)),
                    Ok(Ok(None)) => return Ok(None),
                    Ok(Err(error)) => return Err(error.into()),
                    // The caller does not know yet that anything was held.
                    Err(_) => {
                        LocksMeter::began_anew();
                        continue 'anew;
                    }
                }
            }
            return Ok(Some(held));
        }
    }

    /// Returns the locks in the order in which every contender takes them: that of their paths on the server.
    fn in_order(&self) -> Result<Vec<&Lock>, LocksError> {
        let mut order = BTreeMap::new();
        for (path, lock) in &self.locks {
            let format = lock.settings.options.format;
            if format.names_recur() {
                return Err(LocksError::NamesRecur { format });
            }
            if order.insert(lock.site()?.server_path(), lock).is_some() {
                return Err(LocksError::Duplicate { path: path.clone() });
            }
        }
        if order.is_empty() {
            return Err(LocksError::NoLocks);
        }
        Ok(order.into_values().collect())
    }
}

/// Settings.
impl Locks {
    /// Adds the locks at these paths, to be shared with other readers, as [`Client::read_lock`].
    pub fn shared<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        for path in paths {
            let path = path.into();
            let lock = self.client.read_lock(&path);
            self.locks.push((path, lock));
        }
        self
    }

    /// Sets the data of the contender's znodes: by convention its name.
    pub fn data(self, data: impl Into<Bytes>) -> Self {
        let data = data.into();
        self.each(|lock| lock.data(data.clone()))
    }

    /// Sets the access list of the contender's znodes, and of the locks' nodes and their ancestors if they have to
    /// be created (default: every client may do everything).
    pub fn acls(self, acls: &Acls) -> Self {
        self.each(|lock| lock.acls(acls.clone()))
    }

    /// Sets the format of all these locks, as [`Lock::format`] does. One without ids in its names is
    /// refused, by [`LocksError::NamesRecur`].
    pub fn format(self, format: Format) -> Self {
        self.each(|lock| lock.format(format))
    }

    fn each(mut self, change: impl Fn(Lock) -> Lock) -> Self {
        for (_, lock) in &mut self.locks {
            *lock = change(lock.clone());
        }
        self
    }
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.locks.iter().map(|(_, lock)| lock)).finish()
    }
}
