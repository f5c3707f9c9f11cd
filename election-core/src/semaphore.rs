//! The semaphore: a number of permits, which contenders get in the order in which they asked.
//!
//! It consists of two contests, both of them the nominee's. The first is for a lock, the mutex,
//! below `locks`; its holder is the next to get a permit. The second is for the permit itself: a
//! znode below `leases`, which is held once there are no more such znodes than permits. When a
//! contender holds its permit, it releases the mutex, and the next contender takes that.
//!
//! Only the second contest makes sure that no more contenders hold than there are permits. The
//! mutex keeps the order, and keeps contenders from blocking each other: two with znodes that wait
//! would wait for each other. So a contender that has lost the mutex takes the znode of its permit
//! back before it begins anew.

mod course;
mod proceeding;
mod state;
#[cfg(test)]
mod tests;

use core::num::NonZeroU32;

use crate::command::{Output, Znode};
use crate::event::{Event, Failure};
use crate::format::Format;
use crate::id::NomineeId;
use crate::lock::{GaveUp, LockNotice, WhenBusy};
use crate::name::CandidateName;
use crate::nominee::{Contest, Ending, Home, HomeChild, Nominee, Patience, Reaction, Rule};
use crate::policy::{ElectionNode, NodeKind, OnLoss, Policy};
use crate::recipe::{Hold, Phase, Recipe};
use crate::ticket::{Part, Ticket};
use course::{Course, Reports};
pub use state::SemaphoreState;

/// One acquisition of a permit: it contends from the start, holds a permit once it is its turn and
/// one is free, and ends when it releases or loses it.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. [`withdraw`](Recipe::withdraw) releases the permit, or gives up waiting.
///
/// A contender that loses its znode while it waits contends again, at the end of the queue if it
/// was the znode of its turn. A contender that has held a permit does not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Semaphore {
    permits: NonZeroU32,
    /// Contends for the turn.
    mutex: Nominee,
    /// Contends for a permit once it is its turn, and rests otherwise.
    permit: Nominee,
    /// The reason of its end, if it ends without having held a permit.
    gives_up: GaveUp,
    course: Course,
}

/// How to contend for a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SemaphoreOptions {
    /// How many permits there are. All contenders have to give the same number.
    pub permits: NonZeroU32,
    /// The reaction if none is free, or another contender is about to take one.
    pub when_busy: WhenBusy,
    /// The reaction if the semaphore's node does not exist. The nodes below it, `locks` and
    /// `leases`, are created in any case, with the same kind, or persistent.
    pub node: ElectionNode,
}

impl SemaphoreOptions {
    /// Returns options that wait for a permit, and create missing nodes as persistent ones.
    pub const fn new(permits: NonZeroU32) -> Self {
        let node = ElectionNode::Create(NodeKind::Persistent);
        Self { permits, when_busy: WhenBusy::Wait, node }
    }
}

impl Semaphore {
    /// The child of the semaphore's node that the contenders for the turn are below.
    pub const LOCKS: &'static str = HomeChild::Locks.name();
    /// The child of the semaphore's node that the permits are below.
    pub const LEASES: &'static str = HomeChild::Leases.name();

    /// Makes a contender that has not been connected yet.
    pub fn new(id: NomineeId, options: SemaphoreOptions) -> Self {
        let SemaphoreOptions { permits, when_busy, node } = options;
        let (patience, gives_up) = match when_busy {
            WhenBusy::Wait => (Patience::Waits, GaveUp::Withdrawn),
            WhenBusy::GiveUp => (Patience::Leaves, GaveUp::Busy),
        };
        let turn = Contest {
            format: Format::curator_lock(),
            patience,
            home: Home::Child(HomeChild::Locks),
            ending: Ending::Unheeded,
            ..Contest::ELECTION
        };
        let room = Contest {
            format: Format::curator_semaphore(),
            home: Home::Child(HomeChild::Leases),
            rule: Rule::Room(permits),
            part: Part::Second,
            ..turn
        };
        let policy = |on_loss| Policy { on_loss, election_node: node, ..Policy::default() };
        Self {
            permits,
            mutex: Nominee::new(id, policy(OnLoss::StandAgain)).contending(turn),
            permit: Nominee::resting(id, policy(OnLoss::StandUntilElected)).contending(room),
            gives_up,
            course: Course::Queueing,
        }
    }

    /// Returns the znode by which a permit is held or waited for, from the reply to its creation
    /// until it is deleted or lost. It is below [`LEASES`](Self::LEASES).
    pub fn znode(&self) -> Option<&CandidateName> {
        self.permit.candidate()
    }

    /// Returns the znode by which the turn is held or waited for. It is below
    /// [`LOCKS`](Self::LOCKS).
    pub fn turn_znode(&self) -> Option<&CandidateName> {
        self.mutex.candidate()
    }

    /// Returns the sequential znode of another format in the last [`LockNotice::ForeignChild`]. It
    /// is among the contenders for the mutex.
    pub fn foreign_child(&self) -> Option<&str> {
        self.mutex.foreign_child()
    }

    /// Returns the id of the acquisition.
    pub fn id(&self) -> NomineeId {
        self.mutex.id()
    }

    /// Returns how many permits there are.
    pub const fn permits(&self) -> NonZeroU32 {
        self.permits
    }

