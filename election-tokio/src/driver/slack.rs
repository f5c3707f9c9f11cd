//! When to free the memory that a burst has taken.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// How long memory must be unused before it is freed; at the latest it is freed after twice this
/// time.
const UNUSED: Duration = Duration::from_millis(400);

/// Whether the client holds more memory than it needs while idle. If not, no timer runs.
#[derive(Default)]
pub(super) struct Slack {
    timer: Option<Pin<Box<Sleep>>>,
    usage: Usage,
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
            let mut timer = Box::pin(sleep(UNUSED));
            // Nothing is missed: it is polled again whenever the driver is.
            let _ = timer.as_mut().poll(cx);
            self.timer = Some(timer);
        }
    }

    /// Ready once the memory has to be freed.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(timer) = &mut self.timer else {
            return Poll::Pending;
        };
        ready!(timer.as_mut().poll(cx));
        match core::mem::take(&mut self.usage) {
            Usage::Unused => {
                self.timer = None;
                Poll::Ready(())
            }
            Usage::Used => {
                timer.as_mut().reset(Instant::now() + UNUSED);
                timer.as_mut().poll(cx)
            }
        }
    }
}
