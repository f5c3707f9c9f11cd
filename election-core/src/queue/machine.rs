//! The transitions of a taker.

use core::fmt::Write as _;
use core::mem;

use heapless::String;

use super::format::Key;
use super::stage::{Earlier, Parting, Session, TakerStage};
use super::window::Extent;
use super::{
    Competition, Item, Known, Lists, Purpose, Taker, TakerEnd, TakerFailure, TakerLink,
    TakerNotice, Target, WhenEmpty, Will,
};
use crate::code::{NO_CHILDREN_FOR_EPHEMERALS, NO_NODE, NODE_EXISTS, NOT_EMPTY};
use crate::command::{Command, Output, Watch};
use crate::event::{Event, Failure, Reply};
use crate::id::{SessionId, Version};
use crate::ticket::Ticket;

impl<D: for<'a> From<&'a [u8]>, const N: usize> Taker<D, N> {
    pub(super) fn take_in(&mut self, event: Event<'_>) -> Option<TakerNotice<D>> {
        match event {
            Event::Connected { session } => self.connected(session),
            Event::Disconnected => {
                self.disconnected();
                None
            }
            Event::SessionExpired => {
                self.disconnected();
                self.expired()
            }
            Event::Reply { ticket, result } if self.link == TakerLink::InFlight(ticket) => {
                self.replied(ticket, result)
            }
            Event::Changed { ticket, .. } if self.watch == Some(ticket) => {
                self.watch = None;
                self.wake(Lists::None);
                None
            }
            Event::Look => {
                if self.link == TakerLink::Throttled {
                    self.link = TakerLink::Idle;
                }
                // With another watch.
                if matches!(self.stage, TakerStage::Waiting) {
                    self.watch = None;
                    self.wake(Lists::Some);
                }
                self.debt_is_due();
                None
            }
            Event::Reply { .. } | Event::Changed { .. } | Event::LeaseLapsed | Event::Deadline => {
                None
            }
        }
    }

    fn wake(&mut self, lists: Lists) {
        if matches!(self.stage, TakerStage::Waiting) {
            (self.stage, self.lists) = (TakerStage::Choosing, lists);
        }
    }

    fn connected(&mut self, session: SessionId) -> Option<TakerNotice<D>> {
        let is_another = self.session.is_some_and(|before| before != session);
        if is_another {
            self.stage.go_astray();
        }
        let told = if is_another { self.expired() } else { None };
        (self.session, self.link) = (Some(session), TakerLink::Idle);
        self.debt_is_due();
        told
    }

    fn disconnected(&mut self) {
        if let TakerLink::InFlight(_) = self.link {
            self.stage.lose_reply();
        }
        (self.link, self.watch) = (TakerLink::Down, None);
        // Another server may lag behind what this one has shown.
        self.origin = match self.origin {
            Known::Since(_) => Known::Nothing,
            origin => origin,
        };
        self.wake(Lists::Some);
    }

    /// Handles the end of the session; claims went with it.
    fn expired(&mut self) -> Option<TakerNotice<D>> {
        self.session = None;
        self.incarnation = self.incarnation.next();
        match (&self.stage, self.will) {
            (TakerStage::Claiming(_) | TakerStage::ReadingClaimed, Will::Leave) => {
                self.end(TakerEnd::Withdrawn)
            }
            (TakerStage::Claiming(_) | TakerStage::ReadingClaimed, Will::Take) => {
                if let Some(target) = self.target.take() {
                    self.aim_at(target.key);
                }
                None
            }
            (TakerStage::Holding | TakerStage::Finishing(Earlier::None), _) => {
                self.end(TakerEnd::ClaimLost)
            }
            (TakerStage::Finishing(_), _) => {
                self.stage = TakerStage::Settling(Session::Other);
                None
            }
            (TakerStage::GivingBack(parting, _), _) => self.end(parting.end_of_claim()),
            (TakerStage::Owing(_), _) => {
                self.stage = TakerStage::Over;
                None
            }
            _ => None,
        }
    }

