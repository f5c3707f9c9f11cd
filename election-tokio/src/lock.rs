//! Locks: held by one client at a time, or shared by readers.
//!
//! Begin with [`Client::lock`], [`Client::read_lock`] or [`Client::write_lock`]. Costs and limits:
//! [lock](https://github.com/zk-election/zk-election/blob/main/docs/lock.md), [shared lock](https://github.com/zk-election/zk-election/blob/main/docs/shared-lock.md),
//! [revocable lock](https://github.com/zk-election/zk-election/blob/main/docs/revocable-lock.md).
//!
//! ```no_run
//! # async fn work() {}
//! # async fn example(client: election_tokio::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let guard = client.lock("/app/lock").data("host-7").lock().await?;
//! guard.guard(work()).await?;
//! guard.release().await?;
//! # Ok(())
//! # }
//! ```

// rustdoc shows the methods of a type in the order of modules: first the essential ones.
mod guard;
mod locking;

mod acquisition;
mod contenders;
mod contending;
mod downgrade;
mod error;
mod face;
mod locks;
mod revocation;

use core::fmt;
use election_core::lock::LockOptions;
use std::sync::Arc;

pub use election_core::format::Access;
pub use election_core::lock::{DowngradeRefused, LockFailure, LockFormatError};

pub use crate::error::lost::LockLost;
pub use contenders::{Contender, Removal, Turn};
pub use downgrade::DowngradeError;
pub use error::{GuardLost, LockError, NotDowngraded, ReleaseError};
pub use guard::LockGuard;
pub use locks::{Locks, LocksError, LocksGuard, LocksLost};
pub use revocation::{RevokeError, RevokeRequest, Revoked};

pub(crate) use self::acquisition::{ACQUIRE, Acquiring, Acquisition, HOLD, RELEASE};
use crate::client::Client;
use crate::spot::Spot;

/// A lock, held at a path; made by [`Client::lock`], [`Client::read_lock`] and
/// [`Client::write_lock`].
///
/// Clients get it in the order in which they asked. Each waiter wakes only when it is its turn.
/// Dropping the future that waits gives up the place.
///
/// It is not reentrant: a task that asks for it again while holding it waits for itself. A session
/// holds the lock, and knows of no tasks; pass the [guard](LockGuard) on instead.
///
/// No process can know for sure that no other machine has got the lock by the time its next write
/// arrives. [`LockGuard`] says what is promised, and under which conditions.
#[derive(Clone)]
#[must_use = "a lock does nothing until it is asked for"]
pub struct Lock {
    /// Shared by all clones, since each task that waits may have one.
    settings: Arc<Settings>,
}

#[derive(Clone)]
struct Settings {
    spot: Spot,
    options: LockOptions,
}

impl Client {
    /// Returns a lock that one client holds at a time, in the format of Curator's
    /// `InterProcessReadWriteLock`, as `zkelect lock` by default. It excludes those of
    /// [`Client::read_lock`] and [`Client::write_lock`] at the same path. A lock that is shared with
    /// Curator's `InterProcessMutex` needs [`Format::curator_lock`](crate::format::Format::curator_lock) ([`Lock::format`]).
    pub fn lock(&self, path: &str) -> Lock {
        Lock::new(self.clone(), path, LockOptions::write())
    }

    /// Returns the lock of a reader, which several readers hold together, in the format of
    /// Curator's `InterProcessReadWriteLock`. A reader waits for the writers that have asked before
    /// it, so readers do not keep a writer from its turn.
    pub fn read_lock(&self, path: &str) -> Lock {
        Lock::new(self.clone(), path, LockOptions::read())
    }

    /// Returns the lock of a writer, which is held alone: the counterpart of [`Client::read_lock`]
    /// at the same path. It is the same as [`Client::lock`].
    pub fn write_lock(&self, path: &str) -> Lock {
        self.lock(path)
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { spot: Spot { path, .. }, options } = &*self.settings;
        f.debug_struct("Lock").field("path", path).field("options", options).finish_non_exhaustive()
    }
}
