//! Holding a permit: until when, and what may be done by it.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_core::{CandidateName, Departure, Semaphore, Token};
use election_session::Site;
use tokio::time::Instant;

use crate::client::TransactionError;
use crate::held::{GuardedTransaction, Held, Tenure};
use crate::lock::{Acquisition, LockLost, ReleaseError};

/// A permit of a semaphore that is held, for as long as it is valid.
///
/// Nothing that runs on one machine can know for sure that no other machine has got its permit by the
/// time its next write arrives. What is promised: no more *effective* holders than there are permits when
/// writes go through [`Permit::transaction`]; no more that *believe* themselves to hold one as long as
/// clocks run at rates that differ by less than the lease margin, under whatever failures the
/// [grade](crate::LeaseGrade) of the lease covers: by default, all of the ensemble and its network.
///
/// Dropping it releases the permit in the background: the next contender gets it once the znode is
/// deleted, or, while no server is in reach, once the session is over. End the work first.
#[derive(Debug)]
#[must_use = "a permit that is dropped is released"]
pub struct Permit {
    held: Held<LockLost>,
    acquisition: Acquisition,
}

impl Permit {
    pub(super) fn new(
        acquisition: Acquisition,
        site: &Site,
        tenure: Arc<Tenure<LockLost>>,
    ) -> Self {
        let path = site.client_child(format_args!("{}/{}", Semaphore::LEASES, tenure.znode));
        let client = acquisition.client.clone();
        Self { held: Held { client, path, tenure }, acquisition }
    }

    /// The fencing token: the `czxid` of the permit's znode, which no other permit has.
    ///
    /// With one permit, it is that of a lock: let the systems that are written to refuse smaller ones.
    /// With several, holders of smaller and greater tokens hold at the same time, so a system that is
    /// written to by all of them cannot refuse by it; a place that is the permit's own can.
    pub fn token(&self) -> Token {
        self.held.tenure.token
    }

    /// The name of the znode by which the permit is held, below `leases`.
    pub fn znode(&self) -> &CandidateName {
        &self.held.tenure.znode
    }

    /// Whether the permit is held at this moment, as far as can be known here: it was not lost, and the
    /// lease deadline lies ahead. Asks the clock first, so a process that was paused reads "no" before
    /// anything else has noticed. Takes no lock of the process and does no IO.
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Until when no other client can get this permit, if nothing more is heard from a server; it moves on
    /// with every proof. `None` if the permit was lost or the deadline has passed.
    ///
    /// This is on tokio's clock, which may stand still while the machine sleeps; ask [`Permit::is_valid`]
    /// before acting.
    pub fn valid_until(&self) -> Option<Instant> {
        self.held.valid_until()
    }

    /// How long no other client can get this permit, if nothing more is heard from a server. Zero once it
    /// was lost or the deadline has passed.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until the permit is lost, and tells why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LockLost {
        self.held.lost().await
    }

    /// Runs `work` for as long as the permit is held. `work` is dropped, at an await point of its own,
    /// when the permit is lost.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// Why the permit was lost, if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, LockLost> {
        self.held.guard(work).await
    }

    /// Starts a transaction that is applied only while the permit's znode stands, and is not even sent
    /// once the permit was lost.
    pub fn transaction(&self) -> GuardedTransaction {
        self.held.transaction()
    }

    /// Asks the ensemble whether the permit is held. Success says that at some moment between the call and
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

    /// Releases the permit: it is not held from this call on. Then waits until the znode is gone, upon
    /// which the next contender gets a permit.
    ///
    /// Cancel safe: the permit is released with the call, whether or not the future is dropped.
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