    fn replied(
        &mut self,
        ticket: Ticket,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        match result {
            Err(Failure::ConnectionLoss) => {
                self.disconnected();
                return None;
            }
            Err(Failure::Throttled) => {
                self.link = TakerLink::Throttled;
                // It was not executed.
                return if self.will == Will::Leave { self.leave() } else { None };
            }
            _ => self.link = TakerLink::Idle,
        }
        match mem::replace(&mut self.stage, TakerStage::Choosing) {
            TakerStage::CreatingNode => match result {
                Ok(Reply::NodeCreated) => None,
                result => self.refused(&result),
            },
            TakerStage::Comparing => self.compared(result),
            TakerStage::Listing(watch) => self.listed(watch, ticket, result),
            TakerStage::Reading => self.read(result),
            TakerStage::Deleting { version, data, earlier } => {
                self.deleted(version, data, earlier, result)
            }
            TakerStage::Checking { data, parting, .. } => match result {
                // It stands, so the deletion was not executed, nor will it be: it was sent before.
                Ok(_) => self.end(parting.end()),
                Err(_) => self.unknown(data),
            },
            TakerStage::Claiming(earlier) => self.claimed(earlier, result),
            TakerStage::ReadingClaimed => self.read_claimed(result),
            TakerStage::GivingBack(parting, step) => self.gave_back(parting, step, &result),
            TakerStage::Owing(debt) => {
                self.paid(debt, &result);
                None
            }
            TakerStage::Finishing(earlier) => self.finished(earlier, result),
            TakerStage::Settling(session) => match (result, session) {
                (Ok(_), _) => self.end(TakerEnd::ClaimLost),
                (Err(Failure::NoNode), Session::Same) => self.end(TakerEnd::Finished),
                (Err(Failure::NoNode), Session::Other) => self.end(TakerEnd::FinishedOnce),
                (result, _) => self.refused(&result),
            },
            resting @ (TakerStage::Choosing
            | TakerStage::Waiting
            | TakerStage::Holding
            | TakerStage::Over) => {
                self.stage = resting;
                None
            }
        }
    }

    fn read(&mut self, result: Result<Reply<'_>, Failure>) -> Option<TakerNotice<D>> {
        if let Some(sibling) = self.sibling_of(&result) {
            return self.belongs_to(sibling);
        }
        match (result, self.options.purpose) {
            (Ok(Reply::Read { data, .. }), Purpose::Peek) => {
                let peeked = self.item(D::from(data)).map(TakerEnd::Peeked);
                self.end_with(peeked)
            }
            (Ok(Reply::Read { stat, data }), _) => {
                let (version, data, earlier) = (stat.version, D::from(data), Earlier::None);
                self.stage = TakerStage::Deleting { version, data, earlier };
                None
            }
            (Err(Failure::NoNode), _) => self.missed(),
            // It is for others.
            (Err(Failure::NoAuth), _) => None,
            (result, _) => self.refused(&result),
        }
    }

    fn deleted(
        &mut self,
        version: Version,
        data: D,
        earlier: Earlier,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        match (result, earlier) {
            (Ok(Reply::Deleted), _) => {
                self.window.hit();
                let taken = self.item(data).map(TakerEnd::Taken);
                self.end_with(taken)
            }
            (Err(Failure::NoNode), Earlier::None) => self.missed(),
            // A participant has written to it, so no deletion of the version before was executed.
            (Err(Failure::BadVersion), _) => {
                if self.will == Will::Take {
                    self.stage = TakerStage::Reading;
                }
                None
            }
            // It is claimed, or has children of another kind: it was not deleted before either.
            (Err(Failure::Rejected(NOT_EMPTY)), Earlier::None | Earlier::Lost) => None,
            (result, Earlier::None) => self.refused(&result),
            (refused @ Err(Failure::NoAuth), Earlier::Lost) => {
                let parting = Parting::Failed(failure_of(&refused));
                self.stage = TakerStage::Checking { version, data, parting };
                None
            }
            (_, Earlier::Lost | Earlier::Astray) => self.unknown(data),
        }
    }

