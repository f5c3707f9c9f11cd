//! Leading: until when, and what may be done by it.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_core::{CandidateName, Departure, Token};
use tokio::time::Instant;
use zk_session::SessionEnd;

use super::inner::{NominationInner, WithdrawError, ended};
use super::status::{EndReason, LostReason, Role, Status};
use crate::client::{Client, TransactionError};
use crate::held::{GuardedTransaction, Held, Tenure};
use crate::updates::Updates;

/// The right to act, for as long as [`Leadership::is_valid`] says yes.
///
/// - If no two clocks differ in speed by more than the lease margin, a tenth by default, at most one process
///   sees `is_valid() == true`. The [grade](crate::LeaseGrade) says which failures of the ensemble that
///   survives: by default all.
/// - A write may arrive after that. Systems that refuse a [token](Leadership::token) smaller than one they have
///   seen, and [`Leadership::transaction`], let at most one leader be *effective*, whatever clocks do.
///
/// A clone is another handle of the same leadership. Dropping them does not resign: dropping the nomination
/// does, or [`Leadership::resign`].
#[derive(Clone, Debug)]
pub struct Leadership {
    nomination: Arc<NominationInner>,
    held: Held<LostReason>,
    status: Updates<Status>,
}

impl Leadership {
    pub(super) fn new(
        nomination: Arc<NominationInner>,
        tenure: Arc<Tenure<LostReason>>,
        status: Updates<Status>,
    ) -> Self {
        let client = nomination.client.clone();
        let path = nomination.settings.site.client_child(&tenure.znode);
        Self { nomination, held: Held { client, path, tenure }, status }
    }

    /// The fencing token: greater than that of every leader before, in this election. Hand it to
    /// the systems that this leader writes to, and let them refuse smaller ones.
    pub fn token(&self) -> Token {
        self.held.tenure.token
    }

    /// The name of the candidate znode by which this leadership is held.
    pub fn candidate(&self) -> &CandidateName {
        &self.held.tenure.znode
    }

    /// Says whether this nominee leads at this moment: the lease deadline lies ahead, and the leadership is
    /// not over. Asks the clock first, so a process that was paused reads "no" before anything else has
    /// noticed. Takes no lock and does no IO.
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Tells the lease deadline: no other nominee leads before it. It moves on with every proof. `None` if
    /// the leadership is over or the deadline has passed.
    ///
    /// This is on tokio's clock, which may stand still while the machine sleeps; ask
    /// [`Leadership::is_valid`] before acting.
    pub fn valid_until(&self) -> Option<Instant> {
        self.held.valid_until()
    }

    /// Tells the time to [`Leadership::valid_until`], for which no other nominee leads. Zero once the
    /// leadership is over or the deadline has passed.
    ///
    /// A bound for a piece of work: `timeout(leadership.remaining(), write).await`.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until the leadership is over, and tells why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LostReason {
        self.held.lost().await
    }

    /// Runs `work`: checks the lease before every poll, and drops `work` once the leadership is lost.
    ///
    /// Tasks that it spawned and blocking threads go on: have them ask [`Leadership::is_valid`] before each
    /// write, or, better, write by [`Leadership::transaction`] or with the [token](Leadership::token): a
    /// thread that is paused between its question and its write writes as a leader of the past.
    /// [`Nomination::run`](super::Nomination::run) tells the work to end before the lead does, so that it can
    /// wait for them.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// Why the leadership was lost, if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, LostReason> {
        self.held.guard(work).await
    }

    /// Starts a transaction that is applied only while the candidate znode of this leadership
    /// stands. It is not sent once the leadership is over, nor kept for later while there is no connection.
    pub fn transaction(&self) -> GuardedTransaction {
        self.held.transaction()
    }

    /// Asks the ensemble whether this leadership stands. Success says that a quorum agreed so at some moment
    /// between the call and the reply, and nothing of the time after that moment.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if it does not stand; otherwise as
    /// [`Transaction::commit`](crate::Transaction::commit), and nothing is known.
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

    /// Steps down: the leadership is over with the call, and the nomination is not. Its candidate is
    /// deleted, upon which the next nominee takes over, and it stands again with a new one, behind the
    /// others; [`Nomination::elected`](super::Nomination::elected) waits for its turn. Without others it
    /// leads again, with a greater token. By the policy [`OnLoss::End`](crate::OnLoss::End) it stands
    /// again, too. End the work first.
    ///
    /// Then waits until the new candidate stands: while the server is out of reach, that takes until it
    /// is back. If the leadership was over before, nothing is given up.
    ///
    /// Cancel safe: once polled, the leadership is over, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// How the nomination ended, if it did meanwhile.
    pub async fn step_down(self) -> Result<(), EndReason> {
        self.end_term();
        let own = self.candidate();
        let mut status = self.status.clone();
        let stands_again = |status: &Status| match (&status.role, &status.candidate) {
            (Role::Ended(_), _) => true,
            (_, candidate) => candidate.as_ref().is_some_and(|candidate| candidate != own),
        };
        match status.wait_for(stands_again).await {
            Ok(Status { role: Role::Ended(reason), .. }) => Err(reason),
            Ok(_) => Ok(()),
            Err(_) => Err(EndReason::ClientClosed(SessionEnd::Abandoned)),
        }
    }

    /// Has the next leader wait for the [lock delay](super::Election::lock_delay) in any case: for a leader that
    /// gives the leadership up although its work cannot be stopped. Otherwise to
    /// [resign](Leadership::resign), to [step down](Leadership::step_down) and to withdraw the nomination say
    /// that the work has ended, and spare the next leader the delay. This leads on, and ends nothing.
    ///
    /// Call it before the leadership is given up: it does nothing once that is over, nor without a lock delay.
    pub fn keep_lock_delay(&self) {
        self.nomination.keep_lock_delay(&self.held.tenure);
    }

    /// Gives the leadership up, to stand again behind the others; waits for nothing.
    pub(super) fn end_term(&self) {
        self.nomination.step_down(&self.held.tenure);
    }

    /// Whether the lease deadline lies ahead, if this is over or not.
    pub(super) fn holds_lease(&self) -> bool {
        self.client().shared().holds_lease()
    }

    /// The time to the lease deadline, if this is over or not.
    pub(super) fn lease_remaining(&self) -> Duration {
        self.client().shared().lease_remaining().unwrap_or_default()
    }

    /// The status of the nomination and its changes.
    pub(super) fn updates(&self) -> Updates<Status> {
        self.status.clone()
    }

    pub(super) const fn client(&self) -> &Client {
        &self.held.client
    }

    pub(super) fn nomination(&self) -> &NominationInner {
        &self.nomination
    }
}
