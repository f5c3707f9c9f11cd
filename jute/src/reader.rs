//! A cursor over bytes from the wire.

use crate::error::{DecodeError, DecodeErrorKind};

/// Reads jute primitives from the front of a byte slice.
///
/// Every read first compares the length with the bytes that are left. A failed read leaves the
/// cursor in place.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

// Inlined, because a list makes one call of each for every element, mostly from other crates.
impl<'a> Reader<'a> {
    /// Creates a reader at the front of `input`.
    pub const fn new(input: &'a [u8]) -> Self {
        Self { rest: input, offset: 0 }
    }

    /// Returns the number of bytes consumed so far.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the bytes not yet consumed.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads a boolean. Any byte but zero is true, as in the servers.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, DecodeError> {
        self.array().map(|[byte]| byte != 0)
    }

    /// Reads an `int`.
    #[inline]
    pub fn int(&mut self) -> Result<i32, DecodeError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Reads a `long`.
    #[inline]
    pub fn long(&mut self) -> Result<i64, DecodeError> {
        self.array().map(i64::from_be_bytes)
    }

    /// Reads a `buffer`. `None` is null, which differs from empty.
    #[inline]
    pub fn buffer(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.length(1)? {
            Some(length) => self.take(length).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a `ustring`. `None` is null.
    ///
    /// It refuses invalid UTF-8, which Java replaces. Java writes some characters differently, but
    /// no path can contain these.
    #[inline]
    pub fn ustring(&mut self) -> Result<Option<&'a str>, DecodeError> {
        let start = self.clone();
        let Some(bytes) = self.buffer()? else {
            return Ok(None);
        };
        core::str::from_utf8(bytes).map(Some).map_err(|_| {
            *self = start;
            self.error(DecodeErrorKind::InvalidUtf8)
        })
    }

    /// Reads a length or count. It refuses a count that cannot fit in the bytes that are left, if
    /// each element takes at least `element_len` bytes. `None` is null.
    ///
    /// It refuses negative counts below -1, which Java reads as an empty list.
    #[inline]
    pub(crate) fn length(&mut self, element_len: usize) -> Result<Option<usize>, DecodeError> {
        let start = self.clone();
        let length = self.int()?;
        let left = self.rest.len();
        let kind = match usize::try_from(length) {
            Err(_) if length == -1 => return Ok(None),
            Err(_) => DecodeErrorKind::NegativeLength(length),
            Ok(count) if count <= left / element_len.max(1) => return Ok(Some(count)),
            Ok(_) => DecodeErrorKind::Oversized { length, left },
        };
        *self = start;
        Err(self.error(kind))
    }

    /// Ends the reading, and fails if bytes are left over.
    ///
    /// Servers and clients ignore such bytes, so this is for callers that want to know of them.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(self.error(DecodeErrorKind::Trailing { extra })),
        }
    }

    pub(crate) const fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        DecodeError { kind, offset: self.offset }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        self.chunk().copied()
    }

    #[inline]
    pub(crate) fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(N));
        };
        self.rest = rest;
        self.offset += N;
        Ok(head)
    }

    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.truncated(count));
        };
        self.rest = rest;
        self.offset += count;
        Ok(head)
    }

    const fn truncated(&self, needed: usize) -> DecodeError {
        self.error(DecodeErrorKind::Truncated { needed, left: self.rest.len() })
    }
}
