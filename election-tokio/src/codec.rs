//! Frames for tokio-util's codec.

mod room;

use std::io;

use bytes::BytesMut;
use tokio_util::codec::{Decoder, Encoder, Framed};
use zk_jute::{FrameSplitter, Frames};

use crate::hub::Host;
use crate::transport::Transport;
use room::ReadRoom;

/// Bytes that may wait for the socket before the driver asks the session for more.
const BACKPRESSURE: usize = 64 * 1024;

/// More bytes than an idle client writes at once.
const BURST: usize = 1024;

/// A transport, as a stream of frames.
pub(crate) type Framing = Framed<Box<dyn Transport>, FrameCodec>;

/// Makes frames of this transport, of up to `max_frame` bytes. Written bytes bring their buffer
/// along.
pub(crate) fn framed(transport: Box<dyn Transport>, max_frame: usize) -> Framing {
    let mut framing = Framed::with_capacity(transport, FrameCodec::new(max_frame), 0);
    framing.set_backpressure_boundary(BACKPRESSURE);
    framing
}

/// Splits a byte stream into the payloads of frames, as many at once as there are, each a slice of
/// the read buffer. It keeps only the head of a frame above the limit, and reads past the rest.
///
/// A negative length is an error: the next frame cannot be found behind it.
#[derive(Debug)]
pub(crate) struct FrameCodec {
    max_frame: usize,
    splitter: FrameSplitter,
    room: ReadRoom,
    part: Part,
}

/// The parts of a frame that have arrived since the driver asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    None,
    Some,
}

impl FrameCodec {
    /// Makes a codec that accepts payloads of up to `max_frame` bytes.
    pub(crate) fn new(max_frame: usize) -> Self {
        Self {
            max_frame,
            splitter: FrameSplitter::default(),
            room: ReadRoom::new(),
            part: Part::None,
        }
    }

    /// Makes room in the buffer before a read.
    pub(crate) fn make_room(framing: &mut Framing) {
        let room = framing.codec().room;
        room.make(framing.read_buffer_mut());
    }

    /// Returns whether a part of a frame has arrived since the last call.
    pub(crate) fn take_part(framing: &mut Framing) -> bool {
        core::mem::replace(&mut framing.codec_mut().part, Part::None) == Part::Some
    }

    /// Returns whether the connection's buffers are larger than an idle client needs.
    pub(crate) fn is_large(framing: &Framing) -> bool {
        framing.codec().room.is_large() || framing.write_buffer().capacity() > BURST
    }

    /// Makes the connection's buffers as small as an idle client needs.
    pub(crate) fn give_back(framing: &mut Framing) {
        let mut room = framing.codec().room;
        room.give_back(framing.read_buffer_mut());
        framing.codec_mut().room = room;
        if framing.write_buffer().is_empty() {
            *framing.write_buffer_mut() = BytesMut::new();
        }
    }
}

impl Decoder for FrameCodec {
    type Item = Frames;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut BytesMut) -> io::Result<Option<Frames>> {
        let has_bytes = !buffer.is_empty();
        let next = self.splitter.next(buffer, self.max_frame);
        let next = next.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if next.is_none() {
            if has_bytes {
                self.part = Part::Some;
            }
            self.room.was_read_into(buffer);
        }
        Ok(next)
    }
}

/// All bytes that a session has to send. They were framed when they were submitted.
pub(crate) struct Outgoing<'a> {
    pub(crate) host: &'a mut Host,
    /// Counts the bytes. This runs under the hub's lock, where a recorder must not run.
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
