//! ZooKeeper's wire format, written by hand: jute primitives, the records of the client protocol,
//! and frames. Encoding and decoding work for both sides of the wire.
//!
//! - Decoding borrows from the input. A list of children is a [`Vector`], an iterator over the
//!   frame, not a `Vec<String>`.
//! - Input is hostile until proved otherwise: a length is compared with what is left before
//!   anything is skipped, and a [`DecodeError`] says what was wrong and at which offset.
//! - Bytes behind a record are ignored by [`Decode::decode_prefix`], as servers and clients ignore
//!   them, and refused by [`Decode::decode_exact`]. Numbers without a name are kept.
//! - `no_std`. The feature `alloc` (on by default) adds [`Writer`] for `Vec<u8>` and
//!   `bytes::BytesMut`; without it, encode into a [`SliceWriter`].
//!
//! # Example
//!
//! ```
//! use zk_jute::{Decode, Encode, SliceWriter, records::GetDataRequest};
//!
//! let request = GetDataRequest { path: "/demo", watch: true };
//! let mut buffer = [0; 32];
//! let mut writer = SliceWriter::new(&mut buffer);
//! request.encode(&mut writer);
//! let bytes = writer.finish()?;
//! assert_eq!(bytes, b"\0\0\0\x05/demo\x01");
//! assert_eq!(bytes.len(), request.encoded_len());
//! assert_eq!(GetDataRequest::decode_exact(bytes)?, request);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod code;
mod error;
mod escape;
mod frame;
mod header;
mod id;
mod opcode;
mod reader;
mod record;
pub mod records;
mod request;
#[cfg(feature = "serde")]
mod serde_forms;
#[cfg(feature = "alloc")]
mod splitter;
mod vector;
mod writer;

/// The README's example is compiled and run with the documentation's.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

pub use code::ErrorCode;
pub use error::{DecodeError, DecodeErrorKind};
pub use escape::Escaped;
#[cfg(feature = "alloc")]
pub use frame::put_frame;
pub use frame::{DEFAULT_MAX_FRAME, FrameError, frame_len};
pub use header::{ReplyHeader, RequestHeader};
pub use id::{SessionId, Version, Xid, Zxid};
pub use opcode::OpCode;
pub use reader::Reader;
pub use record::{Decode, Encode};
pub use request::Request;
#[cfg(feature = "alloc")]
pub use splitter::{Frame, FrameSplitter, Frames, Oversized};
pub use vector::{Vector, VectorIter};
pub use writer::{BufferTooSmall, Counter, SliceWriter, Writer};
