//! Encoding and decoding of values, and the macro that declares records.

use crate::elements::Elements;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::reader::Reader;
use crate::writer::{Counter, Writer};

/// A value that can be written to the wire.
pub trait Encode {
    /// Appends the value to `writer`.
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W);

    /// Returns the number of bytes that [`Encode::encode`] will append.
    fn encoded_len(&self) -> usize {
        let mut counter = Counter::default();
        self.encode(&mut counter);
        counter.count()
    }
}

/// A value that can be read from the wire. It may borrow from the input.
pub trait Decode<'a>: Sized {
    /// The fewest bytes that any value of this type takes. Counts are compared with it.
    const MIN_ENCODED_LEN: usize;

    /// Reads one value from the front of `reader`.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Reads so many values, one after another, to find out whether each can be read.
    fn check(reader: &mut Reader<'a>, count: usize) -> Result<Elements<'a>, DecodeError> {
        Elements::check(reader, count, Self::decode)
    }

    /// Returns the next of the elements of a list of these.
    #[inline]
    fn next_of(elements: &mut Elements<'a>) -> Option<Self> {
        elements.decode(Self::decode)
    }

    /// Reads one value and ignores what follows, as servers and clients do.
    fn decode_prefix(input: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode(&mut Reader::new(input))
    }

    /// Reads one value, which must take up the whole input.
    fn decode_exact(input: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(input);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

macro_rules! primitive {
    ($($type:ty, $len:literal, $read:ident, |$value:ident| $bytes:expr;)*) => {$(
        impl Encode for $type {
            #[inline]
            fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
                let $value = *self;
                writer.put(&$bytes);
            }
        }

        impl Decode<'_> for $type {
            const MIN_ENCODED_LEN: usize = $len;

            #[inline]
            fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                reader.$read()
            }
        }
    )*};
}

primitive! {
    bool, 1, boolean, |value| [u8::from(value)];
    i32, 4, int, |value| value.to_be_bytes();
    i64, 8, long, |value| value.to_be_bytes();
}

/// The empty body, of a ping and of a reply with a header only.
impl Encode for () {
    fn encode<W: Writer + ?Sized>(&self, _: &mut W) {}
}

impl Decode<'_> for () {
    const MIN_ENCODED_LEN: usize = 0;

    fn decode(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// A `buffer` that may be null.
impl Encode for Option<&[u8]> {
    #[inline]
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        match self {
            Some(bytes) => {
                encode_length(bytes.len(), writer);
                writer.put(bytes);
            }
            None => (-1).encode(writer),
        }
    }
}

impl<'a> Decode<'a> for Option<&'a [u8]> {
    const MIN_ENCODED_LEN: usize = 4;

    #[inline]
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.buffer()
    }
}

/// A `ustring` that may be null.
impl Encode for Option<&str> {
    #[inline]
    fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
        self.map(str::as_bytes).encode(writer);
    }
}

impl<'a> Decode<'a> for Option<&'a str> {
    const MIN_ENCODED_LEN: usize = 4;

    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.ustring()
    }
}

macro_rules! never_null {
    ($($type:ty { $($list:item)* })*) => {$(
        impl Encode for &$type {
            #[inline]
            fn encode<W: Writer + ?Sized>(&self, writer: &mut W) {
                Some(*self).encode(writer);
            }
        }

        impl<'a> Decode<'a> for &'a $type {
            const MIN_ENCODED_LEN: usize = 4;

            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                let null = reader.error(DecodeErrorKind::UnexpectedNull);
                Option::<Self>::decode(reader)?.ok_or(null)
            }

            $($list)*
        }
    )*};
}

