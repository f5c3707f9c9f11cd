//! Which transition takes in a reply.

use super::request::{Awaits, InFlight, NomineeLink, Request};
use super::stage::NomineeStage;
use super::{Nominee, Reaction};
use crate::event::{Failure, Reply};
use crate::outcome::{Notice, Obstacle};
use crate::recipe::{Phase, Recipe as _};
use crate::ticket::Ticket;

/// Returns what a nominee awaits after a reply.
const fn awaits_after(request: Request, result: &Result<Reply<'_>, Failure>) -> Awaits {
    match (result, request) {
        (Err(Failure::Throttled), _) => Awaits::Look,
        // A lock that goes on as a reader has an answer of its own, and a leader that wakes no other is none
        // the worse for it.
        (Err(Failure::HeldBack), Request::OfLock | Request::WakeNext) => Awaits::Nothing,
        (Err(Failure::HeldBack), _) => Awaits::UsualLook,
        _ => Awaits::Nothing,
    }
}

impl Nominee {
    /// Takes in the reply to a request, if the state still waits for it.
    pub(super) fn replied<'a>(
        &mut self,
        ticket: Ticket,
        result: Result<Reply<'a>, Failure>,
    ) -> Reaction<'a> {
        let Some((session, InFlight { request, .. })) = self.link.awaiting(ticket) else {
            return self.answered_too_late(ticket, &result);
        };
        if let Err(Failure::ConnectionLoss) = result {
            return self.disconnected().into();
        }
        let awaits = awaits_after(request, &result);
        self.link = NomineeLink::Up { session, awaits };
        if let Awaits::Look | Awaits::UsualLook = awaits {
            self.look_again_before_deletion();
            let is_blocked = awaits == Awaits::UsualLook && self.phase() == Phase::Standing;
            return is_blocked.then_some(Notice::Obstructed(Obstacle::HeldBack)).into();
        }
        // A leader whose own write has woken it as well takes them in before it reads its znode again.
        match request {
            Request::ListNext => return self.next_listed(result).into(),
            Request::WakeNext => return self.next_woken().into(),
            _ => {}
        }
        let next = self.next_prefix();
        let wanted = self.stage.demand(self.contest.home, next).map(|(request, _)| request);
        if wanted != Some(request) {
            return Reaction::default();
        }
        if matches!(self.stage, NomineeStage::Ended(_)) {
            self.cleanup_answered(session, result);
            return Reaction::default();
        }
        match request {
            Request::Create => self.create_answered(session, result),
            Request::CreateElectionNode => self.election_node_answered(&result).into(),
            Request::CreateHome => self.home_answered(&result).into(),
            Request::Barrier => self.barrier_answered(&result).into(),
            Request::BarrierBeforeEnd => self.barrier_before_end_answered(&result).into(),
            Request::Search => self.search_answered(session, result).into(),
            Request::InspectFound => self.unnamed_inspected(session, &result).into(),
            Request::ReadFound => self.suspect_answered(session, ticket, &result).into(),
            Request::DeleteGhost => self.ghost_deletion_answered(&result).into(),
            Request::ReadOwn => self.own_read_answered(session, ticket, &result).into(),
            Request::List | Request::Look => self.list_answered(None, result).into(),
            Request::WatchList => self.list_answered(Some(ticket), result).into(),
            Request::InspectGhost => self.ghost_inspection_answered(&result).into(),
            Request::InspectForeign => {
                self.foreign_inspection_answered(session, ticket, &result).into()
            }
            Request::LookForTombstone => self.tombstone_answered(ticket, &result).into(),
            Request::ReadPredecessor => {
                self.predecessor_read_answered(session, ticket, &result).into()
            }
            Request::BarrierBeforeFarewell => self.barrier_before_farewell_answered(&result).into(),
            Request::LookAtOwn => self.own_looked_at(session, &result).into(),
            Request::DeleteOwn => self.own_deletion_answered(&result).into(),
            Request::LookForEnd => self.end_answered(&result).into(),
            Request::ReadMark => self.mark_read(&result).into(),
            Request::WriteMark => self.mark_written(result).into(),
            Request::DeleteOwnAndMark => self.own_and_mark_deleted(&result).into(),
            // Of a nominee that has ended; and what it asks for on behalf of a lock, which is no state of
            // its own. A leader has taken in the replies about the one behind it.
            Request::CleanUp | Request::OfLock | Request::ListNext | Request::WakeNext => {
                Reaction::default()
            }
        }
    }

    /// Handles a reply that comes too late. One to a create of an earlier incarnation can do
    /// nothing but clean up after itself: acting on it made two leaders in Curator (CURATOR-653,
    /// CURATOR-498). One of the present incarnation is left to the search, which finds the same
    /// znode. A name without an id may be another's by now, if the election node was deleted
    /// meanwhile: the search has seen to it.
    fn answered_too_late<'a>(
        &self,
        ticket: Ticket,
        result: &Result<Reply<'a>, Failure>,
    ) -> Reaction<'a> {
        let over = matches!(self.stage, NomineeStage::Ended(_)) || !ticket.is_of(self.incarnation);
        match result {
            Ok(Reply::Created { name, .. })
                if over
                    && self.contest.has_ids()
                    && !ticket.is_cleanup()
                    && self.candidate().is_none_or(|own| *own != **name) =>
            {
                Reaction { notice: None, discard: Some(name) }
            }
            _ => Reaction::default(),
        }
    }
}
