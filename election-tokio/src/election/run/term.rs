//! One term: the work of a leader, from its beginning to its end, which comes before the end of the
//! leadership.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::Poll;
use core::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::cancelled::{CancelReason, Cancelled, Canceller};
use super::options::{OnStepDownRequest, RunOptions};
use super::report::{Term, TermEnd, WorkEnd};
use super::wellbeing::Wellbeing;
use crate::election::inner::LeadershipLost;
use crate::election::leadership::Leadership;
use crate::election::preferring::{BetterCandidate, PreferBetter};
use crate::election::status::{LostReason, Role, Status};
use crate::election::step_down_request::StepDownRequested;

/// Why work that has not returned has to end.
enum Ending {
    Shutdown,
    StepDown(StepDownRequested),
    /// The nominee is unwell, for this reason.
    Unwell(String),
    Better(BetterCandidate),
    /// The lease runs out, or the connection is lost and the policy is to stop then.
    Suspended,
}

/// The event that came first.
enum First<T> {
    Returned(T),
    Ending(Ending),
}

/// Runs the work until it returns, or has to end and has ended.
pub(super) async fn lead<T>(
    leadership: &Leadership,
    options: &RunOptions,
    well: &Wellbeing,
    shutdown: Pin<&mut impl Future>,
    work: &mut impl AsyncFnMut(Leadership, Cancelled) -> T,
) -> Term<T> {
    let token = leadership.token();
    let (canceller, heard) = Canceller::new();
    let mut work = pin!(work(leadership.clone(), heard));
    let first = first(leadership, options, well, shutdown, work.as_mut());
    let first = leadership.guard(first).await;
    let ending = match first {
        Ok(First::Returned(value)) => {
            return Term { token, end: TermEnd::Finished, work: WorkEnd::Returned(value) };
        }
        Ok(First::Ending(ending)) => ending,
        Err(LeadershipLost { lost: LostReason::Suspended, .. }) => Ending::Suspended,
        Err(LeadershipLost { lost, .. }) => {
            canceller.cancel(CancelReason::Lost(lost), Instant::now());
            return Term { token, end: TermEnd::Lost(lost), work: WorkEnd::Dropped };
        }
    };
    let until = match &ending {
        Ending::Suspended => grace_of(leadership, options.grace).1,
        Ending::Shutdown | Ending::StepDown(_) | Ending::Unwell(_) | Ending::Better(_) => {
            later(options.grace)
        }
    };
    let (reason, end) = match ending {
        Ending::Shutdown => (CancelReason::Shutdown, TermEnd::Shutdown),
        Ending::StepDown(request) => {
            let reason = CancelReason::StepDownRequested(request.clone());
            (reason, TermEnd::SteppedDown(request))
        }
        Ending::Unwell(reason) => (CancelReason::Unwell(reason.clone()), TermEnd::Unwell(reason)),
        Ending::Better(better) => {
            (CancelReason::BetterCandidate(better.clone()), TermEnd::HandedOver(better))
        }
        Ending::Suspended => (CancelReason::Suspended, TermEnd::Suspended),
    };
    canceller.cancel(reason, until);
    let work = wind_down(leadership, until, work).await;
    if !matches!(work, WorkEnd::Returned(_)) {
        leadership.keep_lock_delay();
    }
    Term { token, end, work }
}

