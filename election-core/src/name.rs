//! Names of candidate znodes: `_c_<uuid>-latch-<sequence>`, the format of Curator's leader latch.
//!
//! The id in front lets a nominee find its own znode after a create whose reply was lost; the
//! sequence at the end decides which candidate leads. Order is by sequence alone, whatever the name
//! starts with (ZOOKEEPER-2931).

use core::fmt::{self, Write as _};

use heapless::String;
use thiserror::Error;

use crate::id::{FIXED_BYTES, NomineeId};

/// Precedes the sequence in every candidate's name.
const LABEL: &str = "latch-";

/// Characters of the uuid in a candidate's name.
const UUID_LEN: usize = 36;

/// Bytes of `_c_`, and of the uuid those that are the same in the names of all candidates of its
/// nominee: two digits each, and four dashes.
const ID_PREFIX_LEN: usize = 3 + 2 * FIXED_BYTES + 4;

/// Characters of a sequence.
const DIGITS: usize = 10;

/// The longest name that is kept, in bytes; a name with a uuid has at most 57.
const CAPACITY: usize = 64;

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

    /// Reads the text after the last `latch-`, from its end, since every name of a listing comes by
    /// here.
    fn parse(name: &str) -> Result<Self, NameError> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, digits) = name.split_at(name.len() - digits);
        if let Some(before) = before.strip_suffix('-')
            && before.ends_with(LABEL)
            && !digits.is_empty()
        {
            return Err(NameError::SequenceExhausted);
        }
        if !before.ends_with(LABEL) || digits.len() != DIGITS {
            return Err(NameError::NotACandidate);
        }
        let number = digits.parse().map_err(|_| NameError::SequenceExhausted)?;
        Self::new(number).ok_or(NameError::SequenceExhausted)
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
    text: String<CAPACITY, u8>,
    sequence: Sequence,
}

/// A name is not one that a candidate can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NameError {
    /// It does not end in `latch-` and ten digits.
    #[error("not a candidate: the name does not end in `latch-` and ten digits")]
    NotACandidate,
    /// It ends in a number that the server gives to several znodes.
    #[error("the name ends in a number beyond 2147483646, which the server gives more than once")]
    SequenceExhausted,
    /// It is longer than 64 bytes.
    #[error("the candidate's name is longer than 64 bytes")]
    TooLong,
}

impl CandidateName {
    /// Reads a child's name.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let sequence = Sequence::parse(name)?;
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
        Sequence::parse(name).ok()
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

/// What a driver appends to the election node's path to create a candidate, and the server then
/// completes with the sequence: displays as `_c_<uuid>-latch-`.
///
/// The uuid is the nominee's id with the number of the attempt added to its last four bytes, so that
/// no two candidates of a nomination ever have one name, also where the election node is deleted
/// and counts from zero again: a write that is guarded by the name of one is not let through by
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CandidatePrefix {
    id: NomineeId,
    attempt: u32,
}

impl CandidatePrefix {
    /// Whether the server made `name` of this prefix.
    pub(crate) fn begins(self, name: &str) -> bool {
        name_parts(name).is_some_and(|(uuid, _)| uuid.parse() == Ok(self.id.plus(self.attempt)))
    }
}

impl fmt::Display for CandidatePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_c_{}-{LABEL}", self.id.plus(self.attempt))
    }
}

/// The beginning of all names that a nominee can [own](NomineeId::owns), in lower case: `_c_` and the
/// part of the uuid that is the same in all of them.
pub(crate) struct IdPrefix(String<ID_PREFIX_LEN, u8>);

impl IdPrefix {
    pub(crate) fn new(id: NomineeId) -> Self {
        let mut prefix = String::new();
        // The last digits do not fit in, and are not wanted.
        let _ = write!(prefix, "_c_{id}");
        Self(prefix)
    }

    /// Without regard to the case, as uuids are read.
    pub(crate) fn begins(&self, name: &str) -> bool {
        let own = self.0.as_bytes();
        name.as_bytes().get(..own.len()).is_some_and(|start| start.eq_ignore_ascii_case(own))
    }

    /// Whether all names that begin so come after this one
    /// [in order](crate::children::Order::ByName).
    pub(crate) fn comes_after(&self, name: &str) -> bool {
        let lower_case = name.bytes().map(|byte| byte.to_ascii_lowercase());
        lower_case.lt(self.0.bytes())
    }
}

impl NomineeId {
    /// The start of the name of the znode that a nominee's create number `attempt` makes.
    pub const fn candidate_prefix(self, attempt: u32) -> CandidatePrefix {
        CandidatePrefix { id: self, attempt }
    }

    /// Whether `name` was created under this id, by any attempt, in this session or another; also
    /// where it ends in a number that the server gives more than once.
    pub fn owns(self, name: &str) -> bool {
        let Some((uuid, _)) = name_parts(name) else {
            return false;
        };
        // Every name of a listing comes by here, and nearly all differ in the first two digits.
        let [first, ..] = self.to_bytes();
        let looks_own = uuid.get(..2).is_some_and(|two| u8::from_str_radix(two, 16) == Ok(first));
        looks_own && uuid.parse().is_ok_and(|uuid| self.is_of_one_nominee_with(uuid))
    }

    /// The uuid of an attempt.
    const fn plus(self, attempt: u32) -> Self {
        let [.., a, b, c, d] = self.to_bytes();
        let [a, b, c, d] = u32::from_be_bytes([a, b, c, d]).wrapping_add(attempt).to_be_bytes();
        let mut bytes = self.to_bytes();
        let [.., last_a, last_b, last_c, last_d] = &mut bytes;
        (*last_a, *last_b, *last_c, *last_d) = (a, b, c, d);
        Self::from_bytes(bytes)
    }

    fn is_of_one_nominee_with(self, other: Self) -> bool {
        self.to_bytes().iter().zip(other.to_bytes()).take(FIXED_BYTES).all(|(a, b)| *a == b)
    }
}

/// The uuid and the number of a name that a server made of a [`CandidatePrefix`].
fn name_parts(name: &str) -> Option<(&str, &str)> {
    let (uuid, rest) = name.strip_prefix("_c_")?.split_at_checked(UUID_LEN)?;
    let number = rest.strip_prefix('-')?.strip_prefix(LABEL)?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && name.len() <= CAPACITY).then_some((uuid, number))
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::format;
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

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
