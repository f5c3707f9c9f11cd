//! The states of a nomination. Each holds what it needs and nothing else.

use super::evicted::Evicted;
use super::foreign::{ForeignChild, ForeignWatch, TombstoneWatch};
use super::mark::Mark;
use crate::command::{CreateMode, ExpectedVersion};
use crate::id::{Token, Version};
use crate::name::{CandidateName, ChildName};
use crate::outcome::{Cause, End, Obstacle};
use crate::ticket::Ticket;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// No own znode is known.
    Entering(Entering),
    /// The own znode is known, and does not lead.
    Standing(Standing),
    /// The own znode is the lowest.
    Leading(Leading),
    /// The own znode is to be deleted.
    Leaving(Leaving),
    /// Another client has deleted the own znode, maybe to end the election.
    Evicted(Evicted),
    /// The user was told the end. What is left behind is still removed.
    Ended(Ended),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entering {
    pub(super) step: Entry,
    pub(super) intent: Intent,
    /// How often the election node was created for this candidate.
    pub(super) rounds: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    Create,
    CreateElectionNode,
    /// What the contenders are below is missing, which is a child of the recipe's node.
    CreateHome(CreateMode),
    /// The reply to a create was lost. A barrier first: a server that lags, or a leader that was
    /// deposed unawares, would hide the znode, and a second one would be created (CURATOR-264).
    Barrier,
    Search,
    /// A znode with the own id: from the lost create, or a ghost of an earlier session.
    Suspect(Suspect),
    /// Without ids in the names: a contender that is the own one if this session owns it.
    Unnamed(ChildName),
    /// That one is another's: the search goes on with the next lower one.
    SearchBelow(ChildName),
    /// A znode with the own id cannot be deleted: it is looked for again at the next look.
    Obstructed,
}

