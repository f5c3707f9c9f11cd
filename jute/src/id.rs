//! Types for numbers that must not be mixed up.

use core::fmt;

use crate::error::DecodeError;
use crate::reader::Reader;
use crate::record::{Decode, Encode};
use crate::writer::Writer;

macro_rules! id {
    ($($(#[$meta:meta])* pub struct $name:ident($inner:ty);)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($inner);

        impl $name {
            /// Makes the id with this number.
            pub const fn new(number: $inner) -> Self {
                Self(number)
            }

            /// Returns the number.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl Encode for $name {
            #[inline]
            fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
                self.0.encode(writer);
            }
        }

        impl<'a> Decode<'a> for $name {
            const MIN_ENCODED_LEN: usize = <$inner as Decode<'a>>::MIN_ENCODED_LEN;

            #[inline]
            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Decode::decode(reader).map(Self)
            }
        }
    )*};
}

id! {
    /// The number of a transaction. It grows with every write in the ensemble.
    #[derive(Debug)]
    pub struct Zxid(i64);
    /// The id of a session; 0 asks for a new one, and marks a znode without an owner.
    pub struct SessionId(i64);
    /// The number that ties a reply to its request.
    #[derive(Debug)]
    pub struct Xid(i32);
    /// The number of changes of a znode's data, children or access list.
    #[derive(Debug)]
    pub struct Version(i32);
}

impl Zxid {
    /// The state before the first transaction.
    pub const ZERO: Self = Self(0);
}

impl fmt::Display for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:x}", self.0)
    }
}

impl SessionId {
    /// No session: asks the server for a new one.
    pub const NONE: Self = Self(0);
}

/// In hexadecimal, as servers log it.
impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({self})")
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:016x}", self.0)
    }
}

/// The reserved numbers.
impl Xid {
    /// A watch notification, which answers no request.
    pub const NOTIFICATION: Self = Self(-1);
    /// A ping and its reply.
    pub const PING: Self = Self(-2);
    /// An auth packet and its reply.
    pub const AUTH: Self = Self(-4);
    /// A `setWatches` and its reply.
    pub const SET_WATCHES: Self = Self(-8);
    /// The first number of an ordinary request.
    pub const FIRST: Self = Self(1);

    /// Returns the number of the next ordinary request: positive, and 1 again after the largest.
    #[must_use]
    pub const fn next(self) -> Self {
        match self.0 {
            i32::MAX | i32::MIN..=0 => Self::FIRST,
            number => Self(number + 1),
        }
    }
}

impl fmt::Display for Xid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Version {
    /// Matches every version.
    pub const ANY: Self = Self(-1);
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