    fn claimed(
        &mut self,
        earlier: Earlier,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        match result {
            // The name of the own child is of this taker and this session: it was created before.
            Ok(Reply::Committed(_)) | Err(Failure::Aborted { part: 0, code: NODE_EXISTS }) => {
                self.stage = match self.will {
                    Will::Take => TakerStage::ReadingClaimed,
                    Will::Leave => TakerStage::giving_back(Parting::Withdrawn),
                };
                None
            }
            Err(Failure::Aborted { part: 0, code: NO_NODE }) => self.missed(),
            // Another taker has it; or it is ephemeral, and goes with the session that has put it.
            Err(Failure::Aborted { code: NODE_EXISTS | NO_CHILDREN_FOR_EPHEMERALS, .. }) => None,
            // The server does not tell what exists to a client that may not create it.
            result if earlier == Earlier::Lost => {
                self.stage = TakerStage::giving_back_after(&result, failure_of(&result));
                None
            }
            result => self.refused(&result),
        }
    }

    fn read_claimed(&mut self, result: Result<Reply<'_>, Failure>) -> Option<TakerNotice<D>> {
        if let Some(sibling) = self.sibling_of(&result) {
            self.stage = TakerStage::giving_back(Parting::Failed(TakerFailure::Sibling(sibling)));
            return None;
        }
        match result {
            Ok(Reply::Read { data, .. }) => {
                let data = D::from(data);
                self.window.hit();
                self.stage = TakerStage::Holding;
                self.item(data).map(TakerNotice::Claimed)
            }
            // The session is over, as will be told, and another taker has taken it.
            Err(Failure::NoNode) => self.missed(),
            result => {
                self.stage = TakerStage::giving_back(Parting::Failed(failure_of(&result)));
                None
            }
        }
    }

    fn finished(
        &mut self,
        earlier: Earlier,
        result: Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        match (result, earlier) {
            (Ok(Reply::Committed(_)), _) => self.end(TakerEnd::Finished),
            (Err(Failure::Aborted { part: 0, code: NO_NODE }), Earlier::None) => {
                self.end(TakerEnd::ClaimLost)
            }
            (Err(Failure::Aborted { part: 0, code: NO_NODE }), _) => {
                self.stage = TakerStage::Settling(Session::Same);
                None
            }
            (result, _) => {
                self.stage = TakerStage::giving_back(Parting::Failed(failure_of(&result)));
                None
            }
        }
    }

    /// Gives up.
    pub(super) fn leave(&mut self) -> Option<TakerNotice<D>> {
        let is_sent = matches!(self.link, TakerLink::InFlight(_));
        match &mut self.stage {
            TakerStage::GivingBack(..)
            | TakerStage::Finishing(_)
            | TakerStage::Settling(_)
            | TakerStage::Owing(_)
            | TakerStage::Over => None,
            TakerStage::Deleting { earlier: Earlier::None, .. }
            | TakerStage::Claiming(Earlier::None)
                if !is_sent =>
            {
                self.end(TakerEnd::Withdrawn)
            }
            TakerStage::Deleting { .. } | TakerStage::Checking { .. } | TakerStage::Claiming(_) => {
                self.will = Will::Leave;
                None
            }
            TakerStage::ReadingClaimed | TakerStage::Holding => {
                self.will = Will::Leave;
                self.stage = TakerStage::giving_back(Parting::Withdrawn);
                if is_sent {
                    self.link = TakerLink::Idle;
                }
                None
            }
            TakerStage::Choosing
            | TakerStage::CreatingNode
            | TakerStage::Comparing
            | TakerStage::Listing(_)
            | TakerStage::Waiting
            | TakerStage::Reading => self.end(TakerEnd::Withdrawn),
        }
    }

    /// Handles an item that another taker took first.
    fn missed(&mut self) -> Option<TakerNotice<D>> {
        self.window.miss();
        (self.competition, self.target) = (Competition::Noticed, None);
        None
    }

    fn unknown(&mut self, data: D) -> Option<TakerNotice<D>> {
        // It stands if a session that was handed out has deleted it, and not yet.
        self.window.pass_over();
        let unknown = self.item(data).map(TakerEnd::Unknown);
        self.end_with(unknown)
    }

    pub(super) fn refused(
        &mut self,
        result: &Result<Reply<'_>, Failure>,
    ) -> Option<TakerNotice<D>> {
        self.end(TakerEnd::Failed(failure_of(result)))
    }

    fn item(&self, data: D) -> Option<Item<D>> {
        self.target().map(|name| Item { name, data })
    }

