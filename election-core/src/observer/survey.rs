//! The children in a list that matter to an observer.

use crate::access::Access;
use crate::children::{Children, Order};
use crate::format::{Child, Format};
use crate::name::{CandidateName, ChildName, Sequence};

/// The candidate's name is too long to be kept.
pub(super) struct TooLong;

/// A sequential child of another format, by which the first candidate may be blocked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Foreign {
    None,
    Child(ChildName),
    /// Its name is too long to be kept, so it cannot be looked at.
    LongName,
}

/// A list in which a candidate stands.
pub(super) struct Found {
    /// The candidate with the lowest number.
    pub(super) first: CandidateName,
    /// The first foreign child by name, behind those that were looked at.
    pub(super) foreign: Foreign,
}

impl Found {
    /// Searches a list. The child called `passed` was looked at, and those before it.
    pub(super) fn in_list(
        format: Format,
        list: Children<'_>,
        passed: Option<&str>,
    ) -> Option<Result<Self, TooLong>> {
        let (first, foreign) = match list.index() {
            Some(index) => {
                let in_order =
                    (0..index.len(Order::BySequence)).map(|at| index.name(Order::BySequence, at));
                let is_candidate = |name: &&str| format.rival(Access::Exclusive, name).is_some();
                let first = in_order.flatten().find(is_candidate)?;
                (first, Children::indexed(index).filter(is_next(format, passed)).min())
            }
            None => in_one_pass(format, list, passed)?,
        };
        let foreign = match foreign {
            None => Foreign::None,
            Some(name) => ChildName::new(name).map_or(Foreign::LongName, Foreign::Child),
        };
        Some(format.parse(first).map(|first| Self { first, foreign }).map_err(|_| TooLong))
    }
}

fn in_one_pass<'a>(
    format: Format,
    list: Children<'a>,
    passed: Option<&str>,
) -> Option<(&'a str, Option<&'a str>)> {
    let mut least: Option<(Sequence, &str)> = None;
    let mut foreign: Option<&str> = None;
    let is_next = is_next(format, passed);
    for name in list {
        if let Some(sequence) = format.rival(Access::Exclusive, name) {
            if least.is_none_or(|least| (sequence, name) < least) {
                least = Some((sequence, name));
            }
        } else if is_next(&name) && foreign.is_none_or(|known| name < known) {
            foreign = Some(name);
        }
    }
    least.map(|(_, first)| (first, foreign))
}

fn is_next(format: Format, passed: Option<&str>) -> impl Fn(&&str) -> bool + '_ {
    move |name| {
        passed.is_none_or(|passed| passed < *name) && matches!(format.child(name), Child::Foreign)
    }
}
