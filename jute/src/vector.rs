//! `vector<T>`: a list that is read in place.

use core::fmt;
use core::iter::FusedIterator;

use crate::elements::Elements;
use crate::error::DecodeError;
use crate::reader::Reader;
use crate::record::{Decode, Encode, encode_length};
use crate::writer::Writer;

/// A list on the wire. Decoded, it is a view of the input; to be encoded, it is a slice.
///
/// A decoded list was checked element by element, so iterating cannot fail; it allocates nothing.
/// Null and empty lists differ on the wire, and here too.
#[derive(Clone, Copy)]
pub struct Vector<'a, T> {
    repr: Repr<'a, T>,
}

#[derive(Clone, Copy)]
enum Repr<'a, T> {
    Null,
    Wire { count: usize, elements: Elements<'a> },
    Slice(&'a [T]),
}

impl<'a, T> Vector<'a, T> {
    /// The null list. Servers refuse it in most places.
    pub const NULL: Self = Self { repr: Repr::Null };
    /// The empty list.
    pub const EMPTY: Self = Self::new(&[]);

    /// Makes a list to encode.
    pub const fn new(elements: &'a [T]) -> Self {
        Self { repr: Repr::Slice(elements) }
    }

    /// Returns whether this is the null list.
    pub const fn is_null(&self) -> bool {
        matches!(self.repr, Repr::Null)
    }

    /// Returns the number of elements; 0 for null.
    pub const fn len(&self) -> usize {
        match self.repr {
            Repr::Null => 0,
            Repr::Wire { count, .. } => count,
            Repr::Slice(elements) => elements.len(),
        }
    }

    /// Returns whether there are no elements; true for null.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Decode<'a> + Copy> Vector<'a, T> {
    /// Returns the elements, in wire order.
    pub fn iter(&self) -> VectorIter<'a, T> {
        VectorIter {
            repr: match self.repr {
                Repr::Null => IterRepr::Slice([].iter()),
                Repr::Wire { count, elements } => IterRepr::Wire { left: count, elements },
                Repr::Slice(elements) => IterRepr::Slice(elements.iter()),
            },
        }
    }
}

impl<'a, T: Decode<'a> + Copy> IntoIterator for Vector<'a, T> {
    type Item = T;
    type IntoIter = VectorIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Decode<'a> + Copy> IntoIterator for &Vector<'a, T> {
    type Item = T;
    type IntoIter = VectorIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Decode<'a> + Copy + PartialEq> PartialEq for Vector<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.is_null() == other.is_null() && self.iter().eq(other.iter())
    }
}

impl<'a, T: Decode<'a> + Copy + Eq> Eq for Vector<'a, T> {}

impl<'a, T: Decode<'a> + Copy + fmt::Debug> fmt::Debug for Vector<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_null() {
            return f.write_str("null");
        }
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Encode> Encode for Vector<'_, T> {
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self.repr {
            Repr::Null => (-1).encode(writer),
            Repr::Wire { count, elements } => {
                encode_length(count, writer);
                writer.put(elements.as_bytes());
            }
            Repr::Slice(elements) => {
                encode_length(elements.len(), writer);
                for element in elements {
                    element.encode(writer);
                }
            }
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Vector<'a, T> {
    const MIN_ENCODED_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let Some(count) = reader.length(T::MIN_ENCODED_LEN)? else {
            return Ok(Self::NULL);
        };
        let elements = T::check(reader, count)?;
        Ok(Self { repr: Repr::Wire { count, elements } })
    }
}

/// Iterator over a [`Vector`].
#[derive(Clone, Debug)]
pub struct VectorIter<'a, T> {
    repr: IterRepr<'a, T>,
}

#[derive(Clone, Debug)]
enum IterRepr<'a, T> {
    Wire { left: usize, elements: Elements<'a> },
    Slice(core::slice::Iter<'a, T>),
}

impl<'a, T: Decode<'a> + Copy> Iterator for VectorIter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.repr {
            IterRepr::Wire { left, elements } => {
                *left = left.checked_sub(1)?;
                T::next_of(elements)
            }
            IterRepr::Slice(elements) => elements.next().copied(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.repr {
            IterRepr::Wire { left, .. } => *left,
            IterRepr::Slice(elements) => elements.len(),
        };
        (left, Some(left))
    }
}

impl<'a, T: Decode<'a> + Copy> ExactSizeIterator for VectorIter<'a, T> {}
impl<'a, T: Decode<'a> + Copy> FusedIterator for VectorIter<'a, T> {}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn list(names: &[Vec<u8>]) -> Vec<u8> {
        let length = |length: usize| u32::try_from(length).expect("short").to_be_bytes();
        let mut list = Vec::from(length(names.len()));
        for name in names {
            list.extend_from_slice(&length(name.len()));
            list.extend_from_slice(name);
        }
        list
    }

    fn one_by_one(list: &[u8]) -> Result<Vec<&str>, DecodeError> {
        let mut reader = Reader::new(list);
        let count = reader.length(4)?.unwrap_or_default();
        (0..count).map(|_| <&str>::decode(&mut reader)).collect()
    }

    /// The last byte of its length and the first of the name would be one character.
    #[test]
    fn a_length_is_no_part_of_a_name() {
        let mut name = Vec::from([0x80]);
        name.resize(0xc3, b'a');
        let list = list(&[name]);
        assert!(core::str::from_utf8(&list).is_ok());
        assert!(Vector::<&str>::decode_prefix(&list).is_err());
    }

    fn names() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let text = "[aé€]{0,70}".prop_map(String::into_bytes);
        vec(prop_oneof![8 => text, 1 => vec(any::<u8>(), 0..200)], 0..8)
    }

    proptest! {
        /// Names are looked at all at once, with the outcome that each has by itself.
        #[test]
        fn names_are_read_all_at_once_as_one_by_one(names in names(), cut in 0..40_usize) {
            let list = list(&names);
            for list in [&list[..], &list[..list.len().saturating_sub(cut)]] {
                let all = Vector::<&str>::decode_prefix(list).map(|names| names.iter().collect());
                prop_assert_eq!(all, one_by_one(list));
            }
        }
    }
}
