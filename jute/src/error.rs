//! What can be wrong with bytes from the wire.

use core::fmt;

/// A record that does not decode: what was wrong, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeError {
    /// What was wrong.
    pub kind: DecodeErrorKind,
    /// Bytes from the start of the decoded input to the field at fault.
    pub offset: usize,
}

/// The reasons for a [`DecodeError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// A field needs more bytes than are left.
    Truncated {
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A length or count below −1 (−1 means null).
    NegativeLength(i32),
    /// A length or count that is larger than what is left can hold.
    Oversized {
        /// The length or count on the wire.
        length: i32,
        /// Bytes that are left.
        left: usize,
    },
    /// A null string, buffer or list where the protocol has none.
    UnexpectedNull,
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// Bytes after the end of the record, where the caller wanted none.
    Trailing {
        /// How many.
        extra: usize,
    },
    /// A number that names no kind of entry in this list.
    UnknownKind(i32),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.kind, self.offset)
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { needed, left } => {
                write!(f, "truncated: {needed} bytes needed, {left} left")
            }
            Self::NegativeLength(length) => write!(f, "negative length {length}"),
            Self::Oversized { length, left } => {
                write!(f, "length {length} is more than the {left} bytes left")
            }
            Self::UnexpectedNull => f.write_str("null where a value is required"),
            Self::InvalidUtf8 => f.write_str("string is not UTF-8"),
            Self::Trailing { extra } => write!(f, "{extra} bytes after the end of the record"),
            Self::UnknownKind(kind) => write!(f, "unknown kind {kind} in a list"),
        }
    }
}

impl core::error::Error for DecodeError {}
