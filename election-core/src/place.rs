//! The predecessor kernel: where an own znode stands among its siblings.
//!
//! One pass over the names, in constant space, without sorting. Who counts as being in the way is
//! the caller's rule, so that every recipe with a queue can use it: in an election and a lock all
//! earlier candidates are, in a shared lock a reader waits for earlier writers only.

use crate::name::Sequence;

/// Where an own znode stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// The own znode is not among the names.
    Missing,
    /// Nobody is in the way.
    Free,
    /// Somebody is.
    Blocked {
        /// The nearest in the way: the one to watch.
        by: &'a str,
        /// The farthest in the way: whose turn it is.
        lowest: &'a str,
        /// Whether others are in the way besides the nearest.
        remaining: Remaining,
    },
}

/// Whether the nearest znode in the way is the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Remaining {
    /// It is: once it is gone, the way is free.
    Last,
    /// Others are in the way before it.
    More {
        /// How many: at least one.
        others: u32,
    },
}

/// Finds the place of the znode called `own`, which has the sequence `sequence`.
///
/// `rival` is the rule: it gives the sequence of a name that contends with `own`, and `None` for
/// every other child. A rival is in the way if its sequence [precedes](Sequence::precedes) the own
/// one; of equal sequences, which no server gives out twice, the lesser name goes first.
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
        if theirs.precedes(sequence) || (theirs == sequence && name < own) {
            let next = Blocker { distance: theirs.distance_to(sequence), name };
            blocked = Some(Blockers::joined_by(blocked, next));
        }
    }
    match (presence, blocked) {
        (Place::Free, Some(Blockers { nearest, farthest, remaining })) => {
            Place::Blocked { by: nearest.name, lowest: farthest.name, remaining }
        }
        (presence, _) => presence,
    }
}

#[derive(Clone, Copy)]
struct Blocker<'a> {
    distance: u32,
    name: &'a str,
}

impl Blocker<'_> {
    fn is_nearer_than(self, other: Self) -> bool {
        self.distance < other.distance
            || (self.distance == other.distance && self.name > other.name)
    }
}

struct Blockers<'a> {
    nearest: Blocker<'a>,
    farthest: Blocker<'a>,
    remaining: Remaining,
}

impl<'a> Blockers<'a> {
    fn joined_by(known: Option<Self>, new: Blocker<'a>) -> Self {
        let Some(known) = known else {
            return Self { nearest: new, farthest: new, remaining: Remaining::Last };
        };
        Self {
            nearest: if new.is_nearer_than(known.nearest) { new } else { known.nearest },
            farthest: if known.farthest.is_nearer_than(new) { new } else { known.farthest },
            remaining: known.remaining.and_one_more(),
        }
    }
}

impl Remaining {
    const fn and_one_more(self) -> Self {
        match self {
            Self::Last => Self::More { others: 1 },
            Self::More { others } => Self::More { others: others.saturating_add(1) },
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

    fn find<'a>(own: &str, names: &[&'a str]) -> Place<'a> {
        let sequence = CandidateName::sequence_of(own).unwrap();
        place(own, sequence, names.iter().copied(), CandidateName::sequence_of)
    }

    #[test]
    fn the_nearest_earlier_rival_is_in_the_way() {
        let names =
            ["c-latch-9", "x", "b-latch-3", "lock-1", "own-latch-7", "d-latch-5", "a-latch-4"];
        let remaining = Remaining::More { others: 2 };
        let expected = Place::Blocked { by: "d-latch-5", lowest: "b-latch-3", remaining };
        assert_eq!(find("own-latch-7", &names), expected);
    }

    #[test]
    fn a_single_earlier_rival_is_the_last_in_the_way() {
        let names = ["own-latch-7", "d-latch-5", "a-latch-8", "DONE"];
        let expected =
            Place::Blocked { by: "d-latch-5", lowest: "d-latch-5", remaining: Remaining::Last };
        assert_eq!(find("own-latch-7", &names), expected);
    }

    #[test]
    fn without_an_earlier_rival_the_way_is_free() {
        assert_eq!(find("own-latch-7", &["z-latch-8", "own-latch-7", "0000000001"]), Place::Free);
        assert_eq!(find("own-latch-7", &["own-latch-7"]), Place::Free);
    }

    #[test]
    fn a_listing_without_the_own_name_says_so() {
        assert_eq!(find("own-latch-7", &[]), Place::Missing);
        assert_eq!(find("own-latch-7", &["d-latch-5"]), Place::Missing);
    }

    /// C-8, C-77.
    #[test]
    fn the_first_after_the_wrap_waits_for_the_last_before_it() {
        let names = ["b-latch--2147483648", "a-latch-2147483646", "c-latch-2147483647"];
        let expected = Place::Blocked {
            by: "c-latch-2147483647",
            lowest: "a-latch-2147483646",
            remaining: Remaining::More { others: 1 },
        };
        assert_eq!(find("b-latch--2147483648", &names), expected);
        assert_eq!(find("a-latch-2147483646", &names), Place::Free);
    }

    #[test]
    fn of_equal_sequences_exactly_one_is_free() {
        let names = ["b-latch-5", "a-latch-5"];
        assert_eq!(find("a-latch-5", &names), Place::Free);
        assert!(matches!(find("b-latch-5", &names), Place::Blocked { by: "a-latch-5", .. }));
    }

    /// C-38: a reader does not wait for readers.
    #[test]
    fn a_rule_decides_who_is_in_the_way() {
        let writers =
            |name: &str| name.strip_prefix("w-").and_then(|n| n.parse().ok()).map(Sequence::new);
        let names = ["r-1", "w-2", "r-3", "r-4"];
        let found = place("r-4", Sequence::new(4), names, writers);
        let expected = Place::Blocked { by: "w-2", lowest: "w-2", remaining: Remaining::Last };
        assert_eq!(found, expected);
    }

    proptest! {
        /// The law of the kernel: the same answer as sorting everything, also across the wrap.
        #[test]
        fn one_pass_agrees_with_sorting(
            start: i32,
            offsets in proptest::collection::btree_set(0..64_i32, 1..12),
            pick: prop::sample::Index,
            order: prop::sample::Index,
        ) {
            let sorted: Vec<String> = offsets
                .iter()
                .map(|offset| format!("n-latch-{}", Sequence::new(start.wrapping_add(*offset))))
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
                    remaining: match u32::try_from(at).unwrap() - 1 {
                        0 => Remaining::Last,
                        others => Remaining::More { others },
                    },
                },
            };
            prop_assert_eq!(find(&sorted[at], &shuffled), expected);
        }
    }
}
