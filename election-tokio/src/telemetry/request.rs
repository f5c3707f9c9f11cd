//! Requests of callers, from being sent to their outcome.

use std::collections::BTreeMap;

use tracing::field::{Empty, display};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Level, Span, debug, debug_span, trace};
use zk_jute::{OpCode, Zxid};
use zk_session::{Failure, SubmitError};

use super::REQUEST;

/// Names a call; it is given again only after its reply came.
pub(crate) type CallKey = usize;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    Refused,
    ConnectionLoss,
    NotSent,
    GivenUp,
}

impl Outcome {
    #[inline]
    pub(crate) const fn of<T>(outcome: &Result<T, Failure>) -> Self {
        match outcome {
            Ok(_) | Err(Failure::ReplyTooLarge { .. }) => Self::Answered,
            Err(Failure::Refused(_)) => Self::Refused,
            Err(Failure::ConnectionLoss) => Self::ConnectionLoss,
            Err(Failure::NotSent) => Self::NotSent,
        }
    }
}

/// The spans of the calls that are under way, while somebody listens. Kept here, and not in the
/// futures of the calls, they cost next to nothing while nobody does.
#[derive(Debug, Default)]
pub(crate) struct RequestSpans(BTreeMap<CallKey, RequestSpan>);

/// The span of one request. Its methods run what a subscriber does: not under the lock of the hub.
#[derive(Debug)]
pub(crate) struct RequestSpan(Box<Span>);

impl RequestSpans {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn insert(&mut self, call: CallKey, span: RequestSpan) {
        self.0.insert(call, span);
    }

    #[inline]
    pub(crate) fn remove(&mut self, call: CallKey) -> Option<RequestSpan> {
        if self.0.is_empty() { None } else { self.0.remove(&call) }
    }
}

impl RequestSpan {
    /// Whether anybody may listen. What `debug_span!` asks first: asked here, it spares the rest.
    #[inline]
    pub(crate) fn may_be_heard() -> bool {
        Level::DEBUG <= STATIC_MAX_LEVEL && Level::DEBUG <= LevelFilter::current()
    }

    /// A child of the caller's span, that follows from that of the client. `None` if nobody listens.
    #[cold]
    pub(crate) fn open(operation: OpCode, path: &str, client: &Span) -> Option<Self> {
        let span = debug_span!(
            target: REQUEST,
            "zk_request",
            %operation,
            path,
            zxid = Empty,
            error = Empty
        );
        span.follows_from(client);
        (!span.is_disabled()).then(|| Self(Box::new(span)))
    }

    /// It was answered, or will not be.
    #[cold]
    pub(crate) fn finished(self, outcome: Result<Zxid, Failure>) {
        match outcome {
            Ok(zxid) => {
                self.0.record("zxid", display(zxid));
                trace!(target: REQUEST, parent: &*self.0, %zxid, "answered");
            }
            Err(error) => {
                self.0.record("error", display(error));
                debug!(target: REQUEST, parent: &*self.0, %error, "failed");
            }
        }
    }

    /// It was refused on this side.
    #[cold]
    pub(crate) fn not_sent(self, error: SubmitError) {
        self.0.record("error", display(error));
        debug!(target: REQUEST, parent: &*self.0, %error, "not sent");
    }

    /// Its caller waits no longer.
    #[cold]
    pub(crate) fn given_up(self) {
        debug!(target: REQUEST, parent: &*self.0, "given up");
    }
}
