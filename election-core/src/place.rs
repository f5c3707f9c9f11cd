//! The predecessor kernel: finds the place of a znode among its siblings.
//!
//! It makes one pass over the names, in constant space, without sorting. The caller's rule says
//! which of them are in the way, so every recipe with a queue can use it: in an election and a lock
//! all earlier candidates are; in a shared lock a reader waits only for earlier writers.

use crate::name::Sequence;

/// The place of a znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// The znode is not among the names.
    Missing,
    /// No rival is in the way.
    Free,
    /// Rivals are in the way.
    Blocked {
        /// The nearest rival in the way: the one to watch.
        by: &'a str,
        /// The farthest rival in the way: the one that has its turn.
        lowest: &'a str,
        /// The other rivals in the way, besides the nearest.
        remaining: Remaining,
    },
}

/// The rivals that remain in the way once the nearest is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remaining {
    /// It is the only one: once it is gone, the way is free.
    Last,
    /// Other rivals are in the way before it.
    More,
}

/// Finds the place of the znode `own`, which has the sequence `sequence`.
///
/// `rival` is the rule: it returns the sequence of a name that contends with `own`, and `None` for
/// every other child. A rival is in the way if its sequence is lower. No server gives a sequence
/// twice; a rival that was created by hand with the same one is in the way too, so of two with one
/// number neither is free.
pub fn place<'a>(
    own: &str,
    sequence: Sequence,
    names: impl IntoIterator<Item = &'a str>,
    rival: impl Fn(&str) -> Option<Sequence>,
) -> Place<'a> {
    let mut presence = Place::Missing;
    let mut blocked: Option<Blockers<'a>> = None;
    for name in names {
        if name == own {
            presence = Place::Free;
            continue;
        }
        let Some(theirs) = rival(name) else { continue };
        if theirs <= sequence {
            let next = Blocker { sequence: theirs, name };
            blocked = Some(Blockers::joined_by(blocked, next));
        }
    }
    match (presence, blocked) {
        (Place::Free, Some(Blockers { nearest, farthest })) => {
            let (by, lowest) = (nearest.name, farthest.name);
            let remaining = if by == lowest { Remaining::Last } else { Remaining::More };
            Place::Blocked { by, lowest, remaining }
        }
        (presence, _) => presence,
    }
}

#[derive(Clone, Copy)]
struct Blocker<'a> {
    sequence: Sequence,
    name: &'a str,
}

impl Blocker<'_> {
    fn is_nearer_than(self, other: Self) -> bool {
        (self.sequence, self.name) > (other.sequence, other.name)
    }
}

struct Blockers<'a> {
    nearest: Blocker<'a>,
    farthest: Blocker<'a>,
}

impl<'a> Blockers<'a> {
    fn joined_by(known: Option<Self>, new: Blocker<'a>) -> Self {
        let Some(known) = known else {
            return Self { nearest: new, farthest: new };
        };
        Self {
            nearest: if new.is_nearer_than(known.nearest) { new } else { known.nearest },
            farthest: if known.farthest.is_nearer_than(new) { new } else { known.farthest },
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::name::CandidateName;

    fn sequence(number: u32) -> Sequence {
        Sequence::new(number).unwrap()
    }

    fn find<'a>(own: &str, names: &[&'a str]) -> Place<'a> {
        let sequence = CandidateName::sequence_of(own).unwrap();
        place(own, sequence, names.iter().copied(), CandidateName::sequence_of)
    }

    const OWN: &str = "own-latch-0000000007";

    #[test]
    fn the_nearest_earlier_rival_is_in_the_way() {
        let names = [
            "c-latch-0000000009",
            "x",
            "b-latch-0000000003",
            "lock-0000000001",
            OWN,
            "d-latch-0000000005",
            "a-latch-0000000004",
        ];
        let remaining = Remaining::More;
        let expected =
            Place::Blocked { by: "d-latch-0000000005", lowest: "b-latch-0000000003", remaining };
        assert_eq!(find(OWN, &names), expected);
    }

    #[test]
    fn a_single_earlier_rival_is_the_last_in_the_way() {
        let by = "d-latch-0000000005";
        let names = [OWN, by, "a-latch-0000000008", "DONE"];
        let expected = Place::Blocked { by, lowest: by, remaining: Remaining::Last };
        assert_eq!(find(OWN, &names), expected);
    }

    #[test]
    fn without_an_earlier_rival_the_way_is_free() {
        assert_eq!(find(OWN, &["z-latch-0000000008", OWN, "0000000001"]), Place::Free);
        assert_eq!(find(OWN, &[OWN]), Place::Free);
    }

    #[test]
    fn a_listing_without_the_own_name_says_so() {
        assert_eq!(find(OWN, &[]), Place::Missing);
        assert_eq!(find(OWN, &["d-latch-0000000005"]), Place::Missing);
    }

    /// Their numbers come after all numbers that a server gives once, and these nominees end with an error.
    #[test]
    fn what_stands_beyond_the_last_sequence_is_not_in_the_way() {
        let names = ["b-latch--2147483648", OWN, "c-latch-2147483647", "d-latch--000000005"];
        assert_eq!(find(OWN, &names), Place::Free);
    }

    /// No server gives a number twice; by hand it can be done.
    #[test]
    fn of_equal_sequences_none_is_free() {
        let names = ["b-latch-0000000005", "a-latch-0000000005"];
        for (own, by) in [(names[0], names[1]), (names[1], names[0])] {
            let expected = Place::Blocked { by, lowest: by, remaining: Remaining::Last };
            assert_eq!(find(own, &names), expected);
        }
    }

    /// A reader of a read/write lock waits for writers, never for another reader (kazoo #649).
    #[test]
    fn a_rule_decides_who_is_in_the_way() {
        let writers = |name: &str| name.strip_prefix("w-")?.parse().ok().and_then(Sequence::new);
        let names = ["r-1", "w-2", "r-3", "r-4"];
        let found = place("r-4", sequence(4), names, writers);
        let expected = Place::Blocked { by: "w-2", lowest: "w-2", remaining: Remaining::Last };
        assert_eq!(found, expected);
    }

    proptest! {
        /// The law of the kernel: the same answer as sorting everything.
        #[test]
        fn one_pass_agrees_with_sorting(
            start in 0..=Sequence::LAST.get() - 64,
            offsets in proptest::collection::btree_set(0..64_u32, 1..12),
            pick: prop::sample::Index,
            order: prop::sample::Index,
        ) {
            let sorted: Vec<String> = offsets
                .iter()
                .map(|offset| format!("n-latch-{}", sequence(start + *offset)))
                .collect();
            let at = pick.index(sorted.len());
            let mut shuffled: Vec<&str> = sorted.iter().map(String::as_str).collect();
            shuffled.rotate_left(order.index(sorted.len()));
            shuffled.push("not a candidate");
            let expected = match at {
                0 => Place::Free,
                _ => Place::Blocked {
                    by: &sorted[at - 1],
                    lowest: &sorted[0],
                    remaining: if at == 1 { Remaining::Last } else { Remaining::More },
                },
            };
            prop_assert_eq!(find(&sorted[at], &shuffled), expected);
        }
    }
}