/// A znode with the own id that is not known to be the candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Suspect {
    Found {
        name: ChildName,
    },
    /// A ghost: it is deleted by version, so that nothing else can be hit; one that may not be read, by
    /// its name.
    Condemned {
        name: ChildName,
        version: ExpectedVersion,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Intent {
    Stand,
    /// Withdrawn while a create is in flight or in doubt: what it left is deleted.
    Leave,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Standing {
    pub(super) own: CandidateName,
    pub(super) own_watch: OwnWatch,
    pub(super) position: Position,
    pub(super) look: Look,
}

/// Whether a follower is to list the candidates although no event told it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Look {
    NotDue,
    Due,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum OwnWatch {
    /// Never read: the owner is not verified yet.
    Unread,
    /// Verified by the reply to its creation, on this connection. The watch is set once the nominee is
    /// the heir, or looks.
    Unset { token: Token },
    /// To be read again, and to be the same znode still.
    Due { token: Token },
    /// Verified in this session and on this connection, and watched.
    Armed { token: Token, ticket: Ticket },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Position {
    /// To be listed.
    Unknown,
    /// Nothing is in the way: it leads as soon as its own znode is verified on this connection.
    First,
    /// A ghost stands in the election. It goes before a place is taken: it may be in the way, and
    /// is never to be followed.
    Haunted(Suspect),
    /// To be listed again at the next look.
    Obstructed(Obstacle),
    /// Nothing is in the way but a sequential child of another format.
    Foreign(ForeignChild),
    Behind(Behind),
    /// There is no room: more stand than may.
    Crowded(ListWatch),
}

/// Whether a watch tells of the next change among the contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ListWatch {
    /// Not yet: there may be room by now.
    Unset,
    Armed(Ticket),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Behind {
    pub(super) predecessor: CandidateName,
    pub(super) watch: PredecessorWatch,
    pub(super) ahead: Ahead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PredecessorWatch {
    /// Not yet: the predecessor may be gone already.
    Unset,
    Armed(Ticket),
    /// It fired because the predecessor's data changed.
    Due,
    /// The predecessor may not be read.
    Barred,
}

/// Which candidates are before the predecessor, by the last listing on this connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ahead {
    /// None: once the predecessor is gone, the nominee leads.
    Nobody,
    /// None either, but what is no candidate may keep the nominee from leading: it lists again first.
    Strangers,
    Others {
        leader: CandidateName,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leading {
    pub(super) own: CandidateName,
    pub(super) token: Token,
    pub(super) watch: LeaderWatch,
    pub(super) tombstone: TombstoneWatch,
    pub(super) tenure: Tenure,
    pub(super) mark: Mark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LeaderWatch {
    Due,
    Armed(Ticket),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tenure {
    Active,
    Suspended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    pub(super) own: CandidateName,
    pub(super) afterwards: Afterwards,
    /// The version of the mark that goes with it.
    pub(super) mark: Option<Version>,
}

impl Leaving {
    pub(super) const fn new(own: CandidateName, afterwards: Afterwards) -> Self {
        Self { own, afterwards, mark: None }
    }
}

/// What follows once the own znode is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Afterwards {
    StandAgain,
    Resigned,
    Withdrawn,
    Lost(Cause),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) cleanup: Cleanup,
}

/// The znode that a failure left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Cleanup {
    #[default]
    Nothing,
    /// It is to be deleted.
    Delete(ChildName),
    /// It is to be deleted, and there may be others: a ghost, and what a create in doubt has left.
    DeleteFound(ChildName),
    /// A create is in doubt, or was a former nominee's: it is to be found.
    Find(Find),
    /// Without ids in the names: it is this one if this session owns it.
    Inspect(ChildName),
    /// That one is another's.
    FindBelow(ChildName),
}

/// How far the search for a znode has come that a failure may have left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Find {
    Barrier,
    List,
    /// The server refused to show it: asked again at the next look, and on the next connection.
    Refused,
}

impl Cleanup {
    /// A search begins anew.
    pub(super) fn look_again(&mut self) {
        if let Self::Find(_) | Self::Inspect(_) | Self::FindBelow(_) = self {
            *self = Self::Find(Find::Barrier);
        }
    }
}

impl Entering {
    pub(super) const FIRST: Self = Self { step: Entry::Create, intent: Intent::Stand, rounds: 0 };
    /// An earlier nominee may have created the candidate, or left a create in doubt.
    pub(super) const RETURNING: Self =
        Self { step: Entry::Barrier, intent: Intent::Stand, rounds: 0 };
}

impl Stage {
    /// The own znode, once it is known.
    pub(super) fn candidate(&self) -> Option<&CandidateName> {
        match self {
            Self::Standing(Standing { own, .. })
            | Self::Leading(Leading { own, .. })
            | Self::Leaving(Leaving { own, .. }) => Some(own),
            Self::Entering(_) | Self::Evicted(_) | Self::Ended(_) => None,
        }
    }

    /// Whether the nominee leads, or is the next to lead.
    pub(super) fn needs_lease(&self) -> bool {
        match self {
            // `First`: while its own znode is read, which it needs besides.
            Self::Leading(_) | Self::Standing(Standing { position: Position::First, .. }) => true,
            Self::Standing(Standing {
                own_watch: OwnWatch::Armed { .. } | OwnWatch::Unset { .. },
                position,
                ..
            }) => match position {
                Position::Behind(Behind { ahead, .. }) => matches!(ahead, Ahead::Nobody),
                Position::Crowded(_) => true,
                _ => false,
            },
            Self::Standing(_)
            | Self::Entering(_)
            | Self::Leaving(_)
            | Self::Evicted(_)
            | Self::Ended(_) => false,
        }
    }

    /// What a failure in this state leaves behind.
    pub(super) fn leftover(&self) -> Cleanup {
        match self {
            Self::Entering(Entering { step, .. }) => match step {
                Entry::Suspect(suspect) => Cleanup::DeleteFound(suspect.name().clone()),
                // The server has just refused.
                Entry::Barrier
                | Entry::Search
                | Entry::SearchBelow(_)
                | Entry::Unnamed(_)
                | Entry::Obstructed => Cleanup::Find(Find::Refused),
                Entry::Create | Entry::CreateElectionNode | Entry::CreateHome(_) => {
                    Cleanup::Nothing
                }
            },
            Self::Standing(Standing { own, .. }) | Self::Leading(Leading { own, .. }) => {
                Cleanup::Delete(ChildName::from(own))
            }
            // The deletion of a leaving candidate is what failed.
            Self::Leaving(_) | Self::Evicted(_) | Self::Ended(_) => Cleanup::Nothing,
        }
    }

    /// Whether this state waits for the watch of the read with this ticket.
    pub(super) fn awaits_change(&self, ticket: Ticket) -> bool {
        match self {
            Self::Standing(standing) => {
                matches!(standing.own_watch, OwnWatch::Armed { ticket: own, .. } if own == ticket)
                    || matches!(
                        standing.position,
                        Position::Behind(Behind { watch: PredecessorWatch::Armed(theirs), .. })
                        | Position::Foreign(ForeignChild { watch: ForeignWatch::Armed(theirs), .. })
                        | Position::Crowded(ListWatch::Armed(theirs))
                            if theirs == ticket
                    )
            }
            Self::Leading(Leading { watch, tombstone, .. }) => {
                *watch == LeaderWatch::Armed(ticket) || tombstone.is_armed(ticket)
            }
            Self::Entering(_) | Self::Leaving(_) | Self::Evicted(_) | Self::Ended(_) => false,
        }
    }
}

impl Behind {
    pub(super) fn leader(&self) -> &CandidateName {
        match &self.ahead {
            Ahead::Nobody | Ahead::Strangers => &self.predecessor,
            Ahead::Others { leader } => leader,
        }
    }
}

impl Suspect {
    pub(super) fn name(&self) -> &ChildName {
        match self {
            Self::Found { name } | Self::Condemned { name, .. } => name,
        }
    }

    pub(super) fn condemned(&self, version: ExpectedVersion) -> Self {
        Self::Condemned { name: self.name().clone(), version }
    }

    pub(super) fn found(&self) -> Self {
        Self::Found { name: self.name().clone() }
    }
}
