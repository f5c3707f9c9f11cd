//! Requests of callers, from sending to their outcome.

use std::collections::BTreeMap;

use tracing::field::{Empty, display};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Level, Span, debug, debug_span, trace};
use zk_jute::{OpCode, Zxid};
use zk_session::{Failure, SubmitError};

use super::REQUEST;

/// The key of a call. It is used again only after its reply has come.
pub(crate) type CallKey = usize;

/// The outcome of a request.
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

/// The spans of the calls in flight, while there is a subscriber. They are kept here, and not in
/// the futures of the calls, so they cost next to nothing without a subscriber.
#[derive(Debug, Default)]
pub(crate) struct RequestSpans(BTreeMap<CallKey, RequestSpan>);

/// The span of a request. Its methods run the subscriber's code, so do not call them under the lock
/// of the hub.
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
    /// Returns whether there may be a subscriber. `debug_span!` checks this first; checking it here
    /// saves the rest.
    #[inline]
    pub(crate) fn may_be_heard() -> bool {
        Level::DEBUG <= STATIC_MAX_LEVEL && Level::DEBUG <= LevelFilter::current()
    }

    /// Opens a child of the caller's span, that follows from that of the client. `None` without a
    /// subscriber.
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

    /// Records the answer, or that there will be none.
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

    /// Records that it was refused on this side.
    #[cold]
    pub(crate) fn not_sent(self, error: SubmitError) {
        self.0.record("error", display(error));
        debug!(target: REQUEST, parent: &*self.0, %error, "not sent");
    }

    /// Records that the caller has stopped waiting.
    #[cold]
    pub(crate) fn given_up(self) {
        debug!(target: REQUEST, parent: &*self.0, "given up");
    }
}
