//! What each state asks for: the command is a function of the state, so a retry is entering the state again.

use super::home::Home;
use super::mark::delete_with_mark;
use super::request::Request;
use super::stage::{
    Ahead, Behind, Cleanup, Ended, Entry, Find, LeaderWatch, Leading, Leaving, ListWatch, Look,
    OwnWatch, Position, PredecessorWatch, Stage, Standing, Suspect,
};
use crate::command::{ExpectedVersion, Op, Watch};
use crate::format::CandidatePrefix;

impl Stage {
    /// The one thing that this state asks for, if it asks for anything.
    pub(super) fn demand(&self, home: Home, next: CandidatePrefix) -> Option<(Request, Op<'_>)> {
        match self {
            Self::Entering(entering) => entering.step.demand(home, next),
            Self::Standing(standing) => standing.demand(home),
            Self::Leading(Leading { own, watch: LeaderWatch::Due, .. }) => Some(home.read_own(own)),
            Self::Leading(Leading { own, tombstone, mark, .. }) => {
                tombstone.demand(home).or_else(|| mark.demand(home, own))
            }
            Self::Leaving(Leaving { own, mark: Some(version), .. }) => {
                Some((Request::DeleteOwnAndMark, delete_with_mark(home, own, *version)))
            }
            Self::Leaving(Leaving { own, .. }) => {
                Some((Request::DeleteOwn, home.delete(own.into(), ExpectedVersion::Any)))
            }
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
            // Read with a watch: if it is ours, it is verified and watched by that.
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
    /// The own znode is verified first: without that no place is worth knowing.
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

    /// A leader is to hear of its own deletion, and the heir leads by the end of its predecessor only
    /// since it would have heard. Any other one would hear of it from the next list, and so it must not
    /// wait for that for ever (etcd #11456): it has the watch from its first look on.
    fn needs_own_watch(&self) -> bool {
        match &self.position {
            Position::First => true,
            Position::Behind(behind) => self.look == Look::Due || behind.is_settled_heir(),
            Position::Obstructed(_) | Position::Foreign(_) => self.look == Look::Due,
            // Its deletion is a change among the contenders, which the watch on them tells of.
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
    /// Whether it is the heir, and nothing more is to be asked about its predecessor.
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
