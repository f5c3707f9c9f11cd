//! What is in flight: at most one request, and only while the link is up.

use crate::id::SessionId;
use crate::ticket::Ticket;

/// What a command was sent for. The data of the command is in the state that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Create,
    CreateElectionNode,
    Barrier,
    Search,
    ReadFound,
    DeleteGhost,
    ReadOwn,
    List,
    Look,
    InspectGhost,
    ReadPredecessor,
    DeleteOwn,
    CleanUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) ticket: Ticket,
    pub(super) request: Request,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Link {
    /// There is no session: not yet, or it expired.
    Unconnected,
    Up {
        session: SessionId,
        in_flight: Option<InFlight>,
    },
    Down {
        session: SessionId,
    },
}

impl Link {
    pub(super) fn is_up(self) -> bool {
        matches!(self, Self::Up { .. })
    }

    /// What awaits the reply with this ticket.
    pub(super) fn awaiting(self, ticket: Ticket) -> Option<(SessionId, InFlight)> {
        match self {
            Self::Up { session, in_flight: Some(in_flight) } if in_flight.ticket == ticket => {
                Some((session, in_flight))
            }
            Self::Unconnected | Self::Up { .. } | Self::Down { .. } => None,
        }
    }
}
