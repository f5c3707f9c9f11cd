//! The mark of a hand-over: a leader asks the nominees ahead of a candidate to stand behind it.

use core::fmt;

use super::Format;
use crate::name::{DIGITS, Sequence};

const START: &str = "hand-over-to-";
/// It makes the name not end in a number, unlike those of sequential znodes.
const END: &str = "-";

/// A child of an election node that names the candidate that is to lead next:
/// `hand-over-to-0000000017-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandOverMark {
    to: Sequence,
}

impl Format {
    /// Returns the mark for the candidate with this number, in formats that [can be
    /// ended](Self::end_mark).
    pub const fn hand_over_mark(self, to: Sequence) -> Option<HandOverMark> {
        match self.end_mark() {
            Some(_) => Some(HandOverMark { to }),
            None => None,
        }
    }

    /// Parses a child's name, if it is such a mark.
    pub fn parse_hand_over_mark(self, name: &str) -> Option<HandOverMark> {
        let digits = name.strip_prefix(START)?.strip_suffix(END)?;
        let is_number = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_number.then(|| digits.parse().ok()).flatten()?;
        self.hand_over_mark(Sequence::new(number)?)
    }
}

impl HandOverMark {
    /// The beginning of all marks' names.
    pub(crate) const START: &'static str = START;

    /// Returns the number of the candidate.
    pub const fn to(self) -> Sequence {
        self.to
    }
}

impl fmt::Display for HandOverMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{}{END}", self.to)
    }
}
