//! The names of a list of children, for the recipes that it serves.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use election_core::Failure;
use election_core::children::{Index, Order};
use election_core::name::Sequence;
use zk_jute::Decode as _;
use zk_jute::records::GetChildrenResponse;

/// The outcome of a list.
pub(crate) type Listed = Result<Names, Failure>;

/// The names, unsorted or sorted.
#[derive(Clone, Debug)]
pub(crate) enum Names {
    /// The body of the answer, for one recipe: one pass costs less than sorting.
    Answer(Bytes),
    Sorted(Arc<SortedNames>),
}

impl Names {
    /// Prepares the answer for this many recipes.
    ///
    /// # Errors
    ///
    /// The answer is unreadable.
    pub(crate) fn for_recipes(answer: Bytes, recipes: usize) -> Listed {
        if recipes <= 1 {
            return Ok(Self::Answer(answer));
        }
        let listed =
            GetChildrenResponse::decode_prefix(&answer).map_err(|_| Failure::Unreadable)?;
        Ok(Self::Sorted(Arc::new(SortedNames::new(listed.children.into_iter()))))
    }

    /// Estimates the cost of a delivery to a recipe, in bytes that are read once.
    pub(crate) fn cost(&self) -> usize {
        /// The recipe's next step.
        const LEAST: usize = 1024;
        /// A search reads a few names, and one that reads all of them need not decode them.
        const SHARE: usize = 16;
        match self {
            Self::Answer(answer) => answer.len(),
            Self::Sorted(names) => LEAST.max(names.text.len() / SHARE),
        }
    }
}

/// Names, to be searched by many recipes.
#[derive(Debug, Default)]
pub(crate) struct SortedNames {
    /// One after the other.
    text: String,
    /// Where each name ends.
    ends: Vec<usize>,
    /// Which name is at each place.
    by_sequence: Vec<usize>,
    by_name: Vec<usize>,
}

impl SortedNames {
    fn new<'a>(listed: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self::default();
        let mut sequences = Vec::new();
        for (number, name) in listed.enumerate() {
            names.text.push_str(name);
            names.ends.push(names.text.len());
            sequences.extend(Sequence::at_end_of(name).map(|sequence| (sequence, number)));
        }
        let order = |order: Order| {
            let names = &names;
            move |one: &usize, other: &usize| {
                order.compare(names.listed(*one).unwrap_or(""), names.listed(*other).unwrap_or(""))
            }
        };
        // Sorting by the numbers first is faster: each comparison would have to read them again.
        let by_text = order(Order::BySequence);
        sequences.sort_unstable_by(|(one, first), (other, second)| {
            one.cmp(other).then_with(|| by_text(first, second))
        });
        let mut by_name: Vec<_> = (0..names.ends.len()).collect();
        by_name.sort_unstable_by(order(Order::ByName));
        names.by_sequence = sequences.into_iter().map(|(_, number)| number).collect();
        names.by_name = by_name;
        names
    }

    fn listed(&self, number: usize) -> Option<&str> {
        let start = match number.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(start..*self.ends.get(number)?)
    }
}

impl Index for SortedNames {
    fn len(&self, order: Order) -> usize {
        match order {
            Order::Listed => self.ends.len(),
            Order::BySequence => self.by_sequence.len(),
            Order::ByName => self.by_name.len(),
        }
    }

    fn name(&self, order: Order, place: usize) -> Option<&str> {
        let number = match order {
            Order::Listed => place,
            Order::BySequence => *self.by_sequence.get(place)?,
            Order::ByName => *self.by_name.get(place)?,
        };
        self.listed(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_order(names: &SortedNames, order: Order) -> Vec<&str> {
        (0..names.len(order)).map_while(|place| names.name(order, place)).collect()
    }

    #[test]
    fn names_are_sorted_as_recipes_search_them() {
        let listed = ["b-0000000003", "", "A-0000000003", "x", "c-0000000001", "é", "B-1"];
        let names = SortedNames::new(listed.into_iter());
        assert_eq!(in_order(&names, Order::Listed), listed);
        let by_sequence = ["c-0000000001", "A-0000000003", "b-0000000003"];
        assert_eq!(in_order(&names, Order::BySequence), by_sequence);
        let by_name = ["", "A-0000000003", "b-0000000003", "B-1", "c-0000000001", "x", "é"];
        assert_eq!(in_order(&names, Order::ByName), by_name);
        assert_eq!(names.name(Order::Listed, listed.len()), None);
    }
}
