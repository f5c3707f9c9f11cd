//! The first loss among several locks.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::Poll;

use super::error::LocksLost;
use crate::lock::{HOLD, LockGuard, LockLost};

/// A future among several of different holders.
pub(super) type Boxed<'h, T> = Pin<Box<dyn Future<Output = T> + Send + 'h>>;

/// Runs `work` until one of the locks is lost. Cancel safe if `work` is.
///
/// # Errors
///
/// The loss, if that came first.
pub(super) async fn unless_lost<F: Future>(
    held: &[(String, LockGuard)],
    work: F,
) -> Result<F::Output, LocksLost> {
    let mut work = pin!(work);
    let mut losses: Vec<Boxed<'_, LockLost>> = Vec::new();
    for (_, guard) in held {
        losses.push(Box::pin(guard.lost()));
    }
    core::future::poll_fn(|cx| {
        for ((_, guard), loss) in held.iter().zip(&mut losses) {
            guard.held.notice_lapse();
            if let Poll::Ready(lost) = loss.as_mut().poll(cx) {
                return Poll::Ready(Err(LocksLost { at: guard.place(HOLD), lost }));
            }
        }
        work.as_mut().poll(cx).map(Ok)
    })
    .await
}
