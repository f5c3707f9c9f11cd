//! Runs a leader's work, which ends before its leadership.

mod cancelled;
mod checks;
mod options;
mod report;
mod term;
mod well;
mod wellbeing;

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;

use tokio::time::timeout;

use super::inner::{LeadershipLost, WithdrawError};
use super::leadership::Leadership;
use super::nomination::Nomination;
use super::preferring::{BetterCandidate, GaveWay};
use super::status::{EndReason, LostReason, Role};
use crate::error::Place;
pub use cancelled::{CancelReason, Cancellation, Cancelled};
pub use checks::{CheckFailure, Checked, Checks, Condition, ConditionChange};
pub use options::{OnStepDownRequest, RunOptions};
pub use report::{Resignation, RunEnd, RunError, RunReport, Term, TermEnd, Terms, WorkEnd};
pub use well::RunWhileWellError;
use wellbeing::Wellbeing;

/// The step that errors name.
const RUN: &str = "run";

/// The end of a nomination's part in a run.
enum Stint {
    /// The run is over, and the nominee is to leave.
    Over(RunEnd),
    /// The nominee is unwell, and is to leave until it is well again.
    Unwell,
}

/// The first of the events that end a wait for the election.
enum Waited {
    Elected(Leadership),
    Shutdown,
    Unwell,
}

impl Nomination {
    /// Runs `work` in each term in which this nominee leads, until the work returns by itself, `shutdown`
    /// comes, or the nomination ends: [`Nomination::run_with`] with the options of [`RunOptions::new`], and
    /// what that says about spawning.
    ///
    /// # Errors
    ///
    /// The reason of the nomination's end, if it ended.
    pub async fn run<T>(
        self,
        shutdown: impl Future,
        work: impl AsyncFnMut(Leadership, Cancelled) -> T,
    ) -> Result<RunReport<T>, RunError<T>> {
        self.run_with(RunOptions::new(), shutdown, work).await
    }

    /// Runs `work` in each term in which this nominee leads, so that the work ends before the
    /// leadership:
    ///
    /// - Once the nominee is elected, this calls `work`, and polls it only while the leadership
    ///   stands. When the leadership is lost, it drops the work, as [`Leadership::guard`] does, and
    ///   by the default policy the nominee stands again.
    /// - At `shutdown`, and when a client asks the leader to step down, it cancels the work. The
    ///   work has the grace of the options to end, and is dropped after that. Only then is the
    ///   candidate deleted.
    /// - Once a better candidate is to lead ([`RunOptions::prefer`]), it cancels the work likewise, and steps
    ///   down for that one. If that has gone meanwhile, the work begins anew with the same token.
    /// - When the connection is lost, the work goes on by the default policy
    ///   ([`WhileSuspended`](super::WhileSuspended)). It is cancelled early enough to have the
    ///   grace, or half of what is left of the lease if that is less, before the lease deadline.
    /// - When the work returns without having been cancelled, the run ends.
    ///
    /// At its end it withdraws the nomination, and waits for that up to the bound of the options.
    ///
    /// Only the future of the work ends this way. Tasks that it has spawned and threads that it has
    /// started go on, `spawn_blocking` included: hand them a copy of [`Cancelled`], and wait for
    /// them before the work returns. Only [`Leadership::transaction`] and the
    /// [token](Leadership::token) fence what they write after the end.
    ///
    /// Dropping this future drops the work, and the nomination withdraws in the background.
    ///
    /// To spawn it, let the work own what it uses: `async move |leadership, cancelled| …`, with clones within.
    /// If the work borrows, rustc says "implementation of `Send` is not general enough" at the `spawn`.
    ///
    /// [`Election::run_while_well`](super::Election::run_while_well) does this with checks whether the nominee is
    /// well.
    ///
    /// # Errors
    ///
    /// The reason of the nomination's end, if it ended: an error that standing again does not
    /// repair (a refused authentication, no permission, no sequence number left, a closed client),
    /// or a loss if [`OnLoss`](crate::election::OnLoss) is set to end with it.
    pub async fn run_with<T>(
        mut self,
        options: RunOptions,
        shutdown: impl Future,
        mut work: impl AsyncFnMut(Leadership, Cancelled) -> T,
    ) -> Result<RunReport<T>, RunError<T>> {
        let mut shutdown = pin!(shutdown);
        let mut terms = Terms::new();
        let well = Wellbeing::Unchecked;
        let stint = self.stint((&options, &well), shutdown.as_mut(), &mut work, &mut terms).await;
        match stint {
            Ok(Stint::Over(end)) => self.conclude(end, options.resignation, terms).await,
            // None is unwell without a check.
            Ok(Stint::Unwell) => self.conclude(RunEnd::Shutdown, options.resignation, terms).await,
            Err(reason) => concluded(self.inner().place(RUN), reason, terms),
        }
    }

