//! Contending for the permits of a semaphore, by futures that are dropped at any await point.

use core::num::NonZeroU32;
use core::time::Duration;
use std::sync::Arc;

use election_tokio::ErrorCode;
use election_tokio::lock::{LockError, LockFailure};
use election_tokio::semaphore::{Permit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::life::{LONG, Life, in_time};

/// Where they are.
pub(crate) const SEMAPHORE: &str = "/semaphore";

/// How many there are.
pub(crate) const PERMITS: usize = 2;
const TWO: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

/// The error code of a server that has too much to do. A service asks again.
const THROTTLED: i32 = ErrorCode::THROTTLED_OP.get();

impl Life {
    /// Takes permits, one after the other, and releases them, in all ways there are.
    pub(crate) async fn take_permits(self, mut rng: fastrand::Rng) {
        let semaphore = self.client.semaphore(SEMAPHORE, TWO);
        loop {
            match permit(&semaphore, &mut rng).await {
                Ok(Some(permit)) => {
                    let permit = Arc::new(permit);
                    self.laws.permitted(self.number, &permit);
                    self.keep_permit(permit, &mut rng).await;
                }
                Ok(None) => self.laws.count(|tally| tally.waits_given_up += 1),
                Err(LockError::ClientClosed { .. }) => return,
                Err(LockError::Failed { failure: LockFailure::Rejected(THROTTLED), .. }) => {}
                Err(error) => return self.laws.broken(format!("{}: {error}", self.number)),
            }
            sleep(Duration::from_millis(rng.u64(0..600))).await;
        }
    }

    /// Keeps it for a while, or until it is lost.
    async fn keep_permit(&self, permit: Arc<Permit>, rng: &mut fastrand::Rng) {
        let longest = 1_u64 << rng.u8(0..=10);
        let term = Duration::from_millis(rng.u64(0..=longest));
        if let Ok(lost) = timeout(term, permit.lost()).await {
            self.laws.tell(|| format!("{}: a permit is lost: {lost}", self.number));
            if permit.is_valid() {
                self.laws.broken(format!("{} has a permit after it was lost", self.number));
            }
            return;
        }
        let Some(permit) = Arc::into_inner(permit) else {
            return self.laws.broken("a permit has two owners".to_owned());
        };
        match rng.u8(..4) {
            0 => drop(permit),
            1 => {
                let soon = Duration::from_micros(rng.u64(0..5_000));
                let _ = timeout(soon, permit.release()).await;
            }
            // Each outcome will do: see the locks.
            _ => drop(in_time(&self.laws, self.number, "a release", permit.release()).await),
        }
    }
}

/// Asks for a permit. Some wait until it is their turn, some for a while, some not at all; and some are
/// dropped.
async fn permit(
    semaphore: &Semaphore,
    rng: &mut fastrand::Rng,
) -> Result<Option<Permit>, LockError> {
    let soon = Duration::from_micros(rng.u64(0..20_000));
    let later = Duration::from_millis(rng.u64(20..4_000));
    match rng.u8(..8) {
        0 | 1 => timeout(soon, semaphore.acquire()).await.map_or(Ok(None), |it| it.map(Some)),
        2 => timeout(soon, semaphore.try_acquire()).await.unwrap_or(Ok(None)),
        3 => semaphore.try_acquire().await,
        4 => semaphore.acquire_until(Instant::now() + later).await,
        _ => match timeout(LONG * 4, semaphore.acquire()).await {
            Ok(permit) => permit.map(Some),
            Err(_) => Ok(None),
        },
    }
}
