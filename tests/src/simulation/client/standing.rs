//! What stands on a client's sessions: nominees, contenders for locks, and players of a recipe that
//! none of the published crates knows.

use election_core::{
    Event, Hold, Lock, LockNotice, Nominee, Output, Phase, Recipe, Semaphore, SemaphoreState,
    Ticket, Znode,
};

use super::queued::{Queued, role_at_semaphore, role_of};
use crate::toy::Player;

/// A recipe of a simulated client.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are nominees")]
pub(in crate::simulation) enum Standing {
    Nominee(Nominee),
    Lock(Lock),
    Semaphore(Semaphore),
    Player(Player),
}

/// What one of them has to tell.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation) enum StandingNotice {
    Nominee(election_core::Notice),
    Lock(LockNotice),
    Player(crate::toy::Notice),
}

impl Standing {
    /// Of all but players.
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
            Self::Player(_) => None,
        }
    }
}

impl Recipe for Standing {
    type Notice = StandingNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, StandingNotice> {
        match self {
            Self::Nominee(nominee) => told(nominee.handle_event(event), StandingNotice::Nominee),
            Self::Lock(lock) => told(lock.handle_event(event), StandingNotice::Lock),
            Self::Semaphore(semaphore) => told(semaphore.handle_event(event), StandingNotice::Lock),
            Self::Player(player) => told(player.handle_event(event), StandingNotice::Player),
        }
    }

    fn withdraw(&mut self) -> Output<'_, StandingNotice> {
        match self {
            Self::Nominee(nominee) => told(nominee.withdraw(), StandingNotice::Nominee),
            Self::Lock(lock) => told(lock.withdraw(), StandingNotice::Lock),
            Self::Semaphore(semaphore) => told(semaphore.withdraw(), StandingNotice::Lock),
            Self::Player(player) => told(player.withdraw(), StandingNotice::Player),
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Nominee(nominee) => nominee.phase(),
            Self::Lock(lock) => lock.phase(),
            Self::Semaphore(semaphore) => semaphore.phase(),
            Self::Player(player) => player.phase(),
        }
    }

    fn hold(&self) -> Hold {
        match self {
            Self::Nominee(nominee) => nominee.hold(),
            Self::Lock(lock) => lock.hold(),
            Self::Semaphore(semaphore) => semaphore.hold(),
            Self::Player(player) => player.hold(),
        }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        match self {
            Self::Nominee(nominee) => nominee.heartbeat(),
            Self::Lock(lock) => lock.heartbeat(),
            Self::Semaphore(semaphore) => semaphore.heartbeat(),
            Self::Player(player) => player.heartbeat(),
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.awaits_change(ticket),
            Self::Lock(lock) => lock.awaits_change(ticket),
            Self::Semaphore(semaphore) => semaphore.awaits_change(ticket),
            Self::Player(player) => player.awaits_change(ticket),
        }
    }

    fn waits_for_look(&self) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.waits_for_look(),
            Self::Lock(lock) => lock.waits_for_look(),
            Self::Semaphore(semaphore) => semaphore.waits_for_look(),
            Self::Player(player) => player.waits_for_look(),
        }
    }
}

fn told<N>(
    output: Output<'_, N>,
    notice: impl FnOnce(N) -> StandingNotice,
) -> Output<'_, StandingNotice> {
    Output { command: output.command, notice: output.notice.map(notice) }
}
