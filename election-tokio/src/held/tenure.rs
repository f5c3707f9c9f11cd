//! The state of a holding that its holder and the hub share.

use core::fmt;
use core::task::Waker;
use core::time::Duration;
use std::sync::OnceLock;

use election_core::Token;
use election_core::name::CandidateName;
use tokio::time::Instant;

use crate::broadcast::Sender;

/// The time from an election, or the acquisition of a lock, to the end. It ends once, for one
/// reason.
#[derive(Debug)]
pub(crate) struct Tenure<R> {
    pub(crate) token: Token,
    pub(crate) znode: CandidateName,
    began: Instant,
    lost: OnceLock<R>,
    /// Whether another client asks the holder to release the lock. Always false for other recipes, and after the
    /// tenure.
    is_asked: Sender<bool>,
}

impl<R: Copy> Tenure<R> {
    pub(crate) fn new(token: Token, znode: CandidateName) -> Self {
        let (lost, is_asked) = (OnceLock::new(), Sender::new(false));
        Self { token, znode, began: Instant::now(), lost, is_asked }
    }

    /// Ends the tenure, and returns how long it has lasted if this call ends it; the first reason
    /// stays. Wake `wakers` afterwards.
    pub(crate) fn end(&self, reason: R, wakers: &mut Vec<Waker>) -> Option<Duration> {
        self.lost.set(reason).ok()?;
        self.is_asked.end(wakers);
        Some(self.began.elapsed())
    }

    pub(crate) fn lost(&self) -> Option<R> {
        self.lost.get().copied()
    }

    /// Cancel safe.
    pub(crate) async fn until_lost(&self) -> R {
        let mut changes = self.is_asked.subscribe();
        loop {
            if let Some(reason) = self.lost() {
                return reason;
            }
            changes.next().await;
        }
    }

    /// Notes whether another client asks the holder to release the lock. Wake `wakers` afterwards.
    pub(crate) fn ask(&self, is_asked: bool, wakers: &mut Vec<Waker>) {
        self.is_asked.show(is_asked, wakers);
    }

    /// Returns whether another client asks the holder to release the lock; none does once the tenure is over.
    pub(crate) fn is_asked(&self) -> bool {
        self.lost().is_none() && self.is_asked.read(|is_asked| *is_asked)
    }

    /// Waits until another client asks the holder to release the lock. Cancel safe.
    ///
    /// # Errors
    ///
    /// The reason of the loss, if the tenure is over first.
    pub(crate) async fn until_asked(&self) -> Result<(), R> {
        let mut changes = self.is_asked.subscribe();
        loop {
            if let Some(reason) = self.lost() {
                return Err(reason);
            }
            if self.is_asked() {
                return Ok(());
            }
            changes.next().await;
        }
    }
}

/// Whether a tenure is over, whatever ended it.
pub(crate) trait Ends: Send + Sync + fmt::Debug {
    fn is_over(&self) -> bool;
}

impl<R: Copy + Send + Sync + fmt::Debug> Ends for Tenure<R> {
    fn is_over(&self) -> bool {
        self.lost().is_some()
    }
}
