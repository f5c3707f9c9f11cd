//! How the number of a counter is written.

use heapless::Vec;
use thiserror::Error;

/// Room for the longest number: a sign and 19 digits.
pub(super) type Digits = Vec<u8, 20, u8>;

/// How the number of a counter is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CounterFormat {
    /// In decimal digits, as kazoo's `Counter` has it by default, with 64 bits.
    #[default]
    Decimal,
    /// As four bytes, the highest first: Curator's `SharedCount`, and kazoo's `Counter` with
    /// `support_curator`.
    ///
    /// Curator fails on a counter without data. It is created with its number, unless its parent is
    /// missing, too: create that before where Curator looks on.
    BigEndian,
}

/// The data of a counter is no number in its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the data of the counter is no number in its format")]
pub struct NotANumber;

/// A number is too large for the format of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the number is too large for the format of the counter")]
pub struct CounterOverflow;

impl CounterFormat {
    /// Reads a number; `None` where there is no data.
    ///
    /// # Errors
    ///
    /// It is no number.
    pub fn parse(self, data: &[u8]) -> Result<Option<i64>, NotANumber> {
        match (self, data) {
            (_, []) => Ok(None),
            (Self::Decimal, digits) => {
                let text = core::str::from_utf8(digits).map_err(|_| NotANumber)?;
                text.parse().map(Some).map_err(|_| NotANumber)
            }
            (Self::BigEndian, bytes) => {
                let bytes = bytes.try_into().map_err(|_| NotANumber)?;
                Ok(Some(i64::from(i32::from_be_bytes(bytes))))
            }
        }
    }

    pub(super) fn digits(self, number: i64) -> Result<Digits, CounterOverflow> {
        use core::fmt::Write as _;
        let mut digits = Digits::new();
        match self {
            Self::Decimal => write!(digits, "{number}").map_err(|_| CounterOverflow)?,
            Self::BigEndian => {
                let number = i32::try_from(number).map_err(|_| CounterOverflow)?;
                digits.extend_from_slice(&number.to_be_bytes()).map_err(|_| CounterOverflow)?;
            }
        }
        Ok(digits)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_written_as_elsewhere() {
        let (decimal, bytes) = (CounterFormat::Decimal, CounterFormat::BigEndian);
        assert_eq!(decimal.digits(-5).as_deref(), Ok(&b"-5"[..]));
        assert_eq!(bytes.digits(-2).as_deref(), Ok(&[0xff, 0xff, 0xff, 0xfe][..]));
        assert_eq!(bytes.digits(1 << 31), Err(CounterOverflow));
        for data in [&b"1.5"[..], b" 5", b"5 ", b"0x5", b"9223372036854775808", &[0xff]] {
            assert_eq!(decimal.parse(data), Err(NotANumber), "{data:?}");
        }
        for data in [&b"5"[..], b"12345"] {
            assert_eq!(bytes.parse(data), Err(NotANumber), "{data:?}");
        }
        assert_eq!((decimal.parse(b""), bytes.parse(b"")), (Ok(None), Ok(None)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(number: i64, small: i32) {
            let decimal = CounterFormat::Decimal;
            prop_assert_eq!(decimal.parse(&decimal.digits(number).unwrap()), Ok(Some(number)));
            let (bytes, small) = (CounterFormat::BigEndian, i64::from(small));
            prop_assert_eq!(bytes.parse(&bytes.digits(small).unwrap()), Ok(Some(small)));
        }
    }
}
