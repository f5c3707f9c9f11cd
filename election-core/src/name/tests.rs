//! Names, and the numbers at their end.

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
