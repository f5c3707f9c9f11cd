//! Runs a leader's work, which ends before its leadership.

mod cancelled;
mod options;
mod report;
mod term;

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;

use tokio::time::timeout;

use super::inner::WithdrawError;
use super::leadership::Leadership;
use super::nomination::Nomination;
use super::status::{EndReason, Role};
pub use cancelled::{CancelReason, Cancellation, Cancelled};
pub use options::{OnStepDownRequest, RunOptions};
pub use report::{Resignation, RunEnd, RunError, RunReport, Term, TermEnd, Terms, WorkEnd};

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
        let end = loop {
            let leadership = match self.elected_before(shutdown.as_mut()).await {
                Ok(Some(leadership)) => leadership,
                Ok(None) => break RunEnd::Shutdown,
                Err(EndReason::Resigned(departure)) => {
                    let (end, resignation) = (RunEnd::Resigned, Resignation::Done(departure));
                    return Ok(RunReport { end, terms, resignation });
                }
                Err(reason) => return Err(RunError { reason, terms }),
            };
            let term = term::lead(&leadership, &options, shutdown.as_mut(), &mut work).await;
            let end = term.end.clone();
            terms.push(term);
            match end {
                TermEnd::Finished => break RunEnd::Finished,
                TermEnd::Shutdown => break RunEnd::Shutdown,
                TermEnd::SteppedDown(_) => leadership.end_term(),
                TermEnd::Suspended | TermEnd::Lost(_) => {}
            }
        };
        let resignation = match timeout(options.resignation, self.withdraw()).await {
            Ok(Ok(departure)) => Resignation::Done(departure),
            Ok(Err(error @ WithdrawError::Unconfirmed(_))) => Resignation::Unconfirmed(error),
            Ok(Err(WithdrawError::AlreadyEnded(reason))) => {
                return Err(RunError { reason, terms });
            }
            Err(_) => Resignation::TimedOut,
        };
        Ok(RunReport { end, terms, resignation })
    }

    /// Waits until this nominee leads and has a connection. Returns `None` if the shutdown comes
    /// first.
    async fn elected_before(
        &mut self,
        mut shutdown: Pin<&mut impl Future>,
    ) -> Result<Option<Leadership>, EndReason> {
        let mut elected = pin!(self.elected_and_connected());
        poll_fn(|cx| {
            if shutdown.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(None));
            }
            elected.as_mut().poll(cx).map_ok(Some)
        })
        .await
    }

    async fn elected_and_connected(&mut self) -> Result<Leadership, EndReason> {
        loop {
            let leadership = self.elected().await?;
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
