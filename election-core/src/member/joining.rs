//! Joining: creates a znode, over lost replies, ghosts, and other znodes of the same name.

use super::options::{MemberOptions, NameOrigin, WhenTaken};
use super::request::Request;
use super::stage::{
    DataState, Former, Join, Joining, Leave, Leaving, MemberStage, OwnWatch, Standing, Trace,
};
use super::told::{MemberEnd, MemberFailure, MemberNotice, NameOwner};
use crate::event::{Failure, Reply, Stat};
use crate::id::{SessionId, Version};
use crate::policy::ElectionNode;
use crate::ticket::Ticket;

/// How often to create the node for one join, on one connection: another client may delete it again.
const ROUNDS: u8 = 3;

/// Other knowledge of a member that joins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joiner {
    pub(super) options: MemberOptions,
    pub(super) session: Option<SessionId>,
    pub(super) former: Former,
}

/// The next stage, and the notice, if there is one.
pub(super) type Next = (MemberStage, Option<MemberNotice>);

impl Joining {
    pub(super) const fn request(self) -> Request {
        match self.step {
            Join::Create => Request::Create,
            Join::CreateNode => Request::CreateNode,
            Join::Look => Request::Look,
            Join::DeleteGhost => Request::DeleteGhost,
        }
    }

    const fn goes_on(self, step: Join) -> Next {
        (MemberStage::Joining(Self { step, ..self }), None)
    }

    pub(super) fn answered(
        self,
        (ticket, request): (Ticket, Request),
        result: &Result<Reply<'_>, Failure>,
        joiner: Joiner,
        shown: &mut DataState,
    ) -> Next {
        match (request, result) {
            (Request::Create, Ok(Reply::Created { stat, .. })) => {
                if *shown == DataState::Sent {
                    *shown = DataState::Written;
                }
                match stat {
                    Some(stat) if stat.owner == joiner.session => {
                        let standing = Standing::seen(*stat, OwnWatch::Due);
                        (MemberStage::Standing(standing), Some(MemberNotice::Joined(stat.token)))
                    }
                    _ => self.goes_on(Join::Look),
                }
            }
            // The refusal is committed, so that what is read next is not older.
            (Request::Create, Err(Failure::NodeExists)) => {
                *shown = DataState::Due;
                self.goes_on(Join::Look)
            }
            (Request::Create, Err(Failure::NoNode))
                if matches!(joiner.options.node, ElectionNode::Create(_))
                    && self.rounds < ROUNDS =>
            {
                Self { trace: Trace::None, ..self }.goes_on(Join::CreateNode)
            }
            (
                Request::CreateNode,
                // The last: an ancestor vanished while the others were created.
                Ok(Reply::NodeCreated) | Err(Failure::NodeExists | Failure::NoNode),
            ) => Self { rounds: self.rounds + 1, ..self }.goes_on(Join::Create),
            (Request::Look, Err(Failure::NoNode))
            | (Request::DeleteGhost, Ok(Reply::Deleted) | Err(Failure::NoNode)) => {
                Self { trace: Trace::None, ..self }.goes_on(Join::Create)
            }
            (Request::Look, Ok(Reply::Exists(stat))) => {
                // Another client has written since the create: the data is the member's own.
                if stat.version != Version::new(0) && *shown == DataState::Written {
                    *shown = DataState::Due;
                }
                self.found(ticket, *stat, joiner)
            }
            (_, result) => self.failed(MemberFailure::of(result)),
        }
    }

    /// Handles another znode with the name.
    fn found(self, ticket: Ticket, stat: Stat, joiner: Joiner) -> Next {
        let owner = NameOwner::of(stat);
        if joiner.session.is_some() && stat.owner == joiner.session {
            let standing = Standing::seen(stat, OwnWatch::Armed(ticket));
            return (MemberStage::Standing(standing), Some(MemberNotice::Joined(stat.token)));
        }
        let waiting = MemberStage::Waiting { owner, watch: ticket };
        match (joiner.options.name, joiner.options.when_taken) {
            (NameOrigin::Random, _) => self.goes_on(Join::DeleteGhost),
            (NameOrigin::Given, _) if joiner.former.has(owner) => (waiting, None),
            (NameOrigin::Given, WhenTaken::Wait) => (waiting, Some(MemberNotice::Taken(owner))),
            (NameOrigin::Given, WhenTaken::GiveUp) => {
                (MemberStage::Ended(MemberEnd::Taken(owner)), None)
            }
        }
    }

    fn failed(self, failure: MemberFailure) -> Next {
        let end = MemberEnd::Failed(failure);
        let stage = if self.may_stand() {
            MemberStage::Leaving(Leaving { step: Leave::Barrier, end })
        } else {
            MemberStage::Ended(end)
        };
        (stage, None)
    }
}
