//! One request at a time, over lost connections: the base of recipes without a queue.

use crate::event::Failure;
use crate::id::SessionId;
use crate::ticket::{Incarnation, Ticket};

/// The state of a recipe's link, and the request that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Line<Q> {
    link: Link<Q>,
    steps: Steps,
}

/// Counts the requests: each has a ticket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Steps(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Link<Q> {
    /// The contender has no session: not yet, or it expired.
    Unconnected,
    Up {
        session: SessionId,
        awaits: Awaits<Q>,
    },
    Down {
        session: SessionId,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaits<Q> {
    Nothing,
    Answer {
        ticket: Ticket,
        request: Q,
    },
    /// The recipe has gone on from this request.
    Ignored {
        ticket: Ticket,
    },
    /// The server did not handle the last request; it is sent again at the next look.
    Look,
    /// The driver held the last request back. It is sent again at the next look, too, which is not fed
    /// sooner for it.
    UsualLook,
}

/// The session in which a link came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// The first session, or the session after an expiry that an event reported.
    New,
    /// The session before.
    Same,
    /// Another session, although no event reported the expiry of the session before.
    Other,
}

impl<Q: Copy> Line<Q> {
    pub(crate) const fn new() -> Self {
        Self { link: Link::Unconnected, steps: Steps(0) }
    }

    pub(crate) fn connected(&mut self, session: SessionId) -> Joined {
        let joined = match self.link {
            Link::Unconnected => Joined::New,
            Link::Up { session: known, .. } | Link::Down { session: known } if known == session => {
                Joined::Same
            }
            Link::Up { .. } | Link::Down { .. } => Joined::Other,
        };
        self.link = Link::Up { session, awaits: Awaits::Nothing };
        joined
    }

    /// Notes the loss of the link, and returns whether it was up. A request in flight may or may
    /// not have been executed.
    pub(crate) fn lost(&mut self) -> bool {
        let Link::Up { session, .. } = self.link else {
            return false;
        };
        self.link = Link::Down { session };
        true
    }

    /// Notes the end of the session, and returns whether there was one.
    pub(crate) fn expired(&mut self) -> bool {
        let link = core::mem::replace(&mut self.link, Link::Unconnected);
        !matches!(link, Link::Unconnected)
    }

    pub(crate) const fn session(&self) -> Option<SessionId> {
        match self.link {
            Link::Up { session, .. } | Link::Down { session } => Some(session),
            Link::Unconnected => None,
        }
    }

    /// Returns the request of this reply, if the recipe still waits for it. The reply to a request
    /// that the server did not handle does not count.
    pub(crate) fn answered<R>(&mut self, ticket: Ticket, result: &Result<R, Failure>) -> Option<Q> {
        let Link::Up { awaits, .. } = &mut self.link else {
            return None;
        };
        match *awaits {
            Awaits::Answer { ticket: awaited, request } if awaited == ticket => {
                if let Err(Failure::Throttled) = result {
                    *awaits = Awaits::Look;
                    return None;
                }
                *awaits = Awaits::Nothing;
                Some(request)
            }
            Awaits::Ignored { ticket: awaited } if awaited == ticket => {
                *awaits = Awaits::Nothing;
                None
            }
            _ => None,
        }
    }

    /// Returns whether this is the ticket of the request in flight, awaited or not.
    pub(crate) fn is_in_flight(&self, ticket: Ticket) -> bool {
        matches!(
            self.link,
            Link::Up {
                awaits: Awaits::Answer { ticket: sent, .. } | Awaits::Ignored { ticket: sent },
                ..
            } if sent == ticket
        )
    }

    /// Returns the request that waits for its reply.
    pub(crate) const fn in_flight(&self) -> Option<(Ticket, Q)> {
        match self.link {
            Link::Up { awaits: Awaits::Answer { ticket, request }, .. } => Some((ticket, request)),
            _ => None,
        }
    }

    /// Goes on from the request in flight. The next request still waits for its reply, so that it
    /// is executed after it.
    pub(crate) fn ignore(&mut self) {
        if let Link::Up { awaits, .. } = &mut self.link {
            match *awaits {
                Awaits::Answer { ticket, .. } => *awaits = Awaits::Ignored { ticket },
                Awaits::Look | Awaits::UsualLook => *awaits = Awaits::Nothing,
                Awaits::Nothing | Awaits::Ignored { .. } => {}
            }
        }
    }

    /// Waits for the next look: the driver held the last request back.
    pub(crate) fn hold_back(&mut self) {
        if let Link::Up { awaits: awaits @ Awaits::Nothing, .. } = &mut self.link {
            *awaits = Awaits::UsualLook;
        }
    }

    /// Allows to send again a request that the server did not handle, or the driver held back.
    pub(crate) fn ask_again(&mut self) {
        if let Link::Up { awaits: awaits @ (Awaits::Look | Awaits::UsualLook), .. } = &mut self.link
        {
            *awaits = Awaits::Nothing;
        }
    }

    pub(crate) const fn waits_for_look(&self) -> bool {
        matches!(self.link, Link::Up { awaits: Awaits::Look, .. })
    }

    /// Returns the ticket for a request, if one can be sent now.
    pub(crate) fn ask(&mut self, request: Q) -> Option<Ticket> {
        let Link::Up { awaits: awaits @ Awaits::Nothing, .. } = &mut self.link else {
            return None;
        };
        let ticket = Ticket::request(Incarnation::FIRST, self.steps.0);
        self.steps.0 = self.steps.0.wrapping_add(1);
        *awaits = Awaits::Answer { ticket, request };
        Some(ticket)
    }
}
