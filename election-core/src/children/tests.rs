extern crate alloc;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::access::Access;
use crate::name::CandidateName;
use crate::place::{Place, place};

/// An index as a driver makes one.
#[derive(Debug)]
struct Sorted([Vec<String>; 3]);

impl Sorted {
    fn new(names: &[String]) -> Self {
        let sorted = |order: Order| {
            let mut names = names.to_vec();
            names.sort_by(|one, other| order.compare(one, other));
            names
        };
        let mut by_sequence = sorted(Order::BySequence);
        by_sequence.retain(|name| Sequence::at_end_of(name).is_some());
        Self([sorted(Order::Listed), by_sequence, sorted(Order::ByName)])
    }

    fn names(&self, order: Order) -> &[String] {
        let [listed, by_sequence, by_name] = &self.0;
        match order {
            Order::Listed => listed,
            Order::BySequence => by_sequence,
            Order::ByName => by_name,
        }
    }
}

impl Index for Sorted {
    fn len(&self, order: Order) -> usize {
        self.names(order).len()
    }

    fn name(&self, order: Order, place: usize) -> Option<&str> {
        self.names(order).get(place).map(String::as_str)
    }
}

/// Returns the id of a nominee, by a byte in it; two ids may begin alike.
fn id(nominee: u8) -> NomineeId {
    let mut bytes = [0xab; 16];
    bytes[11] = nominee;
    NomineeId::from_bytes(bytes)
}

/// The format and the access of each contest: a reader passes over readers.
const CONTESTS: [(Format, Access); 5] = [
    (Format::curator_latch(), Access::Exclusive),
    (Format::curator_lock(), Access::Exclusive),
    (Format::curator_read_write(), Access::Exclusive),
    (Format::curator_read_write(), Access::Shared),
    (Format::kazoo(), Access::Shared),
];

/// Numbers near each other, and at the end of those that are given once.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0..30_u32).prop_map(|number| format!("{number:010}")),
        1 => (2_147_483_640..2_147_483_652_u32).prop_map(|number| format!("{number:010}")),
        1 => (i32::MIN..0).prop_map(|number| format!("{number:010}")),
        1 => Just(String::from("0000000000000000003")),
        1 => Just(String::from("12")),
    ]
}

/// Candidates of a few nominees by several attempts, those of others with names of any length, and
/// children that are none.
fn name() -> impl Strategy<Value = String> {
    let attempt = prop_oneof![3 => 0..3_u32, 1 => any::<u32>()];
    let own = (0..3_u8, attempt, number(), any::<bool>(), 0..CONTESTS.len()).prop_map(
        |(nominee, attempt, number, shouts, contest)| {
            let (format, access) = CONTESTS[contest];
            let prefix = format!("{}", format.prefix(access, id(nominee), attempt).unwrap());
            let (head, tail) = prefix.split_at(format.layout().start.len());
            let tail = match tail.split_at_checked(format.layout().id.length().unwrap()) {
                Some((uuid, label)) if shouts => format!("{}{label}", uuid.to_uppercase()),
                _ => String::from(tail),
            };
            format!("{head}{tail}{number}")
        },
    );
    let foreign = (0..70_usize, number()).prop_map(|(length, number)| {
        let padding = "x".repeat(length);
        format!("{padding}latch-{number}")
    });
    let none = prop_oneof![
        number(),
        number().prop_map(|number| format!("lock-{number}")),
        "[_cABab-]{0,40}",
        ".{0,20}",
    ];
    prop_oneof![4 => own, 3 => foreign, 2 => none]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set(name(), 0..24)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

/// Returns the place and the own names that a nominee sees among these names.
fn seen<'a>(
    (own, sequence): (&str, Sequence),
    (format, id): (Format, NomineeId),
    names: impl Iterator<Item = &'a str>,
    rival: impl Fn(&str) -> Option<Sequence>,
) -> (Place<'a>, Vec<&'a str>) {
    let mut owned = Vec::new();
    let names = names.inspect(|name| owned.extend(format.owns(id, name).then_some(*name)));
    let place = place(own, sequence, names, rival);
    owned.sort_unstable();
    (place, owned)
}

/// Returns an even number at the end of the name: another rule than the election's.
fn even(name: &str) -> Option<Sequence> {
    Sequence::at_end_of(name).filter(|sequence| sequence.get() % 2 == 0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// No rule depends on a child that the search leaves out.
    #[test]
    fn a_search_agrees_with_a_pass(
        names in names(),
        pick: prop::sample::Index,
        other in name(),
        is_there: bool,
        nominee in 0..3_u8,
        by_format: bool,
        contest in 0..CONTESTS.len(),
    ) {
        let own = match names.get(pick.index(names.len().max(1))) {
            Some(name) if is_there => name.clone(),
            _ => other,
        };
        let (format, access) = CONTESTS[contest];
        let rival = |name: &str| if by_format { format.rival(access, name) } else { even(name) };
        let Some(sequence) = Sequence::at_end_of(&own) else { return Ok(()) };
        let index = Sorted::new(&names);
        let mut all = names.iter().map(String::as_str);
        let own = (own.as_str(), sequence);
        let whose = (format, id(nominee));
        let passed = Children::listed(&mut all).around(own, whose, rival);
        let passed = seen(own, whose, passed, rival);
        let searched = Children::indexed(&index).around(own, whose, rival);
        prop_assert_eq!(seen(own, whose, searched, rival), passed);
    }

    #[test]
    fn what_an_id_owns_is_found(
        names in names(),
        nominee in 0..3_u8,
        contest in 0..CONTESTS.len(),
    ) {
        let index = Sorted::new(&names);
        let (format, _) = CONTESTS[contest];
        let owned = |children: Children<'_>| {
            let own = children.of(format, id(nominee));
            let own = own.filter(|name| format.owns(id(nominee), name));
            let mut names: Vec<String> = own.map(String::from).collect();
            names.sort_unstable();
            names
        };
        let passed = owned(Children::listed(&mut names.iter().map(String::as_str)));
        prop_assert_eq!(owned(Children::indexed(&index)), passed);
    }

    #[test]
    fn an_index_hands_out_all_names(names in names()) {
        let index = Sorted::new(&names);
        let all: Vec<&str> = Children::indexed(&index).collect();
        prop_assert_eq!(all, names.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

/// Ten thousand candidates, and each looks at a few.
#[test]
fn a_search_passes_over_a_few() {
    let names: Vec<String> = (0..10_000).map(|number| format!("x-latch-{number:010}")).collect();
    let index = Sorted::new(&names);
    let own = names.get(7_000).unwrap();
    let sequence = Sequence::new(7_000).unwrap();
    let rival = CandidateName::sequence_of;
    let whose = (Format::curator_latch(), id(0));
    let seen = Children::indexed(&index).around((own, sequence), whose, rival).count();
    assert_eq!(seen, NEAR);
}
