//! Leading: until when, and what may be done by it.

use core::future::Future;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::sync::Arc;

use bytes::Bytes;
use election_core::{CandidateName, Departure, Token};
use tokio::time::Instant;
use zk_jute::{ErrorCode, Version};

use super::inner::{NominationInner, WithdrawError, ended};
use super::status::{LostReason, Status};
use super::tenure::Tenure;
use crate::acl::Acls;
use crate::client::{Client, CreateMode, OperationOutcome, Transaction, TransactionError};
use crate::updates::Updates;

/// The right to act, for as long as it is valid.
///
/// Nothing that runs on one machine can know for sure that no other machine has taken over by the
/// time its next write arrives. What is promised: at most one *effective* leader when writes carry
/// the [token](Leadership::token), or go through [`Leadership::transaction`]; at most one that
/// *believes* itself valid as long as clocks run at rates that differ by less than the lease
/// margin, under whatever failures the [grade](crate::LeaseGrade) of the lease covers: by default,
/// all of the ensemble and its network.
///
/// Dropping it does not resign: the nomination does, or [`Leadership::resign`].
#[derive(Debug)]
pub struct Leadership {
    nomination: Arc<NominationInner>,
    tenure: Arc<Tenure>,
    status: Updates<Status>,
}

impl Leadership {
    pub(super) fn new(
        nomination: Arc<NominationInner>,
        tenure: Arc<Tenure>,
        status: Updates<Status>,
    ) -> Self {
        Self { nomination, tenure, status }
    }

    /// The fencing token: greater than that of every leader before, in this election. Hand it to
    /// the systems that this leader writes to, and let them refuse smaller ones.
    pub fn token(&self) -> Token {
        self.tenure.token
    }

    /// The name of the candidate znode by which this leadership is held.
    pub fn candidate(&self) -> &CandidateName {
        &self.tenure.candidate
    }

    /// Whether this nominee leads at this moment, as far as can be known here: it is not over, and
    /// the lease deadline lies ahead. Asks the clock first, so a process that was paused reads
    /// "no" before anything else has noticed. Takes no lock and does no IO.
    pub fn is_valid(&self) -> bool {
        is_valid(self.client(), &self.tenure)
    }

    /// Until when no other nominee can lead, if nothing more is heard from a server; it moves on
    /// with every proof. `None` if the leadership is over or the deadline has passed.
    ///
    /// This is on tokio's clock, which may stand still while the machine sleeps; ask
    /// [`Leadership::is_valid`] before acting.
    pub fn valid_until(&self) -> Option<Instant> {
        let shared = self.client().shared();
        shared.clock.notice_sleep();
        let deadline = shared.lease_deadline()?;
        (shared.clock.now() < deadline && self.tenure.lost().is_none())
            .then(|| shared.clock.to_tokio(deadline))
    }

    /// How long no other nominee can lead, if nothing more is heard from a server: the time to
    /// [`Leadership::valid_until`]. Zero once the leadership is over or the deadline has passed.
    ///
    /// A bound for a piece of work: `timeout(leadership.remaining(), write).await`.
    pub fn remaining(&self) -> Duration {
        let shared = self.client().shared();
        shared.clock.notice_sleep();
        match (shared.lease_deadline(), self.tenure.lost()) {
            (Some(deadline), None) => deadline.saturating_since(shared.clock.now()),
            (None, _) | (_, Some(_)) => Duration::ZERO,
        }
    }

