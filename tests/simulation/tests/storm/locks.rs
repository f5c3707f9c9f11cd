//! Contending for locks, by futures that are dropped at any await point.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::format::Format;
use election_tokio::lock::{LockError, LockFailure, LockGuard};
use election_tokio::{ErrorCode, TransactionError, Version};
use tokio::time::{Instant, sleep, timeout};

use crate::laws::ledger;
use crate::life::{LONG, Life, in_time};

/// The beginning of the paths of all locks.
pub(crate) const LOCKS: &str = "/lock-";

/// All that there are, for all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    Exclusive,
    Shared,
}

/// The purpose of a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Write,
    Read,
}

/// The error code of a server that has too much to do. A service asks again.
const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();

impl Lock {
    pub(crate) const ALL: [Self; 2] = [Self::Exclusive, Self::Shared];

    pub(crate) fn path(self) -> String {
        match self {
            Self::Exclusive => format!("{LOCKS}exclusive"),
            Self::Shared => format!("{LOCKS}shared"),
        }
    }

    /// Returns the number of the ledger that writers write to, each its token: these ledgers come
    /// after those of the elections.
    pub(crate) const fn ledger(self) -> usize {
        match self {
            Self::Exclusive => 3,
            Self::Shared => 4,
        }
    }
}

impl Want {
    pub(crate) const ALL: [Self; 2] = [Self::Write, Self::Read];

    pub(crate) fn excludes(self, other: Self) -> bool {
        (self, other) != (Self::Read, Self::Read)
    }
}

impl Life {
    /// Takes locks, one after the other, and releases them, in all ways there are.
    pub(crate) async fn contend(self, mut rng: fastrand::Rng) {
        loop {
            let lock = if rng.bool() { Lock::Exclusive } else { Lock::Shared };
            let want = match lock {
                Lock::Shared if rng.u8(..3) > 0 => Want::Read,
                Lock::Exclusive | Lock::Shared => Want::Write,
            };
            match self.acquire((lock, want), &mut rng).await {
                Ok(Some(guard)) => {
                    let guard = Arc::new(guard);
                    self.laws.held(self.number, (lock, want), &guard);
                    self.hold((lock, want), guard, &mut rng).await;
                }
                Ok(None) => self.laws.count(|tally| tally.waits_given_up += 1),
                Err(LockError::ClientClosed { .. }) => return,
                Err(LockError::Failed { failure: LockFailure::Rejected(THROTTLED), .. }) => {}
                Err(error) => return self.laws.broken(format!("{}: {error}", self.number)),
            }
            sleep(Duration::from_millis(rng.u64(0..300))).await;
        }
    }

    /// Acquires a lock. Some wait until it is their turn, some for a while, some not at all; and
    /// some are dropped.
    async fn acquire(
        &self,
        (lock, want): (Lock, Want),
        rng: &mut fastrand::Rng,
    ) -> Result<Option<LockGuard>, LockError> {
        let path = lock.path();
        let acquisition = match (lock, want) {
            (Lock::Exclusive, _) => self.client.lock(&path).format(Format::curator_lock()),
            (Lock::Shared, Want::Write) => self.client.write_lock(&path),
            (Lock::Shared, Want::Read) => self.client.read_lock(&path),
        };
        let soon = Duration::from_micros(rng.u64(0..20_000));
        let later = Duration::from_millis(rng.u64(20..4_000));
        match rng.u8(..8) {
            0 | 1 => timeout(soon, acquisition.lock()).await.map_or(Ok(None), |it| it.map(Some)),
            2 => timeout(later, acquisition.lock()).await.map_or(Ok(None), |it| it.map(Some)),
            3 => timeout(soon, acquisition.try_lock()).await.unwrap_or(Ok(None)),
            4 => acquisition.try_lock().await,
            5 => {
                let deadline = Instant::now() + later;
                let guard = acquisition.lock_until(deadline).await?;
                if guard.is_none() && Instant::now() < deadline {
                    self.laws.broken(format!("{} did not wait for {lock:?}", self.number));
                }
                Ok(guard)
            }
            _ => acquisition.lock().await.map(Some),
        }
    }

    /// Holds it for a while, or until it is lost.
    async fn hold(
        &self,
        (lock, want): (Lock, Want),
        guard: Arc<LockGuard>,
        rng: &mut fastrand::Rng,
    ) {
        let longest = 1_u64 << rng.u8(0..=9);
        let term = Duration::from_millis(rng.u64(0..=longest));
        let lost = tokio::select! {
            biased;
            lost = guard.lost() => Some(lost),
            () = self.write((lock, want), &guard, term) => None,
        };
        if let Some(lost) = lost {
            self.laws.tell(|| format!("{}: {lock:?} is lost: {lost}", self.number));
            if guard.is_valid() {
                self.laws.broken(format!("{} holds {lock:?} after it was lost", self.number));
            }
            return;
        }
        let Some(guard) = Arc::into_inner(guard) else {
            return self.laws.broken("a guard has two owners".to_owned());
        };
        let path = ledger(lock.ledger());
        let late = guard.transaction().check(&path, Version::ANY);
        match rng.u8(..4) {
            0 => drop(guard),
            1 => {
                let soon = Duration::from_micros(rng.u64(0..5_000));
                let _ = timeout(soon, guard.release()).await;
            }
            // Each outcome will do: that the lock is released, or was lost before, or that the
            // session is over.
            _ => drop(in_time(&self.laws, self.number, "a release", guard.release()).await),
        }
        if !matches!(late.commit().await, Err(TransactionError::NotHeld)) {
            self.laws.broken(format!("{} writes by {lock:?} after it let go", self.number));
        }
    }

    /// Writes for as long as that, if it holds alone.
    async fn write(&self, (lock, want): (Lock, Want), guard: &LockGuard, term: Duration) {
        let end = Instant::now() + term;
        let path = ledger(lock.ledger());
        while want == Want::Write && Instant::now() < end {
            match self.guarded_write(&path, guard.token(), guard.transaction()).await {
                Some(Ok(())) => self.laws.count(|tally| tally.guarded_writes += 1),
                // The news of it may still be on its way.
                Some(Err(TransactionError::NotHeld)) => sleep(LONG).await,
                Some(Err(_)) | None => {}
            }
            sleep(Duration::from_millis(50)).await;
        }
        tokio::time::sleep_until(end).await;
    }
}
