//! The state of a holding that its holder and the hub share.

use core::fmt;
use core::task::Waker;
use core::time::Duration;
use std::sync::OnceLock;

use election_core::{CandidateName, Token};
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
    /// Ends with the leadership.
    ended: Sender<()>,
}

impl<R: Copy> Tenure<R> {
    pub(crate) fn new(token: Token, znode: CandidateName) -> Self {
        let (lost, ended) = (OnceLock::new(), Sender::new(()));
        Self { token, znode, began: Instant::now(), lost, ended }
    }

    /// Ends the tenure, and returns how long it has lasted if this call ends it; the first reason
    /// stays. Wake `wakers` afterwards.
    pub(crate) fn end(&self, reason: R, wakers: &mut Vec<Waker>) -> Option<Duration> {
        self.lost.set(reason).ok()?;
        self.ended.end(wakers);
        Some(self.began.elapsed())
    }

    pub(crate) fn lost(&self) -> Option<R> {
        self.lost.get().copied()
    }

    /// Cancel safe.
    pub(crate) async fn until_lost(&self) -> R {
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(reason) = self.lost() {
                return reason;
            }
            ended.next().await;
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
