//! The progress of an observer, and its request in each stage.

use super::survey::Foreign;
use super::told::{ObserverEnd, Present};
use crate::command::{Op, Watch, Znode};
use crate::format::Format;
use crate::id::Token;
use crate::name::{CandidateName, ChildName};
use crate::ticket::Ticket;

/// The subject of an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The candidate that leads, among those of this format.
    Leader(Format),
    /// The sibling of the election node with this suffix in its name.
    Mark(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ObserverStage<D> {
    /// Brings the server up to what was committed before the session was first used.
    Barrier,
    Finding,
    /// Reads the candidate that was the lowest in the last list.
    ReadingFound(CandidateName, Foreign),
    /// Lists again, for a candidate that was read and is watched: its name does not distinguish it from
    /// one of an earlier election node, or a foreign child was passed over.
    Confirming(First<D>),
    /// Looks whether this foreign child blocks the first candidate.
    Inspecting(First<D>, ChildName),
    /// Watches the first candidate, and the foreign child that blocks it. Without a watch on that it
    /// waits for the next look, too.
    Blocked {
        candidate: Ticket,
        foreign: Armed,
    },
    /// Reads again the leader that it has reported.
    Rereading(CandidateName, Token),
    Watching(CandidateName, Token, Ticket),
    ReadingMark,
    WatchingMark(Ticket),
    /// Waits for the first one; a watch reports it.
    Awaiting(Sign, Armed),
    /// Waits for the next look.
    Hidden,
    Ended(ObserverEnd),
}

/// The first candidate, which was read and is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct First<D> {
    pub(super) name: CandidateName,
    pub(super) present: Present<D>,
    pub(super) ticket: Ticket,
    /// The foreign child that was looked at last.
    pub(super) passed: Option<ChildName>,
}

/// The znode that shows that there may be a leader or a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    /// A child of the election node shows it.
    Child,
    /// The election node, or the mark, shows it.
    Znode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Armed {
    NotYet,
    With(Ticket),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Barrier,
    Find,
    Confirm,
    Read,
    Inspect,
    AwaitChild,
    AwaitZnode,
}

impl Request {
    pub(super) const fn leaves_a_watch(self) -> bool {
        match self {
            Self::Barrier | Self::Find | Self::Confirm => false,
            Self::Read | Self::Inspect | Self::AwaitChild | Self::AwaitZnode => true,
        }
    }
}

impl Subject {
    pub(super) const fn first<D>(self) -> ObserverStage<D> {
        match self {
            Self::Leader(_) => ObserverStage::Finding,
            Self::Mark(_) => ObserverStage::ReadingMark,
        }
    }

    const fn znode(self) -> Znode<'static> {
        match self {
            Self::Leader(_) => Znode::Node,
            Self::Mark(suffix) => Znode::Sibling(suffix),
        }
    }
}

impl<D> ObserverStage<D> {
    pub(super) fn demand(&self, subject: Subject) -> Option<(Request, Op<'_>)> {
        let read = |znode| (Request::Read, Op::Read { znode, watch: Watch::Other });
        let list = |request, watch| (request, Op::List { parent: Znode::Node, watch });
        Some(match self {
            Self::Barrier => (Request::Barrier, Op::Barrier),
            Self::Finding => list(Request::Find, Watch::None),
            Self::Confirming(..) => list(Request::Confirm, Watch::None),
            Self::ReadingFound(name, _) | Self::Rereading(name, _) => {
                read(Znode::Child(name.into()))
            }
            Self::Inspecting(_, foreign) => {
                let znode = Znode::Child(foreign.into());
                (Request::Inspect, Op::Exists { znode, watch: Watch::Other })
            }
            Self::ReadingMark => read(subject.znode()),
            Self::Awaiting(Sign::Child, Armed::NotYet) => list(Request::AwaitChild, Watch::Other),
            Self::Awaiting(Sign::Znode, Armed::NotYet) => {
                (Request::AwaitZnode, Op::Exists { znode: subject.znode(), watch: Watch::Other })
            }
            Self::Watching(..)
            | Self::Blocked { .. }
            | Self::WatchingMark(_)
            | Self::Awaiting(_, Armed::With(_))
            | Self::Hidden
            | Self::Ended(_) => return None,
        })
    }

    /// Returns whether the observer waits for this watch.
    pub(super) fn watches(&self, ticket: Ticket) -> bool {
        match self {
            Self::Confirming(First { ticket: armed, .. })
            | Self::Inspecting(First { ticket: armed, .. }, _)
            | Self::Watching(_, _, armed)
            | Self::WatchingMark(armed)
            | Self::Awaiting(_, Armed::With(armed)) => *armed == ticket,
            Self::Blocked { candidate, foreign } => {
                *candidate == ticket || *foreign == Armed::With(ticket)
            }
            _ => false,
        }
    }

    /// Returns the stage on a new connection, or at a look: then no watch stands for certain.
    pub(super) fn renewed(self, subject: Subject) -> Self {
        match self {
            Self::Watching(name, token, _) => Self::Rereading(name, token),
            Self::WatchingMark(_) => Self::ReadingMark,
            Self::Awaiting(sign, _) => Self::Awaiting(sign, Armed::NotYet),
            Self::Hidden | Self::Confirming(_) | Self::Inspecting(..) | Self::Blocked { .. } => {
                subject.first()
            }
            other => other,
        }
    }
}
