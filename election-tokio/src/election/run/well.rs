//! Runs a leader's work while the nominee is well.

use core::fmt::Display;
use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;

use election_core::election::Departure;
use tokio::sync::watch;
use tokio::time::timeout;
use zk_session::SessionEnd;

use super::RUN;
use super::cancelled::Cancelled;
use super::checks::Checks;
use super::options::RunOptions;
use super::report::{Resignation, RunEnd, RunError, RunReport, Terms};
use super::wellbeing::{Seen, Wellbeing};
use super::{Stint, concluded};
use crate::ConnectionState;
use crate::election::inner::WithdrawError;
use crate::election::leadership::Leadership;
use crate::election::nomination::Nomination;
use crate::election::status::EndReason;
use crate::election::{Election, ElectionError};

/// Why a run while the nominee is well has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunWhileWellError<T> {
    /// The nominee could not stand.
    #[error("{error}")]
    Election {
        /// The reason.
        error: ElectionError,
        /// The report on each term before.
        terms: Terms<T>,
    },
    /// The nomination ended against its will.
    #[error(transparent)]
    Ended(RunError<T>),
}

impl<T> From<RunError<T>> for RunWhileWellError<T> {
    fn from(error: RunError<T>) -> Self {
        Self::Ended(error)
    }
}

impl Election {
    /// Stands for election while the nominee is well, and runs `work` in each term in which it
    /// leads, as [`Nomination::run_with`] does:
    ///
    /// - It does not stand before the first check has passed.
    /// - A leader that is unwell ends its work as after a request to step down: the work is
    ///   cancelled, has the grace of the options, and is dropped after that. Then it withdraws.
    /// - A follower that is unwell withdraws. So a nominee that is unwell is never in the way of
    ///   those that are well, and leads not even if it is the only one.
    /// - Once as many checks in a row have passed as [`Checks::rise`] says, it stands again, behind
    ///   the others.
    ///
    /// At most [`Checks::bound`] passes from the moment from which each check would fail until the
    /// work is cancelled. The checks go on while the work runs, in the same task: let neither of them
    /// block the thread.
    ///
    /// ```no_run
    /// # async fn answers() -> Result<(), std::io::Error> { Ok(()) }
    /// # async fn shutdown_signal() {}
    /// # async fn example(client: election_tokio::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use core::time::Duration;
    /// use election_tokio::election::{Cancelled, Checks, Leadership, RunOptions};
    ///
    /// let checks = Checks::new(async || answers().await).every(Duration::from_secs(2));
    /// let work = async |_: Leadership, cancelled: Cancelled| drop(cancelled.wait().await);
    /// let election = client.election("/app/leader").data("host-7");
    /// election.run_while_well(checks, RunOptions::new(), shutdown_signal(), work).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Dropping this future drops the check and the work, and the nomination withdraws in the
    /// background.
    ///
    /// # Errors
    ///
    /// [`RunWhileWellError`]; also once the client is closed while the nominee is unwell.
    pub async fn run_while_well<T, E: Display>(
        &self,
        checks: Checks<impl AsyncFnMut() -> Result<(), E>>,
        options: RunOptions,
        shutdown: impl Future,
        work: impl AsyncFnMut(Leadership, Cancelled) -> T,
    ) -> Result<RunReport<T>, RunWhileWellError<T>> {
        let (sender, seen) = watch::channel(Seen::Nothing);
        let mut monitor = pin!(checks.monitor(|checked| {
            if let Some(seen) = Seen::of(checked) {
                sender.send_replace(seen);
            }
        }));
        let well = Wellbeing::Checked(seen);
        let mut run = pin!(self.run_watched(&well, options, shutdown, work));
        poll_fn(|cx| {
            // It never ends.
            let _pending = monitor.as_mut().poll(cx);
            run.as_mut().poll(cx)
        })
        .await
    }

