//! Futures that are polled once, and not waited for.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// Returns the output of a future that is ready.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}
