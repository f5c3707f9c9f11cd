//! What stands on a client's sessions: nominees, and players of a recipe that none of the published
//! crates knows.

use election_core::{Event, Hold, Nominee, Output, Phase, Recipe, Ticket, Znode};

use crate::toy::Player;

/// A recipe of a simulated client.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are nominees")]
pub(in crate::simulation) enum Standing {
    Nominee(Nominee),
    Player(Player),
}

/// What one of them has to tell.
#[derive(Clone, Copy, Debug)]
pub(in crate::simulation) enum StandingNotice {
    Nominee(election_core::Notice),
    Player(crate::toy::Notice),
}

impl Standing {
    pub(super) const fn nominee(&self) -> Option<&Nominee> {
        match self {
            Self::Nominee(nominee) => Some(nominee),
            Self::Player(_) => None,
        }
    }
}

impl Recipe for Standing {
    type Notice = StandingNotice;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, StandingNotice> {
        match self {
            Self::Nominee(nominee) => told(nominee.handle_event(event), StandingNotice::Nominee),
            Self::Player(player) => told(player.handle_event(event), StandingNotice::Player),
        }
    }

    fn withdraw(&mut self) -> Output<'_, StandingNotice> {
        match self {
            Self::Nominee(nominee) => told(nominee.withdraw(), StandingNotice::Nominee),
            Self::Player(player) => told(player.withdraw(), StandingNotice::Player),
        }
    }

    fn phase(&self) -> Phase {
        match self {
            Self::Nominee(nominee) => nominee.phase(),
            Self::Player(player) => player.phase(),
        }
    }

    fn hold(&self) -> Hold {
        match self {
            Self::Nominee(nominee) => nominee.hold(),
            Self::Player(player) => player.hold(),
        }
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        match self {
            Self::Nominee(nominee) => nominee.heartbeat(),
            Self::Player(player) => player.heartbeat(),
        }
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.awaits_change(ticket),
            Self::Player(player) => player.awaits_change(ticket),
        }
    }

    fn waits_for_look(&self) -> bool {
        match self {
            Self::Nominee(nominee) => nominee.waits_for_look(),
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