never_null! {
    str {
        fn check(reader: &mut Reader<'a>, count: usize) -> Result<Elements<'a>, DecodeError> {
            // Unless some are long, or one cannot be read: which?
            Elements::check_short_ustrings(reader, count)
                .map_or_else(|| Elements::check(reader, count, Self::decode), Ok)
        }

        #[inline]
        fn next_of(elements: &mut Elements<'a>) -> Option<Self> {
            elements.short_ustring().or_else(|| elements.decode(Self::decode))
        }
    }
    [u8] {}
}

/// Appends a length or count.
///
/// Jute counts with an `int`. For a longer value this writes the largest count. The frame is then
/// far above every server's limit, and the session refuses it by its length.
pub(crate) fn encode_length<W: Writer + ?Sized>(length: usize, writer: &mut W) {
    i32::try_from(length).unwrap_or(i32::MAX).encode(writer);
}

/// Declares records. The list of fields, in wire order, is written once for the type, the encoder
/// and the decoder, so they cannot drift apart.
macro_rules! record {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident $(<$lifetime:lifetime>)? {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)*
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name $(<$lifetime>)? {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        record!(@encode $name $(<$lifetime>)? { $($field,)* });
        record!(@decode $name $(<$lifetime>)? { $($field: $type,)* });
    )*};
    (@encode $name:ident { $($field:ident,)* }) => {
        impl $crate::Encode for $name {
            // The length is fixed, so one copy is enough.
            #[inline]
            fn encode<W: $crate::Writer + ?Sized>(&self, writer: &mut W) {
                let mut bytes = [0; <$name as $crate::Decode<'_>>::MIN_ENCODED_LEN];
                let mut fields = $crate::SliceWriter::new(&mut bytes);
                $($crate::Encode::encode(&self.$field, &mut fields);)*
                writer.put(&bytes);
            }
        }
    };
    (@encode $name:ident <$lifetime:lifetime> { $($field:ident,)* }) => {
        impl<$lifetime> $crate::Encode for $name<$lifetime> {
            #[inline]
            fn encode<W: $crate::Writer + ?Sized>(&self, writer: &mut W) {
                $($crate::Encode::encode(&self.$field, writer);)*
            }
        }
    };
    (@decode $name:ident { $($field:ident: $type:ty,)* }) => {
        impl $crate::Decode<'_> for $name {
            const MIN_ENCODED_LEN: usize =
                0 $(+ <$type as $crate::Decode<'_>>::MIN_ENCODED_LEN)*;

            // Nothing is borrowed, so all fields have a fixed length: check it once.
            #[inline]
            fn decode(reader: &mut $crate::Reader<'_>) -> Result<Self, $crate::DecodeError> {
                let bytes = reader.chunk::<{ <$name as $crate::Decode<'_>>::MIN_ENCODED_LEN }>()?;
                let mut reader = $crate::Reader::new(bytes);
                Ok(Self { $($field: $crate::Decode::decode(&mut reader)?,)* })
            }
        }
    };
    (@decode $name:ident <$lifetime:lifetime> { $($field:ident: $type:ty,)* }) => {
        impl<$lifetime> $crate::Decode<$lifetime> for $name<$lifetime> {
            const MIN_ENCODED_LEN: usize =
                0 $(+ <$type as $crate::Decode<$lifetime>>::MIN_ENCODED_LEN)*;

            #[inline]
            fn decode(
                reader: &mut $crate::Reader<$lifetime>,
            ) -> Result<Self, $crate::DecodeError> {
                Ok(Self { $($field: $crate::Decode::decode(reader)?,)* })
            }
        }
    };
}

/// Declares numbers with names, and keeps unknown ones. An enum with an "other" variant would allow
/// to write a known number in two ways.
macro_rules! numbers {
    (
        $(#[$meta:meta])*
        pub struct $name:ident;
        $($(#[$const_meta:meta])* $constant:ident = $value:literal, $text:literal;)*
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i32);

        impl $name {
            $($(#[$const_meta])* pub const $constant: Self = Self($value);)*

            /// Makes the value for a number from the wire, known or not.
            pub const fn new(number: i32) -> Self {
                Self(number)
            }

            /// Returns the number on the wire.
            pub const fn get(self) -> i32 {
                self.0
            }

            /// Returns the name of a known number.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.write_str(name),
                    None => write!(f, "unknown ({})", self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, "{}({})", self.name().unwrap_or(stringify!($name)), self.0)
            }
        }

        impl $crate::Encode for $name {
            #[inline]
            fn encode<W: $crate::Writer + ?Sized>(&self, writer: &mut W) {
                $crate::Encode::encode(&self.0, writer);
            }
        }

        impl $crate::Decode<'_> for $name {
            const MIN_ENCODED_LEN: usize = 4;

            #[inline]
            fn decode(reader: &mut $crate::Reader<'_>) -> Result<Self, $crate::DecodeError> {
                reader.int().map(Self)
            }
        }
    };
}

pub(crate) use {numbers, record};
