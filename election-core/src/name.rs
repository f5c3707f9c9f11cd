//! Names of candidate znodes: `_c_<uuid>-latch-<sequence>`, the format of Curator's leader latch.
//!
//! The id in front lets a nominee find its own znode after a create whose reply was lost; the
//! sequence at the end decides who leads. Order is by sequence alone, whatever the name starts
//! with (C-7).

use core::fmt;

use heapless::String;
use thiserror::Error;

use crate::id::NomineeId;

/// Precedes the sequence in every candidate's name.
const LABEL: &str = "latch-";

/// Characters of a nominee's id in the name of its candidate.
const UUID_LEN: usize = 36;

/// The longest name that is kept, in bytes; a name with a uuid has at most 57.
const CAPACITY: usize = 64;

/// The number that the server appended to the name of a sequential znode.
///
/// The server counts in 32 bits with a sign. Servers before 3.6 wrap to the negative numbers,
/// later ones stop (protocol, section 9). [`precedes`](Self::precedes) is right on both sides of
/// the wrap; neither the text nor the signed value is (C-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sequence(i32);

impl Sequence {
    /// The sequence with this number.
    pub const fn new(number: i32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Whether `self` was given out before `later`, by serial-number arithmetic (RFC 1982).
    ///
    /// Right as long as fewer than 2³¹ znodes were created between the two. At exactly that
    /// distance each precedes the other, so that both wait rather than both lead.
    pub const fn precedes(self, later: Self) -> bool {
        self.0.wrapping_sub(later.0) < 0
    }

    /// How many znodes later `later` was created.
    pub(crate) const fn distance_to(self, later: Self) -> u32 {
        later.0.wrapping_sub(self.0).cast_unsigned()
    }

    /// The sequence of a candidate: the text after the last `latch-`, if all of it is a number.
    ///
    /// Every name of a listing comes by here, so it is read from its end, where the number is.
    fn parse(name: &str) -> Option<Self> {
        let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let before = match before.strip_suffix(LABEL) {
            Some(before) => before,
            None => before.strip_suffix('-')?.strip_suffix(LABEL)?,
        };
        name.get(before.len() + LABEL.len()..)?.parse().ok().map(Self)
    }
}

impl fmt::Display for Sequence {
    /// As the server appends it: ten characters wide, eleven for the most negative number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010}", self.0)
    }
}

/// The name of a candidate znode under its election node; never a path.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct CandidateName {
    text: String<CAPACITY, u8>,
    sequence: Sequence,
}

/// A name is not one that a candidate can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// It does not end in `latch-` and a number of 32 bits.
    #[error("not a candidate: the name does not end in `latch-` and a sequence number")]
    NotACandidate,
    /// It is longer than 64 bytes.
    #[error("the candidate's name is longer than 64 bytes")]
    TooLong,
}

impl CandidateName {
    /// Reads a child's name.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let sequence = Sequence::parse(name).ok_or(NameError::NotACandidate)?;
        let text = String::try_from(name).map_err(|_| NameError::TooLong)?;
        Ok(Self { text, sequence })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    /// The number that the server appended.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The sequence of the candidate called `name`, or `None` if it is no candidate.
    ///
    /// The rule of an election for [`place`](crate::place::place). It stores nothing, so a name
    /// of any length counts.
    pub fn sequence_of(name: &str) -> Option<Sequence> {
        Sequence::parse(name)
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

/// What a driver appends to the election node's path to create a candidate, and the server then
/// completes with the sequence: displays as `_c_<uuid>-latch-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CandidatePrefix(NomineeId);

impl fmt::Display for CandidatePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_c_{}-{LABEL}", self.0)
    }
}

impl NomineeId {
    /// The start of the name of each znode that is created under this id.
    pub const fn candidate_prefix(self) -> CandidatePrefix {
        CandidatePrefix(self)
    }

