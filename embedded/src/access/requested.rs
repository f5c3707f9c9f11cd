//! Entries of access lists, as requests carry them.

use zk_jute::records::Permissions;
use zk_jute::{Decode, DecodeError, ErrorCode, Reader};

/// An entry of an access list as Java reads it: scheme and id may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestedAcl<'a> {
    pub(crate) permissions: Permissions,
    pub(crate) scheme: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
}

impl RequestedAcl<'_> {
    /// Returns whether the entry equals one of `others`. It compares part by part, like the
    /// `equals` of Jute's Java classes, which fails on a null of this entry once the parts before
    /// it are equal.
    pub(super) fn is_among(self, others: &[Self]) -> Result<bool, InvalidAcl> {
        for other in others {
            if self.permissions != other.permissions {
                continue;
            }
            if self.scheme.ok_or(InvalidAcl::Null).map(Some)? != other.scheme {
                continue;
            }
            if self.id.ok_or(InvalidAcl::Null).map(Some)? == other.id {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<'a> Decode<'a> for RequestedAcl<'a> {
    const MIN_ENCODED_LEN: usize = 12;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            permissions: Permissions::decode(reader)?,
            scheme: reader.ustring()?,
            id: reader.ustring()?,
        })
    }
}

/// Why the server refuses an access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAcl {
    /// The list is null or empty, or an entry matches no identity.
    #[error("the access list is empty or malformed")]
    Malformed,
    /// An id or a scheme is null where Apache's servers read it. They fail there with a
    /// `NullPointerException`, and answer as if they could not decode the request.
    #[error("an id or a scheme of the access list is null")]
    Null,
    /// The list has more than 128 entries, or the lists of one request take more than 4 MiB.
    /// Apache's servers have no such limit.
    #[error("the access list is too long")]
    TooLong,
}

impl InvalidAcl {
    /// Returns the code that the server answers.
    pub(crate) const fn code(self) -> ErrorCode {
        match self {
            Self::Malformed | Self::TooLong => ErrorCode::INVALID_ACL,
            Self::Null => ErrorCode::MARSHALLING_ERROR,
        }
    }
}

#[cfg(test)]
impl<'a> From<zk_jute::records::Acl<'a>> for RequestedAcl<'a> {
    fn from(acl: zk_jute::records::Acl<'a>) -> Self {
        let zk_jute::records::Acl { permissions, scheme, id } = acl;
        Self { permissions, scheme: Some(scheme), id: Some(id) }
    }
}
