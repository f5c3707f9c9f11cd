//! Children that are not candidates and still keep a nominee from leading: sequential children of
//! another format, and the sign that the election is over.
//!
//! Contenders of two formats do not see each other. A contender that finds the way free among its
//! own kind could lead beside one of another kind. So before it leads it looks at each foreign
//! sequential child in its list, and waits while one is ephemeral and another session's. Without
//! such a child that costs no request. A child that appears while the nominee leads, or is the
//! heir, is found at the next promotion or look.
//!
//! Two that wait for each other would wait for good. So a contender for a lock is refused where the
//! other one was before it, and waits for one that came later until the next look at most: by then a
//! contender of this kind has been refused itself. A nominee goes on waiting, with a notice at each look.

use super::contest::Contest;
use super::home::Home;
use super::request::Request;
use crate::command::{Op, Watch};
use crate::format::Child;
use crate::name::{ChildName, Sequence};
use crate::ticket::Ticket;

/// A sequential child of another format, in the way of a nominee that would lead without it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ForeignChild {
    pub(super) name: ChildName,
    pub(super) watch: ForeignWatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ForeignWatch {
    /// The nominee has still to read its owner.
    Unset,
    /// It is ephemeral, and another session owns it: the nominee waits for its end.
    Armed(Ticket),
    /// It leads nothing. The nominee looks for the next one, in a new list.
    Passed,
}

/// The possibility that another child keeps a nominee from leading once its predecessor is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strangers {
    None,
    Possible,
}

/// The name of the sign in the layout of a format. By a reference to it, a state of a leader takes no
/// more bytes than that of a follower.
type TombstoneName = &'static &'static str;

/// The watch on the sign that the election is over. A leader has it in formats with such a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TombstoneWatch {
    None,
    Due { name: TombstoneName },
    Armed { name: TombstoneName, ticket: Ticket },
}

/// The children in a list besides candidates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others<'a> {
    /// The first foreign sequential child: the one with the lowest number.
    pub(super) first: Option<&'a str>,
    /// The first one behind those that were looked at.
    pub(super) next: Option<&'a str>,
    pub(super) is_over: bool,
}

impl ForeignChild {
    /// Returns whether it was created before the contender with this number. One with a number that the server
    /// gives more than once was not.
    pub(super) fn is_before(&self, own: Sequence) -> bool {
        Sequence::at_end_of(self.name.as_str()).is_some_and(|number| number <= own)
    }

    pub(super) fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match self.watch {
            ForeignWatch::Unset => {
                Some((Request::InspectForeign, home.exists((&self.name).into(), Watch::Other)))
            }
            ForeignWatch::Armed(_) => None,
            ForeignWatch::Passed => Some((Request::List, home.list(Watch::None))),
        }
    }
}

impl TombstoneWatch {
    pub(super) const fn new(contest: Contest) -> Self {
        match &contest.format.layout().tombstone {
            Some(name) => Self::Due { name },
            None => Self::None,
        }
    }

    pub(super) fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match *self {
            Self::Due { name } => {
                Some((Request::LookForTombstone, home.exists((**name).into(), Watch::Other)))
            }
            Self::None | Self::Armed { .. } => None,
        }
    }

    pub(super) fn is_armed(&self, ticket: Ticket) -> bool {
        matches!(self, Self::Armed { ticket: armed, .. } if *armed == ticket)
    }

    /// Notes that the watch is gone.
    pub(super) fn renew(&mut self) {
        if let Self::Armed { name, .. } = *self {
            *self = Self::Due { name };
        }
    }
}

impl<'a> Others<'a> {
    /// Takes in a name of the list. `passed` was looked at, and those before it.
    pub(super) fn take_in(&mut self, contest: Contest, passed: Option<&str>, name: &'a str) {
        if contest.end_mark() == Some(name) {
            self.is_over = true;
            return;
        }
        let is_before = |known: Option<&str>| known.is_none_or(|known| age(name) < age(known));
        match contest.format.child(name) {
            Child::Tombstone => self.is_over = true,
            Child::Foreign => {
                if is_before(self.first) {
                    self.first = Some(name);
                }
                if passed.is_none_or(|passed| age(passed) < age(name)) && is_before(self.next) {
                    self.next = Some(name);
                }
            }
            Child::Contender { .. } | Child::Exhausted | Child::Other => {}
        }
    }
}

/// Returns the place of a foreign child among those of its kind: by its number, then by its name. All children
/// take their numbers from one counter, so the number says which of two formats was there first.
fn age(name: &str) -> (u32, &str) {
    (Sequence::at_end_of(name).map_or(u32::MAX, Sequence::get), name)
}