    /// Gives up for this reason, unless it has given up before.
    fn give_up(&mut self, reason: GaveUp) -> Output<'_, LockNotice> {
        if self.phase() == Phase::Standing && self.hold() == Hold::None {
            self.gives_up = reason;
        }
        let told = Reports { permit: self.permit.give_up(), mutex: self.mutex.give_up() };
        let notice = self.leave(told);
        self.output(notice, None)
    }

    fn tell_both(&mut self, event: impl Fn() -> Event<'static>) -> Reports {
        let mutex = self.mutex.take_in(event()).notice;
        let permit = self.permit.take_in(event()).notice;
        Reports { mutex, permit }
    }

    /// Feeds the part of this ticket.
    fn tell<'e>(&mut self, ticket: Ticket, event: Event<'e>) -> (Reports, Option<Discard<'e>>) {
        let Some(part) = ticket.part() else {
            return Default::default();
        };
        let (told, discard) = match part {
            Part::First => {
                let Reaction { notice, discard } = self.mutex.take_in(event);
                (Reports { mutex: notice, permit: None }, discard)
            }
            Part::Second => {
                let Reaction { notice, discard } = self.permit.take_in(event);
                (Reports { permit: notice, mutex: None }, discard)
            }
        };
        (told, discard.map(|name| Discard { part, name }))
    }

    /// Returns the part that sends next: one request is in flight at a time. With the permit held,
    /// the mutex is released first, since others wait for it. Otherwise the permit comes first, so
    /// that its znode goes before another one is contended for.
    fn next_part(&self) -> Option<Part> {
        if self.mutex.awaits_reply() || self.permit.awaits_reply() {
            return None;
        }
        let order = match self.course {
            Course::Holding => [(Part::First, &self.mutex), (Part::Second, &self.permit)],
            _ => [(Part::Second, &self.permit), (Part::First, &self.mutex)],
        };
        order.into_iter().find(|(_, nominee)| nominee.has_command()).map(|(part, _)| part)
    }

    fn output<'a>(
        &'a mut self,
        notice: Option<LockNotice>,
        discard: Option<Discard<'a>>,
    ) -> Output<'a, LockNotice> {
        let command = match (self.next_part(), discard) {
            (Some(Part::First), _) => self.mutex.next_command(),
            (Some(Part::Second), _) => self.permit.next_command(),
            (None, Some(Discard { part: Part::First, name })) => self.mutex.discard(name),
            (None, Some(Discard { part: Part::Second, name })) => self.permit.discard(name),
            (None, None) => None,
        };
        Output { command, notice }
    }
}

/// A znode of a part to delete without waiting for the reply.
struct Discard<'a> {
    part: Part,
    name: &'a str,
}

impl Recipe for Semaphore {
    type Notice = LockNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, LockNotice> {
        let (told, discard) = match event {
            Event::Deadline => match self.hold() {
                Hold::None => return self.give_up(GaveUp::TimedOut),
                Hold::Active(_) | Hold::Suspended(_) => Default::default(),
            },
            Event::Connected { session } => (self.tell_both(|| Event::Connected { session }), None),
            Event::Disconnected => (self.tell_both(|| Event::Disconnected), None),
            Event::SessionExpired => (self.tell_both(|| Event::SessionExpired), None),
            Event::Look => (self.tell_both(|| Event::Look), None),
            // Nothing rests on the lease before a permit is held.
            Event::LeaseLapsed => {
                let permit = self.permit.take_in(Event::LeaseLapsed).notice;
                (Reports { permit, mutex: None }, None)
            }
            // The link is down, for both.
            Event::Reply { ticket, result: Err(Failure::ConnectionLoss) }
                if self.mutex.awaits_reply_to(ticket) || self.permit.awaits_reply_to(ticket) =>
            {
                (self.tell_both(|| Event::Disconnected), None)
            }
            Event::Reply { ticket, result } => self.tell(ticket, Event::Reply { ticket, result }),
            Event::Changed { ticket, change } => {
                self.tell(ticket, Event::Changed { ticket, change })
            }
        };
        let notice = self.proceed(told);
        self.output(notice, discard)
    }

    /// Releases the permit, or gives up waiting for one. It is not held from this call on. All
    /// znodes are deleted, after a reconnect if necessary; then [`LockNotice::Ended`] follows.
    fn withdraw(&mut self) -> Output<'_, LockNotice> {
        self.give_up(GaveUp::Withdrawn)
    }

    fn phase(&self) -> Phase {
        match self.course {
            Course::Queueing | Course::Entering | Course::Retreating | Course::Holding => {
                Phase::Standing
            }
            Course::Leaving => Phase::Leaving,
            Course::Ended(_) => match (self.mutex.phase(), self.permit.phase()) {
                (Phase::Over, Phase::Over) => Phase::Over,
                _ => Phase::CleaningUp,
            },
        }
    }

    fn hold(&self) -> Hold {
        match self.course {
            Course::Holding => self.permit.hold(),
            _ => Hold::None,
        }
    }

    /// Returns the znode of the permit while it is held, or is the next to be.
    fn heartbeat(&self) -> Option<Znode<'_>> {
        match self.course {
            Course::Holding | Course::Entering => self.permit.heartbeat(),
            Course::Queueing | Course::Retreating | Course::Leaving | Course::Ended(_) => None,
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match ticket.part() {
            Some(Part::First) => self.mutex.awaits_change(ticket),
            Some(Part::Second) => self.permit.awaits_change(ticket),
            None => false,
        }
    }

    fn waits_for_look(&self) -> bool {
        self.mutex.waits_for_look() || self.permit.waits_for_look()
    }
}
