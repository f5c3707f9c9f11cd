//! The lock and the shared lock: a contender that holds until it lets go, or loses it.
//!
//! A lock is held as an election is led: the contender's znode is created, verified and watched, and
//! waits for the next lower one that is in its way. So the machine is the nominee's, in another
//! [`Format`], and what is told is said of locks. What differs: a reader waits for writers only, a
//! contender may leave instead of waiting, and one that has lost what it held ends.

mod downgrade;
mod exchange;
mod heeding;
mod revocation;
#[cfg(test)]
mod tests;
mod told;

use thiserror::Error;

use crate::access::Access;
use crate::command::{Output, Znode};
use crate::event::Event;
use crate::format::Format;
use crate::id::{NomineeId, Token};
use crate::name::CandidateName;
use crate::nominee::{Contest, Ending, Nominee, Patience, Reaction};
use crate::outcome::{Notice, Role};
use crate::policy::{ElectionNode, OnLoss, Policy};
use crate::recipe::{Hold, Phase, Recipe};
use crate::ticket::{Incarnation, Ticket};
pub use exchange::DowngradeRefused;
use exchange::Exchange;
use revocation::{Heard, Shown};
pub use revocation::{REVOKE_REQUEST, is_revoke_request};
pub use told::{GaveUp, LockEnd, LockFailure, LockNotice, LockState};

/// One acquisition of a lock: it contends from the start, holds the lock once it is its turn, and ends
/// when it lets go of it or loses it.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and carry out what it answers. The lock is
/// released by [`withdraw`](Recipe::withdraw), which a contender that waits gives up with. Two
/// acquisitions, of one session or of several, are two contenders with two ids: it is not reentrant. In a
/// format without ids a session has one contender at a node, as [`Nominee::in_format`] says.
///
/// A contender whose znode is lost while it waits contends again, at the end of the queue. One that
/// has held the lock does not: what it protected may have changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    contender: Nominee,
    /// Why it ends, if it ends without having held the lock.
    gives_up: GaveUp,
    heard: Heard,
    exchange: Option<Exchange>,
    /// Of a reader that was a writer: the token that it goes on with.
    kept: Option<Token>,
}

/// How a lock is contended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockOptions {
    /// How the contenders are called; all of one lock have to have one format.
    pub format: Format,
    /// What is wanted.
    pub access: Access,
    /// What follows when the lock is not free.
    pub when_busy: WhenBusy,
    /// What follows when the lock's node does not exist.
    pub node: ElectionNode,
}

/// What follows when a lock is not free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenBusy {
    /// The contender waits for its turn, until [`Event::Deadline`] at most.
    #[default]
    Wait,
    /// It gives up: its first look decides.
    GiveUp,
}

/// A lock cannot be contended for in this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum LockFormatError {
    /// Its contenders do not share.
    #[error("{0:?} has no readers")]
    NotShared(Format),
}

impl LockOptions {
    /// A lock that one client holds at a time, in the format of Curator's `InterProcessMutex`.
    pub const fn exclusive() -> Self {
        Self::new(Format::curator_lock(), Access::Exclusive)
    }

    /// The lock of a writer, in the format of Curator's `InterProcessReadWriteLock`: it is held alone.
    pub const fn write() -> Self {
        Self::new(Format::curator_read_write(), Access::Exclusive)
    }

    /// The lock of a reader, in the same format: it is held together with other readers.
    pub const fn read() -> Self {
        Self::new(Format::curator_read_write(), Access::Shared)
    }

    /// A lock that is waited for, at a node that is created as a persistent one where it is missing.
    const fn new(format: Format, access: Access) -> Self {
        let node = ElectionNode::Create(crate::policy::NodeKind::Persistent);
        Self { format, access, when_busy: WhenBusy::Wait, node }
    }
}

impl Lock {
    /// A contender that has not been connected yet.
    ///
    /// # Errors
    ///
    /// What the format lacks.
    pub fn new(id: NomineeId, options: LockOptions) -> Result<Self, LockFormatError> {
        let LockOptions { format, access, when_busy, node } = options;
        if !format.offers(access) {
            return Err(LockFormatError::NotShared(format));
        }
        let (patience, gives_up) = match when_busy {
            WhenBusy::Wait => (Patience::Waits, GaveUp::Withdrawn),
            WhenBusy::GiveUp => (Patience::Leaves, GaveUp::Busy),
        };
        let policy =
            Policy { on_loss: OnLoss::StandUntilElected, election_node: node, ..Policy::default() };
        let ending = Ending::Unheeded;
        let contest = Contest { format, access, patience, ending, ..Contest::ELECTION };
        let contender = Nominee::new(id, policy).contending(contest);
        Ok(Self { contender, gives_up, heard: Heard::Nothing, exchange: None, kept: None })
    }

