//! What callers ask of barriers, queues and counters, from the asking to its end.

use core::future::Future;

use tracing::field::Empty;
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Instrument as _, Level, Span, debug, debug_span};

use super::{BARRIER, COUNTER, QUEUE};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    Barrier,
    Queue,
    Counter,
}

/// The span of one operation: a child of the caller's span, that follows from that of the client. The spans
/// of the requests that the caller makes for it are its children. Nothing, if nobody listens.
#[derive(Debug)]
pub(crate) struct OperationSpan(Option<Box<(Asked, Span)>>);

impl OperationSpan {
    pub(crate) fn open(asked: Asked, operation: &'static str, path: &str, client: &Span) -> Self {
        // What `debug_span!` asks first: asked here, it spares the rest.
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

    /// Does `work` within it.
    pub(crate) async fn within<F: Future>(&self, work: F) -> F::Output {
        match &self.0 {
            Some(open) => work.instrument(open.1.clone()).await,
            None => work.await,
        }
    }

    /// It is over, in a way that has this name.
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

/// Its caller waits no longer.
impl Drop for OperationSpan {
    fn drop(&mut self) {
        self.tell("given_up");
    }
}
