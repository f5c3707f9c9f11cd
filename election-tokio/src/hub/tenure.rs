//! One leadership, as its holder and the hub share it.

use core::task::Waker;
use std::sync::OnceLock;

use election_core::{CandidateName, Token};

use crate::broadcast::Sender;
use crate::election::LostReason;
use crate::telemetry::metrics::TenureMeter;

/// From `Elected` to the end; it ends once.
#[derive(Debug)]
pub(crate) struct Tenure {
    pub(crate) token: Token,
    pub(crate) candidate: CandidateName,
    lost: OnceLock<LostReason>,
    /// Ends with the leadership.
    ended: Sender<()>,
    meter: TenureMeter,
}

impl Tenure {
    pub(super) fn new(token: Token, candidate: CandidateName) -> Self {
        let meter = TenureMeter::start();
        Self { token, candidate, lost: OnceLock::new(), ended: Sender::new(()), meter }
    }

    /// The first reason stays; `wakers` are to be woken.
    pub(super) fn end(&self, reason: LostReason, wakers: &mut Vec<Waker>) {
        if self.lost.set(reason).is_ok() {
            self.ended.end(wakers);
            self.meter.ended(reason);
        }
    }

    pub(crate) fn lost(&self) -> Option<LostReason> {
        self.lost.get().copied()
    }

    /// Cancel safe.
    pub(crate) async fn until_lost(&self) -> LostReason {
        let mut ended = self.ended.subscribe();
        loop {
            if let Some(reason) = self.lost() {
                return reason;
            }
            ended.next().await;
        }
    }
}
