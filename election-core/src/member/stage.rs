//! The stages of a member, and its knowledge in each stage.

use super::told::{MemberEnd, NameOwner};
use crate::event::Stat;
use crate::id::{SessionId, Token, Version};
use crate::outcome::Departure;
use crate::owed::Owed;
use crate::seen::Seen;
use crate::ticket::Ticket;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemberStage {
    Joining(Joining),
    /// Another znode has the name.
    Waiting {
        owner: NameOwner,
        watch: Ticket,
    },
    Standing(Standing),
    Leaving(Leaving),
    /// It has told its end, and a server refused to remove its znode.
    Owing {
        owed: Owed<Removing>,
        end: MemberEnd,
    },
    Ended(MemberEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Joining {
    pub(super) step: Join,
    /// Counts how often, on this connection, a server confirmed that the node is there.
    pub(super) rounds: u8,
    pub(super) trace: Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Join {
    Create,
    CreateNode,
    /// The member looks, because a znode has the name, or the reply to the create does not tell the
    /// owner.
    Look,
    /// The member deletes a znode of an earlier session.
    DeleteGhost,
}

/// The possibility that this session has sent a create that was executed, and lost the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trace {
    None,
    Possible,
}

/// The znode of this session, by the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Standing {
    pub(super) token: Token,
    pub(super) version: Version,
    pub(super) own: OwnWatch,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum OwnWatch {
    Due,
    Armed(Ticket),
    /// The server refuses to show the znode; the next look tries again.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    pub(super) step: Leave,
    /// The end that the member reports if the znode is gone.
    pub(super) end: MemberEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leave {
    /// The member waits for the reply to the create.
    AwaitCreate,
    /// The member makes a barrier, so that the next look shows all that this session has asked for
    /// before.
    Barrier,
    Look,
    /// The member deletes its own znode with this version.
    Delete(Seen),
}

/// The next step to remove the znode after the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Removing {
    Barrier(Left),
    Look(Left),
    Delete(Seen),
}

/// The znode that a member may have left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Left {
    Unseen,
    /// Another znode, and this one once it was written to, may be that of the client's next member
    /// of the same name.
    Seen(Seen),
}

/// The state of the znode's data, compared with the data that was set last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DataState {
    Due,
    /// The data is on its way, in a create or a write.
    Sent,
    Written,
}

impl DataState {
    /// Notes the answer to a write, and returns whether it was that of the data that was set last.
    pub(super) fn written(&mut self) -> bool {
        let was_sent = *self == Self::Sent;
        if was_sent {
            *self = Self::Written;
        }
        was_sent
    }
}

/// The earlier sessions that may still own a znode of the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Former([Option<SessionId>; 2]);

impl Former {
    pub(super) const NONE: Self = Self([None; 2]);

    pub(super) const fn push(&mut self, session: Option<SessionId>) {
        let [last, _] = self.0;
        self.0 = [session, last];
    }

    pub(super) fn has(self, owner: NameOwner) -> bool {
        match owner {
            NameOwner::Session(session) => self.0.contains(&Some(session)),
            NameOwner::Persistent => false,
        }
    }
}

impl Joining {
    pub(super) const NEW: Self = Self { step: Join::Create, rounds: 0, trace: Trace::None };

    /// Returns whether there may be a znode of this session.
    pub(super) const fn may_stand(self) -> bool {
        matches!(self.trace, Trace::Possible) || matches!(self.step, Join::Look | Join::DeleteGhost)
    }
}

impl Standing {
    pub(super) const fn seen(stat: Stat, own: OwnWatch) -> Self {
        Self { token: stat.token, version: stat.version, own }
    }
}

impl OwnWatch {
    pub(super) fn is(self, ticket: Ticket) -> bool {
        self == Self::Armed(ticket)
    }
}

impl Leaving {
    pub(super) const fn withdrawn(step: Leave, departure: Departure) -> Self {
        Self { step, end: MemberEnd::Left(departure) }
    }
}
