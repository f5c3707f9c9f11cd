//! What is held by an own znode, as its holder and the hub share it.

use core::fmt;
use core::task::Waker;
use core::time::Duration;
use std::sync::OnceLock;

use election_core::{CandidateName, Token};
use tokio::time::Instant;

use crate::broadcast::Sender;

/// From being elected, or getting the lock, to the end; it ends once, for a reason.
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

    /// How long it has lasted, if this ends it: the first reason stays. `wakers` are to be woken.
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

/// Whether something is over, whatever ended it.
pub(crate) trait Ends: Send + Sync + fmt::Debug {
    fn is_over(&self) -> bool;
}

impl<R: Copy + Send + Sync + fmt::Debug> Ends for Tenure<R> {
    fn is_over(&self) -> bool {
        self.lost().is_some()
    }
}
