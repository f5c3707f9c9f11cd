//! Leaderships: their lease, and what a leader may do.

use core::fmt;
use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_core::Token;
use election_core::election::Departure;
use election_core::name::CandidateName;
use tokio::time::Instant;
use zk_session::SessionEnd;

use super::inner::{LeadershipLost, NominationEnded, NominationInner, WithdrawError};
use super::status::{EndReason, LostReason, Role, Status};
use crate::client::{Client, TransactionError};
use crate::held::{Guard, GuardedTransaction, Held, Tenure};
use crate::updates::Updates;

/// The right to act, for as long as [`Leadership::is_valid`] returns true.
///
/// - If no two clocks differ in speed by more than the lease margin (10 % by default), at most one
///   process sees `is_valid() == true`. The [grade](crate::lease::LeaseGrade) says which failures of the
///   ensemble this survives: by default all.
/// - A write may arrive after that. If systems refuse a [token](Leadership::token) smaller than one
///   they have seen, or the leader writes by [`Leadership::transaction`], at most one leader is
///   *effective*, whatever the clocks do.
///
/// A clone is another handle of the same leadership. Dropping the handles does not resign: dropping
/// the nomination does, or [`Leadership::resign`].
#[derive(Clone)]
pub struct Leadership {
    nomination: NominationInner,
    held: Held<LostReason>,
    status: Updates<Status>,
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.held.show("Leadership", f)
    }
}

/// The steps that errors name.
const LEAD: &str = "lead";
const RESIGN: &str = "resign";
const STEP_DOWN: &str = "step down";

impl Leadership {
    pub(super) fn new(
        nomination: NominationInner,
        tenure: Arc<Tenure<LostReason>>,
        status: Updates<Status>,
    ) -> Self {
        let client = nomination.recipe.client().clone();
        let settings = &nomination.facts.settings;
        let (path, guard) = (settings.site.client_child(&tenure.znode), Guard::of(settings.format));
        Self { nomination, held: Held { client, path, guard, tenure }, status }
    }

    /// Returns the fencing token: greater than that of every earlier leader of this election. Hand
    /// it to the systems that this leader writes to, and let them refuse smaller ones.
    pub fn token(&self) -> Token {
        self.held.tenure.token
    }

    /// Returns the name of the candidate znode that holds this leadership.
    pub fn candidate(&self) -> &CandidateName {
        &self.held.tenure.znode
    }

    /// Returns whether this nominee leads at this moment: the lease deadline lies ahead, and the
    /// leadership is not over. It reads the clock first, so a process that was paused gets `false`
    /// before anything else has noticed. It takes no lock and does no IO.
    pub fn is_valid(&self) -> bool {
        self.held.is_valid()
    }

    /// Returns the lease deadline: no other nominee leads before it. It moves on with every proof.
    /// `None` if the leadership is over or the deadline has passed.
    ///
    /// It is a moment of tokio's clock, which may stand still while the machine sleeps. Call
    /// [`Leadership::is_valid`] before each act.
    pub fn valid_until(&self) -> Option<Instant> {
        self.held.valid_until()
    }

    /// Returns the time to [`Leadership::valid_until`]: no other nominee leads before it has
    /// passed. Zero once the leadership is over or the deadline has passed.
    ///
    /// Use it to bound a piece of work: `timeout(leadership.remaining(), write).await`.
    pub fn remaining(&self) -> Duration {
        self.held.remaining()
    }