    /// Runs `work` in each term, until the run is over or the nominee is unwell. Its work has ended
    /// by then, and the nomination has not.
    async fn stint<T>(
        &mut self,
        (options, well): (&RunOptions, &Wellbeing),
        mut shutdown: Pin<&mut impl Future>,
        work: &mut impl AsyncFnMut(Leadership, Cancelled) -> T,
        terms: &mut Terms<T>,
    ) -> Result<Stint, EndReason> {
        loop {
            let leadership = match self.elected_before(shutdown.as_mut(), well).await? {
                Waited::Elected(leadership) => leadership,
                Waited::Shutdown => return Ok(Stint::Over(RunEnd::Shutdown)),
                Waited::Unwell => return Ok(Stint::Unwell),
            };
            let mut term = term::lead(&leadership, options, well, shutdown.as_mut(), work).await;
            if let TermEnd::HandedOver(better) = term.end {
                term.end = give_way(&leadership, better).await;
            }
            let end = term.end.clone();
            terms.push(term);
            match end {
                TermEnd::Finished => return Ok(Stint::Over(RunEnd::Finished)),
                TermEnd::Shutdown => return Ok(Stint::Over(RunEnd::Shutdown)),
                TermEnd::Unwell(_) => return Ok(Stint::Unwell),
                TermEnd::SteppedDown(_) => leadership.end_term(),
                TermEnd::HandedOver(_)
                | TermEnd::CandidateGone(_)
                | TermEnd::Suspended
                | TermEnd::Lost(_) => {}
            }
        }
    }

    /// Withdraws the nomination, and reports.
    async fn conclude<T>(
        self,
        end: RunEnd,
        longest: Duration,
        terms: Terms<T>,
    ) -> Result<RunReport<T>, RunError<T>> {
        let resignation = match timeout(longest, self.withdraw()).await {
            Ok(Ok(departure)) => Resignation::Done(departure),
            Ok(Err(error @ WithdrawError::Unconfirmed { .. })) => Resignation::Unconfirmed(error),
            Ok(Err(WithdrawError::AlreadyEnded { at, reason })) => {
                return Err(RunError { at, reason, terms });
            }
            Err(_) => Resignation::TimedOut,
        };
        Ok(RunReport { end, terms, resignation })
    }

    /// Waits until this nominee leads and has a connection, unless the shutdown comes first or the
    /// nominee is unwell.
    async fn elected_before(
        &mut self,
        mut shutdown: Pin<&mut impl Future>,
        well: &Wellbeing,
    ) -> Result<Waited, EndReason> {
        let mut elected = pin!(self.elected_and_connected());
        let mut unwell = pin!(well.unwell());
        poll_fn(|cx| {
            if shutdown.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(Waited::Shutdown));
            }
            if unwell.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(Waited::Unwell));
            }
            elected.as_mut().poll(cx).map_ok(Waited::Elected)
        })
        .await
    }

    async fn elected_and_connected(&mut self) -> Result<Leadership, EndReason> {
        loop {
            let leadership = self.elected().await.map_err(|ended| ended.reason)?;
            let mut status = leadership.updates();
            let is_suspended = |role: &Role| matches!(role, Role::Suspended { .. });
            if !is_suspended(&status.latest().role) {
                return Ok(leadership);
            }
            // The work of a term ends before its lease, so it does not begin while the lease is in
            // doubt.
            let _resumed_or_over = status.wait_for(|status| !is_suspended(&status.role)).await;
        }
    }
}

/// Steps down for a better candidate, now that the work has ended, if it still is the next.
async fn give_way(leadership: &Leadership, better: BetterCandidate) -> TermEnd {
    match leadership.step_down_for(&better).await {
        Ok(GaveWay::SteppedDown) => TermEnd::HandedOver(better),
        Ok(GaveWay::CandidateGone) => TermEnd::CandidateGone(better),
        Err(LeadershipLost { lost: LostReason::Suspended, .. }) => TermEnd::Suspended,
        Err(LeadershipLost { lost, .. }) => TermEnd::Lost(lost),
    }
}

/// Reports the end of a nomination that its run has not withdrawn.
fn concluded<T>(
    at: Place,
    reason: EndReason,
    terms: Terms<T>,
) -> Result<RunReport<T>, RunError<T>> {
    match reason {
        EndReason::Resigned(departure) => {
            let (end, resignation) = (RunEnd::Resigned, Resignation::Done(departure));
            Ok(RunReport { end, terms, resignation })
        }
        reason => Err(RunError { at, reason, terms }),
    }
}
