//! Stands between the clients and the embedded server, and gives other answers than it.

use bytes::BytesMut;
use election_tokio::{ErrorCode, Zxid};
use zk_jute::records::{GetSaslRequest, MultiReadResponse, SetSaslResponse};
use zk_jute::{Decode as _, Encode, ReplyHeader, RequestHeader, Xid, frame_len, put_frame};

/// A wrong answer. The server does not see the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    /// The request is refused with this code.
    Code(ErrorCode),
    /// The server does not know the operation: it says so, and ends the connection.
    TooNew,
    /// The answer names another request.
    WrongXid,
    /// A frame shorter than a header.
    Stub,
    /// A length that no frame can have.
    NegativeLength,
    /// A body that ends too early.
    NoBody,
    /// To several operations: a list without any results.
    NoResults,
    /// No answer at all.
    Silence,
}

impl Lie {
    /// Returns the bytes that the client gets in place of the answer.
    pub(crate) fn answer(self, header: RequestHeader) -> BytesMut {
        let reply = |xid, error| ReplyHeader { xid, zxid: Zxid::new(1), error };
        match self {
            Self::Code(error) => frame(&reply(header.xid, error), &()),
            Self::TooNew => {
                let error = ErrorCode::UNIMPLEMENTED;
                frame(&ReplyHeader { xid: header.xid, zxid: Zxid::new(-1), error }, &())
            }
            Self::WrongXid => {
                let xid = Xid::new(header.xid.get() + 77);
                frame(&reply(xid, ErrorCode::OK), &())
            }
            Self::Stub => frame(&1_i32, &()),
            Self::NegativeLength => BytesMut::from(&[0xff; 4][..]),
            Self::NoBody => frame(&reply(header.xid, ErrorCode::OK), &()),
            Self::NoResults => {
                frame(&reply(header.xid, ErrorCode::OK), &MultiReadResponse::new(&[]))
            }
            Self::Silence => BytesMut::new(),
        }
    }
}

/// Gives the token back. The embedded server has no SASL: this is what stands for it.
pub(crate) fn echo(header: RequestHeader, body: &[u8]) -> BytesMut {
    let token = GetSaslRequest::decode_exact(body).expect("clients send whole requests").token;
    let reply = ReplyHeader { xid: header.xid, zxid: Zxid::ZERO, error: ErrorCode::OK };
    frame(&reply, &SetSaslResponse { token })
}

/// Whether clients are told of what they watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Events {
    Told,
    /// As by a server that lets no client read the znode.
    Withheld,
}

impl Events {
    /// Returns the part of the server's frames that clients get.
    pub(crate) fn filter(self, frames: BytesMut) -> BytesMut {
        match self {
            Self::Told => frames,
            Self::Withheld => {
                let mut rest = frames;
                let mut told = BytesMut::new();
                while let Some(length) = frame_len(&rest, usize::MAX).expect("a sound length") {
                    let frame = rest.split_to(4 + length);
                    if !frame[4..].starts_with(&Xid::NOTIFICATION.get().to_be_bytes()) {
                        told.extend_from_slice(&frame);
                    }
                }
                told
            }
        }
    }
}

pub(crate) fn frame(header: &impl Encode, body: &impl Encode) -> BytesMut {
    let mut frame = BytesMut::new();
    put_frame(&mut frame, usize::MAX, header, body).expect("there is no limit");
    frame
}

/// Splits a request into its header and its body.
pub(crate) fn request(frame: &[u8]) -> (RequestHeader, &[u8]) {
    let header = RequestHeader::decode_prefix(&frame[4..]).expect("clients send whole headers");
    (header, &frame[12..])
}
