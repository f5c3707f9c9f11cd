//! The timer of a driver, set by the session's clock.

use core::future::Future as _;
use core::pin::Pin;
use core::task::{Context, Waker};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::clock::{Clock, Reading};

/// Wakes the driver when the session's clock shows a time.
pub(super) struct Alarm {
    timer: Pin<Box<Sleep>>,
    at: zk_session::Instant,
    /// How long the machine had slept when the timer was set: once that is more, the timer is late.
    set_by: Reading,
    /// What the timer wakes.
    waker: Option<Waker>,
}

impl Alarm {
    /// It is due at once.
    pub(super) fn new(clock: &Clock) -> Self {
        Self {
            timer: Box::pin(sleep_until(Instant::now())),
            at: zk_session::Instant::ORIGIN,
            set_by: clock.read(),
            waker: None,
        }
    }

    /// Whether it is due; wakes the task when it is.
    pub(super) fn poll_due(&mut self, cx: &mut Context<'_>, now: Reading) -> bool {
        if self.at <= now.time() || self.timer.is_elapsed() {
            return true;
        }
        // The timer is asked only for what it does not know yet.
        if self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            return false;
        }
        self.waker = Some(cx.waker().clone());
        self.timer.as_mut().poll(cx).is_ready()
    }

    /// Sets it to this time.
    pub(super) fn set(&mut self, clock: &Clock, at: zk_session::Instant, now: Reading) {
        self.timer.as_mut().reset(clock.to_tokio(at));
        (self.at, self.set_by, self.waker) = (at, now, None);
    }

    pub(super) fn deadline(&self) -> Instant {
        self.timer.deadline()
    }

    /// Whether it would be due too late for this time.
    pub(super) fn is_late_for(&self, at: zk_session::Instant, now: Reading) -> bool {
        at < self.at || !self.set_by.is_same_sleep(now)
    }
}