    /// Waits until the nominee is well. Returns the end of the client, if that comes first: by a closed
    /// client it never stands again.
    async fn well_or_closed(&self, well: &Wellbeing) -> Result<(), EndReason> {
        let mut connection = self.spot.client.connection_updates();
        let is_closed = |state: &ConnectionState| matches!(state, ConnectionState::Closed { .. });
        let mut closed = pin!(connection.wait_for(is_closed));
        let mut well = pin!(well.well());
        poll_fn(|cx| {
            if well.as_mut().poll(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
            closed.as_mut().poll(cx).map(|state| match state {
                Ok(ConnectionState::Closed { end }) => Err(EndReason::ClientClosed(end)),
                _ => Err(EndReason::ClientClosed(SessionEnd::Abandoned)),
            })
        })
        .await
    }

    async fn run_watched<T>(
        &self,
        well: &Wellbeing,
        options: RunOptions,
        shutdown: impl Future,
        mut work: impl AsyncFnMut(Leadership, Cancelled) -> T,
    ) -> Result<RunReport<T>, RunWhileWellError<T>> {
        let mut shutdown = pin!(shutdown);
        let mut terms = Terms::new();
        let mut departure = Departure::NeverCreated;
        loop {
            match before(shutdown.as_mut(), self.well_or_closed(well)).await {
                Some(Ok(())) => {}
                Some(Err(reason)) => {
                    return Err(RunError { at: self.place(RUN), reason, terms }.into());
                }
                None => {
                    let (end, resignation) = (RunEnd::Shutdown, Resignation::Done(departure));
                    return Ok(RunReport { end, terms, resignation });
                }
            }
            let mut nomination = match self.nominate() {
                Ok(nomination) => nomination,
                Err(error) => return Err(RunWhileWellError::Election { error, terms }),
            };
            let stint =
                nomination.stint((&options, well), shutdown.as_mut(), &mut work, &mut terms).await;
            match stint {
                Ok(Stint::Over(end)) => {
                    return Ok(nomination.conclude(end, options.resignation, terms).await?);
                }
                Ok(Stint::Unwell) => {}
                Err(reason) => return Ok(concluded(self.place(RUN), reason, terms)?),
            }
            departure = match nomination.withdrawn(shutdown.as_mut(), &options).await {
                Left::Done(departure) => departure,
                Left::Ended(reason) => {
                    return Err(RunError { at: self.place(RUN), reason, terms }.into());
                }
                Left::Shutdown(resignation) => {
                    return Ok(RunReport { end: RunEnd::Shutdown, terms, resignation });
                }
            };
        }
    }
}

/// The end of a nomination whose nominee is unwell.
enum Left {
    Done(Departure),
    Ended(EndReason),
    /// The shutdown has come before a server has confirmed it.
    Shutdown(Resignation),
}

impl Nomination {
    /// Withdraws, and waits for it for as long as it takes: another candidate would stand beside the
    /// one that is owed a deletion.
    async fn withdrawn(self, shutdown: Pin<&mut impl Future>, options: &RunOptions) -> Left {
        let mut withdrawal = pin!(self.withdraw());
        let left = match before(shutdown, withdrawal.as_mut()).await {
            Some(left) => left,
            None => match timeout(options.resignation, withdrawal).await {
                Ok(Ok(departure)) => return Left::Shutdown(Resignation::Done(departure)),
                Ok(left) => left,
                Err(_) => return Left::Shutdown(Resignation::TimedOut),
            },
        };
        match left {
            Ok(departure) => Left::Done(departure),
            Err(WithdrawError::AlreadyEnded { reason, .. }) => Left::Ended(reason),
            Err(WithdrawError::Unconfirmed { end, .. }) => {
                Left::Ended(EndReason::ClientClosed(end))
            }
        }
    }
}

/// Waits for `awaited`. Returns `None` if the shutdown comes first.
async fn before<F: Future>(mut shutdown: Pin<&mut impl Future>, awaited: F) -> Option<F::Output> {
    let mut awaited = pin!(awaited);
    poll_fn(|cx| {
        if shutdown.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        awaited.as_mut().poll(cx).map(Some)
    })
    .await
}
