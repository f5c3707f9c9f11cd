//! Downgrades: a writer continues as a reader, without releasing in between.
//!
//! One transaction creates the reader's znode, with the writer's number, and deletes the writer's,
//! so there is no state between. While its outcome is unknown, the contender stays as it was, and
//! only this exchange makes requests.

use core::fmt::Write as _;

use heapless::String;

use super::exchange::{
    Answered, DowngradeRefused, Exchange, ExchangeAnswer, Exchanging, Step, delete, exchange_of,
};
use super::{Lock, LockFailure, LockNotice};
use crate::access::Access;
use crate::code::NO_NODE;
use crate::command::{Command, Op, Watch, Znode};
use crate::event::{Event, Failure};
use crate::format::Downgrade;
use crate::name::{CAPACITY, CandidateName};
use crate::recipe::{Hold, Phase, Recipe as _};
use crate::ticket::Ticket;

impl Lock {
    /// Lets a writer that holds continue as a reader, by a znode with its own number: readers
    /// behind it get in, and no writer. From this call on the holder has to act as a reader.
    ///
    /// This only notes the wish; the next event carries it out. A driver without an event feeds
    /// [`Event::Deadline`], which means nothing else to a holder. The holder keeps its token:
    /// waiting contenders have greater ones, and the reader's znode would have a still greater one.
    /// Then [`LockNotice::Downgraded`] follows, or [`LockNotice::NotDowngraded`], after which the
    /// writer holds as before, or the loss of the lock.
    /// # Errors
    ///
    /// [`DowngradeRefused`]: nothing changes then.
    pub fn downgrade(&mut self) -> Result<(), DowngradeRefused> {
        if self.contender.hold() == Hold::None {
            return Err(DowngradeRefused::NotHeld);
        }
        if self.access() == Access::Shared {
            return Err(DowngradeRefused::AlreadyShared);
        }
        let format = self.format();
        let reader = self.reader().ok_or(DowngradeRefused::Format(format))?;
        let (step, sent) = (Step::Asked, Step::Asked);
        self.exchange = Exchanging::UnderWay(Exchange { reader, step, sent });
        Ok(())
    }

    /// Returns the name of the reader that the writer can become.
    fn reader(&mut self) -> Option<CandidateName> {
        let (format, id) = (self.format(), self.id());
        if format.layout().downgrade != Downgrade::KeepsNumber {
            return None;
        }
        let sequence = self.contender.candidate()?.sequence();
        let prefix = format.prefix(Access::Shared, id, self.contender.count_attempt())?;
        let mut name: String<CAPACITY, u8> = String::new();
        write!(name, "{prefix}{sequence}").ok()?;
        format.parse(&name).ok()
    }

    /// Returns whether the contender's znode may be either of the two, so that reports about the
    /// writer's mean nothing.
    pub(super) fn is_exchanging(&self) -> bool {
        self.exchange.present().is_some_and(|exchange| exchange.step != Step::Asked)
    }

