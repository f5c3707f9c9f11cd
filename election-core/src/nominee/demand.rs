//! The demand of each state: the command is a function of the state, so a retry is entering the state
//! again.

use super::home::Home;
use super::request::Request;
use super::stage::{
    Ahead, Behind, Cleanup, Ended, Entry, Find, LeaderWatch, Leading, ListWatch, Look,
    NomineeStage, OwnWatch, Position, PredecessorWatch, Standing, Suspect,
};
use crate::command::{ExpectedVersion, Op, Watch};
use crate::format::CandidatePrefix;

impl NomineeStage {
    /// Returns the one request that this state asks for, if it asks for any.
    pub(super) fn demand(&self, home: Home, next: CandidatePrefix) -> Option<(Request, Op<'_>)> {
        match self {
            Self::Entering(entering) => entering.step.demand(home, next),
            Self::Standing(standing) => standing.demand(home),
            Self::Leading(Leading { own, watch: LeaderWatch::Due, .. }) => Some(home.read_own(own)),
            Self::Leading(Leading { own, tombstone, mark, waking, .. }) => tombstone
                .demand(home)
                .or_else(|| mark.demand(home, own))
                .or_else(|| waking.demand(home, own, next)),
            Self::Leaving(leaving) => Some(leaving.demand(home)),
            Self::Evicted(evicted) => Some(evicted.demand(home)),
            Self::Ended(Ended { cleanup, .. }) => cleanup.demand(home),
        }
    }
}

impl Entry {
    fn demand(&self, home: Home, next: CandidatePrefix) -> Option<(Request, Op<'_>)> {
        Some(match self {
            Self::Create => home.create(next),
            Self::CreateHome(mode) => home.create_itself(*mode),
            Self::CreateElectionNode => (Request::CreateElectionNode, Op::CreateNode),
            Self::Barrier => (Request::Barrier, Op::Barrier),
            Self::Search | Self::SearchBelow(_) => (Request::Search, home.list(Watch::None)),
            // It reads with a watch: if the znode is the nominee's, this read verifies and watches it.
            Self::Suspect(Suspect::Found { name }) => {
                (Request::ReadFound, home.read(name.into(), Watch::Own))
            }
            Self::Suspect(Suspect::Condemned { name, version }) => {
                home.delete_ghost(name, *version)
            }
            Self::Unnamed(name) => home.inspect(name),
            Self::Obstructed => return None,
        })
    }
}

impl Standing {
    /// Returns the request for the nominee's own znode first: no place is worth knowing before that is
    /// verified.
    fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match (&self.own_watch, &self.position, self.look) {
            (OwnWatch::Unread | OwnWatch::Due { .. }, _, _) => Some(home.read_own(&self.own)),
            (OwnWatch::Unset { .. }, _, _) if self.needs_own_watch() => {
                Some(home.read_own(&self.own))
            }
            (
                _,
                Position::Behind(_)
                | Position::Obstructed(_)
                | Position::Foreign(_)
                | Position::Crowded(ListWatch::Armed(_)),
                Look::Due,
            ) => Some((Request::Look, home.list(Watch::None))),
            (_, position, _) => position.demand(home),
        }
    }

    /// Returns whether the nominee needs a watch on its own znode. A leader has to hear of its
    /// deletion. The heir leads by the end of its predecessor alone because it would have heard of its
    /// own end. Any other nominee would hear of it from the next list, and must not wait for that for
    /// ever (etcd #11456), so it has the watch from its first look on.
    fn needs_own_watch(&self) -> bool {
        match &self.position {
            Position::First => true,
            Position::Behind(behind) => self.look == Look::Due || behind.is_settled_heir(),
            Position::Obstructed(_) | Position::Foreign(_) => self.look == Look::Due,
            // The deletion is a change among the contenders, which the watch on them reports.
            Position::Unknown | Position::Haunted(_) | Position::Crowded(_) => false,
        }
    }
}

impl Position {
    fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match self {
            Self::Unknown => Some((Request::List, home.list(Watch::None))),
            Self::Crowded(ListWatch::Unset) => Some((Request::WatchList, home.list(Watch::Other))),
            Self::Haunted(Suspect::Found { name }) => {
                Some((Request::InspectGhost, home.read(name.into(), Watch::None)))
            }
            Self::Haunted(Suspect::Condemned { name, version }) => {
                Some(home.delete_ghost(name, *version))
            }
            Self::Obstructed(_) | Self::First | Self::Crowded(ListWatch::Armed(_)) => None,
            Self::Foreign(foreign) => foreign.demand(home),
            Self::Behind(Behind { predecessor, watch, .. }) => match watch {
                PredecessorWatch::Unset | PredecessorWatch::Due => {
                    Some((Request::ReadPredecessor, home.read(predecessor.into(), Watch::Other)))
                }
                PredecessorWatch::Armed(_) | PredecessorWatch::Barred => None,
            },
        }
    }
}

impl Behind {
    /// Returns whether the nominee is the heir, and needs to ask nothing more about its predecessor.
    fn is_settled_heir(&self) -> bool {
        match (&self.ahead, self.watch) {
            (Ahead::Nobody, PredecessorWatch::Armed(_) | PredecessorWatch::Barred) => true,
            (Ahead::Nobody, PredecessorWatch::Unset | PredecessorWatch::Due)
            | (Ahead::Strangers | Ahead::Others { .. }, _) => false,
        }
    }
}

impl Cleanup {
    fn demand(&self, home: Home) -> Option<(Request, Op<'_>)> {
        match self {
            Self::Nothing | Self::Find(Find::Refused) => None,
            Self::Delete(name) | Self::DeleteFound(name) => {
                Some((Request::CleanUp, home.delete(name.into(), ExpectedVersion::Any)))
            }
            Self::Find(Find::Barrier) => Some((Request::Barrier, Op::Barrier)),
            Self::Find(Find::List) | Self::FindBelow(_) => {
                Some((Request::Search, home.list(Watch::None)))
            }
            Self::Inspect(name) => Some(home.inspect(name)),
        }
    }
}
