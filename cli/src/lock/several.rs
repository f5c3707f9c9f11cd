//! Several locks at once.

use core::future::pending;

use election_tokio::Token;
use election_tokio::lock::{LockGuard, Locks, LocksGuard};
use tokio::time::Instant;

use crate::args::WhenBusy;
use crate::failure::Failure;
use crate::holding::{Acquired, Goal, Guard, Released};

impl Goal for Locks {
    type Guard = LocksGuard;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<LocksGuard>, Failure> {
        Ok(match when_busy {
            WhenBusy::Wait => Acquired::Held(self.lock().await?),
            WhenBusy::GiveUp => self.try_lock().await?.into(),
        })
    }
}

/// Returns a line for each lock.
fn lines<T: ToString>(guard: &LocksGuard, of: impl Fn(&LockGuard) -> T) -> String {
    let lines: Vec<_> = guard.iter().map(|(_, guard)| of(guard).to_string()).collect();
    lines.join("\n")
}

impl Guard for LocksGuard {
    /// Returns none: each lock has its own.
    fn token(&self) -> Option<Token> {
        None
    }

    fn znode(&self) -> String {
        lines(self, |guard| guard.znode().clone()).replace('\n', " ")
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let tokens = lines(self, |guard| guard.token().get());
        let znodes = lines(self, |guard| guard.znode().clone());
        vec![("ZKELECT_TOKEN", tokens), ("ZKELECT_ZNODE", znodes)]
    }

    fn valid_until(&self) -> Option<Instant> {
        self.valid_until()
    }

    async fn lost(&self) -> String {
        self.lost().await.to_string()
    }

    async fn revoke_requested(&self) {
        if self.revoke_requested().await.is_err() {
            // One of them is lost; `lost` reports that.
            pending::<()>().await;
        }
    }

    async fn release(self) -> Released {
        self.release().await.into()
    }
}
