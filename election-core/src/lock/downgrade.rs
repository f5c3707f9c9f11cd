//! A writer that goes on as a reader, without letting go in between.
//!
//! One transaction creates the reader's znode, with the writer's number, and deletes the writer's: there
//! is no state between. While its outcome is not known, the contender stays as it was, and what is asked
//! for is this exchange's.

use core::fmt::Write as _;

use heapless::String;

use super::exchange::{
    Answer, Answered, DowngradeRefused, Exchange, NO_NODE, Step, delete, exchange_of,
};
use super::{Lock, LockFailure, LockNotice};
use crate::access::Access;
use crate::command::{Command, Op, Watch, Znode};
use crate::event::{Event, Failure};
use crate::format::Downgrade;
use crate::name::{CAPACITY, CandidateName};
use crate::recipe::{Hold, Phase, Recipe as _};
use crate::ticket::Ticket;

impl Lock {
    /// Lets a writer that holds go on as a reader, by a znode with its own number: those behind it that
    /// share get in, and no other. From this call on the holder is to act as a reader.
    ///
    /// This takes note of it: it is carried out with the next event. A driver that has none feeds
    /// [`Event::Deadline`], which says nothing else to a holder. The holder keeps its token: contenders
    /// that wait have greater ones, and that of the reader's znode would be greater still. Then
    /// [`LockNotice::Downgraded`] follows, or [`LockNotice::NotDowngraded`], after which the writer holds
    /// as before, or the lock is lost.
    ///
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
        self.exchange = Some(Exchange { reader, step: Step::Asked, sent: Step::Asked });
        Ok(())
    }

    /// The name of the reader that the writer can become.
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

    /// Whether the contender's own znode may be the one or the other, so that what is told of the
    /// writer's means nothing.
    pub(super) fn is_exchanging(&self) -> bool {
        !matches!(self.exchange, None | Some(Exchange { step: Step::Asked, .. }))
    }

    /// The znode that heartbeats are to check meanwhile. As long as it is not known which of the two
    /// stands, it is the lock's node, so that none of them is refused because of the exchange.
    pub(super) fn heartbeat_of_exchange(&self) -> Option<Znode<'_>> {
        let Some(Exchange { reader, step, .. }) = &self.exchange else {
            return None;
        };
        match (self.contender.hold(), step) {
            (Hold::None, _) => None,
            (_, Step::Verify) => Some(Znode::Child(reader.into())),
            (_, _) => Some(Znode::Node),
        }
    }

    /// Whether the watch is wanted that the read with this ticket leaves, which is in flight.
    pub(super) fn exchange_awaits_change(&self, ticket: Ticket) -> bool {
        matches!(&self.exchange, Some(Exchange { step: Step::Find | Step::Verify, .. }))
            && self.contender.asked_by_lock(ticket).is_some()
    }

    /// What answers a request of the exchange, if the event does.
    pub(super) fn answer_to_exchange(&self, event: &Event<'_>) -> Option<Answered> {
        let Event::Reply { ticket, result } = event else {
            return None;
        };
        let session = self.contender.asked_by_lock(*ticket)?;
        Some(Answered { session, ticket: *ticket, answer: Answer::of(result) })
    }

    /// After an event that the contender has taken in.
    pub(super) fn follow_exchange(&mut self, answered: Option<Answered>) -> Option<LockNotice> {
        match self.contender.phase() {
            Phase::CleaningUp | Phase::Over => {
                self.exchange = None;
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

    /// The link is down: nothing that was asked for is known to have happened.
    pub(super) fn exchange_interrupted(&mut self) {
        if let Some(Exchange { step, .. }) = &mut self.exchange {
            *step = match step {
                Step::Commit | Step::Barrier | Step::Find => Step::Barrier,
                // No session comes to a server that has not applied what it was answered.
                Step::Asked | Step::Verify | Step::Retract => *step,
            };
        }
    }

    /// The contender leaves.
    fn retract(&mut self) {
        let Some(Exchange { reader, step, .. }) = &mut self.exchange else {
            return;
        };
        match step {
            Step::Asked => self.exchange = None,
            Step::Verify => {
                let reader = reader.clone();
                self.exchange = None;
                self.contender.leave_by(reader);
            }
            // Its answer tells which one is to be deleted.
            Step::Commit => {}
            Step::Barrier | Step::Find | Step::Retract => *step = Step::Retract,
        }
    }

    fn exchange_answered(&mut self, answered: Answered) -> Option<LockNotice> {
        let Answered { session, ticket, answer } = answered;
        let Exchange { reader, step, sent } = self.exchange.clone()?;
        if sent != step {
            return None;
        }
        let is_leaving = self.contender.phase() == Phase::Leaving;
        match (step, answer) {
            (_, Answer::Failed(Failure::ConnectionLoss)) => self.exchange_interrupted(),
            // What was told meanwhile of the writer's znode was not taken in.
            (Step::Commit, Answer::Failed(Failure::Throttled))
            | (Step::Find, Answer::Failed(Failure::NoNode)) => self.ask_again(),
            (_, Answer::Failed(Failure::Throttled)) => {}
            (Step::Commit, Answer::Committed) => self.go_on(Step::Verify),
            (Step::Commit, Answer::Failed(Failure::Unreadable)) => self.go_on(Step::Barrier),
            (Step::Commit, Answer::Failed(failure)) => {
                self.exchange = None;
                return if is_leaving { None } else { self.not_applied(failure) };
            }
            (Step::Barrier, Answer::BarrierPassed) => self.go_on(Step::Find),
            (Step::Find | Step::Verify, Answer::Read(stat)) if stat.owner == Some(session) => {
                // Contenders behind it have lower tokens than the reader's znode would give.
                self.kept = self.hold().token();
                self.exchange = None;
                self.contender.hold_by(reader, Access::Shared, (stat.token, ticket));
                return Some(LockNotice::Downgraded);
            }
            (Step::Find | Step::Verify, Answer::Read(_))
            | (Step::Verify, Answer::Failed(Failure::NoNode)) => {
                self.exchange = None;
                return self.evicted();
            }
            (Step::Retract, Answer::Deleted | Answer::Failed(Failure::NoNode)) => {
                self.exchange = None;
                self.contender.leave_by(reader);
            }
            (_, answer) => {
                self.exchange = None;
                let notice = self.contender.fail_to_exchange(answer.error());
                return Some(self.told(notice));
            }
        }
        None
    }

    fn go_on(&mut self, next: Step) {
        if let Some(Exchange { step, .. }) = &mut self.exchange {
            *step = next;
        }
    }

    /// The transaction was not applied: the writer asks for it again, once its znode is seen to stand.
    fn ask_again(&mut self) {
        self.contender.read_own_again();
        self.go_on(Step::Asked);
    }

    /// The server refused the transaction: the writer holds on, or its znode was gone before.
    fn not_applied(&mut self, failure: Failure) -> Option<LockNotice> {
        match failure {
            Failure::NoNode | Failure::Aborted { code: NO_NODE, .. } => self.evicted(),
            failure => {
                self.contender.read_own_again();
                let error = Answer::Failed(failure).error();
                Some(LockNotice::NotDowngraded(LockFailure::of(error)))
            }
        }
    }

    fn evicted(&mut self) -> Option<LockNotice> {
        let notice = self.contender.evicted()?;
        Some(self.told(notice))
    }

    /// What is asked for next.
    pub(super) fn next_command(&mut self) -> Option<Command<'_>> {
        let Self { contender, exchange, .. } = self;
        let Some(Exchange { reader, step, sent }) = exchange else {
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
