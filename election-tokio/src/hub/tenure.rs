//! One leadership, as its holder and the hub share it.

use std::sync::OnceLock;

use election_core::{CandidateName, Token};
use tokio::sync::Notify;

use crate::election::LostReason;
use crate::telemetry::metrics::TenureMeter;

/// From `Elected` to the end; it ends once.
#[derive(Debug)]
pub(crate) struct Tenure {
    pub(crate) token: Token,
    pub(crate) candidate: CandidateName,
    lost: OnceLock<LostReason>,
    ended: Notify,
    meter: TenureMeter,
}

impl Tenure {
    pub(super) fn new(token: Token, candidate: CandidateName) -> Self {
        let meter = TenureMeter::start();
        Self { token, candidate, lost: OnceLock::new(), ended: Notify::new(), meter }
    }

    /// The first reason stays.
    pub(super) fn end(&self, reason: LostReason) {
        if self.lost.set(reason).is_ok() {
            self.ended.notify_waiters();
            self.meter.ended(reason);
        }
    }

    pub(crate) fn lost(&self) -> Option<LostReason> {
        self.lost.get().copied()
    }

    /// Cancel safe.
    pub(crate) async fn until_lost(&self) -> LostReason {
        loop {
            let ended = self.ended.notified();
            if let Some(reason) = self.lost() {
                return reason;
            }
            ended.await;
        }
    }
}