    /// What the contender is at the moment.
    pub fn state(&self) -> LockState<'_> {
        match self.contender.role() {
            Role::Connecting => LockState::Connecting,
            // A lock has no delay, so that it is not promoted but holds.
            Role::Standing | Role::Promoted => LockState::Queueing,
            Role::Following { predecessor, .. } => LockState::Waiting { behind: predecessor },
            Role::Leading { token } => LockState::Held { token: self.token(token) },
            Role::Suspended { token } => LockState::Suspended { token: self.token(token) },
            Role::Leaving => LockState::Leaving,
            Role::Ended(end) => LockState::Ended(LockEnd::of(end, self.gives_up)),
        }
    }

    /// The own znode, from the reply to its creation until it is deleted or lost.
    pub fn znode(&self) -> Option<&CandidateName> {
        self.contender.candidate()
    }

    /// The sequential znode of another format that [`LockNotice::ForeignChild`] told of last.
    pub fn foreign_child(&self) -> Option<&str> {
        self.contender.foreign_child()
    }

    /// The id that was given at the start.
    pub fn id(&self) -> NomineeId {
        self.contender.id()
    }

    /// How its contenders are called.
    pub const fn format(&self) -> Format {
        self.contender.contest().format
    }

    /// What is wanted of the lock: what it may be used for. A writer that is about to become a reader
    /// shares it already.
    pub const fn access(&self) -> Access {
        match self.exchange {
            None => self.contender.contest().access,
            Some(_) => Access::Shared,
        }
    }

    /// Which znode of this acquisition is the current one.
    pub fn incarnation(&self) -> Incarnation {
        self.contender.incarnation()
    }

    /// How many znodes this acquisition has asked for: no two of them have one name.
    pub fn attempts(&self) -> u32 {
        self.contender.attempts()
    }

    /// The token of what is held by a znode with this `czxid`.
    fn token(&self, znode: Token) -> Token {
        self.kept.unwrap_or(znode)
    }

    fn told(&self, notice: Notice) -> LockNotice {
        match LockNotice::of(notice, self.gives_up) {
            LockNotice::Resumed(token) => LockNotice::Resumed(self.token(token)),
            notice => notice,
        }
    }

    /// Gives up for this reason, unless that was done before.
    fn give_up(&mut self, reason: GaveUp) -> Output<'_, LockNotice> {
        if self.phase() == Phase::Standing && self.hold() == Hold::None {
            self.gives_up = reason;
        }
        let notice = self.contender.give_up();
        let notice = notice.map(|notice| self.told(notice));
        self.follow_exchange(None);
        Output { command: self.next_command(), notice }
    }
}

impl Recipe for Lock {
    type Notice = LockNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, LockNotice> {
        match (&event, self.hold()) {
            (Event::Deadline, Hold::None) => return self.give_up(GaveUp::TimedOut),
            (Event::Changed { .. }, _) if self.is_exchanging() => {
                return Output { command: None, notice: None };
            }
            (Event::Connected { .. } | Event::Disconnected, _) => self.exchange_interrupted(),
            _ => {}
        }
        let shown = Shown::by(&event);
        let answered = self.answer_to_exchange(&event);
        let Reaction { notice, discard } = self.contender.take_in(event);
        let notice = notice.map(|notice| self.told(notice));
        let notice = self.follow_exchange(answered).or(notice);
        let notice = self.heed(shown, notice);
        let command = match discard {
            None => self.next_command(),
            Some(name) => self.contender.discard(name),
        };
        Output { command, notice }
    }

    /// Releases the lock, or gives up waiting for it. It is not held from this call on; its znode is
    /// deleted, after a reconnect if need be; then [`LockNotice::Ended`] follows.
    fn withdraw(&mut self) -> Output<'_, LockNotice> {
        self.give_up(GaveUp::Withdrawn)
    }

    fn phase(&self) -> Phase {
        self.contender.phase()
    }

    fn hold(&self) -> Hold {
        match self.contender.hold() {
            Hold::None => Hold::None,
            Hold::Active(token) => Hold::Active(self.token(token)),
            Hold::Suspended(token) => Hold::Suspended(self.token(token)),
        }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        if self.is_exchanging() { self.heartbeat_of_exchange() } else { self.contender.heartbeat() }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        if self.is_exchanging() {
            self.exchange_awaits_change(ticket)
        } else {
            self.contender.awaits_change(ticket)
        }
    }

    fn waits_for_look(&self) -> bool {
        self.contender.waits_for_look()
    }
}
