//! The states of a nomination. Each holds what it needs and nothing else.

use super::evicted::Evicted;
use super::foreign::{ForeignChild, ForeignWatch, TombstoneWatch};
use super::mark::Mark;
use super::waking::Waking;
use crate::command::{CreateMode, ExpectedVersion};
use crate::id::{Token, Version};
use crate::name::{CandidateName, ChildName};
use crate::outcome::{Cause, End, Obstacle};
use crate::ticket::Ticket;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum NomineeStage {
    /// The nominee knows no znode of its own.
    Entering(Entering),
    /// The nominee knows its own znode, which does not lead.
    Standing(Standing),
    /// The nominee's own znode is the lowest.
    Leading(Leading),
    /// The nominee deletes its own znode.
    Leaving(Leaving),
    /// Another client has deleted the nominee's znode, maybe to end the election.
    Evicted(Evicted),
    /// The user has the notice of the end. The nominee still removes the znodes that it has left behind.
    Ended(Ended),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Entering {
    pub(super) step: Entry,
    pub(super) intent: Intent,
    /// Counts how often, on this connection, a server confirmed that the parent of this candidate is
    /// there. A creation that was lost counts for nothing: there is nothing that has vanished.
    pub(super) rounds: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    Create,
    CreateElectionNode,
    /// Creates the missing parent of the contenders, which is a child of the recipe's node.
    CreateHome(CreateMode),
    /// Makes a barrier, because the reply to a create was lost. Without it, a server that lags, or a
    /// leader that was deposed and does not know it, would hide the znode, and the nominee would create
    /// a second one (CURATOR-264).
    Barrier,
    Search,
    /// Inspects a znode with the nominee's id: it is from the lost create, or a ghost of an earlier
    /// session.
    Suspect(Suspect),
    /// Inspects a contender, in formats without ids: it is the nominee's own if this session owns it.
    Unnamed(ChildName),
    /// Goes on with the next lower contender, because another session owns this one.
    SearchBelow(ChildName),
    /// Waits for the next look, because a znode with the nominee's id cannot be deleted.
    Obstructed,
}

/// A znode with the nominee's id that may not be its candidate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Suspect {
    Found {
        name: ChildName,
    },
    /// A ghost. It is deleted by version, so that no other znode is deleted; one that may not be read
    /// is deleted by name.
    Condemned {
        name: ChildName,
        version: ExpectedVersion,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Intent {
    Stand,
    /// The nominee has withdrawn while a create is in flight or in doubt: it deletes what the create
    /// left.
    Leave,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Standing {
    pub(super) own: CandidateName,
    pub(super) own_watch: OwnWatch,
    pub(super) position: Position,
    pub(super) look: Look,
}

/// The need of a follower to list the candidates although no event told it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Look {
    NotDue,
    Due,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum OwnWatch {
    /// The znode was never read: its owner is not verified yet.
    Unread,
    /// The reply to the create has verified the znode, on this connection. The watch is set once the
    /// nominee is the heir, or looks.
    Unset { token: Token },
    /// The znode has to be read again, and has to be the same one.
    Due { token: Token },
    /// The znode was verified in this session and on this connection, and is watched.
    Armed { token: Token, ticket: Ticket },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Position {
    /// A list has to tell the position.
    Unknown,
    /// Nothing is in the way: it leads as soon as its own znode is verified on this connection.
    First,
    /// A ghost stands in the election. It is deleted before the nominee takes a place: the ghost may be
    /// in the way, and must never be followed.
    Haunted(Suspect),
    /// An obstacle is in the way; the nominee lists again at the next look.
    Obstructed(Obstacle),
    /// Only a sequential child of another format is in the way.
    Foreign(ForeignChild),
    Behind(Behind),
    /// The contest has no room: more children stand than it allows.
    Crowded(ListWatch),
}

/// The watch that reports the next change among the contenders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ListWatch {
    /// No watch is set: there may be room by now.
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
    /// No watch is set: the predecessor may be gone already.
    Unset,
    Armed(Ticket),
    /// The watch fired because the predecessor's data changed.
    Due,
    /// The server refuses to show the predecessor.
    Barred,
}

/// The candidates before the predecessor, by the last list on this connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ahead {
    /// No candidate: once the predecessor is gone, the nominee leads.
    Nobody,
    /// No candidate; but a child that is none may keep the nominee from leading: it lists again
    /// first.
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
    pub(super) waking: Waking,
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
    pub(super) farewell: Farewell,
    /// The version of the mark that is deleted with the znode.
    pub(super) mark: Option<Version>,
}

/// The next step of a nominee that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Farewell {
    Barrier,
    Look,
    /// The znode is the nominee's own if it has this version.
    Delete(ExpectedVersion),
}

/// The next step once the nominee's znode is gone.
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
    /// The cleanup deletes this znode.
    Delete(ChildName),
    /// The cleanup deletes this znode. There may be others: a ghost, and the znode of a create in
    /// doubt.
    DeleteFound(ChildName),
    /// The cleanup looks for a znode: a create is in doubt, or was an earlier nominee's.
    Find(Find),
    /// The cleanup inspects this znode, in formats without ids: it is the nominee's if this session
    /// owns it.
    Inspect(ChildName),
    /// Another session owns this znode; the cleanup looks below it.
    FindBelow(ChildName),
}

/// The progress of the search for a znode that a failure may have left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Find {
    Barrier,
    List,
    /// The server refused to show or to delete it; it is asked again at the next look, and on the next
    /// connection.
    Refused,
}

impl Cleanup {
    /// Begins a search anew.
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

impl NomineeStage {
    /// Returns the nominee's own znode, once it is known.
    pub(super) fn candidate(&self) -> Option<&CandidateName> {
        match self {
            Self::Standing(Standing { own, .. })
            | Self::Leading(Leading { own, .. })
            | Self::Leaving(Leaving { own, .. }) => Some(own),
            Self::Entering(_) | Self::Evicted(_) | Self::Ended(_) => None,
        }
    }

    /// Returns whether the nominee leads, or is the next to lead.
    pub(super) fn needs_lease(&self) -> bool {
        match self {
            // `First` counts while the nominee reads its own znode, which it needs besides.
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

    /// Returns what a failure in this state leaves behind.
    pub(super) fn leftover(&self) -> Cleanup {
        match self {
            Self::Entering(Entering { step, .. }) => match step {
                Entry::Suspect(Suspect::Found { name }) => Cleanup::DeleteFound(name.clone()),
                // The server has just refused.
                Entry::Suspect(Suspect::Condemned { .. })
                | Entry::Barrier
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
            // The server has just refused to delete it.
            Self::Leaving(_) => Cleanup::Find(Find::Refused),
            Self::Evicted(_) | Self::Ended(_) => Cleanup::Nothing,
        }
    }

    /// Returns whether this state waits for the watch of the read with this ticket.
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
