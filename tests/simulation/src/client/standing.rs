//! The recipes on a client's sessions: nominees, contenders for locks, users of another recipe, and
//! players of one that none of the published crates knows.

use core::time::Duration;

use election_core::barrier::{Barrier, BarrierEnd, DoubleBarrier, DoubleBarrierNotice};
use election_core::counter::{CounterChange, CounterEnd};
use election_core::election::Nominee;
use election_core::lock::{Lock, LockNotice};
use election_core::queue::{Taker, TakerNotice};
use election_core::semaphore::{Semaphore, SemaphoreState};
use election_core::{Event, Hold, Output, Phase, Recipe, Ticket, Znode};

use super::queued::{Queued, role_at_semaphore, role_of};
use crate::recipes::ItemId;
use crate::toy::Player;
use crate::uses::Verdict;

/// A recipe of a simulated client.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are nominees")]
pub(crate) enum Standing {
    Nominee(Nominee),
    Lock(Lock),
    Semaphore(Semaphore),
    Player(Player),
    Barrier(Barrier),
    DoubleBarrier(Box<DoubleBarrier>),
    Taker(Box<Claimant>),
    Counter(Box<CounterChange>),
    /// Of a member that shares slots: its candidate.
    SlotMember(Nominee),
    /// Of such a member: a contender for the lock of a slot.
    SlotLock(Lock),
}

/// How many items takers remember of a list: few, so that there are some that do not fit.
pub(super) const WINDOW: usize = 4;

/// A taker, and what its user wants to become of an item that it claims: it tells by withdrawing.
#[derive(Debug)]
pub(crate) struct Claimant {
    pub(super) taker: Taker<ItemId, WINDOW>,
    pub(super) verdict: Verdict,
}

/// A notice of one of them.
#[derive(Clone, Debug)]
pub(crate) enum StandingNotice {
    Nominee(election_core::election::Notice),
    Lock(LockNotice),
    Player(crate::toy::Notice),
    Barrier(BarrierEnd),
    DoubleBarrier(DoubleBarrierNotice),
    Taker(TakerNotice<ItemId>),
    Counter(CounterEnd),
}

impl Standing {
    /// Returns the contender, if the recipe stands in a queue of contenders.
    pub(super) fn queued(&self) -> Option<Queued<'_>> {
        match self {
            Self::Nominee(nominee) => Some(Queued {
                id: nominee.id(),
                role: nominee.role(),
                phase: nominee.phase(),
                znode: nominee.candidate(),
            }),
            Self::Lock(lock) => Some(Queued {
                id: lock.id(),
                role: role_of(lock.state()),
                phase: lock.phase(),
                znode: lock.znode(),
            }),
            Self::Semaphore(semaphore) => Some(Queued {
                id: semaphore.id(),
                role: role_at_semaphore(semaphore.state()),
                phase: semaphore.phase(),
                znode: match semaphore.state() {
                    SemaphoreState::Waiting { .. } => semaphore.turn_znode(),
                    _ => semaphore.znode(),
                },
            }),
            Self::Player(_)
            | Self::Barrier(_)
            | Self::DoubleBarrier(_)
            | Self::Taker(_)
            | Self::Counter(_)
            | Self::SlotMember(_)
            | Self::SlotLock(_) => None,
        }
    }
}

