//! Frames that crossed the wire between a client and Apache ZooKeeper: what they mean, and that
//! encoding the meaning gives the same bytes.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::std_instead_of_alloc,
    reason = "a test fails by panicking, and has std"
)]

mod handshake;
mod multi;
mod numbers;
mod watch;
mod znode;

use core::fmt::Debug;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use bytes::BytesMut;
use zk_jute::records::Stat;
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, Encode, ErrorCode, OpCode, Reader, ReplyHeader, RequestHeader,
    SessionId, Version, Xid, Zxid, frame_len, put_frame,
};

/// The name of a captured frame, and what has to be true of it.
type Case = (&'static str, fn(Frame));

#[derive(Clone, Copy)]
struct Frame {
    name: &'static str,
    bytes: &'static [u8],
}

static FRAMES: LazyLock<Vec<(&'static str, Vec<u8>)>> = LazyLock::new(|| {
    include_str!("golden/frames.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, hex) = line.split_once(' ').expect("a name and bytes");
            (name, unhex(hex))
        })
        .collect()
});

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits"))
        .collect()
}

fn frame(name: &str) -> Frame {
    let (name, bytes) = FRAMES
        .iter()
        .find(|(candidate, _)| *candidate == name)
        .unwrap_or_else(|| panic!("no captured frame is named {name}"));
    Frame { name, bytes }
}

impl Frame {
    fn payload(self) -> &'static [u8] {
        let length = frame_len(self.bytes, DEFAULT_MAX_FRAME).expect("a sound length");
        let payload = &self.bytes[4..];
        assert_eq!(length, Some(payload.len()), "{}", self.name);
        payload
    }

    /// Asserts that the frame is exactly this, read and written.
    fn is<H, B>(self, header: H, body: B)
    where
        H: Encode + Decode<'static> + PartialEq + Debug,
        B: Encode + Decode<'static> + PartialEq + Debug,
    {
        let mut reader = Reader::new(self.payload());
        let (read_header, read_body) = self.parts(&mut reader);
        assert_eq!(read_header, header, "header of {}", self.name);
        assert_eq!(read_body, body, "body of {}", self.name);
        assert_eq!(reader.finish(), Ok(()), "{}", self.name);
        // Different code encodes a record that was built by hand and one that was read.
        for (header, body) in [(header, body), (read_header, read_body)] {
            let mut written = BytesMut::new();
            put_frame(&mut written, DEFAULT_MAX_FRAME, &header, &body).expect("a small frame");
            assert_eq!(written, self.bytes, "{} written again", self.name);
            let length = header.encoded_len() + body.encoded_len();
            assert_eq!(length + 4, self.bytes.len(), "{}", self.name);
        }
    }

    /// Asserts that the frame has this header; the bytes behind it are not ours to read.
    fn starts_with<H: Encode + Decode<'static> + PartialEq + Debug>(self, header: &H) {
        let read = H::decode_prefix(self.payload());
        assert_eq!(read.as_ref(), Ok(header), "{}", self.name);
        let mut written = Vec::new();
        header.encode(&mut written);
        assert_eq!(self.payload().get(..written.len()), Some(&written[..]), "{}", self.name);
    }

    fn parts<H: Decode<'static>, B: Decode<'static>>(self, reader: &mut Reader<'static>) -> (H, B) {
        let header = H::decode(reader).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let body = B::decode(reader).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        (header, body)
    }
}

const fn request(xid: i32, opcode: OpCode) -> RequestHeader {
    let xid = Xid::new(xid);
    RequestHeader { xid, opcode }
}

const fn reply(xid: i32, zxid: i64) -> ReplyHeader {
    failed(xid, zxid, ErrorCode::OK)
}

const fn failed(xid: i32, zxid: i64, error: ErrorCode) -> ReplyHeader {
    ReplyHeader { xid: Xid::new(xid), zxid: Zxid::new(zxid), error }
}

/// Returns the metadata of a znode just created, empty.
const fn created(zxid: i64, time: i64) -> Stat {
    Stat {
        czxid: Zxid::new(zxid),
        mzxid: Zxid::new(zxid),
        ctime: time,
        mtime: time,
        version: Version::new(0),
        cversion: Version::new(0),
        aversion: Version::new(0),
        ephemeral_owner: SessionId::NONE,
        data_length: 0,
        num_children: 0,
        pzxid: Zxid::new(zxid),
    }
}

#[test]
fn every_captured_frame_means_what_it_should() {
    let cases = [handshake::CASES, znode::CASES, multi::CASES, watch::CASES];
    let mut seen = BTreeSet::new();
    for (name, holds) in cases.concat() {
        assert!(seen.insert(name), "{name} has two cases");
        holds(frame(name));
    }
    let missing: Vec<_> =
        FRAMES.iter().map(|(name, _)| *name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(missing, [""; 0], "captured frames without a case");
}
