//! The place of the nominee's znode in the queue, and its watch.

use super::foreign::{ForeignChild, ForeignWatch, TombstoneWatch};
use super::mark::Mark;
use super::stage::{
    Afterwards, Ahead, Behind, Entering, Entry, LeaderWatch, Leading, ListWatch, Look,
    NomineeStage, OwnWatch, Position, PredecessorWatch, Standing, Suspect, Tenure,
};
use super::survey::Survey;
use super::waking::{AS_CREATED, Waking};
use super::{Nominee, Patience, Rule, is_owned, mismatch};
use crate::children::Children;
use crate::command::ExpectedVersion;
use crate::event::{Change, Failure, Reply, Stat};
use crate::id::{SessionId, Token};
use crate::name::ChildName;
use crate::outcome::{End, Notice, Obstacle};
use crate::place::{Place, Remaining};
use crate::ticket::Ticket;

impl Nominee {
    /// Handles the read of the nominee's znode; also the leader's after a lost link, or for a new
    /// watch after its data changed.
    pub(super) fn own_read_answered(
        &mut self,
        session: SessionId,
        ticket: Ticket,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match result {
            Ok(Reply::Read { stat, .. }) if is_owned(stat, session) && self.is_same_znode(stat) => {
                self.verified(stat.token, ticket)
            }
            Ok(Reply::Read { .. }) | Err(Failure::NoNode) => self.evict(),
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Returns whether the znode is the same: one of the same name with another `czxid` is not.
    fn is_same_znode(&self, stat: &Stat) -> bool {
        match &self.stage {
            NomineeStage::Standing(Standing { own_watch, .. }) => match own_watch {
                OwnWatch::Unread => true,
                OwnWatch::Unset { token }
                | OwnWatch::Due { token }
                | OwnWatch::Armed { token, .. } => *token == stat.token,
            },
            NomineeStage::Leading(Leading { token, .. }) => *token == stat.token,
            NomineeStage::Entering(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_)
            | NomineeStage::Ended(_) => false,
        }
    }

    fn verified(&mut self, token: Token, ticket: Ticket) -> Option<Notice> {
        self.knows(token);
        match &mut self.stage {
            NomineeStage::Standing(standing) => {
                standing.own_watch = OwnWatch::Armed { token, ticket };
                match standing.position {
                    Position::First => self.lead(Waking::Unlisted),
                    Position::Unknown
                    | Position::Haunted(_)
                    | Position::Obstructed(_)
                    | Position::Foreign(_)
                    | Position::Behind(_)
                    | Position::Crowded(_) => None,
                }
            }
            NomineeStage::Leading(leading) => {
                leading.watch = LeaderWatch::Armed(ticket);
                match core::mem::replace(&mut leading.tenure, Tenure::Active) {
                    Tenure::Suspended if leading.mark.is_settled() => Some(Notice::Resumed(token)),
                    Tenure::Active | Tenure::Suspended => None,
                }
            }
            NomineeStage::Entering(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_)
            | NomineeStage::Ended(_) => None,
        }
    }

    /// Handles a list, which may have left a watch.
    pub(super) fn list_answered(
        &mut self,
        watch: Option<Ticket>,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (result, self.contest.rule) {
            (Ok(Reply::Children(children)), Rule::Turn) => self.take_place(children),
            (Ok(Reply::Children(children)), Rule::Room(most)) => {
                self.take_room(children, most, watch)
            }
            // A missing election node has no candidates.
            (Err(Failure::NoNode), _) => self.evict(),
            (other, _) => Some(self.fail(mismatch(&other))),
        }
    }

    fn take_place(&mut self, children: Children<'_>) -> Option<Notice> {
        let (id, contest) = (self.id, self.contest);
        let NomineeStage::Standing(standing) = &mut self.stage else {
            return None;
        };
        let Survey { found, ghost, others, next_leader, ahead, behind } =
            standing.survey(contest, id, children);
        self.rank.learn(ahead);
        let Standing { own, position, look, .. } = standing;
        *look = Look::NotDue;
        if let (Some(name), Place::Free | Place::Blocked { .. }) =
            (ghost.and_then(ChildName::new), found)
        {
            *position = Position::Haunted(Suspect::Found { name });
            return None;
        }
        if others.is_over && found != Place::Missing {
            return Some(self.conclude());
        }
        if matches!(found, Place::Blocked { .. }) && contest.stands_behind(own, next_leader) {
            return self.stand_behind();
        }
        match found {
            Place::Missing if others.is_over && contest.end_mark().is_some() => {
                Some(self.end(End::ElectionEnded))
            }
            Place::Missing => self.evict(),
            Place::Free => match others.next {
                None => {
                    *position = Position::First;
                    self.foreign = self.foreign.take().filter(|_| others.first.is_some());
                    self.lead(contest.waking(behind))
                }
                Some(name) => {
                    let report = self.report_foreign(others.first);
                    self.meet_foreign(name, report)
                }
            },
            Place::Blocked { .. } if contest.patience == Patience::Leaves => {
                let own = own.clone();
                self.stage = self.leaving(own, Afterwards::Withdrawn);
                None
            }
            Place::Blocked { by, lowest, remaining } => {
                let next = contest.behind(by, lowest, remaining, contest.strangers(others));
                match (position.follow(next), remaining) {
                    (Err(obstacle), _) => Some(Notice::Obstructed(obstacle)),
                    (Ok(()), Remaining::Last) => self.report_foreign(others.first),
                    (Ok(()), Remaining::More) => None,
                }
            }
        }
    }

    /// Leads, by a znode that was verified on this connection. If the reply to its creation
    /// verified it, the watch follows later: the list has just shown the znode.
    pub(super) fn lead(&mut self, waking: Waking) -> Option<Notice> {
        let NomineeStage::Standing(Standing { own, own_watch, .. }) = &self.stage else {
            return None;
        };
        let (token, watch) = match *own_watch {
            OwnWatch::Armed { token, ticket } => (token, LeaderWatch::Armed(ticket)),
            OwnWatch::Unset { token } => (token, LeaderWatch::Due),
            OwnWatch::Unread | OwnWatch::Due { .. } => return None,
        };
        let (own, tenure) = (own.clone(), Tenure::Active);
        let tombstone = TombstoneWatch::new(self.contest);
        let mark = Mark::new(self.lock_delay);
        let has_begun = mark.is_settled();
        let waking = if self.may_wake() { waking } else { Waking::Over };
        self.stage =
            NomineeStage::Leading(Leading { own, token, watch, tombstone, tenure, mark, waking });
        has_begun.then_some(Notice::Elected(token))
    }

    pub(super) fn ghost_inspection_answered(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        match (&mut self.stage, result) {
            (
                NomineeStage::Standing(Standing { position: Position::Haunted(suspect), .. }),
                Ok(Reply::Read { stat, .. }),
            ) => {
                *suspect = suspect.condemned(ExpectedVersion::Exactly(stat.version));
                None
            }
            (
                NomineeStage::Standing(Standing { position: Position::Haunted(suspect), .. }),
                Err(Failure::NoAuth),
            ) => {
                *suspect = suspect.condemned(ExpectedVersion::Any);
                None
            }
            (NomineeStage::Standing(standing), Err(Failure::NoNode)) => {
                standing.position = Position::Unknown;
                None
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    pub(super) fn predecessor_read_answered(
        &mut self,
        session: SessionId,
        ticket: Ticket,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<Notice> {
        let may_be_woken = self.is_wakeable();
        match (&mut self.stage, result) {
            // A session has one contender in such a format, and this znode is another one of the
            // session.
            (
                NomineeStage::Standing(Standing {
                    position: position @ Position::Behind(_), ..
                }),
                Ok(Reply::Read { stat, .. }),
            ) if is_owned(stat, session) && !self.contest.has_ids() => {
                if let Position::Behind(Behind { predecessor, .. }) = position {
                    let name = ChildName::from(&*predecessor);
                    let version = ExpectedVersion::Exactly(stat.version);
                    *position = Position::Haunted(Suspect::Condemned { name, version });
                }
                None
            }
            (
                NomineeStage::Standing(Standing {
                    position: Position::Behind(behind), look, ..
                }),
                Ok(Reply::Read { stat, .. }),
            ) => {
                // The write that wakes may have come between the list and this read.
                let is_written = stat.version != AS_CREATED && behind.ahead != Ahead::Nobody;
                if may_be_woken && is_written {
                    *look = Look::Due;
                }
                match core::mem::replace(&mut behind.watch, PredecessorWatch::Armed(ticket)) {
                    PredecessorWatch::Unset if stat.owner.is_none() => {
                        Some(Notice::FollowingPersistent)
                    }
                    PredecessorWatch::Unset => Some(Notice::Following),
                    PredecessorWatch::Armed(_)
                    | PredecessorWatch::Due
                    | PredecessorWatch::Barred => None,
                }
            }
            (NomineeStage::Standing(standing), Err(Failure::NoNode)) => {
                standing.position = Position::Unknown;
                None
            }
            // From here on only lists report the predecessor's end. The first list is due now: the
            // predecessor stood at this answer, and may be gone before the next look.
            (NomineeStage::Standing(standing), Err(Failure::NoAuth)) => {
                if let Position::Behind(behind) = &mut standing.position {
                    behind.watch = PredecessorWatch::Barred;
                }
                standing.look = Look::Due;
                Some(Notice::FollowingUnwatched)
            }
            _ => Some(self.fail(mismatch(result))),
        }
    }

    /// Looks for changes that a lost event would have reported.
    pub(super) fn look(&mut self) {
        match &mut self.stage {
            NomineeStage::Standing(Standing {
                position: Position::Behind(behind), look, ..
            }) => {
                match behind.watch {
                    PredecessorWatch::Armed(_) | PredecessorWatch::Barred => *look = Look::Due,
                    // It is read in any case.
                    PredecessorWatch::Unset | PredecessorWatch::Due => {}
                }
            }
            NomineeStage::Standing(Standing {
                position:
                    Position::Obstructed(_)
                    | Position::Foreign(ForeignChild { watch: ForeignWatch::Armed(_), .. })
                    | Position::Crowded(_),
                look,
                ..
            }) => *look = Look::Due,
            NomineeStage::Leading(Leading { watch, tenure: Tenure::Active, .. }) => {
                *watch = LeaderWatch::Due;
            }
            NomineeStage::Entering(Entering { step: step @ Entry::Obstructed, .. }) => {
                *step = Entry::Barrier;
            }
            NomineeStage::Ended(ended) => ended.cleanup.look_again(),
            NomineeStage::Standing(_)
            | NomineeStage::Entering(_)
            | NomineeStage::Leading(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_) => {}
        }
    }

    pub(super) fn changed(&mut self, ticket: Ticket, change: Change) -> Option<Notice> {
        match &mut self.stage {
            NomineeStage::Standing(standing) => match &standing.own_watch {
                OwnWatch::Armed { token, ticket: own } if *own == ticket => match change {
                    Change::Deleted => self.evict(),
                    Change::Created | Change::Data | Change::Children | Change::Lost => {
                        standing.own_watch = OwnWatch::Due { token: *token };
                        None
                    }
                },
                _ => self.predecessor_changed(ticket, change),
            },
            NomineeStage::Leading(_) => self.leader_changed(ticket, change),
            NomineeStage::Entering(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_)
            | NomineeStage::Ended(_) => None,
        }
    }

    fn predecessor_changed(&mut self, ticket: Ticket, change: Change) -> Option<Notice> {
        let is_woken = change == Change::Data && self.is_wakeable();
        let NomineeStage::Standing(Standing { own_watch, position, look, .. }) = &mut self.stage
        else {
            return None;
        };
        let behind = match position {
            Position::Behind(behind) => behind,
            Position::Foreign(ForeignChild { watch: ForeignWatch::Armed(armed), .. })
                if *armed == ticket =>
            {
                *position = Position::Unknown;
                return None;
            }
            Position::Crowded(watch) if *watch == ListWatch::Armed(ticket) => {
                *position = Position::Unknown;
                return None;
            }
            _ => return None,
        };
        if behind.watch != PredecessorWatch::Armed(ticket) {
            return None;
        }
        match (change, &behind.ahead, own_watch) {
            (Change::Created | Change::Data | Change::Children | Change::Lost, _, _) => {
                behind.watch = PredecessorWatch::Due;
                // A new leader wakes the one behind it by a write; or the leadership is handed over.
                if is_woken {
                    *look = Look::Due;
                }
                None
            }
            // No second look is needed: the listing came from this connection, or the position
            // would be unknown, and the own znode still stands, or its watch would have fired
            // first. While a look is due, that is in doubt: a heartbeat that was refused asks for
            // one, and servers keep the end of a znode from a nominee that may not read it.
            (Change::Deleted, Ahead::Nobody, OwnWatch::Armed { .. })
                if *look == Look::NotDue && self.contest.goes_for_good(&behind.predecessor) =>
            {
                self.lead(Waking::Unlisted)
            }
            // The nominee reads its own znode next: if that still stands, it is the lowest.
            (Change::Deleted, Ahead::Nobody, OwnWatch::Unset { .. })
                if self.contest.goes_for_good(&behind.predecessor) =>
            {
                *position = Position::First;
                None
            }
            (Change::Deleted, _, _) => {
                *position = Position::Unknown;
                None
            }
        }
    }
}

impl Position {
    fn follow(&mut self, next: Result<Behind, Obstacle>) -> Result<(), Obstacle> {
        match (next, &mut *self) {
            // Its watch stands; the number of candidates ahead of it may have changed.
            (Ok(next), Self::Behind(behind)) if behind.predecessor == next.predecessor => {
                behind.ahead = next.ahead;
            }
            (Ok(next), position) => *position = Self::Behind(next),
            (Err(obstacle), position) => {
                *position = Self::Obstructed(obstacle);
                return Err(obstacle);
            }
        }
        Ok(())
    }
}
