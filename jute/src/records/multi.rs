//! Several operations as one transaction; see docs/protocol.md#transactions.

use core::fmt;
use core::iter::FusedIterator;

use crate::code::ErrorCode;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode};
use crate::records::{
    CheckVersionRequest, Create2Response, CreateRequest, CreateResponse, CreateTtlRequest,
    DeleteRequest, SetDataRequest, SetDataResponse,
};
use crate::request::Request;
use crate::writer::Writer;

/// One operation of a multi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiOp<'a> {
    /// Creates a znode.
    Create(CreateRequest<'a>),
    /// Creates a znode, on servers from 3.5 on. Some of them answer it like `Create`.
    Create2(CreateRequest<'a>),
    /// Creates a container znode.
    CreateContainer(CreateRequest<'a>),
    /// Creates a znode with a time to live.
    CreateTtl(CreateTtlRequest<'a>),
    /// Deletes a znode.
    Delete(DeleteRequest<'a>),
    /// Replaces a znode's data.
    SetData(SetDataRequest<'a>),
    /// Makes the whole multi fail unless a znode has this version.
    Check(CheckVersionRequest<'a>),
}

/// The result of one operation of a multi.
///
/// The server chooses the kind: some releases answer a `create2` as `Create`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiResult<'a> {
    /// A znode was created.
    Create(CreateResponse<'a>),
    /// A znode was created.
    Create2(Create2Response<'a>),
    /// A znode was deleted.
    Delete,
    /// Data was replaced.
    SetData(SetDataResponse),
    /// The version was the expected one.
    Check,
    /// The multi was not applied. With [`ErrorCode::OK`] this operation comes before the one that
    /// failed, with [`ErrorCode::RUNTIME_INCONSISTENCY`] behind it.
    Error(ErrorCode),
}

/// The body of a multi. The server applies all operations or none.
pub type MultiRequest<'a> = MultiList<'a, MultiOp<'a>>;

/// The body of the reply to a multi. The header's error code is 0 even if the multi failed: see
/// [`MultiResponse::error`].
pub type MultiResponse<'a> = MultiList<'a, MultiResult<'a>>;

impl Request for MultiRequest<'_> {
    const OPCODE: OpCode = OpCode::MULTI;
    type Response<'r> = MultiResponse<'r>;
}

impl MultiResponse<'_> {
    /// Returns the operation that made the multi fail, and its error; `None` if the multi was
    /// applied.
    pub fn error(&self) -> Option<(usize, ErrorCode)> {
        self.iter().enumerate().find_map(|(index, result)| match result {
            MultiResult::Error(code) if code != ErrorCode::OK => Some((index, code)),
            _ => None,
        })
    }
}

/// An entry of a [`MultiList`].
pub trait MultiEntry<'a>: Copy + Encode {
    /// Returns the opcode and the error code of the header before the entry.
    #[doc(hidden)]
    fn header(&self) -> (OpCode, ErrorCode);
    /// Reads the entry behind such a header; `None` for a kind that is not allowed here.
    #[doc(hidden)]
    fn decode_body(kind: OpCode, reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError>;
    /// The error code in the header that ends the list.
    #[doc(hidden)]
    const END: ErrorCode = ErrorCode::SYSTEM_ERROR;
}

/// A list with a header before each entry and one at the end. Decoded, it is a view of the input
/// that was checked entry by entry; to be encoded, it is a slice.
#[derive(Clone, Copy)]
pub struct MultiList<'a, T> {
    repr: Repr<'a, T>,
}

#[derive(Clone, Copy)]
enum Repr<'a, T> {
    Wire(&'a [u8]),
    Slice(&'a [T]),
}

impl<'a, T> MultiList<'a, T> {
    /// Makes a list to encode.
    pub const fn new(entries: &'a [T]) -> Self {
        Self { repr: Repr::Slice(entries) }
    }
}

impl<'a, T: MultiEntry<'a>> MultiList<'a, T> {
    /// Returns the entries, in order.
    pub fn iter(&self) -> MultiIter<'a, T> {
        MultiIter {
            repr: match self.repr {
                Repr::Wire(entries) => IterRepr::Wire(Reader::new(entries)),
                Repr::Slice(entries) => IterRepr::Slice(entries.iter()),
            },
        }
    }
}

impl<'a, T: MultiEntry<'a>> IntoIterator for MultiList<'a, T> {
    type Item = T;
    type IntoIter = MultiIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: MultiEntry<'a>> IntoIterator for &MultiList<'a, T> {
    type Item = T;
    type IntoIter = MultiIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: MultiEntry<'a> + PartialEq> PartialEq for MultiList<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, T: MultiEntry<'a> + Eq> Eq for MultiList<'a, T> {}

impl<'a, T: MultiEntry<'a> + fmt::Debug> fmt::Debug for MultiList<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: MultiEntry<'a>> Encode for MultiList<'a, T> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self.repr {
            Repr::Wire(entries) => writer.put(entries),
            Repr::Slice(entries) => {
                for entry in entries {
                    let (kind, error) = entry.header();
                    encode_header(kind, false, error, writer);
                    entry.encode(writer);
                }
            }
        }
        encode_header(OpCode::ERROR, true, T::END, writer);
    }
}

impl<'a, T: MultiEntry<'a>> Decode<'a> for MultiList<'a, T> {
    const MIN_ENCODED_LEN: usize = 9;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let all = reader.rest();
        let start = reader.offset();
        loop {
            let end = reader.offset() - start;
            if decode_entry::<T>(reader)?.is_none() {
                return Ok(Self { repr: Repr::Wire(all.get(..end).unwrap_or(all)) });
            }
        }
    }
}

/// Iterator over a [`MultiList`].
#[derive(Clone, Debug)]
pub struct MultiIter<'a, T> {
    repr: IterRepr<'a, T>,
}

