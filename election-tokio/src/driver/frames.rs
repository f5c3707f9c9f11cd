//! Frames from the transport, many at a time.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use futures_core::Stream as _;
use zk_jute::Frames;

use crate::codec::{FrameCodec, Framing};

/// The most frames that are handed to the session under one lock.
pub(super) const BATCH: usize = 512;

pub(super) fn count(frames: &[Frames]) -> usize {
    frames.iter().map(ExactSizeIterator::len).sum()
}

/// Collects frames until the transport has no more for now, or a batch is full. Returns `Ready` if the
/// transport ended, with or without an error.
pub(super) fn poll_frames(
    framing: &mut Framing,
    frames: &mut Vec<Frames>,
    cx: &mut Context<'_>,
) -> Poll<Option<io::Error>> {
    FrameCodec::make_room(framing);
    while count(frames) < BATCH {
        match ready!(Pin::new(&mut *framing).poll_next(cx)) {
            Some(Ok(some)) => frames.push(some),
            Some(Err(error)) => return Poll::Ready(Some(error)),
            None => return Poll::Ready(None),
        }
    }
    Poll::Pending
}
