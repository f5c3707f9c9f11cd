//! Errors of decoding.

use thiserror::Error;

/// A record that does not decode: the reason, and the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("{kind} at offset {offset}")]
pub struct DecodeError {
    /// The reason.
    pub kind: DecodeErrorKind,
    /// Bytes from the start of the decoded input to the faulty field.
    pub offset: usize,
}

/// The reasons for a [`DecodeError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// A field needs more bytes than are left.
    #[error("truncated: {needed} bytes needed, {left} left")]
    Truncated {
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A length or count below −1 (−1 means null).
    #[error("negative length {0}")]
    NegativeLength(i32),
    /// A length or count that is larger than what is left can hold.
    #[error("length or count {length} does not fit into the {left} bytes left")]
    Oversized {
        /// The length or count on the wire.
        length: i32,
        /// Bytes that are left.
        left: usize,
    },
    /// A null string or buffer where the protocol has none.
    #[error("null where a value is required")]
    UnexpectedNull,
    /// A string that is not UTF-8.
    #[error("string is not UTF-8")]
    InvalidUtf8,
    /// Bytes after the end of the record, where the caller allowed none.
    #[error("{extra} bytes after the end of the record")]
    Trailing {
        /// The number of these bytes.
        extra: usize,
    },
    /// A number that stands for no kind of entry in a multi.
    #[error("unknown kind {0} of entry in a multi")]
    UnknownKind(i32),
}