#[derive(Clone, Debug)]
enum IterRepr<'a, T> {
    Wire(Reader<'a>),
    Slice(core::slice::Iter<'a, T>),
}

impl<'a, T: MultiEntry<'a>> Iterator for MultiIter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.repr {
            IterRepr::Wire(reader) => decode_entry(reader).ok().flatten(),
            IterRepr::Slice(entries) => entries.next().copied(),
        }
    }
}

impl<'a, T: MultiEntry<'a>> FusedIterator for MultiIter<'a, T> {}

fn encode_header<W: Writer + ?Sized>(kind: OpCode, done: bool, error: ErrorCode, writer: &mut W) {
    kind.encode(writer);
    done.encode(writer);
    error.encode(writer);
}

/// Reads one header and the entry behind it; `None` at the header that ends the list.
fn decode_entry<'a, T: MultiEntry<'a>>(reader: &mut Reader<'a>) -> Result<Option<T>, DecodeError> {
    let at_header = reader.clone();
    let kind = OpCode::decode(reader)?;
    let done = reader.boolean()?;
    ErrorCode::decode(reader)?;
    if done {
        return Ok(None);
    }
    match T::decode_body(kind, reader)? {
        Some(entry) => Ok(Some(entry)),
        None => Err(at_header.error(DecodeErrorKind::UnknownKind(kind.get()))),
    }
}

impl Encode for MultiOp<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self {
            Self::Create(create) | Self::Create2(create) | Self::CreateContainer(create) => {
                create.encode(writer);
            }
            Self::CreateTtl(create) => create.encode(writer),
            Self::Delete(delete) => delete.encode(writer),
            Self::SetData(set_data) => set_data.encode(writer),
            Self::Check(check) => check.encode(writer),
        }
    }
}

impl<'a> MultiEntry<'a> for MultiOp<'a> {
    fn header(&self) -> (OpCode, ErrorCode) {
        let kind = match self {
            Self::Create(_) => OpCode::CREATE,
            Self::Create2(_) => OpCode::CREATE2,
            Self::CreateContainer(_) => OpCode::CREATE_CONTAINER,
            Self::CreateTtl(_) => OpCode::CREATE_TTL,
            Self::Delete(_) => OpCode::DELETE,
            Self::SetData(_) => OpCode::SET_DATA,
            Self::Check(_) => OpCode::CHECK,
        };
        (kind, Self::END)
    }

    fn decode_body(kind: OpCode, reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match kind {
            OpCode::CREATE => Self::Create(Decode::decode(reader)?),
            OpCode::CREATE2 => Self::Create2(Decode::decode(reader)?),
            OpCode::CREATE_CONTAINER => Self::CreateContainer(Decode::decode(reader)?),
            OpCode::CREATE_TTL => Self::CreateTtl(Decode::decode(reader)?),
            OpCode::DELETE => Self::Delete(Decode::decode(reader)?),
            OpCode::SET_DATA => Self::SetData(Decode::decode(reader)?),
            OpCode::CHECK => Self::Check(Decode::decode(reader)?),
            _ => return Ok(None),
        }))
    }
}

impl Encode for MultiResult<'_> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self {
            Self::Create(created) => created.encode(writer),
            Self::Create2(created) => created.encode(writer),
            Self::Delete | Self::Check => {}
            Self::SetData(set) => set.encode(writer),
            Self::Error(code) => code.encode(writer),
        }
    }
}

impl<'a> MultiEntry<'a> for MultiResult<'a> {
    fn header(&self) -> (OpCode, ErrorCode) {
        match self {
            Self::Create(_) => (OpCode::CREATE, ErrorCode::OK),
            Self::Create2(_) => (OpCode::CREATE2, ErrorCode::OK),
            Self::Delete => (OpCode::DELETE, ErrorCode::OK),
            Self::SetData(_) => (OpCode::SET_DATA, ErrorCode::OK),
            Self::Check => (OpCode::CHECK, ErrorCode::OK),
            Self::Error(code) => (OpCode::ERROR, *code),
        }
    }

    fn decode_body(kind: OpCode, reader: &mut Reader<'a>) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match kind {
            OpCode::CREATE => Self::Create(Decode::decode(reader)?),
            OpCode::CREATE2 => Self::Create2(Decode::decode(reader)?),
            OpCode::DELETE => Self::Delete,
            OpCode::SET_DATA => Self::SetData(Decode::decode(reader)?),
            OpCode::CHECK => Self::Check,
            OpCode::ERROR => Self::Error(Decode::decode(reader)?),
            _ => return Ok(None),
        }))
    }
}
