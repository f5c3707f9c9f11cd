//! Tells the work of a leader to end.

use tokio::sync::watch;
use tokio::time::Instant;

use crate::election::preferring::BetterCandidate;
use crate::election::status::LostReason;
use crate::election::step_down_request::StepDownRequested;

/// Tells the work of a leader that it has to end. Hand copies to tasks and threads that the work
/// starts: they go on when the work is dropped.
///
/// For code that takes a `CancellationToken`, cancel one when the work has to end:
///
/// ```
/// use election_tokio::election::Cancelled;
/// use tokio_util::sync::CancellationToken;
///
/// fn token_of(cancelled: &Cancelled) -> CancellationToken {
///     let (token, cancelled) = (CancellationToken::new(), cancelled.clone());
///     let guard = token.clone().drop_guard();
///     tokio::spawn(async move {
///         cancelled.wait().await;
///         drop(guard);
///     });
///     token
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Cancelled(watch::Receiver<Option<Cancellation>>);

/// Why the work has to end, and by when.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cancellation {
    /// The reason.
    pub reason: CancelReason,
    /// When the work is dropped at the latest. A loss of the leadership drops it earlier.
    pub deadline: Instant,
}

/// Why the work of a leader has to end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelReason {
    /// The `shutdown` of `run` has completed.
    Shutdown,
    /// A client asks this leader to step down, and its policy is to consent.
    StepDownRequested(StepDownRequested),
    /// The nominee is unwell, by its [`Checks`](crate::election::Checks), and is to withdraw. With the
    /// reason of the check that decided.
    Unwell(String),
    /// A better candidate is the next, and has stood for the time of
    /// [`PreferBetter`](crate::election::PreferBetter).
    BetterCandidate(BetterCandidate),
    /// The connection is lost, and either the policy is to stop at once or the lease deadline is
    /// near. The work begins anew if the session goes on.
    Suspended,
    /// The leadership is lost, and the work was dropped.
    Lost(LostReason),
    /// The future of `run` was dropped, and the work with it.
    Dropped,
}

/// The side that cancels. Dropping it cancels.
#[derive(Debug)]
pub(super) struct Canceller(watch::Sender<Option<Cancellation>>);

impl Canceller {
    pub(super) fn new() -> (Self, Cancelled) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Cancelled(receiver))
    }

    /// Cancels. The first reason stays.
    pub(super) fn cancel(&self, reason: CancelReason, deadline: Instant) {
        self.0.send_if_modified(|cancellation| {
            let is_first = cancellation.is_none();
            cancellation.get_or_insert(Cancellation { reason, deadline });
            is_first
        });
    }
}

impl Drop for Canceller {
    fn drop(&mut self) {
        self.cancel(CancelReason::Dropped, Instant::now());
    }
}

impl Cancelled {
    /// Returns whether the work has to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Returns why and by when the work has to end, if it has to.
    pub fn cancellation(&self) -> Option<Cancellation> {
        self.0.borrow().clone()
    }

    /// Waits until the work has to end, and returns why and by when; at once if it has to already.
    ///
    /// Cancel safe: it changes nothing.
    pub async fn wait(&self) -> Cancellation {
        let mut receiver = self.0.clone();
        let cancelled = receiver.wait_for(Option::is_some).await;
        let cancellation = cancelled.ok().and_then(|cancellation| (*cancellation).clone());
        // A canceller gives its reason before it is dropped.
        let dropped = || Cancellation { reason: CancelReason::Dropped, deadline: Instant::now() };
        cancellation.unwrap_or_else(dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_first_reason_to_cancel_stays() {
        let (canceller, heard) = Canceller::new();
        assert_eq!((heard.is_cancelled(), heard.cancellation()), (false, None));
        let deadline = Instant::now();
        canceller.cancel(CancelReason::Shutdown, deadline);
        canceller.cancel(CancelReason::Suspended, deadline);
        drop(canceller);
        let expected = Cancellation { reason: CancelReason::Shutdown, deadline };
        assert_eq!(heard.wait().await, expected);
        assert_eq!(heard.cancellation(), Some(expected));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_dropped_cancels() {
        let (canceller, heard) = Canceller::new();
        let waits = tokio::spawn({
            let heard = heard.clone();
            async move { heard.wait().await.reason }
        });
        tokio::task::yield_now().await;
        drop(canceller);
        assert_eq!(waits.await.ok(), Some(CancelReason::Dropped));
        assert!(heard.is_cancelled());
    }
}
