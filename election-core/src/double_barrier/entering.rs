//! Entering: creates an entry, over rounds that are under way and lost replies.

use super::member::{MemberName, Members};
use super::options::WhenUnderWay;
use super::request::Request;
use super::stage::{
    Blocked, DoubleBarrierStage, Entering, Gathering, Next, Others, Participant, ReadyWatch,
    ReplyResult, Step, fail, others_watched,
};
use super::told::{DoubleBarrierEnd, DoubleBarrierNotice};
use crate::code::{BAD_VERSION, NO_NODE, NODE_EXISTS};
use crate::event::{Change, Failure, Reply};
use crate::id::Version;
use crate::ticket::Ticket;

/// How often to create the node for one entry, on one connection: another client may delete it again.
const ROUNDS: u8 = 3;

impl Entering {
    pub(super) fn has_no_entry(&self) -> bool {
        !matches!(self.step, Step::Barrier | Step::LookForEntry | Step::DeleteEntry)
    }

    pub(super) fn request(&self) -> Option<Request> {
        match &self.step {
            Step::ReadNode => Some(Request::ReadNode),
            Step::CreateNode => Some(Request::CreateNode),
            Step::LookAtReady { .. } => Some(Request::LookAtReady),
            Step::CreateEntry { .. } => Some(Request::CreateEntry),
            Step::Barrier => Some(Request::Barrier),
            Step::LookForEntry => Some(Request::LookForEntry),
            Step::DeleteEntry => Some(Request::DeleteEntry),
            Step::Blocked(Blocked { others, .. }) => match others {
                Others::Unknown => Some(Request::List),
                Others::Unwatched(_) => Some(Request::WatchMember),
                Others::Gone => Some(Request::Close),
                Others::Watched(_) | Others::Unreadable => None,
            },
        }
    }

    pub(super) fn subject(&self) -> (Option<&MemberName>, Option<Version>) {
        match &self.step {
            Step::CreateEntry { generation, .. } => (None, Some(*generation)),
            Step::Blocked(Blocked { generation, others, .. }) => match others {
                Others::Unwatched(name) => (Some(name), Some(*generation)),
                _ => (None, Some(*generation)),
            },
            _ => (None, None),
        }
    }

    pub(super) fn awaits_change(&self, ticket: Ticket) -> bool {
        match &self.step {
            Step::CreateEntry { ready, .. } => ready.is(ticket),
            Step::Blocked(Blocked { ready, others, .. }) => {
                *ready == ticket || *others == Others::Watched(ticket)
            }
            _ => false,
        }
    }

    pub(super) fn link_lost(&mut self, in_flight: Option<Request>) {
        self.step = match (&self.step, in_flight) {
            (Step::CreateEntry { .. }, Some(Request::CreateEntry))
            | (Step::Barrier | Step::LookForEntry, _) => Step::Barrier,
            (Step::DeleteEntry, _) => Step::DeleteEntry,
            _ => Step::ReadNode,
        };
        self.rounds = 0;
    }

    pub(super) fn look(&mut self) {
        if let Step::Blocked(Blocked { others: Others::Watched(_) | Others::Unreadable, .. }) =
            self.step
        {
            self.step = Step::ReadNode;
        }
    }

    pub(super) fn changed(&mut self, ticket: Ticket, change: Change) -> Next {
        match &mut self.step {
            // Whether the entry comes before it or after it, its own look tells.
            Step::CreateEntry { ready, .. } if ready.is(ticket) => *ready = ReadyWatch::Due,
            Step::Blocked(blocked) if blocked.ready == ticket => match change {
                Change::Created => {}
                _ => return Next::Become(DoubleBarrierStage::Entering(Self::NEW), None),
            },
            Step::Blocked(Blocked { others, .. }) if *others == Others::Watched(ticket) => {
                *others = Others::Unknown;
            }
            _ => {}
        }
        Next::Stay(None)
    }

