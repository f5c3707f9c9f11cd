//! The interface for locks: reports of writes to the contender's znode, and its exchange for
//! another one.

use super::Nominee;
use super::foreign::TombstoneWatch;
use super::mark::Mark;
use super::request::{Awaits, InFlight, NomineeLink, Request};
use super::stage::{
    Cleanup, Find, LeaderWatch, Leading, Leaving, NomineeStage, OwnWatch, Standing, Tenure,
};
use super::waking::Waking;
use crate::access::Access;
use crate::id::{SessionId, Token};
use crate::name::CandidateName;
use crate::outcome::{Cause, NominationError, Notice};
use crate::ticket::Ticket;

impl Nominee {
    /// Returns whether the read with this ticket has verified the nominee's znode, and watches it.
    pub(crate) fn is_watched_by(&self, ticket: Ticket) -> bool {
        match &self.stage {
            NomineeStage::Standing(Standing { own_watch, .. }) => {
                matches!(own_watch, OwnWatch::Armed { ticket: own, .. } if *own == ticket)
            }
            NomineeStage::Leading(Leading { watch, .. }) => *watch == LeaderWatch::Armed(ticket),
            NomineeStage::Entering(_)
            | NomineeStage::Leaving(_)
            | NomineeStage::Evicted(_)
            | NomineeStage::Ended(_) => false,
        }
    }

    /// Makes a holder read its own znode once more.
    pub(crate) fn read_own_again(&mut self) {
        if let NomineeStage::Leading(leading) = &mut self.stage {
            leading.watch = LeaderWatch::Due;
            leading.tombstone.renew();
        }
    }

    /// Returns the ticket of a request of the lock, unless another request is in flight or there is
    /// no link. The reply is the lock's.
    pub(crate) fn ask(&mut self) -> Option<Ticket> {
        let NomineeLink::Up { awaits: awaits @ Awaits::Nothing, .. } = &mut self.link else {
            return None;
        };
        let ticket = Ticket::of_part(self.contest.part, self.incarnation, self.steps);
        self.steps = self.steps.wrapping_add(1);
        *awaits = Awaits::Answer(InFlight { ticket, request: Request::OfLock });
        Some(ticket)
    }

    /// Returns the session in which the request with this ticket is in flight, if it was the
    /// lock's.
    pub(crate) fn asked_by_lock(&self, ticket: Ticket) -> Option<SessionId> {
        match self.link.awaiting(ticket) {
            Some((session, InFlight { request: Request::OfLock, .. })) => Some(session),
            _ => None,
        }
    }

    /// Counts a create of the lock: no two have one name.
    pub(crate) fn count_attempt(&mut self) -> u32 {
        let attempt = self.attempts;
        self.attempts = self.attempts.wrapping_add(1);
        attempt
    }

    /// Goes on holding by another znode, which was verified by the read with this ticket.
    pub(crate) fn hold_by(&mut self, own: CandidateName, access: Access, read: (Token, Ticket)) {
        let (token, ticket) = read;
        self.contest.access = access;
        let (watch, tenure) = (LeaderWatch::Armed(ticket), Tenure::Active);
        let tombstone = TombstoneWatch::new(self.contest);
        let (mark, waking) = (Mark::Unused, Waking::Over);
        self.stage =
            NomineeStage::Leading(Leading { own, token, watch, tombstone, tenure, mark, waking });
    }

    /// Makes a leaving contender delete this znode.
    pub(crate) fn leave_by(&mut self, znode: CandidateName) {
        if let NomineeStage::Leaving(Leaving { own, .. }) = &mut self.stage {
            *own = znode;
        }
    }

    /// Handles the loss of the contender's own znode.
    pub(crate) fn evicted(&mut self) -> Option<Notice> {
        self.lose(Cause::Evicted)
    }

    /// Fails without an answer, with znodes left behind that have to be found.
    pub(crate) fn fail_to_exchange(&mut self, error: NominationError) -> Notice {
        self.fail_owing(error, Cleanup::Find(Find::Barrier))
    }
}
