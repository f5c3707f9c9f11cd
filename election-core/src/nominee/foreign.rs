//! What is no candidate, and keeps a nominee from leading all the same: sequential children of another
//! format, and the sign that the election is over.
//!
//! Contenders of two formats do not see each other. One that finds the way free among its own kind may
//! lead beside one of another kind. So before it leads it looks at each foreign sequential child that its
//! list shows, and waits while one is ephemeral and another session's. Without such a child that costs no
//! request. One that appears while the nominee leads, or is the heir, is found at the next promotion or
//! look.

use super::home::Home;
use super::request::Request;
use super::stage::{Afterwards, LeaderWatch, Leading, Leaving, Position, Stage, Standing};
use super::{Contest, Nominee, Patience, is_owned, mismatch};
use crate::command::{Op, Watch};
use crate::event::{Change, Failure, Reply};
use crate::format::Child;
use crate::id::SessionId;
use crate::name::ChildName;
use crate::outcome::{Cause, NominationError, Notice, Obstacle};
use crate::ticket::Ticket;

/// A sequential child of another format, in the way of a nominee that would lead without it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ForeignChild {
    pub(super) name: ChildName,
    pub(super) watch: ForeignWatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ForeignWatch {
    /// Whose it is, is still to be read.
    Unset,
    /// It is ephemeral, and another session's: its end is waited for.
    Armed(Ticket),
    /// It leads nothing. The next one is looked for, in a new list.
    Passed,
}

/// Whether something may keep a nominee from leading once its predecessor is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strangers {
    None,
    Possible,
}

/// The watch on the sign that the election is over, which a leader has in formats that know one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TombstoneWatch {
    None,
    Due { name: &'static str },
    Armed { name: &'static str, ticket: Ticket },
}

/// What a list shows besides candidates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others<'a> {
    /// The first foreign sequential child, by name.
    pub(super) first: Option<&'a str>,
    /// The first one behind those that were looked at.
    pub(super) next: Option<&'a str>,
    pub(super) is_over: bool,
}

impl ForeignChild {
    pub(super) fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match self.watch {
            ForeignWatch::Unset => {
                Some((Request::InspectForeign, home.exists(self.name.as_str(), Watch::Other)))
            }
            ForeignWatch::Armed(_) => None,
            ForeignWatch::Passed => Some((Request::List, home.list(Watch::None))),
        }
    }
}

impl TombstoneWatch {
    pub(super) const fn new(contest: Contest) -> Self {
        match contest.format.layout().tombstone {
            Some(name) => Self::Due { name },
            None => Self::None,
        }
    }

    pub(super) fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match *self {
            Self::Due { name } => {
                Some((Request::LookForTombstone, home.exists(name, Watch::Other)))
            }
            Self::None | Self::Armed { .. } => None,
        }
    }

    pub(super) fn is_armed(&self, ticket: Ticket) -> bool {
        matches!(self, Self::Armed { ticket: armed, .. } if *armed == ticket)
    }

    /// The watch is gone.
    pub(super) fn renew(&mut self) {
        if let Self::Armed { name, .. } = *self {
            *self = Self::Due { name };
        }
    }
}

impl<'a> Others<'a> {
    /// Takes in a name of the list. `passed` was looked at, and those before it.
    pub(super) fn take_in(&mut self, contest: Contest, passed: Option<&str>, name: &'a str) {
        let is_before = |known: Option<&str>| known.is_none_or(|known| name < known);
        match contest.format.child(name) {
            Child::Tombstone => self.is_over = true,
            Child::Foreign => {
                if is_before(self.first) {
                    self.first = Some(name);
                }
                if passed.is_none_or(|passed| passed < name) && is_before(self.next) {
                    self.next = Some(name);
                }
            }
            Child::Contender { .. } | Child::Exhausted | Child::Other => {}
        }
    }
}

