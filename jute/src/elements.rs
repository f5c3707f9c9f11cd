//! The elements of a list, each of which was checked.

use crate::error::DecodeError;
use crate::reader::Reader;

/// The elements of a list that are left to be read, as they are on the wire. Each was checked.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'a>(Repr<'a>);

#[derive(Clone, Copy, Debug)]
enum Repr<'a> {
    Any(&'a [u8]),
    /// Values of `ustring` of up to 127 bytes each. Such a length is four characters of ASCII, so all of it is text.
    ShortUstrings(&'a str),
}

impl<'a> Elements<'a> {
    /// Reads so many elements from the front of `reader`, to find out whether each can be read.
    pub(crate) fn check<T>(
        reader: &mut Reader<'a>,
        count: usize,
        mut decode: impl FnMut(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<Self, DecodeError> {
        let all = reader.rest();
        let start = reader.offset();
        (0..count).try_for_each(|_| decode(reader).map(drop))?;
        Ok(Self(Repr::Any(all.get(..reader.offset() - start).unwrap_or(all))))
    }

    /// Reads so many values of `ustring`, if each of them can be read and takes up to 127 bytes. Leaves the reader in
    /// place otherwise.
    ///
    /// It looks at the characters of all of them at once, which is far quicker, and need not be done again.
    pub(crate) fn check_short_ustrings(reader: &mut Reader<'a>, count: usize) -> Option<Self> {
        let mut after = reader.clone();
        for _ in 0..count {
            let length = usize::try_from(after.int().ok()?).ok().filter(|length| *length <= 127)?;
            after.take(length).ok()?;
        }
        let bytes = reader.rest().get(..after.offset() - reader.offset())?;
        let texts = core::str::from_utf8(bytes).ok()?;
        *reader = after;
        Some(Self(Repr::ShortUstrings(texts)))
    }

    pub(crate) const fn as_bytes(&self) -> &'a [u8] {
        match self.0 {
            Repr::Any(bytes) => bytes,
            Repr::ShortUstrings(texts) => texts.as_bytes(),
        }
    }

    /// Decodes the next one.
    #[inline]
    pub(crate) fn decode<T>(
        &mut self,
        decode: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Option<T> {
        let mut reader = Reader::new(self.as_bytes());
        let element = decode(&mut reader).ok()?;
        self.0 = Repr::Any(reader.rest());
        Some(element)
    }

    /// Returns the next one, of short values of `ustring`.
    #[inline]
    pub(crate) fn short_ustring(&mut self) -> Option<&'a str> {
        let Repr::ShortUstrings(texts) = &mut self.0 else { return None };
        let (length, rest) = texts.split_at_checked(4)?;
        let length = length.as_bytes().last().copied().map(usize::from)?;
        let (value, rest) = rest.split_at_checked(length)?;
        *texts = rest;
        Some(value)
    }
}
