//! From a stream of bytes to frames.

use bytes::{Buf, Bytes, BytesMut};

use crate::frame::{FrameError, frame_len};

/// Bytes of the length before each frame.
const FRAME_HEAD: usize = 4;

/// What is kept of a frame above the limit: as much as a reply's header.
const KEPT: usize = 16;

/// Takes frames from the front of a stream of bytes, one connection's worth.
///
/// One that is longer than the limit is not kept, but read past: the caller that waits for it can
/// be told so, and what follows is not lost.
#[derive(Clone, Debug, Default)]
pub struct FrameSplitter {
    /// Bytes of a frame above the limit that are still to come.
    to_skip: usize,
}

/// The payload of a frame, or what is kept of it.
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

/// What is kept of a frame above the limit.
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
    /// The next frame, if enough of it is there. Room for the rest of a frame is reserved in
    /// `input`, up to `limit`.
    ///
    /// # Errors
    ///
    /// A length that is negative: it does not tell where the next frame would begin.
    pub fn next(
        &mut self,
        input: &mut BytesMut,
        limit: usize,
    ) -> Result<Option<Frame>, FrameError> {
        let skipped = self.to_skip.min(input.len());
        input.advance(skipped);
        self.to_skip -= skipped;
        let Some(length) = frame_len(input, usize::MAX)? else {
            return Ok(None);
        };
        let needed = if length > limit { length.min(KEPT) } else { length };
        if input.len() < FRAME_HEAD + needed {
            input.reserve(FRAME_HEAD + needed - input.len());
            return Ok(None);
        }
        input.advance(FRAME_HEAD);
        let payload = input.split_to(needed).freeze();
        if length <= limit {
            return Ok(Some(Frame::Whole(payload)));
        }
        self.to_skip = length - needed;
        Ok(Some(Frame::Oversized(Oversized { head: payload, length, limit })))
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
            while let Some(frame) = splitter.next(&mut input, limit).unwrap() {
                frames.push(frame);
            }
        }
        assert!(input.len() < 4, "all is taken");
        frames
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
    fn a_negative_length_is_an_error() {
        let mut input = BytesMut::from(&[0xff; 4][..]);
        let error = FrameSplitter::default().next(&mut input, 100);
        assert_eq!(error, Err(FrameError::Negative(-1)));
    }
}
