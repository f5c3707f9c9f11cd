//! The names of a list of children, for one pass or for a search.
//!
//! A recipe applies its rule to the names in one pass. A driver that serves many recipes with one
//! list sorts the names once ([`Index`]), and each recipe reads only the few names that its rule
//! can depend on. The rule never depends on the others.

use core::cmp::Ordering;
use core::fmt;

use heapless::Vec;

use crate::format::{Format, IdPrefix};
use crate::id::NomineeId;
use crate::name::Sequence;

/// The names of the children of a znode: each once, in any order, to be read once.
pub struct Children<'a>(Source<'a>);

enum Source<'a> {
    Listed(&'a mut dyn Iterator<Item = &'a str>),
    Indexed { index: &'a dyn Index, next: usize },
}

/// An order of the names of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The order of the list, with all names.
    Listed,
    /// By the [sequence at its end](Sequence::at_end_of), then as text. It leaves out names without
    /// one.
    BySequence,
    /// As text, without regard to the case of ASCII letters, with all names.
    ByName,
}

/// The names of children in each [`Order`], for many recipes that look for their place.
pub trait Index {
    /// Counts the names in this order.
    fn len(&self, order: Order) -> usize;

    /// Returns the name at this place, counted from 0.
    fn name(&self, order: Order, place: usize) -> Option<&str>;
}

impl Order {
    /// Compares two names, to sort an [`Index`]. In the order of the list all are equal.
    pub fn compare(self, one: &str, other: &str) -> Ordering {
        match self {
            Self::Listed => Ordering::Equal,
            Self::BySequence => {
                let key = |name| (Sequence::at_end_of(name), name);
                key(one).cmp(&key(other))
            }
            Self::ByName => lower_case(one).cmp(lower_case(other)),
        }
    }
}

fn lower_case(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

impl<'a> Children<'a> {
    /// Takes names as they come.
    pub fn listed(names: &'a mut dyn Iterator<Item = &'a str>) -> Self {
        Self(Source::Listed(names))
    }

    /// Takes names in order.
    pub const fn indexed(index: &'a dyn Index) -> Self {
        Self(Source::Indexed { index, next: 0 })
    }

    /// Returns the sorted names, if there are any, for another pass.
    pub(crate) fn index(&self) -> Option<&'a dyn Index> {
        match &self.0 {
            Source::Listed(_) => None,
            Source::Indexed { index, .. } => Some(*index),
        }
    }

    /// Returns the names on which the result of [`place`](crate::place::place) for the znode `own`
    /// can depend, and all that a contender with this id can [own](Format::owns) in this format.
    /// There may be others among them.
    ///
    /// `rival` is the rule of [`place`](crate::place::place): if a name contends with `own`, it
    /// returns the sequence at its end.
    pub fn around(
        self,
        (own, sequence): (&str, Sequence),
        (format, id): (Format, NomineeId),
        rival: impl Fn(&str) -> Option<Sequence>,
    ) -> impl Iterator<Item = &'a str> {
        match self.0 {
            Source::Listed(names) => Relevant::All(names),
            Source::Indexed { index, .. } => {
                let named = Named::new(index, format, id);
                let others =
                    |name: &str| name != own && !named.prefix.begins(name) && rival(name).is_some();
                let mut near = nearest_and_farthest(index, sequence, others);
                if !named.prefix.begins(own)
                    && let Some(own) = find(index, own)
                {
                    // The search keeps one place more than it fills.
                    let _ = near.push(own);
                }
                Relevant::Some { near, named }
            }
        }
    }

    /// Returns all names that a contender with this id can [own](Format::owns) in this format.
    /// There may be others among them.
    pub fn of(self, format: Format, id: NomineeId) -> impl Iterator<Item = &'a str> {
        match self.0 {
            Source::Listed(names) => Relevant::All(names),
            Source::Indexed { index, .. } => {
                Relevant::Some { near: Vec::new(), named: Named::new(index, format, id) }
            }
        }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match &mut self.0 {
            Source::Listed(names) => names.next(),
            Source::Indexed { index, next } => {
                let name = index.name(Order::Listed, *next);
                *next += 1;
                name
            }
        }
    }
}

impl fmt::Debug for Children<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Children(..)")
    }
}

