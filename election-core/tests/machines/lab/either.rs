//! Two recipes in one world.

use core::time::Duration;

use election_core::{Event, Hold, Output, Phase, Recipe, Ticket, Znode};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Either<A, B> {
    One(A),
    Other(B),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EitherNotice<A, B> {
    One(A),
    Other(B),
}

fn map<N, M>(output: Output<'_, N>, map: fn(N) -> M) -> Output<'_, M> {
    Output { command: output.command, notice: output.notice.map(map) }
}

macro_rules! both {
    ($self:ident, $it:ident => $do:expr) => {
        match $self {
            Self::One($it) => $do,
            Self::Other($it) => $do,
        }
    };
}

impl<A: Recipe, B: Recipe> Recipe for Either<A, B> {
    type Notice = EitherNotice<A::Notice, B::Notice>;

    fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, Self::Notice> {
        match self {
            Self::One(one) => map(one.handle_event(event), EitherNotice::One),
            Self::Other(other) => map(other.handle_event(event), EitherNotice::Other),
        }
    }

    fn withdraw(&mut self) -> Output<'_, Self::Notice> {
        match self {
            Self::One(one) => map(one.withdraw(), EitherNotice::One),
            Self::Other(other) => map(other.withdraw(), EitherNotice::Other),
        }
    }

    fn phase(&self) -> Phase {
        both!(self, it => it.phase())
    }

    fn hold(&self) -> Hold {
        both!(self, it => it.hold())
    }

    fn heartbeat(&self) -> Option<Znode<'_>> {
        both!(self, it => it.heartbeat())
    }

    fn awaits_change(&self, ticket: Ticket) -> bool {
        both!(self, it => it.awaits_change(ticket))
    }

    fn awaits_delay(&self) -> Option<Duration> {
        both!(self, it => it.awaits_delay())
    }

    fn waits_for_look(&self) -> bool {
        both!(self, it => it.waits_for_look())
    }
}
