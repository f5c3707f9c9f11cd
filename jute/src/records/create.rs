//! Creating znodes; see docs/protocol.md#znodes.

use crate::error::DecodeError;
use crate::opcode::OpCode;
use crate::reader::Reader;
use crate::record::{Decode, Encode, numbers, record};
use crate::records::{Acl, Stat};
use crate::request::Request;
use crate::vector::Vector;
use crate::writer::Writer;

numbers! {
    /// The kind of a new znode. Modes with a time to live have a request of their own.
    pub struct CreateMode;
    /// Stays until it is deleted.
    PERSISTENT = 0, "Persistent";
    /// Goes with its session.
    EPHEMERAL = 1, "Ephemeral";
    /// Stays; the server appends a number.
    PERSISTENT_SEQUENTIAL = 2, "PersistentSequential";
    /// Goes with its session; the server appends a number.
    EPHEMERAL_SEQUENTIAL = 3, "EphemeralSequential";
    /// Goes with its last child; only for `createContainer`.
    CONTAINER = 4, "Container";
}

numbers! {
    /// The kind of a new znode with a time to live.
    pub struct TtlMode;
    /// Goes when its time to live has passed.
    PERSISTENT = 5, "PersistentWithTtl";
    /// Goes when its time to live has passed; the server appends a number.
    PERSISTENT_SEQUENTIAL = 6, "PersistentSequentialWithTtl";
}

impl CreateMode {
    /// Returns whether the server appends a number to the path.
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::PERSISTENT_SEQUENTIAL | Self::EPHEMERAL_SEQUENTIAL)
    }

    /// Returns whether the znode goes with its session.
    pub const fn is_ephemeral(self) -> bool {
        matches!(self, Self::EPHEMERAL | Self::EPHEMERAL_SEQUENTIAL)
    }
}

record! {
    /// Creates a znode. The reply has its path.
    pub struct CreateRequest<'a> {
        /// The path, without the number of a sequential znode.
        pub path: &'a str,
        /// The data. Servers distinguish null and empty.
        pub data: Option<&'a [u8]>,
        /// The access list. Servers refuse null and empty.
        pub acl: Vector<'a, Acl<'a>>,
        /// The kind of znode.
        pub mode: CreateMode,
    }

    /// Creates a znode that goes once it has no children and was not written for its time to live
    /// (since 3.5.3). Servers refuse it unless they are configured to allow it.
    ///
    /// The mode is a type of its own because other modes with this operation have made servers
    /// terminate.
    pub struct CreateTtlRequest<'a> {
        /// The path, without the number of a sequential znode.
        pub path: &'a str,
        /// The data. Servers distinguish null and empty.
        pub data: Option<&'a [u8]>,
        /// The access list. Servers refuse null and empty.
        pub acl: Vector<'a, Acl<'a>>,
        /// The kind of znode.
        pub mode: TtlMode,
        /// The time to live in milliseconds, from 1 to 2⁴⁰ − 1.
        pub ttl: i64,
    }

    /// The reply to a `create`.
    pub struct CreateResponse<'a> {
        /// The path, with the number of a sequential znode.
        pub path: &'a str,
    }

    /// The reply to a `create2`, `createContainer` or `createTTL`.
    pub struct Create2Response<'a> {
        /// The path, with the number of a sequential znode.
        pub path: &'a str,
        /// The new znode's metadata.
        pub stat: Stat,
    }
}

impl Request for CreateRequest<'_> {
    const OPCODE: OpCode = OpCode::CREATE;
    type Response<'r> = CreateResponse<'r>;
}

impl Request for CreateTtlRequest<'_> {
    const OPCODE: OpCode = OpCode::CREATE_TTL;
    type Response<'r> = Create2Response<'r>;
}

macro_rules! same_body {
    ($($(#[$meta:meta])* $name:ident = $opcode:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<'a>(pub CreateRequest<'a>);

        impl Encode for $name<'_> {
            fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
                self.0.encode(writer);
            }
        }

        impl<'a> Decode<'a> for $name<'a> {
            const MIN_ENCODED_LEN: usize = CreateRequest::<'a>::MIN_ENCODED_LEN;

            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                CreateRequest::decode(reader).map(Self)
            }
        }

        impl Request for $name<'_> {
            const OPCODE: OpCode = OpCode::$opcode;
            type Response<'r> = Create2Response<'r>;
        }
    )*};
}

same_body! {
    /// Creates a znode. The reply has its path and metadata (since 3.5.0).
    Create2Request = CREATE2;
    /// Creates a container znode (since 3.5.1). The mode must be [`CreateMode::CONTAINER`].
    CreateContainerRequest = CREATE_CONTAINER;
}
