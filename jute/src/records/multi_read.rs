//! Several reads in one request.

use crate::code::ErrorCode;
use crate::error::DecodeError;
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode};
use crate::records::{
    GetChildrenRequest, GetChildrenResponse, GetDataRequest, GetDataResponse, MultiEntry, MultiList,
};
use crate::request::Request;
use crate::writer::Writer;

/// A read of a `multiRead`. It leaves no watch, whatever the request says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiReadOp<'a> {
    /// Reads a znode.
    GetData(GetDataRequest<'a>),
    /// Lists children.
    GetChildren(GetChildrenRequest<'a>),
}

/// The result of a read of a `multiRead`. Each read succeeds or fails by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiReadResult<'a> {
    /// A znode's data.
    GetData(GetDataResponse<'a>),
    /// A znode's children.
    GetChildren(GetChildrenResponse<'a>),
    /// Why this read has no result.
    Error(ErrorCode),
}

/// The body of a `multiRead` (since 3.6.0).
pub type MultiReadRequest<'a> = MultiList<'a, MultiReadOp<'a>>;

/// The body of the reply to a `multiRead`.
pub type MultiReadResponse<'a> = MultiList<'a, MultiReadResult<'a>>;

impl Request for MultiReadRequest<'_> {
    const OPCODE: OpCode = OpCode::MULTI_READ;
    type Response<'r> = MultiReadResponse<'r>;
}

impl Encode for MultiReadOp<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self {
            Self::GetData(get) => get.encode(writer),
            Self::GetChildren(get) => get.encode(writer),
        }
    }
}

impl<'a> MultiEntry<'a> for MultiReadOp<'a> {
    fn header(&self) -> (OpCode, ErrorCode) {
        let kind = match self {
            Self::GetData(_) => OpCode::GET_DATA,
            Self::GetChildren(_) => OpCode::GET_CHILDREN,
        };
        (kind, Self::END)
    }

    fn decode_body(kind: OpCode, reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match kind {
            OpCode::GET_DATA => Self::GetData(Decode::decode(reader)?),
            OpCode::GET_CHILDREN => Self::GetChildren(Decode::decode(reader)?),
            _ => return Ok(None),
        }))
    }
}

impl Encode for MultiReadResult<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self {
            Self::GetData(data) => data.encode(writer),
            Self::GetChildren(children) => children.encode(writer),
            Self::Error(code) => code.encode(writer),
        }
    }
}

impl<'a> MultiEntry<'a> for MultiReadResult<'a> {
    fn header(&self) -> (OpCode, ErrorCode) {
        match self {
            Self::GetData(_) => (OpCode::GET_DATA, ErrorCode::OK),
            Self::GetChildren(_) => (OpCode::GET_CHILDREN, ErrorCode::OK),
            Self::Error(code) => (OpCode::ERROR, *code),
        }
    }

    fn decode_body(kind: OpCode, reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match kind {
            OpCode::GET_DATA => Self::GetData(Decode::decode(reader)?),
            OpCode::GET_CHILDREN => Self::GetChildren(Decode::decode(reader)?),
            OpCode::ERROR => Self::Error(Decode::decode(reader)?),
            _ => return Ok(None),
        }))
    }
}
