//! Authentication: identities of a connection, and SASL; see
//! docs/protocol.md#access-lists-and-identities and docs/protocol.md#sasl.

use core::fmt;

use crate::error::DecodeError;
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode, record};
use crate::request::Request;
use crate::vector::Vector;
use crate::writer::Writer;

record! {
    /// Adds an identity to the connection; its xid is [`Xid::AUTH`](crate::Xid::AUTH).
    pub struct AuthPacket<'a> {
        /// Ignored by servers; 0.
        pub kind: i32,
        /// `digest`, or another scheme that the server knows.
        pub scheme: &'a str,
        /// The proof of the identity.
        pub credential: Credential<'a>,
    }

    /// One step of a SASL exchange.
    pub struct GetSaslRequest<'a> {
        /// The client's token; servers refuse null.
        pub token: Credential<'a>,
    }

    /// The reply to a `sasl`.
    pub struct SetSaslResponse<'a> {
        /// The server's token. A server without SASL sends null.
        pub token: Credential<'a>,
    }

    /// One identity of a connection.
    pub struct ClientInfo<'a> {
        /// The kind of identity, as in [`Acl::scheme`](crate::records::Acl::scheme).
        pub auth_scheme: &'a str,
        /// The identity without its secret half; empty for a super user.
        pub user: &'a str,
    }

    /// The reply to a `whoAmI`.
    pub struct WhoAmIResponse<'a> {
        /// The identities, in no order.
        pub client_info: Vector<'a, ClientInfo<'a>>,
    }
}

/// The body of a `whoAmI`, which is empty (since 3.7.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WhoAmI;

impl Encode for WhoAmI {
    fn encode<W: Writer + ?Sized>(&self, _: &mut W) {}
}

impl Request for WhoAmI {
    const OPCODE: OpCode = OpCode::WHO_AM_I;
    type Response<'r> = WhoAmIResponse<'r>;
}

impl Request for GetSaslRequest<'_> {
    const OPCODE: OpCode = OpCode::SASL;
    type Response<'r> = SetSaslResponse<'r>;
}

impl Request for AuthPacket<'_> {
    const OPCODE: OpCode = OpCode::AUTH;
    type Response<'r> = ();
}

/// The proof of an identity, in the form of its scheme: for `digest`, `user:password`; for SASL, a
/// token. Servers refuse null. `Debug` does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Credential<'a>(Option<&'a [u8]>);

impl<'a> Credential<'a> {
    /// Makes a credential of these bytes; `None` is null.
    pub const fn new(secret: Option<&'a [u8]>) -> Self {
        Self(secret)
    }

    /// Returns the bytes; `None` is null.
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
