//! The number at the end of a name.

use core::fmt;

/// Characters of a sequence.
pub(crate) const DIGITS: usize = 10;

/// The number that the server appended to the name of a sequential znode: its place in the queue.
///
/// A server counts the children of a node with 32 bits and a sign. Up to 2147483646 each number is
/// given once, in the order of the creates, as long as the parent is not deleted and created again.
/// A later number is no [`Sequence`]: servers since 3.6 give 2147483647 again and again, to creates
/// in flight together also negative numbers that recur (ZOOKEEPER-3249); earlier ones count through
/// the negative numbers, and after 2³² creates from 0 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(u32);

impl Sequence {
    /// The last number that a server gives to one znode only.
    pub const LAST: Self = Self(2_147_483_646);

    /// Returns the sequence with this number; `None` beyond [`Sequence::LAST`].
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::LAST.0 { Some(Self(number)) } else { None }
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Counts the creates that are left below this election node after this one, before a nomination
    /// fails with [`NominationError::SequenceExhausted`](crate::election::NominationError::SequenceExhausted).
    pub const fn remaining(self) -> u32 {
        Self::LAST.0 - self.0
    }

    /// Returns the number that a server has appended to this name, if it ends in one: ten digits, not beyond
    /// [`Sequence::LAST`]. Whether a server has, the text before the digits has to tell.
    pub fn at_end_of(name: &str) -> Option<Self> {
        let digits = name.get(name.len().checked_sub(DIGITS)?..)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten().and_then(Self::new)
    }
}

impl Sequence {
    /// Returns the digits, as the server appends them.
    pub(crate) fn digits(self) -> [u8; DIGITS] {
        let mut digits = [b'0'; DIGITS];
        let mut rest = self.0;
        for place in digits.iter_mut().rev() {
            *place += u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        digits
    }
}

impl fmt::Display for Sequence {
    /// Writes the digits, as the server appends them: ten.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}", self.0)
    }
}
