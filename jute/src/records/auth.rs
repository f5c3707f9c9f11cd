//! Identities of a connection.

use core::fmt;

use crate::error::DecodeError;
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode, Request, record};
use crate::writer::Writer;

record! {
    /// Adds an identity to the connection; its xid is [`Xid::AUTH`](crate::Xid::AUTH)
    /// (protocol section 5.4).
    pub struct AuthPacket<'a> {
        /// Ignored by servers; 0.
        pub kind: i32,
        /// `digest`, or another scheme that the server knows.
        pub scheme: &'a str,
        /// What proves the identity.
        pub credential: Credential<'a>,
    }
}

impl Request for AuthPacket<'_> {
    const OPCODE: OpCode = OpCode::AUTH;
    type Response<'r> = ();
}

/// What proves an identity, in the form of its scheme (for `digest`: `user:password`). Null is
/// refused by servers. `Debug` does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credential<'a>(Option<&'a [u8]>);

impl<'a> Credential<'a> {
    /// A credential of these bytes; `None` is null.
    pub const fn new(secret: Option<&'a [u8]>) -> Self {
        Self(secret)
    }

    /// The bytes; `None` is null.
    pub const fn expose(self) -> Option<&'a [u8]> {
        self.0
    }
}

impl fmt::Debug for Credential<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(redacted)")
    }
}

impl Encode for Credential<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        self.0.encode(writer);
    }
}

impl<'a> Decode<'a> for Credential<'a> {
    const MIN_ENCODED_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.buffer().map(Self)
    }
}
