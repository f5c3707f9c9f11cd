//! The handshake, and the requests that keep and end a session; see docs/protocol.md#the-handshake.

use core::fmt;

use crate::error::DecodeError;
use crate::id::{SessionId, Zxid};
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode};
use crate::request::Request;
use crate::writer::Writer;

/// The length of a session's password in bytes.
pub const PASSWORD_LEN: usize = 16;

/// Asks for a session, new or existing. It has no header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConnectRequest<'a> {
    /// 0.
    pub protocol_version: i32,
    /// The highest zxid of any reply. A server that has not applied it closes the connection.
    pub last_zxid_seen: Zxid,
    /// The requested session timeout in milliseconds.
    pub timeout: i32,
    /// The session to continue, or [`SessionId::NONE`] for a new one.
    pub session_id: SessionId,
    /// That session's password.
    pub password: Option<&'a [u8]>,
    /// Whether the client accepts a read-only server. Clients before 3.4 do not send the byte
    /// (`None`), and get no read-only server.
    pub read_only: Option<bool>,
}

/// Grants or refuses a session. It has no header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConnectResponse<'a> {
    /// 0.
    pub protocol_version: i32,
    /// The negotiated session timeout in milliseconds; 0 if the session is refused.
    pub timeout: i32,
    /// The session, or [`SessionId::NONE`] if it is refused.
    pub session_id: SessionId,
    /// The session's password.
    pub password: Option<&'a [u8]>,
    /// Whether this server is read-only; `None` if the byte is missing, as from servers before 3.4.
    pub read_only: Option<bool>,
}

impl ConnectResponse<'static> {
    /// The answer to an unknown session or a wrong password.
    pub const REFUSED: Self = Self {
        protocol_version: 0,
        timeout: 0,
        session_id: SessionId::NONE,
        password: Some(&[0; PASSWORD_LEN]),
        read_only: Some(false),
    };
}

impl ConnectResponse<'_> {
    /// Returns whether the server refused the session: it has expired, or never existed.
    pub const fn is_refused(&self) -> bool {
        self.timeout <= 0 || self.session_id.get() == SessionId::NONE.get()
    }
}

impl Encode for ConnectRequest<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        self.protocol_version.encode(writer);
        self.last_zxid_seen.encode(writer);
        self.timeout.encode(writer);
        self.session_id.encode(writer);
        self.password.encode(writer);
        encode_last(self.read_only, writer);
    }
}

impl<'a> Decode<'a> for ConnectRequest<'a> {
    const MIN_ENCODED_LEN: usize = 28;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            protocol_version: reader.int()?,
            last_zxid_seen: Decode::decode(reader)?,
            timeout: reader.int()?,
            session_id: Decode::decode(reader)?,
            password: reader.buffer()?,
            read_only: decode_last(reader)?,
        })
    }
}

impl Encode for ConnectResponse<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        self.protocol_version.encode(writer);
        self.timeout.encode(writer);
        self.session_id.encode(writer);
        self.password.encode(writer);
        encode_last(self.read_only, writer);
    }
}

impl<'a> Decode<'a> for ConnectResponse<'a> {
    const MIN_ENCODED_LEN: usize = 20;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            protocol_version: reader.int()?,
            timeout: reader.int()?,
            session_id: Decode::decode(reader)?,
            password: reader.buffer()?,
            read_only: decode_last(reader)?,
        })
    }
}

fn encode_last<W: Writer + ?Sized>(value: Option<bool>, writer: &mut W) {
    if let Some(value) = value {
        value.encode(writer);
    }
}

fn decode_last(reader: &mut Reader<'_>) -> Result<Option<bool>, DecodeError> {
    if reader.rest().is_empty() { Ok(None) } else { reader.boolean().map(Some) }
}

impl fmt::Debug for ConnectRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectRequest")
            .field("last_zxid_seen", &self.last_zxid_seen)
            .field("timeout", &self.timeout)
            .field("session_id", &self.session_id)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ConnectResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectResponse")
            .field("timeout", &self.timeout)
            .field("session_id", &self.session_id)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

/// The body of a ping, which is empty; its xid is [`Xid::PING`](crate::Xid::PING).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping;

impl Encode for Ping {
    fn encode<W: Writer + ?Sized>(&self, _: &mut W) {}
}

impl Request for Ping {
    const OPCODE: OpCode = OpCode::PING;
    type Response<'r> = ();
}

/// The body of a `closeSession`, which is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseSession;

impl Encode for CloseSession {
    fn encode<W: Writer + ?Sized>(&self, _: &mut W) {}
}

impl Request for CloseSession {
    const OPCODE: OpCode = OpCode::CLOSE_SESSION;
    type Response<'r> = ();
}
