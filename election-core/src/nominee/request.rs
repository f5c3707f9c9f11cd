//! The request in flight: at most one, and only while the link is up.

use crate::id::SessionId;
use crate::ticket::Ticket;

/// The purpose of a command. The data of the command is in the state that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Create,
    CreateElectionNode,
    CreateHome,
    Barrier,
    Search,
    ReadFound,
    /// Inspects a contender that may be the nominee's own; the name does not show it.
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
    /// Precedes the look at the nominee's own znode, in formats whose names recur.
    BarrierBeforeFarewell,
    /// Looks whether the znode with the nominee's name is still its own.
    LookAtOwn,
    DeleteOwn,
    BarrierBeforeEnd,
    /// Looks for the sign of the end, after another client has deleted the nominee's znode.
    LookForEnd,
    /// Reads the mark that the last leader has left.
    ReadMark,
    WriteMark,
    DeleteOwnAndMark,
    CleanUp,
    /// Lists the candidates, for the one behind the leader.
    ListNext,
    /// Wakes the candidate behind the leader.
    WakeNext,
    /// Belongs to the lock that the contender serves.
    OfLock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) ticket: Ticket,
    pub(super) request: Request,
}

/// The condition on which the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Awaits {
    Nothing,
    Answer(InFlight),
    /// The server did not handle the last request; it is sent again at the next look.
    Look,
    /// The driver held the last request back. It is sent again at the next look, too, which is not
    /// fed sooner for it.
    UsualLook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NomineeLink {
    /// The nominee has no session yet, or it expired.
    Unconnected,
    Up {
        session: SessionId,
        awaits: Awaits,
    },
    Down {
        session: SessionId,
    },
}

impl NomineeLink {
    pub(super) fn is_up(self) -> bool {
        matches!(self, Self::Up { .. })
    }

    /// Returns the session, once there is one.
    pub(super) fn session(self) -> Option<SessionId> {
        match self {
            Self::Unconnected => None,
            Self::Up { session, .. } | Self::Down { session } => Some(session),
        }
    }

    /// Allows to send again a request that the server did not handle, or the driver held back.
    pub(super) fn ask_again(&mut self) {
        if let Self::Up { awaits: awaits @ (Awaits::Look | Awaits::UsualLook), .. } = self {
            *awaits = Awaits::Nothing;
        }
    }

    /// Stops waiting for a read of the nominee's znode, or for a write to it: the reply is of no more use.
    pub(super) fn abandon_own_znode(&mut self) {
        if let Self::Up { awaits, .. } = self
            && let Awaits::Answer(InFlight { request, .. }) = awaits
            && matches!(request, Request::ReadOwn | Request::WakeNext)
        {
            *awaits = Awaits::Nothing;
        }
    }

    /// Returns what waits for the reply with this ticket.
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
