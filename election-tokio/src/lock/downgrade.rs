//! A writer that goes on as a reader.

use super::error::NotDowngraded;
use super::guard::LockGuard;

/// A writer has not become a reader. Here is its guard again.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct DowngradeError {
    /// The guard, as it was: whether the lock is still held, [`LockGuard::is_valid`] says.
    pub guard: LockGuard,
    /// Why.
    #[source]
    pub reason: NotDowngraded,
}

impl LockGuard {
    /// Lets a writer go on as a reader, without letting go in between: the readers behind it get in, up
    /// to the next writer, and no writer does. The guard that comes back is the reader's.
    ///
    /// It is valid all the time: what it rests on is the lease of the session, and both znodes are of this
    /// session, one of which stands at each moment; so the proof goes on, over a lost connection too. The
    /// token stays what it was. Contenders that wait have greater ones, and that of the reader's new
    /// znode would be greater still: the next writer would be refused.
    ///
    /// One transaction creates the reader's znode, which has the writer's number, and deletes the
    /// writer's. So does Curator's `InterProcessReadWriteLock` in two steps, since 5.5.0 (CURATOR-621);
    /// earlier releases of it let a writer in that waits for this one.
    ///
    /// Cancel safe: dropping the future releases the lock, as dropping the guard does.
    ///
    /// # Errors
    ///
    /// [`DowngradeError`], with the guard.
    pub async fn downgrade(self) -> Result<Self, DowngradeError> {
        let Self { mut acquisition, held } = self;
        match acquisition.downgraded(&held.tenure).await {
            Ok(tenure) => Ok(Self { held: held.by(tenure), acquisition }),
            Err(reason) => Err(DowngradeError { guard: Self { held, acquisition }, reason }),
        }
    }
}
