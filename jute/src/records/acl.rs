//! Access lists; see docs/protocol.md#access-lists-and-identities.

use core::fmt;
use core::ops::BitOr;

use crate::error::DecodeError;
use crate::id::Version;
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode, record};
use crate::records::Stat;
use crate::request::Request;
use crate::vector::Vector;
use crate::writer::Writer;

/// A set of permissions. Bits without a meaning are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Permissions(i32);

impl Permissions {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Read the data and list the children.
    pub const READ: Self = Self(1);
    /// Write the data.
    pub const WRITE: Self = Self(2);
    /// Create children.
    pub const CREATE: Self = Self(4);
    /// Delete children.
    pub const DELETE: Self = Self(8);
    /// Replace the access list.
    pub const ADMIN: Self = Self(16);
    /// Everything.
    pub const ALL: Self = Self(31);

    /// Makes a set of these bits.
    pub const fn new(bits: i32) -> Self {
        Self(bits)
    }

    /// Returns the bits.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Returns whether this set contains all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Permissions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Writes the letters of ZooKeeper's command line: `cdrwa`.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (Self::CREATE, 'c'),
            (Self::DELETE, 'd'),
            (Self::READ, 'r'),
            (Self::WRITE, 'w'),
            (Self::ADMIN, 'a'),
        ];
        for (permission, letter) in letters {
            if self.contains(permission) {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Permissions({}: {self})", self.0)
    }
}

impl Encode for Permissions {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        self.0.encode(writer);
    }
}

impl Decode<'_> for Permissions {
    const MIN_ENCODED_LEN: usize = 4;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.int().map(Self)
    }
}

record! {
    /// An entry of an access list: an identity with its permissions.
    pub struct Acl<'a> {
        /// The permissions of the identity.
        pub permissions: Permissions,
        /// The kind of identity: `world`, `auth`, `digest`, `ip`, `sasl`, `x509`.
        pub scheme: &'a str,
        /// The identity, in its scheme's own form.
        pub id: &'a str,
    }

    /// Reads a znode's access list. The client needs the permission to read or to administer the
    /// znode.
    pub struct GetAclRequest<'a> {
        /// The znode.
        pub path: &'a str,
    }

    /// The reply to a `getACL`.
    pub struct GetAclResponse<'a> {
        /// The access list. If the client may not administer the znode, the secret half of a
        /// `digest` identity reads `x`.
        pub acl: Vector<'a, Acl<'a>>,
        /// The znode's metadata.
        pub stat: Stat,
    }

    /// Replaces a znode's access list.
    pub struct SetAclRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The new access list. Servers refuse null and empty.
        pub acl: Vector<'a, Acl<'a>>,
        /// The version of the access list ([`Stat::aversion`]) that the znode must have, or
        /// [`Version::ANY`].
        pub version: Version,
    }

    /// The reply to a `setACL`.
    pub struct SetAclResponse {
        /// The znode's metadata after the write.
        pub stat: Stat,
    }
}

impl Request for GetAclRequest<'_> {
    const OPCODE: OpCode = OpCode::GET_ACL;
    type Response<'r> = GetAclResponse<'r>;
}

impl Request for SetAclRequest<'_> {
    const OPCODE: OpCode = OpCode::SET_ACL;
    type Response<'r> = SetAclResponse;
}

impl Acl<'static> {
    /// Any client may do everything.
    pub const OPEN: Self = Self { permissions: Permissions::ALL, scheme: "world", id: "anyone" };
    /// Any client may read.
    pub const READ_ONLY: Self =
        Self { permissions: Permissions::READ, scheme: "world", id: "anyone" };
    /// The identities of the creating connection may do everything.
    pub const CREATOR_ALL: Self = Self { permissions: Permissions::ALL, scheme: "auth", id: "" };
}

impl Vector<'static, Acl<'static>> {
    /// The list with [`Acl::OPEN`] alone.
    pub const OPEN: Self = Self::new(&[Acl::OPEN]);
    /// The list with [`Acl::READ_ONLY`] alone.
    pub const READ_ONLY: Self = Self::new(&[Acl::READ_ONLY]);
    /// The list with [`Acl::CREATOR_ALL`] alone.
    pub const CREATOR_ALL: Self = Self::new(&[Acl::CREATOR_ALL]);
}