    /// Waits until the leadership is over, and tells why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LostReason {
        self.tenure.until_lost().await
    }

    /// Runs `work` for as long as this nominee leads. `work` is dropped, at an await point of its
    /// own, when the leadership is lost.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// Why the leadership was lost, if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, LostReason> {
        let mut work = pin!(work);
        let mut lost = pin!(self.lost());
        core::future::poll_fn(|cx| {
            if self.tenure.lost().is_none() && !self.client().shared().holds_lease() {
                // The driver has not come round to it yet.
                self.client().shared().check_lease();
            }
            if let Poll::Ready(reason) = lost.as_mut().poll(cx) {
                return Poll::Ready(Err(reason));
            }
            work.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Starts a transaction that is applied only while the candidate znode of this leadership
    /// stands, and is not even sent once the leadership is over.
    pub fn transaction(&self) -> GuardedTransaction {
        let candidate = self.nomination.site.client_child(self.candidate());
        GuardedTransaction {
            tenure: Arc::clone(&self.tenure),
            transaction: self.client().transaction().check(&candidate, Version::ANY),
        }
    }

    /// Asks the ensemble whether this leadership stands. Success says that at some moment between
    /// the call and the reply a quorum agreed that this nominee led; what is the case after that
    /// moment it does not say.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotLeader`] if it does not stand; otherwise as [`Transaction::commit`],
    /// and nothing is known.
    pub async fn confirm(&self) -> Result<(), TransactionError> {
        self.transaction().commit().await.map(drop)
    }

    /// Resigns: the leadership is over with the call, and so is the nomination that it came from.
    /// Then waits until the candidate znode is gone, upon which the next nominee takes over. End
    /// the work first.
    ///
    /// Cancel safe: once polled, the leadership is over, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// As [`Nomination::withdraw`](super::Nomination::withdraw).
    pub async fn resign(self) -> Result<Departure, WithdrawError> {
        self.nomination.withdraw();
        let mut status = self.status.clone();
        ended(&mut status).await
    }

    pub(super) fn client(&self) -> &Client {
        &self.nomination.client
    }

    pub(super) fn nomination(&self) -> &NominationInner {
        &self.nomination
    }
}

/// A transaction that begins with a check that its leadership still stands; made by
/// [`Leadership::transaction`].
#[derive(Clone, Debug)]
#[must_use = "a transaction does nothing until it is committed"]
pub struct GuardedTransaction {
    tenure: Arc<Tenure>,
    transaction: Transaction,
}

impl GuardedTransaction {
    /// Creates a znode that everybody may do everything with.
    pub fn create(self, path: &str, data: impl Into<Bytes>, mode: CreateMode) -> Self {
        Self { transaction: self.transaction.create(path, data, mode), ..self }
    }

    /// Creates a znode with an access list.
    pub fn create_with_acl(
        self,
        path: &str,
        data: impl Into<Bytes>,
        mode: CreateMode,
        acls: &Acls,
    ) -> Self {
        Self { transaction: self.transaction.create_with_acl(path, data, mode, acls), ..self }
    }

    /// Deletes a znode, if its data has this version.
    pub fn delete(self, path: &str, version: Version) -> Self {
        Self { transaction: self.transaction.delete(path, version), ..self }
    }

    /// Replaces a znode's data, if it has this version.
    pub fn set_data(self, path: &str, data: impl Into<Bytes>, version: Version) -> Self {
        Self { transaction: self.transaction.set_data(path, data, version), ..self }
    }

    /// Lets the transaction fail unless a znode exists and its data has this version.
    pub fn check(self, path: &str, version: Version) -> Self {
        Self { transaction: self.transaction.check(path, version), ..self }
    }

    /// Has the server apply all operations, in order, or none. The results are those of the
    /// operations that were added.
    ///
    /// Cancel safe: all of it may be applied all the same, as after a lost connection.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotLeader`] if the leadership was over by the time at which the transaction
    /// could be sent, or when the server came to it: nothing was applied. Otherwise as
    /// [`Transaction::commit`]; the index counts the operations that were added.
    pub async fn commit(self) -> Result<Vec<OperationOutcome>, TransactionError> {
        let Self { tenure, transaction } = self;
        let client = transaction.client().clone();
        let admit = || is_valid(&client, &tenure).then_some(()).ok_or(TransactionError::NotLeader);
        match transaction.commit_if(admit).await {
            Ok(mut results) => {
                results.remove(0);
                Ok(results)
            }
            Err(TransactionError::Refused { index: 0, code: ErrorCode::NO_NODE, .. }) => {
                Err(TransactionError::NotLeader)
            }
            Err(TransactionError::Refused { index, operation, path, code }) => {
                let index = index.saturating_sub(1);
                Err(TransactionError::Refused { index, operation, path, code })
            }
            Err(error) => Err(error),
        }
    }
}

/// Takes no lock.
fn is_valid(client: &Client, tenure: &Tenure) -> bool {
    client.shared().holds_lease() && tenure.lost().is_none()
}
