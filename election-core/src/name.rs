//! Names of contenders, and the number at their end.
//!
//! The [`Format`](crate::Format) says what is before the number; order is by the number alone, whatever the name
//! starts with (ZOOKEEPER-2931).

use core::fmt;

use heapless::String;
use thiserror::Error;

/// Characters of a sequence.
pub(crate) const DIGITS: usize = 10;

/// The longest name that is kept, in bytes; one that a contender makes has at most 59.
pub(crate) const CAPACITY: usize = 64;

/// The number that the server appended to the name of a sequential znode: its place in the queue.
///
/// A server counts the children of a node with 32 bits and a sign. Up to 2147483646 each number is
/// given once, in the order of the creates, as long as the parent is not deleted and created again.
/// What comes after that is no [`Sequence`]: servers since 3.6 give 2147483647 again and again, to
/// creates in flight together also negative numbers that recur (ZOOKEEPER-3249); earlier ones count
/// through the negative numbers, and after 2³² creates from 0 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(u32);

impl Sequence {
    /// The last number that a server gives to one znode only.
    pub const LAST: Self = Self(2_147_483_646);

    /// The sequence with this number; `None` beyond [`Sequence::LAST`].
    pub const fn new(number: u32) -> Option<Self> {
        if number <= Self::LAST.0 { Some(Self(number)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Counts the creates that are left below this election node after this one, before a nomination
    /// fails with [`NominationError::SequenceExhausted`](crate::NominationError::SequenceExhausted).
    pub const fn remaining(self) -> u32 {
        Self::LAST.0 - self.0
    }

    /// The number that a server has appended to this name, if it ends in one: ten digits, not beyond
    /// [`Sequence::LAST`]. Whether a server has, the text before the digits has to tell.
    pub fn at_end_of(name: &str) -> Option<Self> {
        let digits = name.get(name.len().checked_sub(DIGITS)?..)?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten().and_then(Self::new)
    }
}

impl fmt::Display for Sequence {
    /// As the server appends it: ten digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}", self.0)
    }
}

/// The name of a candidate znode under its election node; never a path.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CandidateName {
    /// Ends in the sequence, which is not kept a second time: there are thousands of names.
    text: String<CAPACITY, u8>,
}

/// A name is not one that a candidate can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// It does not end in a label of its format and ten digits.
    #[error(
        "not a candidate: the name does not end in `latch-`, or what its format has there, and ten digits"
    )]
    NotACandidate,
    /// It ends in a number that the server gives to several znodes.
    #[error("the name ends in a number beyond 2147483646, which the server gives more than once")]
    SequenceExhausted,
    /// It is longer than 64 bytes.
    #[error("the candidate's name is longer than 64 bytes")]
    TooLong,
}

impl CandidateName {
    /// # Errors
    ///
    /// It is too long, or ends in no sequence.
    pub(crate) fn new(name: &str) -> Result<Self, NameError> {
        let text = String::try_from(name).map_err(|_| NameError::TooLong)?;
        Sequence::at_end_of(&text).map(|_| Self { text }).ok_or(NameError::NotACandidate)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// The number that the server appended.
    pub fn sequence(&self) -> Sequence {
        // Never the default: a name is made of text that ends in a sequence.
        Sequence::at_end_of(&self.text).unwrap_or(Sequence::LAST)
    }
}

impl fmt::Display for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CandidateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CandidateName({self})")
    }
}

/// The name of a child that is to be looked at or deleted, whatever it ends in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ChildName(String<CAPACITY, u8>);

