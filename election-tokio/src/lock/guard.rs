//! Holding a lock: its lease, and what its holder may do.

use core::fmt;
use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_core::Token;
use election_core::election::Departure;
use election_core::name::CandidateName;
use election_session::Site;
use tokio::time::Instant;

use super::acquisition::Acquisition;
use super::error::{GuardLost, ReleaseError};
use super::{HOLD, RELEASE};
use crate::client::TransactionError;
use crate::error::Place;
use crate::error::lost::LockLost;
use crate::held::{Guard, GuardedTransaction, Held, Tenure};
use crate::standing::RecipeHandle;

/// A lock, held for as long as it is valid.
///
/// No process can know for sure that no other machine has got the lock by the time its next write
/// arrives. This is promised:
///
/// - At most one holder is *effective* if writes carry the [token](LockGuard::token), or go through
///   [`LockGuard::transaction`].
/// - At most one holder *believes* that it holds the lock (if it is shared: no writer beside a
///   reader), as long as the speeds of clocks differ by less than the lease margin, under all
///   failures that the [grade](crate::lease::LeaseGrade) of the lease covers: by default, all failures of
///   the ensemble and its network.
///
/// Dropping it releases the lock in the background: the next contender gets it once the znode is
/// deleted, or, if no server is in reach, once the session is over. End the work first.
#[must_use = "a guard that is dropped releases the lock"]
pub struct LockGuard {
    pub(super) held: Held<LockLost>,
    pub(super) acquisition: Acquisition,
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.held.show("LockGuard", f)
    }
}

impl LockGuard {
    pub(super) fn new(
        acquisition: Acquisition,
        site: &Site,
        guard: Guard,
        tenure: Arc<Tenure<LockLost>>,
    ) -> Self {
        let (client, path) =
            (acquisition.recipe.client().clone(), site.client_child(&tenure.znode));
        Self { held: Held { client, path, guard, tenure }, acquisition }
    }

    /// Returns the fencing token: greater than that of every earlier holder that did not share the
    /// lock. Hand it to the systems that this holder writes to, and let them refuse smaller ones.
    pub fn token(&self) -> Token {
        self.held.tenure.token
    }

    /// Returns the name of the znode by which the lock is held.
    pub fn znode(&self) -> &CandidateName {
        &self.held.tenure.znode
    }

    /// Returns whether the lock is held at this moment, as far as can be known here: it was not
    /// lost, and the lease deadline lies ahead. It reads the clock first, so a process that was
    /// paused gets `false` before anything else has noticed. It takes no lock of the process and
    /// does no IO.
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Returns the lease deadline: no other client can get the lock before it, if no server says
    /// anything more. It moves on with every proof. `None` if the lock was lost or the deadline has
    /// passed.
    ///
    /// It is a moment of tokio's clock, which may stand still while the machine sleeps. Call
    /// [`LockGuard::is_valid`] before each act.
    pub fn valid_until(&self) -> Option<Instant> {
        self.held.valid_until()
    }

    /// Returns the time to [`LockGuard::valid_until`]: no other client can get the lock before it
    /// has passed. Zero once the lock was lost or the deadline has passed.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until the lock is lost, and returns why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LockLost {
        self.held.lost().await
    }

    /// Runs `work` while the lock is held. When the lock is lost, it drops `work`, at an await
    /// point.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// [`GuardLost`], if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, GuardLost> {
        self.held.guard(work).await.map_err(|lost| GuardLost { at: self.place(HOLD), lost })
    }

    /// Starts a transaction that is applied only while the holder's znode stands. It is not even
    /// sent once the lock was lost. In a format without ids in its names
    /// ([`Format::names_recur`](crate::format::Format::names_recur)) it is refused, with
    /// [`TransactionError::NamesRecur`].
    pub fn transaction(&self) -> GuardedTransaction {
        self.held.transaction()
    }

    /// Asks the ensemble whether the lock is held. Success means that a quorum agreed at some
    /// moment between the call and the reply. It says nothing of the time after that moment.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if it is not; otherwise as
    /// [`Transaction::commit`](crate::Transaction::commit), and nothing is known.
    pub async fn confirm(&self) -> Result<(), TransactionError> {
        self.held.confirm().await
    }

    /// Releases the lock: it is not held from this call on. Then waits until the znode is gone; the
    /// next contender then gets the lock.
    ///
    /// Cancel safe: the lock is released with the call, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Unconfirmed`] if the client ended first: the znode may remain for at most
    /// the session timeout. [`ReleaseError::AlreadyLost`] if the lock had been lost before.
    pub async fn release(self) -> Result<Departure, ReleaseError> {
        let at = self.place(RELEASE);
        let Self { held: _held, mut acquisition } = self;
        acquisition.recipe.withdraw();
        acquisition.released(at).await
    }

    /// Returns the place of an error.
    pub(super) fn place(&self, step: &'static str) -> Place {
        Place::new("lock", self.held.parent(), step)
    }

    pub(crate) fn tenure(&self) -> Arc<Tenure<LockLost>> {
        Arc::clone(&self.held.tenure)
    }

    /// Returns a handle by which the lock is released without the guard, which is lost by that.
    pub(crate) fn releaser(&self) -> RecipeHandle {
        self.acquisition.recipe.handle()
    }
}
