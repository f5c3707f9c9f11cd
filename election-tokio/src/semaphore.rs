//! Semaphores: a number of permits, each held by one client at a time.
//!
//! Begin with [`Client::semaphore`]. Costs and limits: [semaphore](https://github.com/zk-election/zk-election/blob/main/docs/semaphore.md).

mod permit;

use core::fmt;
use core::num::NonZeroU32;

use bytes::Bytes;
use election_core::election::ElectionNode;
use election_core::lock::WhenBusy;
use election_core::semaphore::SemaphoreOptions;
use tokio::time::{Instant, timeout_at};

pub use permit::Permit;

use crate::acl::Acls;
use crate::client::Client;
use crate::lock::{ACQUIRE, Acquiring, LockError};
use crate::spot::Spot;

/// A semaphore at a path, with a number of permits; made by [`Client::semaphore`].
///
/// Clients get permits in the order in which they asked. Dropping the future that waits gives up
/// the place.
///
/// Each permit is acquired by itself, even if one client holds several.
///
/// ```no_run
/// # async fn sweep() {}
/// # async fn example(client: election_tokio::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use core::num::NonZeroU32;
///
/// let three = NonZeroU32::new(3).unwrap();
/// let permit = client.semaphore("/jobs/sweep", three).acquire().await?;
/// permit.guard(sweep()).await?;
/// permit.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a semaphore does nothing until it is asked for a permit"]
pub struct Semaphore {
    spot: Spot,
    options: SemaphoreOptions,
}

impl Client {
    /// Returns a semaphore with this number of permits, in the layout of Curator's
    /// `InterProcessSemaphoreV2`. The number is not kept at the path, so all clients of a semaphore
    /// have to give the same one.
    pub fn semaphore(&self, path: &str, permits: NonZeroU32) -> Semaphore {
        let (spot, options) =
            (Spot::new(self.clone(), "semaphore", path), SemaphoreOptions::new(permits));
        Semaphore { spot, options }
    }
}

impl Semaphore {
    /// Waits until a permit is held. Lost connections and expired sessions do not end the wait; after an
    /// expired session it goes on at the end of the queue.
    ///
    /// Cancel safe: dropping the future gives up the place in the queue, or the permit.
    ///
    /// # Errors
    ///
    /// [`LockError`]: waiting does not repair it.
    pub async fn acquire(&self) -> Result<Permit, LockError> {
        loop {
            if let Some(permit) = self.contend(WhenBusy::Wait).await? {
                return Ok(permit);
            }
        }
    }

    /// Waits until a permit is held, until the deadline at most; then returns `None`. The place in
    /// the queue is given up by then, and its znodes deleted in the background.
    ///
    /// Cancel safe, as [`Semaphore::acquire`].
    ///
    /// # Errors
    ///
    /// Those of [`Semaphore::acquire`].
    pub async fn acquire_until(&self, deadline: Instant) -> Result<Option<Permit>, LockError> {
        match timeout_at(deadline, self.acquire()).await {
            Ok(permit) => permit.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Takes a permit if one is free and no other client is taking or waiting for one; otherwise
    /// returns `None`, and leaves nothing behind. So if several clients try at one moment, some may
    /// get none although there are enough. Without a connection this waits for one.
    ///
    /// Cancel safe, as [`Semaphore::acquire`].
    ///
    /// # Errors
    ///
    /// Those of [`Semaphore::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<Permit>, LockError> {
        self.contend(WhenBusy::GiveUp).await
    }

    async fn contend(&self, when_busy: WhenBusy) -> Result<Option<Permit>, LockError> {
        let site = self.spot.site(ACQUIRE)?;
        let options = SemaphoreOptions { when_busy, ..self.options };
        let contender = |id| Ok(election_core::semaphore::Semaphore::new(id, options));
        let held = Acquiring::new(&self.spot.client, site, contender).await?;
        Ok(held.map(|(acquisition, tenure)| Permit::new(acquisition, site, tenure)))
    }
}

/// Settings.
impl Semaphore {
    /// Sets the data of the contender's znodes: by convention its name.
    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        self.spot.set_data(data.into());
        self
    }

    /// Sets the access list of the contender's znodes, and of the semaphore's node, its ancestors
    /// and the two nodes below it if they have to be created (default: every client may do
    /// everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }

    /// Sets what happens if the semaphore's node does not exist (default: it is created as a
    /// persistent znode). The nodes below it, `locks` and `leases`, are created in any case, with
    /// the same kind.
    pub fn node(mut self, node: ElectionNode) -> Self {
        self.spot.set_node(node);
        self.options.node = node;
        self
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spot: Spot { path, .. }, options } = self;
        f.debug_struct("Semaphore")
            .field("path", path)
            .field("options", options)
            .finish_non_exhaustive()
    }
}