/// The nearest in the way, the farthest, and the contender's own name.
const NEAR: usize = 3;

enum Relevant<'a> {
    All(&'a mut dyn Iterator<Item = &'a str>),
    Some { near: Vec<&'a str, NEAR>, named: Named<'a> },
}

impl<'a> Iterator for Relevant<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        match self {
            Self::All(names) => names.next(),
            Self::Some { near, named } => near.pop().or_else(|| named.next()),
        }
    }
}

/// The names that begin like those of an id.
struct Named<'a> {
    index: &'a dyn Index,
    next: usize,
    prefix: IdPrefix,
}

impl<'a> Named<'a> {
    fn new(index: &'a dyn Index, format: Format, id: NomineeId) -> Self {
        let prefix = IdPrefix::new(format, id);
        let next = first(index, Order::ByName, |name| prefix.comes_after(name));
        Self { index, next, prefix }
    }
}

impl<'a> Iterator for Named<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let name = self.index.name(Order::ByName, self.next);
        self.next += 1;
        name.filter(|name| self.prefix.begins(name))
    }
}

fn find<'a>(index: &'a dyn Index, own: &str) -> Option<&'a str> {
    let order = Order::BySequence;
    let place = first(index, order, |name| order.compare(name, own).is_lt());
    index.name(order, place).filter(|name| *name == own)
}

/// Returns whether a child has this name.
pub(crate) fn holds(index: &dyn Index, wanted: &str) -> bool {
    let order = Order::ByName;
    let start = first(index, order, |name| order.compare(name, wanted).is_lt());
    let equal = |name: &&str| order.compare(name, wanted).is_eq();
    (start..).map_while(|place| index.name(order, place).filter(equal)).any(|name| name == wanted)
}

/// Returns the names with this beginning, in lower case.
pub(crate) fn beginning<'a>(
    index: &'a dyn Index,
    start: &'static str,
) -> impl Iterator<Item = &'a str> {
    let order = Order::ByName;
    let place = first(index, order, |name| order.compare(name, start).is_lt());
    (place..).map_while(move |place| {
        index.name(order, place).filter(|name| lower_case(name).take(start.len()).eq(start.bytes()))
    })
}

/// Returns the nearest and the farthest of the names that count and have no higher sequence.
fn nearest_and_farthest(
    index: &dyn Index,
    sequence: Sequence,
    counts: impl Fn(&str) -> bool,
) -> Vec<&str, NEAR> {
    let order = Order::BySequence;
    let named = |place| Some((place, index.name(order, place).filter(|name| counts(name))?));
    let end = first(index, order, |name| Sequence::at_end_of(name) <= Some(sequence));
    let nearest = (0..end).rev().find_map(named);
    let farthest = nearest.and_then(|(place, _)| (0..place).find_map(named));
    nearest.into_iter().chain(farthest).map(|(_, name)| name).collect()
}

/// Counts the names that end in a lower sequence.
pub(crate) fn count_before(index: &dyn Index, sequence: Sequence) -> usize {
    first(index, Order::BySequence, |name| Sequence::at_end_of(name) < Some(sequence))
}

impl<'a> Children<'a> {
    /// Returns the nearest of the names that count and have a higher sequence.
    pub(crate) fn nearest_behind(
        self,
        sequence: Sequence,
        counts: impl Fn(&str) -> bool,
    ) -> Option<&'a str> {
        let order = Order::BySequence;
        let is_behind = |name: &str| Sequence::at_end_of(name) > Some(sequence) && counts(name);
        match self.0 {
            Source::Listed(names) => {
                names.filter(|name| is_behind(name)).min_by(|one, other| order.compare(one, other))
            }
            Source::Indexed { index, .. } => {
                let start = first(index, order, |name| Sequence::at_end_of(name) <= Some(sequence));
                let mut names = (start..).map_while(|place| index.name(order, place));
                names.find(|name| counts(name))
            }
        }
    }
}

/// Finds the first place with a name that is not `before`. All names in front of it are, and no
/// others.
fn first(index: &dyn Index, order: Order, before: impl Fn(&str) -> bool) -> usize {
    let (mut low, mut high) = (0, index.len(order));
    while low < high {
        let middle = low.midpoint(high);
        if index.name(order, middle).is_some_and(&before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests;
