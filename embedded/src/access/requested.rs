//! Entries of access lists as requests carry them.

use zk_jute::records::Permissions;
use zk_jute::{Decode, DecodeError, Reader};

use super::InvalidAcl;

/// An entry of an access list as Java reads it: scheme and id may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestedAcl<'a> {
    pub(crate) permissions: Permissions,
    pub(crate) scheme: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
}

impl RequestedAcl<'_> {
    /// Whether the entry equals one of `others`. Compares part by part, as the `equals` of Jute's
    /// Java classes, which fails on a null of this entry once the parts before it are equal.
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

#[cfg(test)]
impl<'a> From<zk_jute::records::Acl<'a>> for RequestedAcl<'a> {
    fn from(acl: zk_jute::records::Acl<'a>) -> Self {
        let zk_jute::records::Acl { permissions, scheme, id } = acl;
        Self { permissions, scheme: Some(scheme), id: Some(id) }
    }
}
