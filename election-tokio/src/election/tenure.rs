//! One leadership, as its holder and the hub share it.

use core::task::Waker;
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use election_core::{CandidateName, Token};
use tokio::time::Instant;

use super::status::LostReason;
use crate::broadcast::Sender;

/// From being elected to the end; it ends once.
#[derive(Debug)]
pub(super) struct Tenure {
    pub(super) token: Token,
    pub(super) candidate: CandidateName,
    began: Instant,
    lost: OnceLock<LostReason>,
    /// Ends with the leadership.
    ended: Sender<()>,
}

/// The leadership that a nomination has at present, if it has one.
#[derive(Clone, Debug, Default)]
pub(super) struct PresentTenure(Arc<Mutex<Option<Arc<Tenure>>>>);

impl PresentTenure {
    pub(super) fn get(&self) -> Option<Arc<Tenure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one before, if there was one.
    pub(super) fn replace(&self, tenure: Option<Arc<Tenure>>) -> Option<Arc<Tenure>> {
        let mut present = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        core::mem::replace(&mut present, tenure)
    }
}

impl Tenure {
    pub(super) fn new(token: Token, candidate: CandidateName) -> Self {
        let (lost, ended) = (OnceLock::new(), Sender::new(()));
        Self { token, candidate, began: Instant::now(), lost, ended }
    }

    /// How long it has lasted, if this ends it: the first reason stays. `wakers` are to be woken.
    pub(super) fn end(&self, reason: LostReason, wakers: &mut Vec<Waker>) -> Option<Duration> {
        self.lost.set(reason).ok()?;
        self.ended.end(wakers);
        Some(self.began.elapsed())
    }

    pub(super) fn lost(&self) -> Option<LostReason> {
        self.lost.get().copied()
    }

    /// Cancel safe.
    pub(super) async fn until_lost(&self) -> LostReason {
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(reason) = self.lost() {
                return reason;
            }
            ended.next().await;
        }
    }
}
