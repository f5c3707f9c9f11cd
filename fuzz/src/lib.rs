//! The parts that the targets share.

#![forbid(unsafe_code)]

pub mod session;

use arbitrary::{Arbitrary, Result, Unstructured};

/// Bytes behind their length, of one byte: unlike in a `Vec`, they stand together in the input, so
/// that the fuzzer can put whole words and numbers there, and seeds are written with ease.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl<'a> Arbitrary<'a> for Blob {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let length = usize::from(u8::arbitrary(input)?).min(input.len());
        Ok(Self(input.bytes(length)?.to_vec()))
    }
}

/// Text, in the same form, with bytes replaced that are no UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub String);

impl<'a> Arbitrary<'a> for Text {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let Blob(bytes) = Blob::arbitrary(input)?;
        Ok(Self(String::from_utf8_lossy(&bytes).into_owned()))
    }
}
