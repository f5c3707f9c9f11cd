//! One lock.

use core::future::pending;

use election_tokio::Token;
use election_tokio::lock::{Lock, LockGuard};
use tokio::time::Instant;

use crate::args::WhenBusy;
use crate::failure::Failure;
use crate::holding::{Acquired, Goal, Guard, Released};

impl Goal for Lock {
    type Guard = LockGuard;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<LockGuard>, Failure> {
        Ok(match when_busy {
            WhenBusy::Wait => Acquired::Held(self.lock().await?),
            WhenBusy::GiveUp => self.try_lock().await?.into(),
        })
    }
}

impl Guard for LockGuard {
    fn token(&self) -> Option<Token> {
        Some(self.token())
    }

    fn znode(&self) -> String {
        self.znode().to_string()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let token = self.token().get().to_string();
        vec![("ZKELECT_TOKEN", token), ("ZKELECT_ZNODE", self.znode().to_string())]
    }

    fn valid_until(&self) -> Option<Instant> {
        self.valid_until()
    }

    async fn lost(&self) -> String {
        self.lost().await.to_string()
    }

    async fn revoke_requested(&self) {
        if self.revoke_requested().await.is_err() {
            // The lock is lost; `lost` reports that.
            pending::<()>().await;
        }
    }

    async fn release(self) -> Released {
        self.release().await.map(drop).into()
    }
}
