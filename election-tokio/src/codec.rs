//! Frames for tokio-util's codec.

use std::io;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder};
use zk_jute::{FrameSplitter, Frames};

use crate::hub::Host;

/// Splits a byte stream into the payloads of frames, each a slice of the read buffer: as many at once as
/// are there. What is above the limit is not kept but for its head, and read past.
///
/// A length that is negative is an error: nobody can tell where the next frame would begin.
#[derive(Debug)]
pub(crate) struct FrameCodec {
    max_frame: usize,
    splitter: FrameSplitter,
}

impl FrameCodec {
    /// A codec that accepts payloads of up to `max_frame` bytes.
    pub(crate) fn new(max_frame: usize) -> Self {
        Self { max_frame, splitter: FrameSplitter::default() }
    }
}

impl Decoder for FrameCodec {
    type Item = Frames;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frames>> {
        let next = self.splitter.next(buffer, self.max_frame);
        next.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// Everything that a session has to send; it was framed when it was submitted.
pub(crate) struct Outgoing<'a> {
    pub(crate) host: &'a mut Host,
    /// How many bytes that were: this runs under the hub's lock, and a recorder must not.
    pub(crate) sent: &'a mut usize,
}

impl Encoder<Outgoing<'_>> for FrameCodec {
    type Error = io::Error;

    fn encode(&mut self, outgoing: Outgoing<'_>, buffer: &mut BytesMut) -> io::Result<()> {
        let before = buffer.len();
        outgoing.host.poll_transmit(buffer);
        *outgoing.sent = buffer.len().saturating_sub(before);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_that_cannot_be_is_an_error() {
        let mut buffer = BytesMut::from(&[0xff; 4][..]);
        let error = FrameCodec::new(3).decode(&mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
