//! Bodies of requests with an access list, which Java reads with nulls in it: the records of
//! `zk-jute` are those of clients that send none.

use zk_jute::records::TtlMode;
use zk_jute::{Decode, DecodeError, Reader, Vector, Version};

use crate::access::RequestedAcl;

/// The body of a `create`, `create2` or `createContainer`, and the front of a `createTTL`.
#[derive(Debug)]
pub(super) struct CreateBody<'a, Mode> {
    pub(super) path: &'a str,
    pub(super) data: Option<&'a [u8]>,
    pub(super) acl: Vector<'a, RequestedAcl<'a>>,
    pub(super) mode: Mode,
}

/// The body of a `createTTL`.
#[derive(Debug)]
pub(super) struct CreateTtlBody<'a> {
    pub(super) create: CreateBody<'a, TtlMode>,
    pub(super) ttl: i64,
}

/// The body of a `setACL`.
#[derive(Debug)]
pub(super) struct SetAclBody<'a> {
    pub(super) path: &'a str,
    pub(super) acl: Vector<'a, RequestedAcl<'a>>,
    pub(super) version: Version,
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
