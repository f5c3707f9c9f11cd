//! Downgrades: a writer continues as a reader.

use super::error::NotDowngraded;
use super::guard::LockGuard;
use crate::error::Place;

/// The step that errors name.
const DOWNGRADE: &str = "downgrade";

/// A writer has not become a reader. Its guard is returned.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct DowngradeError {
    /// The guard, unchanged: [`LockGuard::is_valid`] says whether the lock is still held.
    pub guard: LockGuard,
    /// The recipe, its path and the step.
    pub at: Place,
    /// The reason.
    pub reason: NotDowngraded,
}

impl LockGuard {
    /// Lets a writer continue as a reader, without a release in between: the readers behind it get
    /// in, up to the next writer, and no writer does. Returns the reader's guard.
    ///
    /// The lock is valid all the time. It rests on the lease of the session, and one of the two
    /// znodes, both of this session, stands at each moment; so the proof goes on, over a lost
    /// connection too. The token stays the same. Waiting contenders have greater ones, and the
    /// reader's new znode would have a still greater one, with which systems would then refuse the
    /// next writer.
    ///
    /// One transaction creates the reader's znode, which has the writer's number, and deletes the
    /// writer's. Curator's `InterProcessReadWriteLock` does so in two steps, since 5.5.0
    /// (CURATOR-621); its earlier releases let a writer in that waits for this one.
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
            Err(reason) => {
                let guard = Self { held, acquisition };
                let at = guard.place(DOWNGRADE);
                Err(DowngradeError { guard, at, reason })
            }
        }
    }
}
