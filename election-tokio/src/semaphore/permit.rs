//! Holding a permit: its lease, and what its holder may do.

use core::fmt;
use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_core::Token;
use election_core::election::Departure;
use election_core::name::CandidateName;
use election_core::semaphore::Semaphore;
use election_session::Site;
use tokio::time::Instant;

use crate::client::TransactionError;
use crate::error::Place;
use crate::held::{Guard, GuardedTransaction, Held, Tenure};
use crate::lock::{Acquisition, GuardLost, HOLD, LockLost, RELEASE, ReleaseError};

/// A permit of a semaphore, held for as long as it is valid.
///
/// No process can know for sure that no other machine has got its permit by the time its next write
/// arrives. This is promised:
///
/// - No more holders are *effective* than there are permits if writes go through
///   [`Permit::transaction`].
/// - No more holders *believe* that they hold a permit than there are permits, as long as the
///   speeds of clocks differ by less than the lease margin, under all failures that the
///   [grade](crate::lease::LeaseGrade) of the lease covers: by default, all failures of the ensemble and
///   its network.
///
/// Dropping it releases the permit in the background: the next contender gets it once the znode is
/// deleted, or, if no server is in reach, once the session is over. End the work first.
#[must_use = "a permit that is dropped is released"]
pub struct Permit {
    held: Held<LockLost>,
    acquisition: Acquisition,
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.held.show("Permit", f)
    }
}

impl Permit {
    pub(super) fn new(
        acquisition: Acquisition,
        site: &Site,
        tenure: Arc<Tenure<LockLost>>,
    ) -> Self {
        let path = site.client_child(format_args!("{}/{}", Semaphore::LEASES, tenure.znode));
        let client = acquisition.recipe.client().clone();
        let guard = Guard::Name;
        Self { held: Held { client, path, guard, tenure }, acquisition }
    }

    /// Returns the fencing token: the `czxid` of the permit's znode, which no other permit has.
    ///
    /// With one permit, it is like that of a lock: let systems refuse smaller ones. With several,
    /// holders of smaller and greater tokens hold at the same time, so a system that all of them
    /// write to cannot refuse by it; a place that only this permit writes to can.
    pub fn token(&self) -> Token {
        self.held.tenure.token
    }

    /// Returns the name of the znode by which the permit is held, below `leases`.
    pub fn znode(&self) -> &CandidateName {
        &self.held.tenure.znode
    }

    /// Returns whether the permit is held at this moment, as far as can be known here: it was not
    /// lost, and the lease deadline lies ahead. It reads the clock first, so a process that was
    /// paused gets `false` before anything else has noticed. It takes no lock of the process and
    /// does no IO.
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Returns the lease deadline: no other client can get this permit before it, if no server says
    /// anything more. It moves on with every proof. `None` if the permit was lost or the deadline
    /// has passed.
    ///
    /// It is a moment of tokio's clock, which may stand still while the machine sleeps. Call
    /// [`Permit::is_valid`] before each act.
    pub fn valid_until(&self) -> Option<Instant> {
        self.held.valid_until()
    }

    /// Returns the time to [`Permit::valid_until`]: no other client can get this permit before it
    /// has passed. Zero once it was lost or the deadline has passed.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until the permit is lost, and returns why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LockLost {
        self.held.lost().await
    }

    /// Runs `work` while the permit is held. When the permit is lost, it drops `work`, at an await
    /// point.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// [`GuardLost`], if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, GuardLost> {
        let done = self.held.guard(work).await;
        done.map_err(|lost| GuardLost { at: place(&self.held, HOLD), lost })
    }

    /// Starts a transaction that is applied only while the permit's znode stands. It is not even
    /// sent once the permit was lost.
    pub fn transaction(&self) -> GuardedTransaction {
        self.held.transaction()
    }

    /// Asks the ensemble whether the permit is held. Success means that a quorum agreed at some
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

    /// Releases the permit: it is not held from this call on. Then waits until the znode is gone;
    /// the next contender then gets a permit.
    ///
    /// Cancel safe: the permit is released with the call, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// [`ReleaseError::Unconfirmed`] if the client ended first: the znode may remain for at most
    /// the session timeout. [`ReleaseError::AlreadyLost`] if the permit had been lost before.
    pub async fn release(self) -> Result<Departure, ReleaseError> {
        let Self { held, mut acquisition } = self;
        acquisition.recipe.withdraw();
        acquisition.released(place(&held, RELEASE)).await
    }
}

/// Returns the place of an error.
fn place(held: &Held<LockLost>, step: &'static str) -> Place {
    let leases = held.parent();
    let path = leases.strip_suffix(Semaphore::LEASES).and_then(|path| path.strip_suffix('/'));
    Place::new("semaphore", path.unwrap_or(leases), step)
}