    /// Whether `name` is a candidate that was created under this id, in this session or another.
    pub fn owns(self, name: &str) -> bool {
        let Some((uuid, rest)) =
            name.strip_prefix("_c_").and_then(|rest| rest.split_at_checked(UUID_LEN))
        else {
            return false;
        };
        // Every name of a listing comes by here, and nearly all differ in the first two digits.
        let [first, ..] = self.to_bytes();
        let looks_own = uuid.get(..2).is_some_and(|two| u8::from_str_radix(two, 16) == Ok(first));
        looks_own
            && uuid.parse() == Ok(self)
            && rest.strip_prefix("-latch-").is_some_and(|sequence| !sequence.contains(LABEL))
            && CandidateName::parse(name).is_ok()
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::format;
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    const ID: NomineeId = NomineeId::from_bytes([0xab; 16]);

    /// C-7: the order is that of the sequences, whatever precedes them.
    #[test]
    fn a_sequence_is_the_text_after_the_last_label() {
        const CASES: [(&str, Option<i32>); 14] = [
            ("_c_abababab-abab-abab-abab-abababababab-latch-0000000007", Some(7)),
            ("latch-0000000007", Some(7)),
            ("x-100-latch-0000000004", Some(4)),
            ("latch-1-latch-0000000002", Some(2)),
            ("latch-2147483647", Some(i32::MAX)),
            ("latch--2147483648", Some(i32::MIN)),
            ("latch--000000005", Some(-5)),
            ("latch-2147483648", None),
            ("latch-", None),
            ("latch-+000000005", None),
            ("latch-00000000 5", None),
            ("lock-0000000005", None),
            ("0000000005", None),
            ("", None),
        ];
        for (name, expected) in CASES {
            assert_eq!(CandidateName::sequence_of(name).map(Sequence::get), expected, "{name}");
        }
    }

    /// C-8, C-77: the counter passes 2³¹−1, and the names grow by a character.
    #[test]
    fn the_order_survives_the_wrap_of_the_counter() {
        let around = [i32::MAX - 1, i32::MAX, i32::MIN, i32::MIN + 1];
        for pair in around.windows(2) {
            let (earlier, later) = (Sequence::new(pair[0]), Sequence::new(pair[1]));
            assert!(earlier.precedes(later) && !later.precedes(earlier), "{earlier} {later}");
        }
        assert_eq!(Sequence::new(i32::MIN).to_string().len(), 11);
        assert_eq!(Sequence::new(-5).to_string(), "-000000005");
        assert_eq!(Sequence::new(5).to_string(), "0000000005");
    }

    #[test]
    fn an_id_owns_what_was_created_under_its_prefix() {
        let own = format!("{}{}", ID.candidate_prefix(), Sequence::new(3));
        assert_eq!(own, "_c_abababab-abab-abab-abab-abababababab-latch-0000000003");
        assert!(ID.owns(&own));
        assert!(ID.owns(&format!("{}{}", ID.candidate_prefix(), Sequence::new(i32::MIN))));
        for foreign in [
            "_c_abababab-abab-abab-abab-abababababac-latch-0000000003",
            "_c_abababab-abab-abab-abab-abababababab-lock-0000000003",
            "_c_abababab-abab-abab-abab-abababababab-latch-",
            "_c_abababab-abab-abab-abab-abababababab-latch-1-latch-0000000003",
            "abababab-abab-abab-abab-abababababab-latch-0000000003",
        ] {
            assert!(!ID.owns(foreign), "{foreign}");
        }
    }

    #[test]
    fn a_name_beyond_the_capacity_is_a_candidate_that_cannot_be_kept() {
        let fits = format!("{:0>54}latch-0001", "");
        assert_eq!(CandidateName::parse(&fits).map(|name| name.to_string()), Ok(fits.clone()));
        let long = format!("x{fits}");
        assert_eq!(CandidateName::parse(&long), Err(NameError::TooLong));
        assert_eq!(CandidateName::sequence_of(&long), Some(Sequence::new(1)));
    }

    proptest! {
        #[test]
        fn what_the_server_appends_is_read_back(number: i32) {
            let name = format!("{}{}", ID.candidate_prefix(), Sequence::new(number));
            prop_assert_eq!(CandidateName::parse(&name).map(|name| name.sequence().get()), Ok(number));
            prop_assert!(ID.owns(&name));
        }

        #[test]
        fn of_two_sequences_exactly_one_precedes(start: i32, distance in 1..i32::MAX) {
            let (earlier, later) = (Sequence::new(start), Sequence::new(start.wrapping_add(distance)));
            prop_assert!(earlier.precedes(later));
            prop_assert!(!later.precedes(earlier));
            prop_assert!(!earlier.precedes(earlier));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,80}") {
            let parsed = CandidateName::parse(&text);
            prop_assert_eq!(parsed.is_ok(), text.len() <= 64 && CandidateName::sequence_of(&text).is_some());
            let _ = ID.owns(&text);
        }
    }
}