    /// Waits until the leadership is over, and returns why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> LostReason {
        self.held.lost().await
    }

    /// Runs `work`. It checks the lease before every poll, and drops `work` once the leadership is
    /// lost.
    ///
    /// Tasks that `work` spawned and blocking threads go on. Let them call [`Leadership::is_valid`]
    /// before each write, or, better, write by [`Leadership::transaction`] or with the
    /// [token](Leadership::token): a thread that is paused between the call and the write still
    /// writes after its leadership. [`Nomination::run`](super::Nomination::run) tells the work to
    /// end before the leadership ends, so that the work can wait for its tasks.
    ///
    /// Cancel safe if `work` is.
    ///
    /// # Errors
    ///
    /// [`LeadershipLost`], if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, LeadershipLost> {
        self.held.guard(work).await.map_err(|lost| self.is_lost(lost))
    }

    /// Makes the error of what this leadership ends.
    fn is_lost(&self, lost: LostReason) -> LeadershipLost {
        LeadershipLost { at: self.nomination.place(LEAD), lost }
    }

    /// Waits until the leadership is over, and returns that as an error.
    pub(super) async fn loss(&self) -> LeadershipLost {
        self.is_lost(self.lost().await)
    }

    /// Starts a transaction that is applied only while the candidate znode of this leadership
    /// stands. It is not sent once the leadership is over, nor kept for later while there is no connection.
    ///
    /// In a format without ids in its names ([`Format::names_recur`](crate::format::Format::names_recur)) it is
    /// refused, with [`TransactionError::NamesRecur`]. There let the [epoch](Leadership::epoch) guard
    /// the write: a transaction of the client with `check(epoch.path(), epoch.version())`.
    pub fn transaction(&self) -> GuardedTransaction {
        self.held.transaction()
    }

    /// Asks the ensemble whether this leadership stands. Success means that a quorum agreed at some
    /// moment between the call and the reply. It says nothing of the time after that moment.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`TransactionError::NotHeld`] if it does not stand; otherwise as
    /// [`Transaction::commit`](crate::Transaction::commit), and nothing is known.
    pub async fn confirm(&self) -> Result<(), TransactionError> {
        self.held.confirm().await
    }

    /// Resigns. The leadership ends with the call, and so does its nomination. Then this waits
    /// until the candidate znode is gone; the next nominee then takes over. End the work first.
    ///
    /// Cancel safe: once polled, the leadership is over, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// As [`Nomination::withdraw`](super::Nomination::withdraw).
    pub async fn resign(self) -> Result<Departure, WithdrawError> {
        self.nomination.recipe.withdraw();
        self.nomination.withdrawn(RESIGN, self.status.clone()).await
    }

    /// Steps down. The leadership ends with the call, the nomination does not. Its candidate is
    /// deleted, so that the next nominee takes over. Then the nominee stands again with a new
    /// candidate, behind the others; [`Nomination::elected`](super::Nomination::elected) waits for
    /// its turn. Without others it leads again, with a greater token. With the policy
    /// [`OnLoss::End`](crate::election::OnLoss::End) it stands again, too. End the work first.
    ///
    /// This waits until the new candidate stands; if the server is out of reach, until it is back.
    /// If the leadership was over before, it gives nothing up.
    ///
    /// Cancel safe: once polled, the leadership is over, whether or not the future is dropped.
    ///
    /// # Errors
    ///
    /// [`NominationEnded`], if the nomination ended meanwhile.
    pub async fn step_down(self) -> Result<(), NominationEnded> {
        self.end_term();
        let own = self.candidate();
        let mut status = self.status.clone();
        let stands_again = |status: &Status| match (&status.role, &status.candidate) {
            (Role::Ended(_), _) => true,
            (_, candidate) => candidate.as_ref().is_some_and(|candidate| candidate != own),
        };
        let reason = match status.wait_for(stands_again).await {
            Ok(Status { role: Role::Ended(reason), .. }) => reason,
            Ok(_) => return Ok(()),
            Err(_) => EndReason::ClientClosed(SessionEnd::Abandoned),
        };
        Err(self.nomination.ended(STEP_DOWN, reason))
    }

    /// Makes the next leader wait for the [lock delay](super::Election::lock_delay) in any case. It
    /// is for a leader that gives the leadership up although it cannot stop its work. Without it,
    /// [resigning](Leadership::resign), [stepping down](Leadership::step_down) and withdrawing the
    /// nomination say that the work has ended, and spare the next leader the delay. This call ends
    /// nothing, and the leader leads on.
    ///
    /// Call it before the leadership is given up. It does nothing once the leadership is over, nor
    /// without a lock delay.
    pub fn keep_lock_delay(&self) {
        self.nomination.keep_lock_delay(&self.held.tenure);
    }

    /// Gives the leadership up, to stand again behind the others. It does not wait.
    pub(super) fn end_term(&self) {
        self.nomination.step_down(&self.held.tenure);
    }

    /// Returns whether the lease deadline lies ahead, even if the leadership is over.
    pub(super) fn holds_lease(&self) -> bool {
        self.client().shared().holds_lease()
    }

    /// Returns the time to the lease deadline, even if the leadership is over.
    pub(super) fn lease_remaining(&self) -> Duration {
        self.client().shared().lease_remaining().unwrap_or_default()
    }

    /// Returns the status of the nomination, with its changes.
    pub(super) fn updates(&self) -> Updates<Status> {
        self.status.clone()
    }

    /// Starts a transaction that is guarded by the candidate's name alone, which may recur.
    pub(super) fn transaction_by_name(&self) -> GuardedTransaction {
        self.held.transaction_by_name()
    }

    /// Returns what the candidate's name guards.
    pub(super) const fn guard_of_name(&self) -> Guard {
        self.held.guard
    }

    pub(super) const fn client(&self) -> &Client {
        &self.held.client
    }

    pub(super) fn nomination(&self) -> &NominationInner {
        &self.nomination
    }
}