/// Waits for the first event of a term. The shutdown has precedence, then the work.
async fn first<T>(
    leadership: &Leadership,
    options: &RunOptions,
    well: &Wellbeing,
    mut shutdown: Pin<&mut impl Future>,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> First<T> {
    let mut asked = pin!(asked(leadership, options.on_step_down_request));
    let mut unwell = pin!(well.unwell());
    let mut better = pin!(better(leadership, &options.prefer));
    let mut runs_out = pin!(lease_runs_out(leadership, options.grace));
    poll_fn(|cx| {
        if shutdown.as_mut().poll(cx).is_ready() {
            return Poll::Ready(First::Ending(Ending::Shutdown));
        }
        if let Poll::Ready(value) = work.as_mut().poll(cx) {
            return Poll::Ready(First::Returned(value));
        }
        if let Poll::Ready(request) = asked.as_mut().poll(cx) {
            return Poll::Ready(First::Ending(Ending::StepDown(request)));
        }
        if let Poll::Ready(reason) = unwell.as_mut().poll(cx) {
            return Poll::Ready(First::Ending(Ending::Unwell(reason)));
        }
        if let Poll::Ready(better) = better.as_mut().poll(cx) {
            return Poll::Ready(First::Ending(Ending::Better(better)));
        }
        runs_out.as_mut().poll(cx).map(|()| First::Ending(Ending::Suspended))
    })
    .await
}

async fn asked(leadership: &Leadership, policy: OnStepDownRequest) -> StepDownRequested {
    match policy {
        OnStepDownRequest::Consent => match leadership.step_down_requests().next_ready().await {
            Ok(request) => request,
            // The end of the leadership is noticed elsewhere.
            Err(_) => core::future::pending().await,
        },
        OnStepDownRequest::LeaveToWork => core::future::pending().await,
    }
}

/// Waits until a better candidate is the next. The end of the leadership is noticed elsewhere.
async fn better(leadership: &Leadership, prefer: &PreferBetter) -> BetterCandidate {
    if !matches!(prefer, PreferBetter::Never) {
        // Boxed, since it is large, and most leaders have no preference.
        if let Ok(better) = Box::pin(leadership.better_candidate(prefer)).await {
            return better;
        }
    }
    core::future::pending().await
}

/// Waits until the work of a suspended leader has to be cancelled, so that it has a grace before the lease
/// deadline.
async fn lease_runs_out(leadership: &Leadership, grace: Duration) {
    let mut status = leadership.updates();
    loop {
        if !is_suspended(&status.latest_and_update()) {
            if status.next().await.is_none() {
                return core::future::pending().await;
            }
            continue;
        }
        let (cancel_at, _) = grace_of(leadership, grace);
        let mut due = pin!(sleep_until(cancel_at));
        let mut resumed = pin!(status.wait_for(|status| !is_suspended(status)));
        let is_due = poll_fn(|cx| {
            if resumed.as_mut().poll(cx).is_ready() {
                return Poll::Ready(false);
            }
            due.as_mut().poll(cx).map(|()| true)
        });
        if is_due.await {
            return;
        }
    }
}

/// Returns when to cancel the work of a suspended leader at the latest, and when to drop it if it
/// is cancelled now.
fn grace_of(leadership: &Leadership, grace: Duration) -> (Instant, Instant) {
    let now = Instant::now();
    let remaining = leadership.lease_remaining();
    let cancel_in = remaining.saturating_sub(grace.min(remaining / 2));
    (now + cancel_in, now + grace.min(remaining))
}

/// Lets cancelled work go on while the leadership stands, until it ends or has to.
async fn wind_down<T>(
    leadership: &Leadership,
    until: Instant,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> WorkEnd<T> {
    let token = leadership.token();
    let leads = |status: &Status| match status.role {
        Role::Leading { token: held } | Role::Suspended { token: held, .. } => held == token,
        _ => false,
    };
    let mut status = leadership.updates();
    let mut lost = pin!(status.wait_for(|status| !leads(status)));
    let mut due = pin!(sleep_until(until));
    poll_fn(|cx| {
        if !leadership.holds_lease() || lost.as_mut().poll(cx).is_ready() {
            return Poll::Ready(WorkEnd::Dropped);
        }
        if let Poll::Ready(value) = work.as_mut().poll(cx) {
            return Poll::Ready(WorkEnd::Returned(value));
        }
        due.as_mut().poll(cx).map(|()| WorkEnd::GraceExceeded)
    })
    .await
}

const fn is_suspended(status: &Status) -> bool {
    matches!(status.role, Role::Suspended { .. })
}

fn later(grace: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    Instant::now() + grace.min(FAR)
}
