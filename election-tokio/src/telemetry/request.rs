//! One request of a caller, from its making to its outcome.

use tracing::field::{Empty, display};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Level, Span, debug, debug_span, trace};
use zk_jute::OpCode;
use zk_session::{Completion, Failure, SubmitError};

use super::REQUEST;
use super::metrics::RequestMeter;

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
    pub(crate) const fn of(outcome: &Result<Completion, Failure>) -> Self {
        match outcome {
            Ok(_) => Self::Answered,
            Err(Failure::Refused(_)) => Self::Refused,
            Err(Failure::ConnectionLoss) => Self::ConnectionLoss,
            Err(Failure::NotSent) => Self::NotSent,
        }
    }
}

/// Sees one request through. While nobody listens it is a null pointer, and nothing else.
#[derive(Debug)]
pub(crate) struct RequestObserver {
    /// In a box, so that the future of a request does not grow by a span.
    span: Option<Box<Span>>,
    meter: RequestMeter,
}

impl RequestObserver {
    /// `client` is the span of the client. That of the request is a child of the caller's, and
    /// follows from it.
    #[inline]
    pub(crate) fn start(operation: OpCode, path: &str, client: &Span) -> Self {
        // What `debug_span!` asks first. Asked here, it spares the rest of it.
        let heard = Level::DEBUG <= STATIC_MAX_LEVEL && Level::DEBUG <= LevelFilter::current();
        let span = if heard { open(operation, path, client) } else { None };
        Self { span, meter: RequestMeter::start(operation) }
    }

    /// It was answered, or will not be.
    #[inline]
    pub(crate) fn finished(&self, outcome: &Result<Completion, Failure>) {
        self.meter.finished(Outcome::of(outcome));
        if let Some(span) = &self.span {
            close(span, outcome);
        }
    }

    /// It was refused on this side.
    #[cold]
    pub(crate) fn not_sent(&self, error: SubmitError) {
        self.meter.finished(Outcome::NotSent);
        if let Some(span) = &self.span {
            span.record("error", display(error));
            debug!(target: REQUEST, parent: &**span, %error, "not sent");
        }
    }

    /// Its caller waits no longer.
    #[cold]
    pub(crate) fn given_up(&self) {
        self.meter.finished(Outcome::GivenUp);
        if let Some(span) = &self.span {
            debug!(target: REQUEST, parent: &**span, "given up");
        }
    }
}

#[cold]
fn open(operation: OpCode, path: &str, client: &Span) -> Option<Box<Span>> {
    let span = debug_span!(
        target: REQUEST,
        "zk_request",
        %operation,
        path,
        zxid = Empty,
        error = Empty
    );
    span.follows_from(client);
    (!span.is_disabled()).then(|| Box::new(span))
}

#[cold]
fn close(span: &Span, outcome: &Result<Completion, Failure>) {
    match outcome {
        Ok(Completion { zxid, .. }) => {
            span.record("zxid", display(zxid));
            trace!(target: REQUEST, parent: span, %zxid, "answered");
        }
        Err(error) => {
            span.record("error", display(error));
            debug!(target: REQUEST, parent: span, %error, "failed");
        }
    }
}
