//! The time to free the memory that a burst has taken.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// The time for which memory must be unused before it is freed. It is freed after twice this time at
/// the latest.
const UNUSED: Duration = Duration::from_millis(400);

/// The memory beyond the need of an idle client. Without any, no timer runs.
#[derive(Default)]
pub(super) struct Slack {
    timer: Option<Timer>,
    usage: Usage,
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// The waker that the timer wakes.
    waker: Waker,
}

impl Timer {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.clone_from(cx.waker());
        self.sleep.as_mut().poll(cx)
    }

    /// Returns whether polling it would bring nothing new.
    fn waits_for(&self, waker: &Waker) -> bool {
        !self.sleep.is_elapsed() && self.waker.will_wake(waker)
    }
}

/// The use of the memory since the timer began.
#[derive(Clone, Copy, Default)]
enum Usage {
    #[default]
    Unused,
    Used,
}

impl Slack {
    /// Notes that bytes went in or out.
    pub(super) const fn was_used(&mut self) {
        self.usage = Usage::Used;
    }

    /// Notes that the bytes took more memory than an idle client needs.
    pub(super) fn was_taken(&mut self, cx: &mut Context<'_>) {
        if self.timer.is_none() {
            let mut timer = Timer { sleep: Box::pin(sleep(UNUSED)), waker: cx.waker().clone() };
            // The result is not missed: the driver polls the timer whenever an input has woken it.
            let _ = timer.poll(cx);
            self.timer = Some(timer);
        }
    }

    /// Returns `Ready` once the memory has to be freed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(timer) = &mut self.timer else {
            return Poll::Pending;
        };
        if timer.waits_for(cx.waker()) {
            return Poll::Pending;
        }
        ready!(timer.poll(cx));
        match core::mem::take(&mut self.usage) {
            Usage::Unused => {
                self.timer = None;
                Poll::Ready(())
            }
            Usage::Used => {
                timer.sleep.as_mut().reset(Instant::now() + UNUSED);
                timer.poll(cx)
            }
        }
    }
}
