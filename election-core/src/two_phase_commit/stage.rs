//! The stages of a party, and what it knows in each of them.

use super::child::ChildName;
use super::course::{Sight, Then};
use super::leaving::{Leaving, LeavingStep, Origin};
use super::plan::Plan;
use super::told::CommitEnd;
use crate::owed::Owed;
use crate::seen::Seen;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "without an allocator a plan cannot be boxed")]
pub(super) enum CommitStage {
    Surveying(Sight),
    Doubting,
    Acting(Plan, Then),
    Looking(ChildName),
    /// The site has found a znode of its session, and writes to it, so that the participant that
    /// has made it does not delete it any more.
    Adopting(ChildName, Seen),
    Waiting,
    /// The site takes part, in this session.
    Standing,
    Leaving(Leaving, CommitEnd),
    /// It has told its end, and a server refused to delete its znode.
    Owing(Owed<Leaving>, CommitEnd),
    Ended(CommitEnd),
}

/// The task of a site that joins, for its ephemeral znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Own {
    /// In this session.
    pub(super) asked: Asked,
    pub(super) told: Reported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Never,
    ForItsZnode(Origin),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reported {
    Nothing,
    Joined,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Survey,
    Barrier,
    Act,
    Look,
    Adopt,
    Remove,
}

impl CommitStage {
    pub(super) const fn end(&self) -> Option<CommitEnd> {
        match self {
            Self::Owing(_, end) | Self::Ended(end) => Some(*end),
            _ => None,
        }
    }

    pub(super) const fn request(&self) -> Option<Request> {
        match self {
            Self::Surveying(_) => Some(Request::Survey),
            Self::Doubting => Some(Request::Barrier),
            Self::Acting(..) => Some(Request::Act),
            Self::Looking(_) => Some(Request::Look),
            Self::Adopting(..) => Some(Request::Adopt),
            Self::Leaving(leaving, _) | Self::Owing(Owed::Due(leaving), _) => {
                Some(match leaving.step() {
                    LeavingStep::Barrier => Request::Barrier,
                    LeavingStep::Look => Request::Look,
                    LeavingStep::Delete(_) => Request::Remove,
                })
            }
            Self::Owing(Owed::Refused(_), _) | Self::Waiting | Self::Standing | Self::Ended(_) => {
                None
            }
        }
    }
}
