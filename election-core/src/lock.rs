//! The lock and the shared lock: a contender that holds until it releases, or loses the lock.
//!
//! A lock is held as an election is led: the contender's znode is created, verified and watched,
//! and waits for the next lower one in its way. So the machine is the nominee's, in another
//! [`Format`], with reports about locks. The differences: a reader waits only for writers, a
//! contender may give up instead of waiting, and one that has lost the lock ends.
//!
//! - `Access`: an `Exclusive` contender waits for the next lower one, a `Shared` one, a reader, for
//!   the nearest lower writer. Where the last writer has gone a reader holds without another look;
//!   a writer looks again where a writer has gone, since that may have become a reader in its
//!   place.
//! - `WhenBusy`: a contender waits, until `Event::Deadline` at most, or gives up at its first look.
//! - A contender that lost its znode while it waited contends again. A contender that lost the lock
//!   ends.
//! - Another client may write a request to release to a contender's znode (`REVOKE_REQUEST`): the
//!   contender gives out `LockNotice::RevokeRequested` once, as soon as a read of its own znode
//!   shows the request. In the formats of elections there are no requests, and no client writes
//!   one.
//! - `Lock::downgrade` lets a writer go on as a reader, in formats where that keeps its number: one
//!   transaction creates the reader's znode and deletes the writer's. With that in doubt, something
//!   that a quorum commits comes before the two are looked for. The reader keeps the writer's
//!   token: contenders that wait have greater ones, and a new znode's would be greater still.

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
use crate::nominee::{Contest, Ending, Nominee, OtherFormats, Patience, Reaction};
use crate::outcome::{Notice, Role};
use crate::policy::{ElectionNode, OnLoss, Policy};
use crate::recipe::{Hold, Phase, Recipe};
use crate::ticket::{Incarnation, Ticket};
pub use exchange::DowngradeRefused;
use exchange::Exchanging;
use revocation::{Heard, OwnRead};
pub use revocation::{REVOKE_REQUEST, is_revoke_request};
pub use told::{GaveUp, LockEnd, LockFailure, LockNotice, LockState};

/// One acquisition of a lock: it contends from the start, holds the lock once it is its turn, and
/// ends when it releases or loses the lock.
///
/// Feed each event to [`handle_event`](Recipe::handle_event) and execute the command that it
/// returns. [`withdraw`](Recipe::withdraw) releases the lock, or gives up waiting. Two
/// acquisitions, of one session or of several, are two contenders with two ids: the lock is not
/// reentrant. In a format without ids a session has one contender at a node, as
/// [`Nominee::in_format`] says.
///
/// A contender that loses its znode while it waits contends again, at the end of the queue. A
/// contender that has held the lock does not: what the lock protected may have changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    contender: Nominee,
    /// The reason of its end, if it ends without having held the lock.
    gives_up: GaveUp,
    heard: Heard,
    exchange: Exchanging,
}

/// How to contend for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockOptions {
    /// The format of the contenders; all contenders for one lock need the same one.
    pub format: Format,
    /// The access to ask for.
    pub access: Access,
    /// The reaction if the lock is not free.
    pub when_busy: WhenBusy,
    /// The reaction if the lock's node does not exist.
    pub node: ElectionNode,
}

/// The reaction if a lock is not free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenBusy {
    /// The contender waits for its turn, until [`Event::Deadline`] at most.
    #[default]
    Wait,
    /// It gives up: its first look decides.
    GiveUp,
}

/// Why a lock cannot be contended for in this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum LockFormatError {
    /// Its contenders do not share.
    #[error("{0:?} has no readers")]
    NotShared(Format),
}

impl LockOptions {
    /// Returns options of a lock that one client holds at a time, in the format of Curator's
    /// `InterProcessMutex`.
    pub const fn exclusive() -> Self {
        Self::new(Format::curator_lock(), Access::Exclusive)
    }

    /// Returns options of a writer's lock, held alone, in the format of Curator's
    /// `InterProcessReadWriteLock`.
    pub const fn write() -> Self {
        Self::new(Format::curator_read_write(), Access::Exclusive)
    }

    /// Returns options of a reader's lock, held together with other readers, in the same format.
    pub const fn read() -> Self {
        Self::new(Format::curator_read_write(), Access::Shared)
    }

    /// Returns options of a lock that is waited for, with a missing node created as a persistent
    /// one.
    const fn new(format: Format, access: Access) -> Self {
        let node = ElectionNode::Create(crate::policy::NodeKind::Persistent);
        Self { format, access, when_busy: WhenBusy::Wait, node }
    }
}

impl Lock {
    /// Makes a contender that has not been connected yet.
    ///
    /// # Errors
    ///
    /// The format does not offer what the options ask for.
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
        let (ending, other_formats) = (Ending::Unheeded, OtherFormats::Refuse);
        let contest =
            Contest { format, access, patience, other_formats, ending, ..Contest::ELECTION };
        let contender = Nominee::new(id, policy).contending(contest);
        let (heard, exchange) = (Heard::Nothing, Exchanging::None);
        Ok(Self { contender, gives_up, heard, exchange })
    }

    /// Returns the present state of the contender.
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

    /// Returns the contender's znode, from the reply to its creation until it is deleted or lost.
    pub fn znode(&self) -> Option<&CandidateName> {
        self.contender.candidate()
    }

    /// Returns the sequential znode of another format in the last [`LockNotice::ForeignChild`], or that the
    /// contender was [refused](LockFailure::OtherFormat) for.
    pub fn foreign_child(&self) -> Option<&str> {
        self.contender.foreign_child()
    }

    /// Returns the id of the acquisition.
    pub fn id(&self) -> NomineeId {
        self.contender.id()
    }

    /// Returns the format of its contenders.
    pub const fn format(&self) -> Format {
        self.contender.contest().format
    }

    /// Returns the access of the contender, which says what the lock may be used for. A writer that
    /// is about to become a reader already shares it.
    pub const fn access(&self) -> Access {
        match self.exchange {
            Exchanging::None | Exchanging::Done { .. } => self.contender.contest().access,
            Exchanging::UnderWay(_) => Access::Shared,
        }
    }

    /// Returns which znode of this acquisition is the current one.
    pub fn incarnation(&self) -> Incarnation {
        self.contender.incarnation()
    }

    /// Returns how many znodes this acquisition has asked for. No two of them have one name.
    pub fn attempts(&self) -> u32 {
        self.contender.attempts()
    }

    /// Returns the token of a holding by a znode with this `czxid`.
    fn token(&self, znode: Token) -> Token {
        match self.exchange {
            Exchanging::Done { kept } => kept,
            Exchanging::None | Exchanging::UnderWay(_) => znode,
        }
    }

    fn told(&self, notice: Notice) -> LockNotice {
        match LockNotice::of(notice, self.gives_up) {
            LockNotice::Resumed(token) => LockNotice::Resumed(self.token(token)),
            notice => notice,
        }
    }

    /// Gives up for this reason, unless it has given up before.
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
        let shown = OwnRead::by(&event);
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

    /// Releases the lock, or gives up waiting for it. It is not held from this call on. Its znode
    /// is deleted, after a reconnect if necessary; then [`LockNotice::Ended`] follows.
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
