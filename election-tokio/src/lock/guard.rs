//! Holding a lock: until when, and what may be done by it.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_core::{CandidateName, Departure, Token};
use election_session::Site;
use tokio::time::Instant;

use super::acquisition::Acquisition;
use super::error::{LockLost, ReleaseError};
use crate::client::TransactionError;
use crate::held::{GuardedTransaction, Held, Tenure};
use crate::updates::Updates;

/// A lock that is held, for as long as it is valid.
///
/// Nothing that runs on one machine can know for sure that no other machine has got the lock by the
/// time its next write arrives. What is promised: at most one *effective* holder when writes carry the
/// [token](LockGuard::token), or go through [`LockGuard::transaction`]; at most one that *believes*
/// itself to hold it (or, of those that share it, no writer beside a reader) as long as clocks run at
/// rates that differ by less than the lease margin, under whatever failures the
/// [grade](crate::LeaseGrade) of the lease covers: by default, all of the ensemble and its network.
///
/// Dropping it releases the lock in the background: the next contender gets it once the znode is
/// deleted, or, while no server is in reach, once the session is over. End the work first.
#[derive(Debug)]
#[must_use = "a guard that is dropped releases the lock"]
pub struct LockGuard {
    pub(super) held: Held<LockLost>,
    pub(super) acquisition: Acquisition,
}

impl LockGuard {
    pub(super) fn new(
        acquisition: Acquisition,
        site: &Site,
        tenure: Arc<Tenure<LockLost>>,
    ) -> Self {
        let (client, path) = (acquisition.client.clone(), site.client_child(&tenure.znode));
        Self { held: Held { client, path, tenure }, acquisition }
    }

    /// The fencing token: greater than that of every earlier holder that did not share the lock. Hand it
    /// to the systems that are written to, and let them refuse smaller ones.
    pub fn token(&self) -> Token {
        self.held.tenure.token
    }

    /// The name of the znode by which the lock is held.
    pub fn znode(&self) -> &CandidateName {
        &self.held.tenure.znode
    }

    /// Whether the lock is held at this moment, as far as can be known here: it was not lost, and the
    /// lease deadline lies ahead. Asks the clock first, so a process that was paused reads "no" before
    /// anything else has noticed. Takes no lock of the process and does no IO.
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Until when no other client can get the lock, if nothing more is heard from a server; it moves on
    /// with every proof. `None` if the lock was lost or the deadline has passed.
    ///
    /// This is on tokio's clock, which may stand still while the machine sleeps; ask
    /// [`LockGuard::is_valid`] before acting.
    pub fn valid_until(&self) -> Option<Instant> {
        self.held.valid_until()
    }

    /// How long no other client can get the lock, if nothing more is heard from a server. Zero once it
    /// was lost or the deadline has passed.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until the lock is lost, and tells why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LockLost {
        self.held.lost().await
    }

    /// Runs `work` for as long as the lock is held. `work` is dropped, at an await point of its own,
    /// when the lock is lost.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// Why the lock was lost, if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, LockLost> {
        self.held.guard(work).await
    }

    /// Whether another client asks this holder to let go, and the changes of that.
    pub(super) fn requests(&self) -> Updates<bool> {
        self.acquisition.requests.clone()
    }

    /// Starts a transaction that is applied only while the holder's znode stands, and is not even sent
    /// once the lock was lost.
    pub fn transaction(&self) -> GuardedTransaction {
        self.held.transaction()
    }

    /// Asks the ensemble whether the lock is held. Success says that at some moment between the call and
    /// the reply a quorum agreed that it was; what is the case after that moment it does not say.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if it is not; otherwise as
    /// [`Transaction::commit`](crate::Transaction::commit), and nothing is known.
    pub async fn confirm(&self) -> Result<(), TransactionError> {
        self.transaction().commit().await.map(drop)
    }

    /// Releases the lock: it is not held from this call on. Then waits until the znode is gone, upon
    /// which the next contender gets the lock.
    ///
    /// Cancel safe: the lock is released with the call, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Unconfirmed`] if the client ended first: the znode may outlive this call by at most
    /// the session timeout. [`ReleaseError::AlreadyLost`] if there was nothing left to release.
    pub async fn release(self) -> Result<Departure, ReleaseError> {
        let Self { mut acquisition, .. } = self;
        acquisition.withdraw();
        acquisition.released().await
    }
}
