//! How a nominee handles foreign children, and the sign that the election is over.

use super::contest::OtherFormats;
use super::foreign::{ForeignChild, ForeignWatch, TombstoneWatch};
use super::stage::{Afterwards, LeaderWatch, Leading, NomineeStage, Position, Standing};
use super::{Nominee, Patience, is_owned, mismatch};
use crate::event::{Change, Failure, Reply};
use crate::id::SessionId;
use crate::name::ChildName;
use crate::outcome::{End, NominationError, Notice, Obstacle};
use crate::ticket::Ticket;

impl Nominee {
    /// Reports a foreign child, once for each that becomes the first by number. A name that is too
    /// long to be kept is reported if it is in the way.
    pub(super) fn report_foreign(&mut self, first: Option<&str>) -> Option<Notice> {
        let known = self.foreign.as_ref().map(ChildName::as_str);
        if known == first {
            return None;
        }
        self.foreign = first.and_then(ChildName::new);
        self.foreign.is_some().then_some(Notice::ForeignChild)
    }

    /// Handles a foreign child that alone is in the way.
    pub(super) fn meet_foreign(&mut self, name: &str, report: Option<Notice>) -> Option<Notice> {
        let NomineeStage::Standing(Standing { own, position, .. }) = &mut self.stage else {
            return None;
        };
        let Some(name) = ChildName::new(name) else {
            if self.contest.patience == Patience::Leaves {
                let own = own.clone();
                self.stage = self.leaving(own, Afterwards::Withdrawn);
                return None;
            }
            *position = Position::Obstructed(Obstacle::ForeignName);
            return Some(Notice::Obstructed(Obstacle::ForeignName));
        };
        if let Position::Foreign(ForeignChild { name: known, watch: ForeignWatch::Armed(_) }) =
            position
            && *known == name
        {
            return match self.contest.other_formats {
                OtherFormats::AreWaitedFor => Some(Notice::Obstructed(Obstacle::Foreign)),
                OtherFormats::Refuse => Some(self.refuse(name)),
            };
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
        let NomineeStage::Standing(Standing { own, position, .. }) = &mut self.stage else {
            return None;
        };
        let Position::Foreign(foreign) = position else {
            return None;
        };
        let is_refused = match (self.contest.other_formats, result) {
            (OtherFormats::AreWaitedFor, _) => false,
            // No watch would report its end.
            (OtherFormats::Refuse, Err(Failure::NoAuth)) => true,
            (OtherFormats::Refuse, _) => foreign.is_before(own.sequence()),
        };
        match result {
            Ok(Reply::Exists(stat)) if stat.owner.is_none() || is_owned(stat, session) => {
                foreign.watch = ForeignWatch::Passed;
                None
            }
            Ok(Reply::Exists(_)) | Err(Failure::NoAuth) if is_refused => {
                let name = foreign.name.clone();
                Some(self.refuse(name))
            }
            Ok(Reply::Exists(_)) | Err(Failure::NoAuth)
                if self.contest.patience == Patience::Leaves =>
            {
                let own = own.clone();
                self.stage = self.leaving(own, Afterwards::Withdrawn);
                None
            }
            Ok(Reply::Exists(_)) => {
                foreign.watch = ForeignWatch::Armed(ticket);
                Some(Notice::Obstructed(Obstacle::Foreign))
            }
            // A server that forbids to look at it leaves no watch. A nominee that ended here could be
            // ended by any client that may create such a child.
            Err(Failure::NoAuth) => {
                *position = Position::Obstructed(Obstacle::Foreign);
                Some(Notice::Obstructed(Obstacle::Foreign))
            }
            Err(Failure::NoNode) => {
                *position = Position::Unknown;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Ends the contender, since this one of another format stands in the node.
    fn refuse(&mut self, other: ChildName) -> Notice {
        self.foreign = Some(other);
        self.fail(NominationError::OtherFormat)
    }

    pub(super) fn tombstone_answered(
        &mut self,
        ticket: Ticket,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (&mut self.stage, result) {
            // What may not be looked at is there.
            (NomineeStage::Leading(_), Ok(Reply::Exists(_)) | Err(Failure::NoAuth)) => {
                Some(self.conclude())
            }
            (NomineeStage::Leading(Leading { tombstone, .. }), Err(Failure::NoNode)) => {
                if let TombstoneWatch::Due { name } = *tombstone {
                    *tombstone = TombstoneWatch::Armed { name, ticket };
                }
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Ends the election for this nominee: a leader leads no longer, and its znode goes.
    pub(super) fn conclude(&mut self) -> Notice {
        let cleanup = self.stage.leftover();
        self.end_owing(End::ElectionEnded, cleanup)
    }

    /// Handles changes of a leader's watches.
    pub(super) fn leader_changed(&mut self, ticket: Ticket, change: Change) -> Option<Notice> {
        let NomineeStage::Leading(Leading { watch, tombstone, .. }) = &mut self.stage else {
            return None;
        };
        if *watch == LeaderWatch::Armed(ticket) {
            return match change {
                Change::Deleted => self.evict(),
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
