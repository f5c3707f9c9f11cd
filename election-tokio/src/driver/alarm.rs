//! The timer of a driver, by the session's clock.

use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock::{Clock, Reading};

/// Wakes the driver at a time of the session's clock.
pub(super) struct Alarm {
    timer: Pin<Box<Sleep>>,
    at: zk_session::Instant,
    /// How long the machine had slept when the timer was set. If that grows, the timer is late.
    set_by: Reading,
    /// The waker that the timer has.
    waker: Option<Waker>,
}

impl Alarm {
    /// Makes an alarm that is due at once.
    pub(super) fn new(clock: &Clock) -> Self {
        Self {
            timer: Box::pin(sleep_until(Instant::now())),
            at: zk_session::Instant::ORIGIN,
            set_by: clock.read(),
            waker: None,
        }
    }

    /// Returns whether it is due.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, now: Reading) -> Poll<()> {
        if self.at <= now.time() || self.timer.is_elapsed() {
            return Poll::Ready(());
        }
        // The timer is polled only if it does not have this waker yet.
        match &self.waker {
            Some(waker) if waker.will_wake(cx.waker()) => Poll::Pending,
            _ => self.poll_timer(cx),
        }
    }

    /// Sets it to this time, which may be in the past.
    pub(super) fn set(
        &mut self,
        cx: &mut Context<'_>,
        clock: &Clock,
        at: zk_session::Instant,
        now: Reading,
    ) -> Poll<()> {
        self.timer.as_mut().reset(clock.to_tokio(at));
        (self.at, self.set_by) = (at, now);
        self.poll_timer(cx)
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker = Some(cx.waker().clone());
        self.timer.as_mut().poll(cx)
    }

    /// Returns whether it goes off by then.
    pub(super) fn is_due_by(&self, at: zk_session::Instant) -> bool {
        self.at <= at
    }

    pub(super) fn deadline(&self) -> Instant {
        self.timer.deadline()
    }

    /// Returns whether it would be too late for this time.
    pub(super) fn is_late_for(&self, at: zk_session::Instant, now: Reading) -> bool {
        at < self.at || !self.set_by.is_same_sleep(now)
    }
}

#[cfg(test)]
mod tests {
    use core::future::poll_fn;
    use core::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_wakes_at_the_time_that_it_was_set_to_last() {
        let clock = Clock::start(None);
        let mut alarm = Alarm::new(&clock);
        let start = clock.read();
        poll_fn(|cx| alarm.poll(cx, start)).await;
        for seconds in [10, 5] {
            let at = start.time() + Duration::from_secs(seconds);
            let set = poll_fn(|cx| Poll::Ready(alarm.set(cx, &clock, at, start))).await;
            assert!(set.is_pending());
        }
        assert!(alarm.is_late_for(start.time() + Duration::from_secs(4), start));
        assert!(!alarm.is_late_for(start.time() + Duration::from_secs(5), start));
        poll_fn(|cx| alarm.poll(cx, clock.read())).await;
        let passed = clock.read().time().saturating_since(start.time());
        assert_eq!(passed.as_secs(), 5);
        let set = poll_fn(|cx| Poll::Ready(alarm.set(cx, &clock, start.time(), start))).await;
        assert!(set.is_ready(), "the time has come already");
    }
}
