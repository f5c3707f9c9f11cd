//! Splits a stream of bytes into frames.

use bytes::{Buf, Bytes, BytesMut};

use crate::frame::{FrameError, frame_len};

/// Bytes of the length before each frame.
const FRAME_HEAD: usize = 4;

/// How many bytes of a frame above the limit are kept: the length of a reply's header.
const KEPT: usize = 16;

/// The most frames at once. It bounds the caller's work on them, perhaps under a lock.
const MOST: usize = 512;

/// Takes frames from the front of a stream of bytes, of one connection.
///
/// It keeps only the head of a frame above the limit, and reads past the rest. So the caller can
/// fail the request that waits for it, and does not lose the frames behind it.
#[derive(Clone, Debug, Default)]
pub struct FrameSplitter {
    /// Bytes of a frame above the limit that are still to come.
    to_skip: usize,
}

/// Frames that came one after the other, as an iterator. It is not empty at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Whole ones, with their lengths.
    whole: Bytes,
    count: usize,
    /// The last one.
    oversized: Option<Oversized>,
}

impl Frames {
    /// Returns the bytes of the frames that are left, as they were sent: with their lengths, and
    /// with the parts that were not kept.
    pub fn sent_len(&self) -> usize {
        let oversized = self.oversized.as_ref().map_or(0, |frame| FRAME_HEAD + frame.length);
        self.whole.len().saturating_add(oversized)
    }
}

impl Iterator for Frames {
    type Item = Frame;

    #[inline]
    fn next(&mut self) -> Option<Frame> {
        let Ok(Some(length)) = frame_len(&self.whole, self.whole.len()) else {
            return self.oversized.take().map(Frame::Oversized);
        };
        self.whole.advance(FRAME_HEAD);
        self.count = self.count.saturating_sub(1);
        Some(Frame::Whole(self.whole.split_to(length.min(self.whole.len()))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.count + usize::from(self.oversized.is_some());
        (left, Some(left))
    }
}

impl ExactSizeIterator for Frames {}

/// The payload of a frame, or the kept part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// The payload.
    Whole(Bytes),
    /// The payload was above the limit.
    Oversized(Oversized),
}

impl From<Bytes> for Frame {
    fn from(payload: Bytes) -> Self {
        Self::Whole(payload)
    }
}

/// The kept part of a frame above the limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oversized {
    /// The first bytes of the payload: 16, the header of a reply, or all if it has less.
    pub head: Bytes,
    /// The payload's length.
    pub length: usize,
    /// The limit.
    pub limit: usize,
}

impl FrameSplitter {
    /// Takes all complete frames, up to the first one above the limit; `None` if there is none yet.
    /// It reserves room for the rest of a frame in `input`, up to `limit`.
    ///
    /// # Errors
    ///
    /// A negative length: the next frame cannot be found behind it.
    pub fn next(
        &mut self,
        input: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Frames>, FrameError> {
        // The case after most reads: the driver has taken every frame.
        if input.is_empty() {
            return Ok(None);
        }
        let skipped = self.to_skip.min(input.len());
        input.advance(skipped);
        self.to_skip -= skipped;
        let (mut end, mut count) = (0, 0);
        while count < MOST
            && let Some(rest) = input.get(end..)
            && let Ok(Some(length)) = frame_len(rest, limit)
            && FRAME_HEAD + length <= rest.len()
        {
            end += FRAME_HEAD + length;
            count += 1;
        }
        // All of them share the buffer in one step.
        let whole = if count > 0 { input.split_to(end).freeze() } else { Bytes::new() };
        let oversized = match self.oversized(input, limit) {
            Err(_) if count > 0 => None,
            oversized => oversized?,
        };
        let frames = Frames { whole, count, oversized };
        Ok((frames.len() > 0).then_some(frames))
    }

    /// Takes the head of the next frame if the frame is above the limit; otherwise reserves room
    /// for the frame.
    fn oversized(
        &mut self,
        input: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Oversized>, FrameError> {
        let Some(length) = frame_len(input, usize::MAX)? else {
            return Ok(None);
        };
        let needed = if length > limit { length.min(KEPT) } else { length };
        if input.len() < FRAME_HEAD + needed {
            input.reserve(FRAME_HEAD + needed - input.len());
            return Ok(None);
        }
        if length <= limit {
            return Ok(None);
        }
        input.advance(FRAME_HEAD);
        let head = input.split_to(needed).freeze();
        self.to_skip = length - needed;
        Ok(Some(Oversized { head, length, limit }))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn split(parts: &[&[u8]], limit: usize) -> Vec<Frame> {
        let mut splitter = FrameSplitter::default();
        let mut input = BytesMut::new();
        let mut frames = Vec::new();
        for part in parts {
            input.extend_from_slice(part);
            while let Some(some) = splitter.next(&mut input, limit).unwrap() {
                let (count, sent) = (some.len(), some.sent_len());
                let before = frames.len();
                frames.extend(some);
                assert_eq!(frames.len() - before, count);
                assert_eq!(frames[before..].iter().map(sent_len).sum::<usize>(), sent);
            }
        }
        assert!(input.len() < 4, "all is taken");
        frames
    }

    fn sent_len(frame: &Frame) -> usize {
        match frame {
            Frame::Whole(payload) => FRAME_HEAD + payload.len(),
            Frame::Oversized(frame) => FRAME_HEAD + frame.length,
        }
    }

    #[test]
    fn frames_come_out_the_same_however_the_bytes_arrive() {
        let mut stream = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x14".to_vec();
        stream.extend(b"0123456789abcdefghij\0\0\0\x02de");
        let whole = |bytes: &'static [u8]| Frame::Whole(Bytes::from_static(bytes));
        let head = Bytes::from_static(b"0123456789abcdef");
        let oversized = Frame::Oversized(Oversized { head, length: 20, limit: 3 });
        let expected = [whole(b"abc"), whole(b""), oversized, whole(b"de")];
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let parts = [&stream[..first], &stream[first..second], &stream[second..]];
                assert_eq!(split(&parts, 3), expected, "cut at {first} and {second}");
            }
        }
    }

    #[test]
    fn nothing_is_reserved_for_what_is_not_kept() {
        let mut input = BytesMut::from(&[0x7f, 0xff, 0xff, 0xff][..]);
        assert_eq!(FrameSplitter::default().next(&mut input, 100), Ok(None));
        assert!(input.capacity() < 1024);
    }

    #[test]
    fn so_many_at_once_and_no_more() {
        let mut input = BytesMut::from(b"\0\0\0\x01a".repeat(MOST + 1).as_slice());
        let mut next =
            || FrameSplitter::default().next(&mut input, 1).unwrap().map(|some| some.len());
        assert_eq!([next(), next(), next()], [Some(MOST), Some(1), None]);
    }

    #[test]
    fn what_comes_before_a_negative_length_comes_out() {
        let mut splitter = FrameSplitter::default();
        let mut input = BytesMut::from(&b"\0\0\0\x01a\xff\xff\xff\xff"[..]);
        let frames = splitter.next(&mut input, 100).unwrap().unwrap();
        assert!(frames.eq([Frame::Whole(Bytes::from_static(b"a"))]));
        assert_eq!(splitter.next(&mut input, 100), Err(FrameError::Negative(-1)));
    }

    #[test]
    fn a_negative_length_is_an_error() {
        let mut input = BytesMut::from(&[0xff; 4][..]);
        let error = FrameSplitter::default().next(&mut input, 100);
        assert_eq!(error, Err(FrameError::Negative(-1)));
    }
}
