//! When to free the memory that a burst has taken.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// How long memory must be unused before it is freed; at the latest it is freed after twice this
/// time.
const UNUSED: Duration = Duration::from_millis(400);

/// Whether the client holds more memory than it needs while idle. If not, no timer runs.
#[derive(Default)]
pub(super) struct Slack {
    timer: Option<Timer>,
    usage: Usage,
}

struct Timer {
    sleep: Pin<Box<Sleep>>,
    /// What it wakes.
    waker: Waker,
}

impl Timer {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.clone_from(cx.waker());
        self.sleep.as_mut().poll(cx)
    }

    /// Whether it is not worth to be asked.
    fn waits_for(&self, waker: &Waker) -> bool {
        !self.sleep.is_elapsed() && self.waker.will_wake(waker)
    }
}

/// Whether the memory was used since the timer began.
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

    /// Notes that they took more memory than an idle client needs.
    pub(super) fn was_taken(&mut self, cx: &mut Context<'_>) {
        if self.timer.is_none() {
            let mut timer = Timer { sleep: Box::pin(sleep(UNUSED)), waker: cx.waker().clone() };
            // Nothing is missed: the driver looks at it whenever an input has woken it.
            let _ = timer.poll(cx);
            self.timer = Some(timer);
        }
    }

    /// Ready once the memory has to be freed.
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
