//! Frames as the proxy sees them, read independently of the codec.

use crate::opcode::Opcode;

/// More than any frame in a test. A longer one is taken for another protocol (a four-letter
/// word, read as a length, is far beyond) and passed on as it comes.
const LARGEST_FRAME: usize = 64 << 20;
const PREFIX: usize = 4;

/// Which way something travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client to the server.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// The first frame of a client.
    ConnectRequest,
    /// The first frame of a server.
    ConnectResponse,
    /// A later frame of a client.
    Request(Opcode),
    /// The reply to a request with that opcode.
    Reply(Opcode),
    /// A watch fired.
    Notification,
    /// A reply with an xid that no request in flight has.
    StrayReply,
    /// Bytes that are no whole frame.
    Opaque(Direction),
}

/// Cuts a stream of bytes into frames.
#[derive(Debug)]
pub(super) enum Splitter {
    Frames(Vec<u8>),
    Opaque(Vec<u8>),
}

/// A piece of the stream; its bytes include the length.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Frame(Vec<u8>),
    Opaque(Vec<u8>),
}

impl Splitter {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self {
            Self::Frames(buffer) | Self::Opaque(buffer) => buffer.extend_from_slice(bytes),
        }
    }

    /// Takes the next whole piece, if there is one.
    pub(super) fn next_piece(&mut self) -> Option<Piece> {
        if let Self::Frames(buffer) = self {
            let length = usize::try_from(int_at(buffer, 0)?).unwrap_or(usize::MAX);
            if length <= LARGEST_FRAME {
                let end = PREFIX + length;
                if buffer.len() < end {
                    return None;
                }
                let rest = buffer.split_off(end);
                return Some(Piece::Frame(core::mem::replace(buffer, rest)));
            }
            *self = Self::Opaque(core::mem::take(buffer));
        }
        self.rest()
    }

    /// Returns the rest of the bytes, whole or not.
    pub(super) fn rest(&mut self) -> Option<Piece> {
        let (Self::Frames(buffer) | Self::Opaque(buffer)) = self;
        (!buffer.is_empty()).then(|| Piece::Opaque(core::mem::take(buffer)))
    }
}

/// Reads the xid of a frame: the headers of requests and of replies start alike.
pub(super) fn xid(frame: &[u8]) -> Option<i32> {
    int_at(frame, PREFIX)
}

pub(super) fn opcode(request: &[u8]) -> Option<Opcode> {
    int_at(request, PREFIX + 4).map(Opcode)
}

pub(super) fn error_code(reply: &[u8]) -> Option<i32> {
    int_at(reply, PREFIX + 12)
}

fn int_at(bytes: &[u8], offset: usize) -> Option<i32> {
    bytes.get(offset..)?.first_chunk().copied().map(i32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: [u8; 12] = [0, 0, 0, 8, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0x0b];

    #[test]
    fn frames_are_found_however_the_bytes_arrive() {
        let mut splitter = Splitter::Frames(Vec::new());
        let mut frames = 0;
        for byte in PING.iter().chain(&PING) {
            splitter.push(&[*byte]);
            while let Some(piece) = splitter.next_piece() {
                assert_eq!(piece, Piece::Frame(PING.to_vec()));
                frames += 1;
            }
        }
        splitter.push(&[PING, PING].concat());
        while splitter.next_piece().is_some() {
            frames += 1;
        }
        assert_eq!((frames, splitter.rest()), (4, None));
    }

    #[test]
    fn a_frame_tells_its_xid_and_opcode() {
        assert_eq!((xid(&PING), opcode(&PING)), (Some(-2), Some(Opcode::PING)));
        assert_eq!((xid(&PING[..7]), opcode(&PING[..11])), (None, None));
    }

    #[test]
    fn another_protocol_is_passed_on_as_it_comes() {
        for start in [*b"srvr", [0xff; 4]] {
            let mut splitter = Splitter::Frames(Vec::new());
            splitter.push(&start);
            assert_eq!(splitter.next_piece(), Some(Piece::Opaque(start.to_vec())));
            splitter.push(&PING);
            assert_eq!(splitter.next_piece(), Some(Piece::Opaque(PING.to_vec())));
        }
    }

    #[test]
    fn half_a_frame_is_left_at_the_end() {
        let mut splitter = Splitter::Frames(Vec::new());
        splitter.push(&PING[..9]);
        assert_eq!(splitter.next_piece(), None);
        assert_eq!(splitter.rest(), Some(Piece::Opaque(PING[..9].to_vec())));
    }
}