impl ChildName {
    /// `None` if no child is called so, or the name is too long to be kept.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let is_child = !matches!(name, "" | "." | "..") && !name.contains('/');
        String::try_from(name).ok().filter(|_| is_child).map(Self)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl From<&CandidateName> for ChildName {
    fn from(name: &CandidateName) -> Self {
        Self(name.text.clone())
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::format;
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;
    use crate::id::NomineeId;

    const ID: NomineeId = NomineeId::from_bytes([0xab; 16]);

    /// The order is that of the sequences, whatever precedes them (ZOOKEEPER-2931).
    #[test]
    fn a_sequence_is_the_ten_digits_after_the_last_label() {
        const CASES: [(&str, Result<u32, NameError>); 18] = [
            ("_c_abababab-abab-abab-abab-abababababab-latch-0000000007", Ok(7)),
            ("latch-0000000007", Ok(7)),
            ("x-100-latch-0000000004", Ok(4)),
            ("latch-1-latch-0000000002", Ok(2)),
            ("latch-2147483646", Ok(2_147_483_646)),
            ("latch-2147483647", Err(NameError::SequenceExhausted)),
            ("latch--2147483648", Err(NameError::SequenceExhausted)),
            ("latch--000000005", Err(NameError::SequenceExhausted)),
            ("latch-2147483648", Err(NameError::SequenceExhausted)),
            ("latch-9999999999", Err(NameError::SequenceExhausted)),
            ("latch-7", Err(NameError::NotACandidate)),
            ("latch-00000000007", Err(NameError::NotACandidate)),
            ("latch-", Err(NameError::NotACandidate)),
            ("latch--", Err(NameError::NotACandidate)),
            ("latch-+000000005", Err(NameError::NotACandidate)),
            ("lock-0000000005", Err(NameError::NotACandidate)),
            ("0000000005", Err(NameError::NotACandidate)),
            ("", Err(NameError::NotACandidate)),
        ];
        for (name, expected) in CASES {
            let parsed = CandidateName::parse(name).map(|name| name.sequence().get());
            assert_eq!(parsed, expected, "{name}");
            let sequence = CandidateName::sequence_of(name).map(Sequence::get);
            assert_eq!(sequence, expected.ok(), "{name}");
        }
    }

    #[test]
    fn a_sequence_says_how_many_are_left() {
        assert_eq!(Sequence::new(0).map(Sequence::remaining), Some(2_147_483_646));
        assert_eq!(Sequence::LAST.remaining(), 0);
        assert_eq!(Sequence::new(2_147_483_647), None);
        assert_eq!(Sequence::LAST.to_string(), "2147483646");
    }

    #[test]
    fn an_id_owns_what_was_created_under_its_prefixes() {
        let own = format!("{}0000000003", ID.candidate_prefix(0));
        assert_eq!(own, "_c_abababab-abab-abab-abab-abababababab-latch-0000000003");
        assert!(ID.owns(&own));
        assert!(ID.candidate_prefix(0).begins(&own) && !ID.candidate_prefix(1).begins(&own));
        for attempt in [1, 0x5454_5454, u32::MAX] {
            let prefix = ID.candidate_prefix(attempt);
            assert!(ID.owns(&format!("{prefix}0000000003")), "{prefix}");
            assert!(prefix.begins(&format!("{prefix}0000000003")), "{prefix}");
        }
        assert_eq!(
            ID.candidate_prefix(0x5454_5455).to_string(),
            "_c_abababab-abab-abab-abab-abab00000000-latch-"
        );
        assert!(ID.owns(&format!("{}-2147483648", ID.candidate_prefix(0))));
        for foreign in [
            "_c_abababab-abab-abab-abab-abacabababab-latch-0000000003",
            "_c_abababab-abab-abab-abab-abababababab-lock-0000000003",
            "_c_abababab-abab-abab-abab-abababababab-latch-",
            "_c_abababab-abab-abab-abab-abababababab-latch--",
            "_c_abababab-abab-abab-abab-abababababab-latch-1-latch-0000000003",
            "abababab-abab-abab-abab-abababababab-latch-0000000003",
        ] {
            assert!(!ID.owns(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_name_beyond_the_capacity_is_a_candidate_that_cannot_be_kept() {
        let fits = format!("{:0>48}latch-0000000001", "");
        assert_eq!(CandidateName::parse(&fits).map(|name| name.to_string()), Ok(fits.clone()));
        let long = format!("x{fits}");
        assert_eq!(CandidateName::parse(&long), Err(NameError::TooLong));
        assert_eq!(CandidateName::sequence_of(&long), Sequence::new(1));
    }

    proptest! {
        #[test]
        fn what_the_server_appends_is_read_back(
            number in 0..=Sequence::LAST.get(),
            attempt: u32,
        ) {
            let name = format!("{}{number:010}", ID.candidate_prefix(attempt));
            let sequence = CandidateName::parse(&name).map(|name| name.sequence().get());
            prop_assert_eq!(sequence, Ok(number));
            prop_assert!(ID.owns(&name));
        }

        #[test]
        fn no_two_attempts_make_one_name(one: u32, other: u32, number: i32) {
            let name = format!("{}{number:010}", ID.candidate_prefix(one));
            prop_assert!(ID.owns(&name));
            prop_assert_eq!(ID.candidate_prefix(other).begins(&name), one == other);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,80}") {
            let parsed = CandidateName::parse(&text);
            let is_kept = text.len() <= 64 && CandidateName::sequence_of(&text).is_some();
            prop_assert_eq!(parsed.is_ok(), is_kept);
            let _ = (ID.owns(&text), ChildName::new(&text));
        }
    }
}
