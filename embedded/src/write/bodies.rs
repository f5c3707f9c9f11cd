//! Bodies of requests with an access list, which may hold nulls as Java reads them. The records of
//! `zk-jute` are for clients, which send none.

use alloc::vec::Vec;

use zk_jute::records::{CheckVersionRequest, CreateMode, DeleteRequest, SetDataRequest, TtlMode};
use zk_jute::{Decode, DecodeError, ErrorCode, OpCode, Reader, Vector, Version};

use crate::access::RequestedAcl;

/// The body of a `create`, `create2` or `createContainer`, and the front of a `createTTL`.
#[derive(Debug)]
pub(crate) struct CreateBody<'a, Mode> {
    pub(crate) path: &'a str,
    pub(crate) data: Option<&'a [u8]>,
    pub(crate) acl: Vector<'a, RequestedAcl<'a>>,
    pub(crate) mode: Mode,
}

/// The body of a `createTTL`.
#[derive(Debug)]
pub(crate) struct CreateTtlBody<'a> {
    pub(crate) create: CreateBody<'a, TtlMode>,
    pub(crate) ttl: i64,
}

/// The body of a `setACL`.
#[derive(Debug)]
pub(crate) struct SetAclBody<'a> {
    pub(crate) path: &'a str,
    pub(crate) acl: Vector<'a, RequestedAcl<'a>>,
    pub(crate) version: Version,
}

/// An operation of a multi.
#[derive(Debug)]
pub(crate) enum MultiEntry<'a> {
    Create(CreateBody<'a, CreateMode>),
    Create2(CreateBody<'a, CreateMode>),
    CreateContainer(CreateBody<'a, CreateMode>),
    CreateTtl(CreateTtlBody<'a>),
    Delete(DeleteRequest<'a>),
    SetData(SetDataRequest<'a>),
    Check(CheckVersionRequest<'a>),
}

/// Decodes the operations of a multi; `None` if an operation is not allowed in one.
pub(crate) fn multi_entries(body: &[u8]) -> Result<Option<Vec<MultiEntry<'_>>>, DecodeError> {
    let mut reader = Reader::new(body);
    let mut entries = Vec::new();
    loop {
        let kind = OpCode::decode(&mut reader)?;
        let is_end = reader.boolean()?;
        // Servers ignore the error code here; it is meant for replies.
        ErrorCode::decode(&mut reader)?;
        if is_end {
            return Ok(Some(entries));
        }
        entries.push(match kind {
            OpCode::CREATE => MultiEntry::Create(Decode::decode(&mut reader)?),
            OpCode::CREATE2 => MultiEntry::Create2(Decode::decode(&mut reader)?),
            OpCode::CREATE_CONTAINER => MultiEntry::CreateContainer(Decode::decode(&mut reader)?),
            OpCode::CREATE_TTL => MultiEntry::CreateTtl(Decode::decode(&mut reader)?),
            OpCode::DELETE => MultiEntry::Delete(Decode::decode(&mut reader)?),
            OpCode::SET_DATA => MultiEntry::SetData(Decode::decode(&mut reader)?),
            OpCode::CHECK => MultiEntry::Check(Decode::decode(&mut reader)?),
            _ => return Ok(None),
        });
    }
}

impl<'a, Mode: Decode<'a>> Decode<'a> for CreateBody<'a, Mode> {
    const MIN_ENCODED_LEN: usize = 12 + Mode::MIN_ENCODED_LEN;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            path: Decode::decode(reader)?,
            data: reader.buffer()?,
            acl: Decode::decode(reader)?,
            mode: Mode::decode(reader)?,
        })
    }
}

impl<'a> Decode<'a> for CreateTtlBody<'a> {
    const MIN_ENCODED_LEN: usize = CreateBody::<TtlMode>::MIN_ENCODED_LEN + 8;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { create: CreateBody::decode(reader)?, ttl: reader.long()? })
    }
}

impl<'a> Decode<'a> for SetAclBody<'a> {
    const MIN_ENCODED_LEN: usize = 12;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            path: Decode::decode(reader)?,
            acl: Decode::decode(reader)?,
            version: Version::decode(reader)?,
        })
    }
}