    /// Returns the znode that heartbeats check meanwhile. While it is unknown which of the two
    /// exists, this is the lock's node, so that no heartbeat is refused because of the exchange.
    pub(super) fn heartbeat_of_exchange(&self) -> Option<Znode<'_>> {
        let Exchange { reader, step, .. } = self.exchange.present()?;
        match (self.contender.hold(), step) {
            (Hold::None, _) => None,
            (_, Step::Verify) => Some(Znode::Child(reader.into())),
            (_, _) => Some(Znode::Node),
        }
    }

    /// Returns whether it wants the watch of the read with this ticket, which is in flight.
    pub(super) fn exchange_awaits_change(&self, ticket: Ticket) -> bool {
        matches!(self.exchange.present(), Some(Exchange { step: Step::Find | Step::Verify, .. }))
            && self.contender.asked_by_lock(ticket).is_some()
    }

    /// Returns the answer to a request of the exchange, if the event is one.
    pub(super) fn answer_to_exchange(&self, event: &Event<'_>) -> Option<Answered> {
        let Event::Reply { ticket, result } = event else {
            return None;
        };
        let session = self.contender.asked_by_lock(*ticket)?;
        Some(Answered { session, ticket: *ticket, answer: ExchangeAnswer::of(result) })
    }

    /// Continues after an event that the contender has taken in.
    pub(super) fn follow_exchange(&mut self, answered: Option<Answered>) -> Option<LockNotice> {
        match self.contender.phase() {
            Phase::CleaningUp | Phase::Over => {
                self.exchange.give_up();
                return None;
            }
            Phase::Standing | Phase::Leaving => {}
        }
        let notice = answered.and_then(|answered| self.exchange_answered(answered));
        if self.contender.phase() == Phase::Leaving {
            self.retract();
        }
        notice
    }

    /// Handles a lost link: requests in flight may or may not have been executed.
    pub(super) fn exchange_interrupted(&mut self) {
        if let Some(Exchange { step, .. }) = self.exchange.present_mut() {
            *step = match step {
                Step::Commit | Step::Barrier | Step::Find => Step::Barrier,
                // No session comes to a server that has not applied what it was answered.
                Step::Asked | Step::Verify | Step::Retract => *step,
            };
        }
    }

    /// Handles the contender's leaving.
    fn retract(&mut self) {
        let Some(Exchange { reader, step, .. }) = self.exchange.present_mut() else {
            return;
        };
        match step {
            Step::Asked => self.exchange.give_up(),
            Step::Verify => {
                let reader = reader.clone();
                self.exchange.give_up();
                self.contender.leave_by(reader);
            }
            // Its answer tells which one is to be deleted.
            Step::Commit => {}
            Step::Barrier | Step::Find | Step::Retract => *step = Step::Retract,
        }
    }

    fn exchange_answered(&mut self, answered: Answered) -> Option<LockNotice> {
        let Answered { session, ticket, answer } = answered;
        let Exchange { reader, step, sent } = self.exchange.present()?.clone();
        if sent != step {
            return None;
        }
        let is_leaving = self.contender.phase() == Phase::Leaving;
        match (step, answer) {
            (_, ExchangeAnswer::Failed(Failure::ConnectionLoss)) => self.exchange_interrupted(),
            // The exchange took in no event of the writer's znode meanwhile.
            (Step::Commit, ExchangeAnswer::Failed(Failure::Throttled))
            | (Step::Find, ExchangeAnswer::Failed(Failure::NoNode)) => self.ask_again(),
            (_, ExchangeAnswer::Failed(Failure::Throttled)) => {}
            (Step::Commit, ExchangeAnswer::Committed) => self.go_on(Step::Verify),
            (Step::Commit, ExchangeAnswer::Failed(Failure::Unreadable)) => {
                self.go_on(Step::Barrier);
            }
            (Step::Commit, ExchangeAnswer::Failed(failure)) => {
                self.exchange.give_up();
                return if is_leaving { None } else { self.not_applied(failure) };
            }
            (Step::Barrier, ExchangeAnswer::BarrierPassed) => self.go_on(Step::Find),
            (Step::Find | Step::Verify, ExchangeAnswer::Read(stat))
                if stat.owner == Some(session) =>
            {
                // Contenders behind it have lower tokens than the reader's znode would give.
                let kept = self.hold().token().unwrap_or(stat.token);
                self.exchange = Exchanging::Done { kept };
                self.contender.hold_by(reader, Access::Shared, (stat.token, ticket));
                return Some(LockNotice::Downgraded);
            }
            (Step::Find | Step::Verify, ExchangeAnswer::Read(_))
            | (Step::Verify, ExchangeAnswer::Failed(Failure::NoNode)) => {
                self.exchange.give_up();
                return self.evicted();
            }
            (Step::Retract, ExchangeAnswer::Deleted | ExchangeAnswer::Failed(Failure::NoNode)) => {
                self.exchange.give_up();
                self.contender.leave_by(reader);
            }
            (_, answer) => {
                self.exchange.give_up();
                let notice = self.contender.fail_to_exchange(answer.error());
                return Some(self.told(notice));
            }
        }
        None
    }

    fn go_on(&mut self, next: Step) {
        if let Some(Exchange { step, .. }) = self.exchange.present_mut() {
            *step = next;
        }
    }

    /// Handles a transaction that was not applied: the writer asks for it again, once its znode is
    /// seen to exist.
    fn ask_again(&mut self) {
        self.contender.read_own_again();
        self.go_on(Step::Asked);
    }

    /// Handles a refusal of the transaction: the writer holds on, or its znode was gone before.
    fn not_applied(&mut self, failure: Failure) -> Option<LockNotice> {
        match failure {
            Failure::NoNode | Failure::Aborted { code: NO_NODE, .. } => self.evicted(),
            failure => {
                self.contender.read_own_again();
                let error = ExchangeAnswer::Failed(failure).error();
                Some(LockNotice::NotDowngraded(LockFailure::of(error)))
            }
        }
    }

    fn evicted(&mut self) -> Option<LockNotice> {
        let notice = self.contender.evicted()?;
        Some(self.told(notice))
    }

    /// Returns the next request.
    pub(super) fn next_command(&mut self) -> Option<Command<'_>> {
        let Self { contender, exchange, .. } = self;
        let Some(Exchange { reader, step, sent }) = exchange.present_mut() else {
            return contender.next_command();
        };
        if *step == Step::Asked && !matches!(contender.hold(), Hold::Active(_)) {
            return contender.next_command();
        }
        if *step == Step::Commit {
            return None;
        }
        let ticket = contender.ask()?;
        let own = contender.candidate()?;
        let op = match step {
            Step::Asked | Step::Commit => {
                *step = Step::Commit;
                exchange_of(own, reader)
            }
            Step::Barrier => Op::Barrier,
            Step::Find | Step::Verify => {
                Op::Read { znode: Znode::Child((&*reader).into()), watch: Watch::Own }
            }
            Step::Retract => Op::Delete(delete(own)),
        };
        *sent = *step;
        Some(Command { ticket, op })
    }
}
