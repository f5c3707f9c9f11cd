//! Frames for tokio-util's codec.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};
use zk_jute::frame_len;

use crate::hub::Session;
use crate::telemetry::metrics;

/// Splits a byte stream into the payloads of frames, each a slice of the read buffer.
///
/// A length that is negative or above the limit is an error: nobody can tell where the next frame
/// would begin.
#[derive(Clone, Copy, Debug)]
pub struct FrameCodec {
    max_frame: usize,
}

impl FrameCodec {
    /// A codec that accepts payloads of up to `max_frame` bytes.
    pub const fn new(max_frame: usize) -> Self {
        Self { max_frame }
    }
}

impl Decoder for FrameCodec {
    type Item = Bytes;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
        let length = frame_len(buffer, self.max_frame)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let Some(length) = length else {
            return Ok(None);
        };
        if buffer.len() < 4 + length {
            buffer.reserve(4 + length - buffer.len());
            return Ok(None);
        }
        buffer.advance(4);
        Ok(Some(buffer.split_to(length).freeze()))
    }
}

/// Everything that a session has to send; it was framed when it was submitted.
pub(crate) struct Outgoing<'a>(pub(crate) &'a mut Session);

impl Encoder<Outgoing<'_>> for FrameCodec {
    type Error = io::Error;

    fn encode(&mut self, outgoing: Outgoing<'_>, buffer: &mut BytesMut) -> io::Result<()> {
        let before = buffer.len();
        outgoing.0.poll_transmit(buffer);
        metrics::sent(buffer.len().saturating_sub(before));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_out_whole_however_the_bytes_arrive() {
        let stream = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x02de";
        for split in 0..=stream.len() {
            let mut codec = FrameCodec::new(3);
            let mut buffer = BytesMut::new();
            let mut frames = Vec::new();
            for part in [&stream[..split], &stream[split..]] {
                buffer.extend_from_slice(part);
                while let Some(frame) = codec.decode(&mut buffer).unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, ["abc", "", "de"], "split at {split}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused_before_anything_is_reserved() {
        for head in [[0x7f, 0xff, 0xff, 0xff], [0xff, 0xff, 0xff, 0xff], [0, 0, 0, 4]] {
            let mut buffer = BytesMut::from(&head[..]);
            let error = FrameCodec::new(3).decode(&mut buffer).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(buffer.capacity() < 1024);
        }
    }
}
