//! The contest of a nominee: which children are in its way, and what it does about them.

use core::num::NonZeroU32;

use super::home::Home;
use crate::access::Access;
use crate::command::CreateMode;
use crate::format::{CandidatePrefix, Format};
use crate::id::{NomineeId, SessionId};
use crate::name::{CandidateName, Sequence};
use crate::policy::{ElectionNode, NodeKind, WhenAsked};
use crate::ticket::Part;

/// The contest that a nominee takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Contest {
    /// The format of the names. It offers the access.
    pub(crate) format: Format,
    pub(crate) access: Access,
    pub(crate) patience: Patience,
    pub(crate) other_formats: OtherFormats,
    pub(crate) home: Home,
    pub(crate) rule: Rule,
    pub(crate) ending: Ending,
    pub(crate) when_asked: WhenAsked,
    /// The part of its recipe that the contender is. Its tickets carry it.
    pub(crate) part: Part,
}

/// The sign that ends the contest: a sibling of the contenders, if there can be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ending {
    /// A mark ends it, in a format that has one.
    ByMark,
    Unheeded,
}

/// The condition on which a contender's way is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// The way is free once no rival is before the contender.
    Turn,
    /// The way is free once at most this many children stand, of whatever kind, the contender's own
    /// included.
    Room(NonZeroU32),
}

/// The behaviour of a nominee when others are in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Patience {
    Waits,
    Leaves,
}

/// The reaction to a contender of another format, which is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OtherFormats {
    /// The nominee waits for its end, however long that takes: it may be an election that moves from one
    /// format to another.
    AreWaitedFor,
    /// The contender ends where the other one was before it, or is still there at the next look. Two that
    /// waited for each other would do so for good.
    Refuse,
}

impl Contest {
    pub(crate) const ELECTION: Self = Self {
        format: Format::curator_latch(),
        access: Access::Exclusive,
        patience: Patience::Waits,
        other_formats: OtherFormats::AreWaitedFor,
        home: Home::Node,
        rule: Rule::Turn,
        ending: Ending::ByMark,
        when_asked: WhenAsked::StandsBehind,
        part: Part::First,
    };

    pub(super) const fn prefix(self, by: (NomineeId, u32), session: SessionId) -> CandidatePrefix {
        CandidatePrefix::new(self.format, self.access, by, session)
    }

    /// Returns the child that says that the contest is ended, if the format has one.
    pub(super) const fn end_mark(self) -> Option<&'static str> {
        match self.ending {
            Ending::ByMark => self.format.end_mark(),
            Ending::Unheeded => None,
        }
    }

    /// Returns whether the names distinguish the nominee's znodes from all others. Where they do not, a
    /// session has one contender at the node, and all znodes that it owns there belong to that
    /// contender.
    pub(super) const fn has_ids(self) -> bool {
        !self.format.names_recur()
    }

    pub(super) fn rival(self, name: &str) -> Option<Sequence> {
        self.format.rival(self.access, name)
    }

    /// Returns how often, on one connection, the parent of the contenders, or its parent, is created
    /// for one contender.
    /// Servers reap empty containers, so the parent may be gone again before the contender is in it
    /// (CURATOR-435).
    pub(super) const fn rounds(self) -> u8 {
        match self.home {
            Home::Node => 3,
            Home::Child(_) => 6,
        }
    }

    /// Returns what is missing where a contender cannot be created: the mode to create it with, if it
    /// is a child of the recipe's node.
    pub(super) const fn mode_of_home(self, node: ElectionNode) -> Option<CreateMode> {
        match (self.home, node) {
            (Home::Node, _) => None,
            (Home::Child(_), ElectionNode::Create(NodeKind::Container)) => {
                Some(CreateMode::Container)
            }
            (
                Home::Child(_),
                ElectionNode::Create(NodeKind::Persistent) | ElectionNode::MustExist,
            ) => Some(CreateMode::Persistent),
        }
    }

    /// Returns whether nothing is in the way any more once this contender, the last one, is gone.
    pub(super) fn goes_for_good(self, predecessor: &CandidateName) -> bool {
        self.format.goes_for_good(self.access, &predecessor.text())
    }
}
