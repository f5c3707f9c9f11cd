//! The form of a counter's number.

use heapless::Vec;
use thiserror::Error;

/// Room for the longest number: a sign and 19 digits.
pub(super) type Digits = Vec<u8, 20, u8>;

/// The form of a counter's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CounterFormat {
    /// Decimal digits, as in kazoo's `Counter` by default, with 64 bits.
    #[default]
    Decimal,
    /// Four bytes, the highest first: Curator's `SharedCount`, and kazoo's `Counter` with
    /// `support_curator`.
    ///
    /// Curator fails on a counter without data. The znode is created with its number, unless its
    /// parent is missing, too: create that before, if Curator watches.
    BigEndian,
}

/// Why the data of a counter is not a number in its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum NotANumber {
    /// The data is that of [`CounterFormat::BigEndian`].
    #[error(
        "its data are four bytes that are no digits: a number of Curator's SharedCount, or of kazoo's \
         Counter with `support_curator`, which the format BigEndian reads; or no number"
    )]
    BigEndian,
    /// The data is that of [`CounterFormat::Decimal`].
    #[error(
        "its data are decimal digits, as kazoo's Counter writes them: read it in the format Decimal"
    )]
    Decimal,
    /// The data is a number with a fraction.
    #[error("the counter has a fraction, as kazoo's Counter with a float has it")]
    Fraction,
    /// The data is something else.
    #[error("the data of the counter is no number: write one into it, or delete the znode")]
    Other,
}

/// A number is too large for the format of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("the number is too large for the format of the counter")]
pub struct CounterOverflow;

impl CounterFormat {
    /// Reads a number; `None` if there is no data. It reads four digits in either format.
    ///
    /// # Errors
    ///
    /// The data is not a number in this format.
    pub fn parse(self, data: &[u8]) -> Result<Option<i64>, NotANumber> {
        match (self, data) {
            (_, []) => Ok(None),
            (Self::Decimal, digits) => {
                Self::decimal(digits).map(Some).ok_or_else(|| NotANumber::of(digits))
            }
            (Self::BigEndian, bytes) => {
                let bytes = bytes.try_into().map_err(|_| NotANumber::of(bytes))?;
                Ok(Some(i64::from(i32::from_be_bytes(bytes))))
            }
        }
    }

    fn decimal(digits: &[u8]) -> Option<i64> {
        core::str::from_utf8(digits).ok()?.parse().ok()
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

impl NotANumber {
    /// Classifies data that are not a number in the requested format.
    fn of(data: &[u8]) -> Self {
        let is_fraction = || {
            let text = core::str::from_utf8(data).ok();
            text.and_then(|text| text.parse::<f64>().ok()).is_some()
        };
        match data {
            data if CounterFormat::decimal(data).is_some() => Self::Decimal,
            _ if is_fraction() => Self::Fraction,
            [_, _, _, _] => Self::BigEndian,
            _ => Self::Other,
        }
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
        for (data, what) in [
            (&b"1.5"[..], NotANumber::Fraction),
            (b" 5", NotANumber::Other),
            (b"5 ", NotANumber::Other),
            (b"0x5", NotANumber::Other),
            (&[0xff], NotANumber::Other),
            (&[0, 0, 0, 5], NotANumber::BigEndian),
            (&[0xff, 0xff, 0xff, 0xff], NotANumber::BigEndian),
        ] {
            assert_eq!(decimal.parse(data), Err(what), "{data:?}");
        }
        for (data, what) in [
            (&b"5"[..], NotANumber::Decimal),
            (b"12345", NotANumber::Decimal),
            (b"1.5", NotANumber::Fraction),
            (b"abcde", NotANumber::Other),
        ] {
            assert_eq!(bytes.parse(data), Err(what), "{data:?}");
        }
        assert_eq!(decimal.parse(b"1234"), Ok(Some(1234)));
        assert_eq!(bytes.parse(b"1234"), Ok(Some(0x3132_3334)), "they cannot be told apart");
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
