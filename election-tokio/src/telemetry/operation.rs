//! Operations on barriers, queues and counters, from the call to the end.

use core::future::Future;

use tracing::field::Empty;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Instrument as _, Level, Span, debug, debug_span};

use super::{BARRIER, COUNTER, QUEUE};

/// The kind of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    Barrier,
    Queue,
    Counter,
}

/// The span of an operation: a child of the caller's span, that follows from that of the client.
/// The spans of its requests are its children. `None` without a subscriber.
#[derive(Debug)]
pub(crate) struct OperationSpan(Option<Box<(Asked, Span)>>);

impl OperationSpan {
    pub(crate) fn open(asked: Asked, operation: &'static str, path: &str, client: &Span) -> Self {
        // `debug_span!` checks this first. Checking it here saves the rest.
        if Level::DEBUG > STATIC_MAX_LEVEL || Level::DEBUG > LevelFilter::current() {
            return Self(None);
        }
        let span = match asked {
            Asked::Barrier => {
                debug_span!(target: BARRIER, "zk_barrier", operation, path, outcome = Empty)
            }
            Asked::Queue => {
                debug_span!(target: QUEUE, "zk_queue", operation, path, outcome = Empty)
            }
            Asked::Counter => {
                debug_span!(target: COUNTER, "zk_counter", operation, path, outcome = Empty)
            }
        };
        span.follows_from(client);
        Self((!span.is_disabled()).then(|| Box::new((asked, span))))
    }

    /// Runs `work` within the span.
    pub(crate) async fn within<F: Future>(&self, work: F) -> F::Output {
        match &self.0 {
            Some(open) => work.instrument(open.1.clone()).await,
            None => work.await,
        }
    }

    /// Records the end, with the name of its outcome.
    pub(crate) fn finished(&mut self, outcome: &'static str) {
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: &'static str) {
        let Some(open) = self.0.take() else {
            return;
        };
        let (asked, span) = *open;
        span.record("outcome", outcome);
        match asked {
            Asked::Barrier => debug!(target: BARRIER, parent: &span, outcome, "ended"),
            Asked::Queue => debug!(target: QUEUE, parent: &span, outcome, "ended"),
            Asked::Counter => debug!(target: COUNTER, parent: &span, outcome, "ended"),
        }
    }
}

/// Records that the caller has stopped waiting.
impl Drop for OperationSpan {
    fn drop(&mut self) {
        self.tell("given_up");
    }
}
