//! The stages of a member, and what it knows in each.

use super::told::{MemberEnd, NameOwner};
use crate::event::Stat;
use crate::id::{SessionId, Token, Version};
use crate::outcome::Departure;
use crate::ticket::Ticket;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    Joining(Joining),
    /// Another znode has the name.
    Waiting {
        owner: NameOwner,
        watch: Ticket,
    },
    Standing(Standing),
    Leaving(Leaving),
    Ended(MemberEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Joining {
    pub(super) step: Join,
    /// How often the node was created.
    pub(super) rounds: u8,
    pub(super) trace: Trace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Join {
    Create,
    CreateNode,
    /// A znode has the name, or the reply to the create does not tell its owner.
    Look,
    /// Of an earlier session.
    DeleteGhost,
}

/// Says whether this session has sent a create that may have been executed, and lost the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Trace {
    None,
    Possible,
}

/// The znode of this session, as it was seen last.
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
    /// The znode may not be read: the next look tries again.
    Refused,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    pub(super) step: Leave,
    /// What there is to tell if the znode is gone.
    pub(super) end: MemberEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leave {
    /// The reply to the create is on its way.
    AwaitCreate,
    /// The next look shows all that this session has asked for before.
    Barrier,
    Look,
    /// The own znode, with this version.
    Delete(Version),
}

/// Whether the znode has the data that was set last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shown {
    Due,
    /// It is on its way, in a create or a write.
    Sent,
    Written,
}

/// The sessions before this one by which a znode of the name may still live.
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

    /// Whether there may be a znode of this session.
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