    pub(super) fn answered(
        &mut self,
        (ticket, request): (Ticket, Request),
        result: ReplyResult<'_, '_>,
        participant: Participant<'_>,
    ) -> Next {
        let step = match (&mut self.step, request, &*result) {
            (Step::ReadNode, Request::ReadNode, Ok(Reply::Exists(stat))) => {
                Step::LookAtReady { generation: stat.version }
            }
            (Step::ReadNode, Request::ReadNode, Err(Failure::NoNode)) if self.rounds < ROUNDS => {
                Step::CreateNode
            }
            (
                Step::CreateNode,
                Request::CreateNode,
                // The last: an ancestor vanished while the others were created.
                Ok(Reply::NodeCreated) | Err(Failure::NodeExists | Failure::NoNode),
            ) => {
                self.rounds += 1;
                Step::ReadNode
            }
            // Or a round was opened or ended since the node was read.
            (
                Step::CreateEntry { .. },
                Request::CreateEntry,
                Err(Failure::Aborted { code: BAD_VERSION | NO_NODE, .. }),
            )
            | (
                Step::DeleteEntry,
                Request::DeleteEntry,
                Ok(Reply::Deleted) | Err(Failure::NoNode),
            )
            | (Step::LookForEntry, Request::LookForEntry, Err(Failure::NoNode)) => Step::ReadNode,
            (Step::LookAtReady { generation }, Request::LookAtReady, Err(Failure::NoNode)) => {
                Step::CreateEntry { generation: *generation, ready: ReadyWatch::Armed(ticket) }
            }
            (Step::LookAtReady { generation }, Request::LookAtReady, Ok(Reply::Exists(_))) => {
                let (generation, others) = (*generation, Others::Unknown);
                Step::Blocked(Blocked { generation, ready: ticket, others })
            }
            (Step::CreateEntry { generation, ready }, Request::CreateEntry, Ok(_)) => {
                let gathering = Gathering::created(*generation, *ready);
                return Next::Become(DoubleBarrierStage::Gathering(gathering), None);
            }
            // By an earlier request of this participant, maybe in an earlier session.
            (
                Step::CreateEntry { .. },
                Request::CreateEntry,
                Err(Failure::Aborted { code: NODE_EXISTS, .. }),
            )
            | (Step::Barrier, Request::Barrier, Ok(Reply::BarrierPassed)) => Step::LookForEntry,
            (Step::LookForEntry, Request::LookForEntry, Ok(Reply::Exists(stat))) => {
                if stat.owner == participant.2 {
                    return Next::Become(DoubleBarrierStage::Gathering(Gathering::NEW), None);
                }
                Step::DeleteEntry
            }
            (Step::Blocked(_), ..) => return self.blocked_answered(ticket, result, participant),
            _ => return fail(result),
        };
        self.step = step;
        Next::Stay(None)
    }

    fn blocked_answered(
        &mut self,
        ticket: Ticket,
        result: ReplyResult<'_, '_>,
        (own, options, _): Participant<'_>,
    ) -> Next {
        let Step::Blocked(Blocked { others, .. }) = &mut self.step else {
            return Next::Stay(None);
        };
        match others {
            Others::Unknown => {
                let Some(members) = Members::listed(result, own) else { return fail(result) };
                match (members.others, options.when_under_way) {
                    (None, _) => *others = Others::Gone,
                    (Some(range), WhenUnderWay::Wait) => {
                        *others = Others::Unwatched(range.lowest);
                        return Next::Stay(Some(DoubleBarrierNotice::RoundUnderWay));
                    }
                    (Some(_), WhenUnderWay::GiveUp) => {
                        return Next::Become(
                            DoubleBarrierStage::Ended(DoubleBarrierEnd::UnderWay),
                            None,
                        );
                    }
                }
            }
            Others::Unwatched(_) => match others_watched(ticket, result) {
                Some(watched) => *others = watched,
                None => return fail(result),
            },
            // It is ended, or another participant has ended it.
            Others::Gone => match result {
                Ok(Reply::Committed(_))
                | Err(Failure::Aborted { code: BAD_VERSION | NO_NODE, .. }) => {
                    return Next::Become(DoubleBarrierStage::Entering(Self::NEW), None);
                }
                _ => return fail(result),
            },
            Others::Watched(_) | Others::Unreadable => {}
        }
        Next::Stay(None)
    }
}
