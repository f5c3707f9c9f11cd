//! Frames: a length, then that many bytes (docs/protocol.md#frames).

use core::fmt;

#[cfg(feature = "alloc")]
use crate::record::Encode;
#[cfg(feature = "alloc")]
use crate::writer::{SliceWriter, Writer as _};

/// The largest payload that a server reads by default (`jute.maxbuffer`): one byte less than 1 MiB.
pub const DEFAULT_MAX_FRAME: usize = 0xF_FFFF;

/// The largest length that fits into a frame's head.
#[cfg(feature = "alloc")]
const LONGEST: usize = 0x7FFF_FFFF;

/// A length that ends the connection, since the next frame cannot be found behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A length below zero: the peer does not speak this protocol.
    #[error("negative frame length {0}: the peer does not speak ZooKeeper's protocol")]
    Negative(i32),
    /// A length above the limit.
    #[error("frame of {length} bytes is above the limit of {limit}{}", Said(*length))]
    TooLong {
        /// The payload's length.
        length: usize,
        /// The largest accepted length.
        limit: usize,
    },
}

/// A length that is text: the peer does not speak ZooKeeper's protocol.
struct Said(usize);

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(length) = u32::try_from(self.0) else {
            return Ok(());
        };
        let bytes = length.to_be_bytes();
        match core::str::from_utf8(&bytes) {
            Ok(text) if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
                write!(f, ": the peer does not speak ZooKeeper's protocol, it began with {text:?}")
            }
            _ => Ok(()),
        }
    }
}

/// Returns the length of the payload of the first frame of `input`, without its four bytes of
/// length; `None` while fewer than four bytes are there. The payload itself need not be there.
///
/// # Errors
///
/// A negative length, or one above `limit`: no frame behind it can be read.
#[inline]
pub fn frame_len(input: &[u8], limit: usize) -> Result<Option<usize>, FrameError> {
    let Some((head, _)) = input.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = i32::from_be_bytes(*head);
    match usize::try_from(length) {
        Err(_) => Err(FrameError::Negative(length)),
        Ok(length) if length > limit => Err(FrameError::TooLong { length, limit }),
        Ok(length) => Ok(Some(length)),
    }
}

/// Appends a frame with a header and a body. The two connect frames have no header: pass `&()`.
///
/// # Errors
///
/// [`FrameError::TooLong`] if the payload is longer than `limit`; `output` is then unchanged.
#[cfg(feature = "alloc")]
pub fn put_frame(
    output: &mut bytes::BytesMut,
    limit: usize,
    header: &impl Encode,
    body: &impl Encode,
) -> Result<(), FrameError> {
    let limit = limit.min(LONGEST);
    let start = output.len();
    // The length is filled in afterwards, which is cheaper than to measure first; and the head is written at
    // once, for each write looks for room.
    let mut head = [0; 4 + 16];
    let mut writer = SliceWriter::new(&mut head);
    0.encode(&mut writer);
    header.encode(&mut writer);
    if let Ok(head) = writer.finish() {
        output.put(head);
    } else {
        0.encode(output);
        header.encode(output);
    }
    body.encode(output);
    let length = output.len() - start - 4;
    let wire_length = i32::try_from(length).ok().filter(|_| length <= limit);
    if let (Some(wire_length), Some(head)) = (wire_length, output.get_mut(start..start + 4)) {
        head.copy_from_slice(&wire_length.to_be_bytes());
        Ok(())
    } else {
        output.truncate(start);
        Err(FrameError::TooLong { length, limit })
    }
}