impl Recipe for Standing {
    type Notice = StandingNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, StandingNotice> {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => {
                told(nominee.handle_event(event), StandingNotice::Nominee)
            }
            Self::Lock(lock) | Self::SlotLock(lock) => {
                told(lock.handle_event(event), StandingNotice::Lock)
            }
            Self::Semaphore(semaphore) => told(semaphore.handle_event(event), StandingNotice::Lock),
            Self::Player(player) => told(player.handle_event(event), StandingNotice::Player),
            Self::Barrier(barrier) => told(barrier.handle_event(event), StandingNotice::Barrier),
            Self::DoubleBarrier(entrant) => {
                told(entrant.handle_event(event), StandingNotice::DoubleBarrier)
            }
            Self::Taker(claimant) => {
                told(claimant.taker.handle_event(event), StandingNotice::Taker)
            }
            Self::Counter(change) => told(change.handle_event(event), StandingNotice::Counter),
        }
    }

    fn withdraw(&mut self) -> Output<'_, StandingNotice> {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => {
                told(nominee.withdraw(), StandingNotice::Nominee)
            }
            Self::Lock(lock) | Self::SlotLock(lock) => told(lock.withdraw(), StandingNotice::Lock),
            Self::Semaphore(semaphore) => told(semaphore.withdraw(), StandingNotice::Lock),
            Self::Player(player) => told(player.withdraw(), StandingNotice::Player),
            Self::Barrier(barrier) => told(barrier.withdraw(), StandingNotice::Barrier),
            Self::DoubleBarrier(entrant) => told(entrant.withdraw(), StandingNotice::DoubleBarrier),
            Self::Taker(claimant) => told(claimant.withdraw(), StandingNotice::Taker),
            Self::Counter(change) => told(change.withdraw(), StandingNotice::Counter),
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => nominee.phase(),
            Self::Lock(lock) | Self::SlotLock(lock) => lock.phase(),
            Self::Semaphore(semaphore) => semaphore.phase(),
            Self::Player(player) => player.phase(),
            Self::Barrier(barrier) => barrier.phase(),
            Self::DoubleBarrier(entrant) => entrant.phase(),
            Self::Taker(claimant) => claimant.taker.phase(),
            Self::Counter(change) => change.phase(),
        }
    }

    fn hold(&self) -> Hold {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => nominee.hold(),
            Self::Lock(lock) | Self::SlotLock(lock) => lock.hold(),
            Self::Semaphore(semaphore) => semaphore.hold(),
            Self::Player(player) => player.hold(),
            Self::Barrier(barrier) => barrier.hold(),
            Self::DoubleBarrier(entrant) => entrant.hold(),
            Self::Taker(claimant) => claimant.taker.hold(),
            Self::Counter(change) => change.hold(),
        }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => nominee.heartbeat(),
            Self::Lock(lock) | Self::SlotLock(lock) => lock.heartbeat(),
            Self::Semaphore(semaphore) => semaphore.heartbeat(),
            Self::Player(player) => player.heartbeat(),
            Self::Barrier(barrier) => barrier.heartbeat(),
            Self::DoubleBarrier(entrant) => entrant.heartbeat(),
            Self::Taker(claimant) => claimant.taker.heartbeat(),
            Self::Counter(change) => change.heartbeat(),
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => nominee.awaits_change(ticket),
            Self::Lock(lock) | Self::SlotLock(lock) => lock.awaits_change(ticket),
            Self::Semaphore(semaphore) => semaphore.awaits_change(ticket),
            Self::Player(player) => player.awaits_change(ticket),
            Self::Barrier(barrier) => barrier.awaits_change(ticket),
            Self::DoubleBarrier(entrant) => entrant.awaits_change(ticket),
            Self::Taker(claimant) => claimant.taker.awaits_change(ticket),
            Self::Counter(change) => change.awaits_change(ticket),
        }
    }

    fn awaits_delay(&self) -> Option<Duration> {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => nominee.awaits_delay(),
            Self::Lock(lock) | Self::SlotLock(lock) => lock.awaits_delay(),
            Self::Semaphore(semaphore) => semaphore.awaits_delay(),
            Self::Player(player) => player.awaits_delay(),
            Self::Barrier(barrier) => barrier.awaits_delay(),
            Self::DoubleBarrier(entrant) => entrant.awaits_delay(),
            Self::Taker(claimant) => claimant.taker.awaits_delay(),
            Self::Counter(change) => change.awaits_delay(),
        }
    }

    fn waits_for_look(&self) -> bool {
        match self {
            Self::Nominee(nominee) | Self::SlotMember(nominee) => nominee.waits_for_look(),
            Self::Lock(lock) | Self::SlotLock(lock) => lock.waits_for_look(),
            Self::Semaphore(semaphore) => semaphore.waits_for_look(),
            Self::Player(player) => player.waits_for_look(),
            Self::Barrier(barrier) => barrier.waits_for_look(),
            Self::DoubleBarrier(entrant) => entrant.waits_for_look(),
            Self::Taker(claimant) => claimant.taker.waits_for_look(),
            Self::Counter(change) => change.waits_for_look(),
        }
    }
}

impl Claimant {
    fn withdraw(&mut self) -> Output<'_, TakerNotice<ItemId>> {
        match self.verdict {
            Verdict::Done if self.taker.holds_claim() => self.taker.finish(),
            Verdict::Done | Verdict::GiveBack => self.taker.withdraw(),
        }
    }
}

fn told<N>(
    output: Output<'_, N>,
    notice: impl FnOnce(N) -> StandingNotice,
) -> Output<'_, StandingNotice> {
    Output { command: output.command, notice: output.notice.map(notice) }
}
