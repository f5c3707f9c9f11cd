//! Encodes and decodes ZooKeeper's wire format: jute primitives, the records of the client
//! protocol, and frames. It works for both sides of the wire. The repository's docs/protocol.md
//! describes the protocol.
//!
//! - Decoding borrows from the input. A list of children is a [`Vector`], an iterator over the
//!   frame, and not a `Vec<String>`.
//! - Input is treated as hostile: the decoder compares each length with the bytes that are left
//!   before it skips anything. A [`DecodeError`] has the reason and the offset.
//! - [`Decode::decode_prefix`] ignores bytes behind a record, as servers and clients do;
//!   [`Decode::decode_exact`] refuses them. An opcode or an error code without a name here keeps its
//!   number.
//! - The crate is `no_std`. The feature `alloc` (on by default) adds [`Writer`] for `Vec<u8>` and
//!   `bytes::BytesMut`, `put_frame` and `FrameSplitter`; without it, encode into a [`SliceWriter`].
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
mod elements;
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

/// Compiles and runs the README's example with the doctests.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

pub use code::ErrorCode;
pub use elements::Elements;
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
