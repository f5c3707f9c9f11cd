//! Holding several locks at once.

use core::fmt;
use core::future::{Future, pending, poll_fn};
use core::task::Poll;
use core::time::Duration;

use election_core::Token;
use tokio::time::Instant;

use super::error::LocksLost;
use super::lost::{Boxed, unless_lost};
use crate::client::{Client, TransactionError};
use crate::held::{GuardedTransaction, Held};
use crate::lock::{LockGuard, LockLost, ReleaseError};
use crate::telemetry::work_metrics::LocksHeldMeter;

/// Several locks, held together: what [`LockGuard`] promises holds of each, for as long as all are held.
///
/// The loss of one is the loss of all of it: it is not valid any more, and nothing is written under it. The
/// others stay held until it is dropped or released, or [`LocksGuard::guard`] has dropped the work, so that
/// what they protect is not another client's while the work comes to its end.
///
/// Dropping it releases all of them in the background. End the work first.
#[must_use = "a guard that is dropped releases the locks"]
pub struct LocksGuard {
    client: Client,
    /// With their paths, in the order in which they were taken; one at least.
    held: Vec<(String, LockGuard)>,
    /// `None` once the end was counted.
    meter: Option<LocksHeldMeter>,
}

impl LocksGuard {
    pub(super) const fn new(
        client: Client,
        held: Vec<(String, LockGuard)>,
        meter: LocksHeldMeter,
    ) -> Self {
        Self { client, held, meter: Some(meter) }
    }

    /// Returns the path and the guard of each lock, in the order in which they were taken, that of their
    /// paths. Each has a token of its own: hand it to what that lock protects.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &LockGuard)> {
        self.held.iter().map(|(path, guard)| (path.as_str(), guard))
    }

    /// Returns the fencing token of the lock at a path; `None` if it is not among them.
    pub fn token(&self, path: &str) -> Option<Token> {
        self.iter().find(|(of, _)| *of == path).map(|(_, guard)| guard.token())
    }

    /// Returns whether all are held at this moment, as [`LockGuard::is_valid`].
    pub fn is_valid(&self) -> bool {
        self.guards().all(LockGuard::is_valid)
    }

    /// Returns the least of the lease deadlines; `None` if one of the locks was lost, or its deadline has
    /// passed. Otherwise as [`LockGuard::valid_until`].
    pub fn valid_until(&self) -> Option<Instant> {
        let deadlines: Option<Vec<_>> = self.guards().map(LockGuard::valid_until).collect();
        deadlines?.into_iter().min()
    }

    /// Returns the time to [`LocksGuard::valid_until`]: zero once one of the locks was lost.
    pub fn remaining(&self) -> Duration {
        self.guards().map(LockGuard::remaining).min().unwrap_or_default()
    }

    /// Waits until one of the locks is lost, and returns which, and why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LocksLost {
        match unless_lost(&self.held, pending::<core::convert::Infallible>()).await {
            Err(lost) => lost,
            Ok(never) => match never {},
        }
    }

    /// Runs `work` while all are held. When one is lost, it drops `work`, at an await point, and then releases the
    /// others.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// The loss, if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, LocksLost> {
        let done = unless_lost(&self.held, work).await;
        if done.is_err() {
            self.withdraw();
        }
        done
    }

    /// Waits until another client asks for one of the locks, as [`LockGuard::revoke_requested`].
    ///
    /// Cancel safe: dropping the future changes nothing.
    ///
    /// # Errors
    ///
    /// The loss, if one of them is lost first.
    pub async fn revoke_requested(&self) -> Result<(), LocksLost> {
        let mut requests: Vec<Boxed<'_, ()>> = Vec::new();
        for guard in self.guards() {
            requests.push(Box::pin(async {
                if guard.revoke_requested().await.is_err() {
                    // `unless_lost` reports the loss.
                    pending::<()>().await;
                }
            }));
        }
        let first = poll_fn(|cx| {
            let is_requested = requests.iter_mut().any(|one| one.as_mut().poll(cx).is_ready());
            if is_requested { Poll::Ready(()) } else { Poll::Pending }
        });
        unless_lost(&self.held, first).await
    }

    /// Starts a transaction that is applied only while the znodes of all the locks stand. It is not even sent
    /// once one of them was lost.
    pub fn transaction(&self) -> GuardedTransaction {
        Held::transaction_of_all(&self.client, self.guards().map(|guard| &guard.held))
    }

    /// Asks the ensemble whether all are held. Success means that a quorum agreed at some moment between the
    /// call and the reply.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`LockGuard::confirm`].
    pub async fn confirm(&self) -> Result<(), TransactionError> {
        self.transaction().commit().await.map(drop)
    }

    /// Releases all of them: they are not held from this call on. Then waits until their znodes are gone.
    ///
    /// Cancel safe: the locks are released with the call, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// That of the first lock whose release failed, as [`LockGuard::release`]; the others are released all the
    /// same.
    pub async fn release(mut self) -> Result<(), ReleaseError> {
        self.count_end();
        self.withdraw();
        let mut outcome = Ok(());
        for (_, guard) in core::mem::take(&mut self.held) {
            outcome = outcome.and(guard.release().await.map(drop));
        }
        outcome
    }

    /// Counts the end, by the first loss, if there was one.
    fn count_end(&mut self) {
        if let Some(meter) = self.meter.take() {
            let mut lost = self.guards().filter_map(|guard| guard.tenure().lost());
            let lost = lost.find(|lost| *lost != LockLost::Released);
            meter.ended(lost.unwrap_or(LockLost::Released));
        }
    }

    fn withdraw(&self) {
        self.guards().for_each(|guard| guard.acquisition.recipe.withdraw());
    }

    fn guards(&self) -> impl Iterator<Item = &LockGuard> + Clone {
        self.held.iter().map(|(_, guard)| guard)
    }
}

impl Drop for LocksGuard {
    fn drop(&mut self) {
        self.count_end();
    }
}

impl fmt::Debug for LocksGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.guards()).finish()
    }
}
