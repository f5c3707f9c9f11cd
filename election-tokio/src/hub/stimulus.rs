//! What makes a nomination take a step.

use election_core::{Change, Event, Ticket};
use zk_jute::SessionId;
use zk_jute::records::EventType;
use zk_session::Completion;

use super::lists::Listed;
use super::perform::{NotSent, Step};

/// What makes a nomination take a step.
#[derive(Debug)]
pub(super) enum Stimulus {
    Happened(Happening),
    Completed { ticket: Ticket, step: Step, outcome: Result<Completion, zk_session::Failure> },
    Listed { ticket: Ticket, listed: Listed },
    Withdraw,
}

/// What happens to a nomination without being an answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    Connected(SessionId),
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Fired { ticket: Ticket, kind: EventType },
    NotSent(NotSent),
}

impl Happening {
    pub(super) fn event<'a>(self) -> Event<'a> {
        match self {
            Self::Connected(id) => {
                Event::Connected { session: election_core::SessionId::new(id.get()) }
            }
            Self::Disconnected => Event::Disconnected,
            Self::SessionExpired => Event::SessionExpired,
            Self::LeaseLapsed => Event::LeaseLapsed,
            Self::Look => Event::Look,
            Self::Fired { ticket, kind: EventType::NODE_DELETED } => {
                Event::Changed { ticket, change: Change::Deleted }
            }
            Self::Fired { ticket, .. } => Event::Changed { ticket, change: Change::Data },
            Self::NotSent((ticket, failure)) => Event::Reply { ticket, result: Err(failure) },
        }
    }
}