    fn end_with(&mut self, end: Option<TakerEnd<D>>) -> Option<TakerNotice<D>> {
        end.and_then(|end| self.end(end))
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it is what its callers tell, and they may tell nothing"
    )]
    pub(super) fn end(&mut self, end: TakerEnd<D>) -> Option<TakerNotice<D>> {
        (self.stage, self.watch) = (TakerStage::Over, None);
        // An item that is left where it is is the next one to be tried.
        if let TakerEnd::Withdrawn
        | TakerEnd::GivenBack
        | TakerEnd::ClaimLost
        | TakerEnd::Peeked(_)
        | TakerEnd::Failed(_) = end
            && let Some(target) = &self.target
        {
            self.window.push(target.key);
        }
        Some(TakerNotice::Ended(end))
    }

    fn aim_at(&mut self, key: Key) {
        let (name, claim) = self.options.format.name_of(key).texts();
        let mut pin = String::new();
        // The pin has room for the 36 characters.
        let _ = write!(pin, "{}", self.id.plus(self.incarnation.get()));
        self.target = Some(Target { key, name, claim, pin });
        self.stage = match self.options.purpose {
            Purpose::Take | Purpose::Peek => TakerStage::Reading,
            Purpose::Claim => TakerStage::Claiming(Earlier::None),
        };
    }

    /// Chooses the next item, or a list, or rests.
    fn choose(&mut self) -> Option<TakerNotice<D>> {
        if self.will == Will::Leave {
            return self.end(TakerEnd::Withdrawn);
        }
        if self.options.purpose == Purpose::Claim && !self.options.format.has_claims() {
            return self.end(TakerEnd::Failed(TakerFailure::NotClaimable));
        }
        // An item that the taker could not take still stands.
        if self.target.take().is_some() {
            self.window.pass_over();
        }
        if self.origin == Known::NotYet && !self.window.is_empty() {
            self.stage = TakerStage::Comparing;
            return None;
        }
        if let Some(key) = self.window.pop() {
            self.aim_at(key);
            return None;
        }
        let (competition, extent) = (self.competition, self.window.extent());
        let watch = match (self.lists, self.options.when_empty, competition, extent) {
            (Lists::Some, WhenEmpty::GiveUp, Competition::Unnoticed, _) => {
                return self.end(TakerEnd::Empty);
            }
            (Lists::Some, WhenEmpty::Wait, Competition::Unnoticed, _) if self.watch.is_some() => {
                self.stage = TakerStage::Waiting;
                return Some(TakerNotice::Waiting);
            }
            (Lists::None, _, _, _)
            | (Lists::Some, WhenEmpty::GiveUp, Competition::Noticed, _)
            | (Lists::Some, WhenEmpty::Wait, Competition::Noticed, Extent::Part) => Watch::None,
            // All that the last list has shown is gone, or claimed.
            (Lists::Some, WhenEmpty::Wait, _, _) => Watch::Other,
        };
        self.stage = TakerStage::Listing(watch);
        None
    }

    /// Returns the output that follows from the state.
    pub(super) fn output(&mut self, notice: Option<TakerNotice<D>>) -> Output<'_, TakerNotice<D>> {
        if self.link != TakerLink::Idle {
            return Output { command: None, notice };
        }
        // Nothing was told where there is something to choose.
        let notice = match self.stage {
            TakerStage::Choosing => notice.or(self.choose()),
            _ => notice,
        };
        if self.will == Will::Leave {
            self.stage = mem::replace(&mut self.stage, TakerStage::Over).check_instead();
        }
        let Some(op) = self.stage.op(self.target.as_ref()) else {
            return Output { command: None, notice };
        };
        let ticket = Ticket::request(self.incarnation, self.steps);
        self.steps = self.steps.wrapping_add(1);
        self.link = TakerLink::InFlight(ticket);
        Output { command: Some(Command { ticket, op }), notice }
    }
}

pub(super) const fn failure_of(result: &Result<Reply<'_>, Failure>) -> TakerFailure {
    match result {
        Ok(_) => TakerFailure::UnexpectedReply,
        Err(Failure::Unreadable) => TakerFailure::UnreadableReply,
        Err(Failure::NoChroot) => TakerFailure::NoChroot,
        Err(failure) => TakerFailure::Rejected(failure.code()),
    }
}