impl Standing {
    /// The foreign child that was looked at last, if the present list is to go on behind it.
    pub(super) fn passed(&self) -> Option<&str> {
        match &self.position {
            Position::Foreign(ForeignChild { name, watch: ForeignWatch::Passed }) => {
                Some(name.as_str())
            }
            _ => None,
        }
    }
}

impl Nominee {
    /// Once for each that comes to be the first by name. A name that is too long to be kept is told of
    /// where it is in the way.
    pub(super) fn report_foreign(&mut self, first: Option<&str>) -> Option<Notice> {
        let known = self.foreign.as_ref().map(ChildName::as_str);
        if known == first {
            return None;
        }
        self.foreign = first.and_then(ChildName::new);
        self.foreign.is_some().then_some(Notice::ForeignChild)
    }

    /// The way is free but for this one.
    pub(super) fn meet_foreign(&mut self, name: &str, report: Option<Notice>) -> Option<Notice> {
        let Stage::Standing(Standing { own, position, .. }) = &mut self.stage else {
            return None;
        };
        let Some(name) = ChildName::new(name) else {
            if self.contest.patience == Patience::Leaves {
                let own = own.clone();
                self.stage = Stage::Leaving(Leaving { own, afterwards: Afterwards::Withdrawn });
                return None;
            }
            *position = Position::Obstructed(Obstacle::ForeignName);
            return Some(Notice::Obstructed(Obstacle::ForeignName));
        };
        if let Position::Foreign(ForeignChild { name: known, watch: ForeignWatch::Armed(_) }) =
            position
            && *known == name
        {
            return Some(Notice::Obstructed(Obstacle::Foreign));
        }
        *position = Position::Foreign(ForeignChild { name, watch: ForeignWatch::Unset });
        report
    }

    pub(super) fn foreign_inspection_answered(
        &mut self,
        session: SessionId,
        ticket: Ticket,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let Stage::Standing(Standing { own, position, .. }) = &mut self.stage else {
            return None;
        };
        let Position::Foreign(foreign) = position else {
            return None;
        };
        match result {
            Ok(Reply::Exists(stat)) if stat.owner.is_none() || is_owned(stat, session) => {
                foreign.watch = ForeignWatch::Passed;
                None
            }
            Ok(Reply::Exists(_)) if self.contest.patience == Patience::Leaves => {
                let own = own.clone();
                self.stage = Stage::Leaving(Leaving { own, afterwards: Afterwards::Withdrawn });
                None
            }
            Ok(Reply::Exists(_)) => {
                foreign.watch = ForeignWatch::Armed(ticket);
                Some(Notice::Obstructed(Obstacle::Foreign))
            }
            Err(Failure::NoNode) => {
                *position = Position::Unknown;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn tombstone_answered(
        &mut self,
        ticket: Ticket,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (&mut self.stage, result) {
            (Stage::Leading(_), Ok(Reply::Exists(_))) => Some(self.conclude()),
            (Stage::Leading(Leading { tombstone, .. }), Err(Failure::NoNode)) => {
                if let TombstoneWatch::Due { name } = *tombstone {
                    *tombstone = TombstoneWatch::Armed { name, ticket };
                }
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// The election is over for all: a leader leads no longer, and its znode goes.
    pub(super) fn conclude(&mut self) -> Notice {
        self.fail(NominationError::Concluded)
    }

    /// What the watches of a leader tell.
    pub(super) fn leader_changed(&mut self, ticket: Ticket, change: Change) -> Option<Notice> {
        let Stage::Leading(Leading { watch, tombstone, .. }) = &mut self.stage else {
            return None;
        };
        if *watch == LeaderWatch::Armed(ticket) {
            return match change {
                Change::Deleted => self.lose(Cause::Evicted),
                Change::Created | Change::Data | Change::Children | Change::Lost => {
                    *watch = LeaderWatch::Due;
                    None
                }
            };
        }
        if tombstone.is_armed(ticket) {
            tombstone.renew();
        }
        None
    }
}
