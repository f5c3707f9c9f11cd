//! What is in flight: at most one request, and only while the link is up.

use crate::id::SessionId;
use crate::ticket::Ticket;

/// What a command was sent for. The data of the command is in the state that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Create,
    CreateElectionNode,
    CreateHome,
    Barrier,
    Search,
    ReadFound,
    /// Of a contender that may be the own znode: its name does not tell.
    InspectFound,
    DeleteGhost,
    ReadOwn,
    List,
    Look,
    WatchList,
    InspectGhost,
    InspectForeign,
    LookForTombstone,
    ReadPredecessor,
    DeleteOwn,
    BarrierBeforeEnd,
    /// Of one whose znode another client has deleted.
    LookForEnd,
    /// What a leader leaves for the next one.
    ReadMark,
    WriteMark,
    DeleteOwnAndMark,
    CleanUp,
    /// What the lock asks for that it contends for.
    OfLock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) ticket: Ticket,
    pub(super) request: Request,
}

/// What has to come before the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Awaits {
    Nothing,
    Answer(InFlight),
    /// The server did not look at the last request: it is asked again at the next look.
    Look,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Link {
    /// There is no session: not yet, or it expired.
    Unconnected,
    Up {
        session: SessionId,
        awaits: Awaits,
    },
    Down {
        session: SessionId,
    },
}

impl Link {
    pub(super) fn is_up(self) -> bool {
        matches!(self, Self::Up { .. })
    }

    /// The session, once there is one.
    pub(super) fn session(self) -> Option<SessionId> {
        match self {
            Self::Unconnected => None,
            Self::Up { session, .. } | Self::Down { session } => Some(session),
        }
    }

    /// Lets a request be sent again that the server did not look at.
    pub(super) fn ask_again(&mut self) {
        if let Self::Up { awaits: awaits @ Awaits::Look, .. } = self {
            *awaits = Awaits::Nothing;
        }
    }

    /// Awaits the reply to a read of the own znode no longer: what it tells is of no use any more.
    pub(super) fn abandon_own_read(&mut self) {
        if let Self::Up { awaits, .. } = self
            && let Awaits::Answer(InFlight { request: Request::ReadOwn, .. }) = awaits
        {
            *awaits = Awaits::Nothing;
        }
    }

    /// What awaits the reply with this ticket.
    pub(super) fn awaiting(self, ticket: Ticket) -> Option<(SessionId, InFlight)> {
        match self {
            Self::Up { session, awaits: Awaits::Answer(in_flight) }
                if in_flight.ticket == ticket =>
            {
                Some((session, in_flight))
            }
            Self::Unconnected | Self::Up { .. } | Self::Down { .. } => None,
        }
    }
}
