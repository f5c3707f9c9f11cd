//! One request at a time, over lost connections: the base of recipes without a queue.

use crate::event::{Event, Failure};
use crate::id::SessionId;
use crate::ticket::{Incarnation, Ticket};

/// The state of a recipe's link, and the request that waits for its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Line<Q> {
    link: LineLink<Q>,
    steps: Steps,
}

/// Counts the requests: each has a ticket of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Steps(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LineLink<Q> {
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

/// A link that is lost. The request that was in flight may or may not have been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost<Q> {
    pub(crate) in_flight: Option<Q>,
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
        Self { link: LineLink::Unconnected, steps: Steps(0) }
    }

    pub(crate) fn connected(&mut self, session: SessionId) -> Joined {
        let joined = match self.link {
            LineLink::Unconnected => Joined::New,
            LineLink::Up { session: known, .. } | LineLink::Down { session: known }
                if known == session =>
            {
                Joined::Same
            }
            LineLink::Up { .. } | LineLink::Down { .. } => Joined::Other,
        };
        self.link = LineLink::Up { session, awaits: Awaits::Nothing };
        joined
    }

    /// Returns the link that is lost with this event, if one was up. The driver tells of it by `Disconnected`, by the
    /// reply to the request in flight, or only by the next `Connected`. An expiry is a loss that `expired` notes.
    pub(crate) fn lost_by(&mut self, event: &Event<'_>) -> Option<Lost<Q>> {
        let is_lost = match event {
            Event::Connected { .. } | Event::Disconnected => true,
            Event::Reply { ticket, result: Err(Failure::ConnectionLoss) } => {
                self.is_in_flight(*ticket)
            }
            _ => false,
        };
        let in_flight = self.in_flight().map(|(_, request)| request);
        match self.link {
            LineLink::Up { session, .. } if is_lost => {
                self.link = LineLink::Down { session };
                Some(Lost { in_flight })
            }
            _ => None,
        }
    }

    /// Notes the end of the session, and returns whether there was one.
    pub(crate) fn expired(&mut self) -> bool {
        let link = core::mem::replace(&mut self.link, LineLink::Unconnected);
        !matches!(link, LineLink::Unconnected)
    }

    pub(crate) const fn session(&self) -> Option<SessionId> {
        match self.link {
            LineLink::Up { session, .. } | LineLink::Down { session } => Some(session),
            LineLink::Unconnected => None,
        }
    }

    /// Returns the request of this reply, if the recipe still waits for it. The reply to a request
    /// that the server did not handle does not count.
    pub(crate) fn answered<R>(&mut self, ticket: Ticket, result: &Result<R, Failure>) -> Option<Q> {
        let LineLink::Up { awaits, .. } = &mut self.link else {
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
    fn is_in_flight(&self, ticket: Ticket) -> bool {
        matches!(
            self.link,
            LineLink::Up {
                awaits: Awaits::Answer { ticket: sent, .. } | Awaits::Ignored { ticket: sent },
                ..
            } if sent == ticket
        )
    }

    /// Returns the request that waits for its reply.
    pub(crate) const fn in_flight(&self) -> Option<(Ticket, Q)> {
        match self.link {
            LineLink::Up { awaits: Awaits::Answer { ticket, request }, .. } => {
                Some((ticket, request))
            }
            _ => None,
        }
    }

    /// Goes on from the request in flight. The next request still waits for its reply, so that it
    /// is executed after it.
    pub(crate) fn ignore(&mut self) {
        if let LineLink::Up { awaits, .. } = &mut self.link {
            match *awaits {
                Awaits::Answer { ticket, .. } => *awaits = Awaits::Ignored { ticket },
                Awaits::Look | Awaits::UsualLook => *awaits = Awaits::Nothing,
                Awaits::Nothing | Awaits::Ignored { .. } => {}
            }
        }
    }

    /// Waits for the next look: the driver held the last request back.
    pub(crate) fn hold_back(&mut self) {
        if let LineLink::Up { awaits: awaits @ Awaits::Nothing, .. } = &mut self.link {
            *awaits = Awaits::UsualLook;
        }
    }

    /// Allows to send again a request that the server did not handle, or the driver held back.
    pub(crate) fn ask_again(&mut self) {
        if let LineLink::Up { awaits: awaits @ (Awaits::Look | Awaits::UsualLook), .. } =
            &mut self.link
        {
            *awaits = Awaits::Nothing;
        }
    }

    pub(crate) const fn waits_for_look(&self) -> bool {
        matches!(self.link, LineLink::Up { awaits: Awaits::Look, .. })
    }

    /// Returns the ticket for a request, if one can be sent now.
    pub(crate) fn ask(&mut self, request: Q) -> Option<Ticket> {
        let LineLink::Up { awaits: awaits @ Awaits::Nothing, .. } = &mut self.link else {
            return None;
        };
        let ticket = Ticket::request(Incarnation::FIRST, self.steps.0);
        self.steps.0 = self.steps.0.wrapping_add(1);
        *awaits = Awaits::Answer { ticket, request };
        Some(ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId::new(7);
    const LOSS: Result<crate::event::Reply<'_>, Failure> = Err(Failure::ConnectionLoss);

    /// Makes a line with a request in flight.
    fn asking() -> (Line<u8>, Ticket) {
        let mut line = Line::new();
        assert_eq!(line.connected(SESSION), Joined::New);
        let ticket = line.ask(1).unwrap();
        (line, ticket)
    }

    /// A driver may tell of it in three ways; more than one of them are one loss.
    #[test]
    fn a_link_is_lost_once_however_the_driver_tells_of_it() {
        let (line, ticket) = asking();
        let ways: [fn(Ticket) -> Event<'static>; 3] = [
            |_| Event::Disconnected,
            |ticket| Event::Reply { ticket, result: LOSS },
            |_| Event::Connected { session: SESSION },
        ];
        for way in ways {
            let mut line = line;
            let lost = Some(Lost { in_flight: Some(1) });
            assert_eq!(line.lost_by(&way(ticket)), lost, "{:?}", way(ticket));
            for again in ways {
                assert_eq!(line.lost_by(&again(ticket)), None, "{:?}", again(ticket));
            }
            assert_eq!(line.session(), Some(SESSION));
        }
    }

    #[test]
    fn the_reply_to_another_request_is_no_loss() {
        let (mut line, ticket) = asking();
        assert_eq!(line.answered::<()>(ticket, &Err(Failure::NoNode)), Some(1));
        let next = line.ask(2).unwrap();
        assert_eq!(line.lost_by(&Event::Reply { ticket, result: LOSS }), None);
        assert_eq!(line.in_flight(), Some((next, 2)));
    }

    /// Its reply shows the loss, too; whether it was executed matters to no caller.
    #[test]
    fn an_ignored_request_may_tell_of_the_loss() {
        let (mut line, ticket) = asking();
        line.ignore();
        let lost = line.lost_by(&Event::Reply { ticket, result: LOSS });
        assert_eq!(lost, Some(Lost { in_flight: None }));
    }
}
