//! What a nominee stands for: which children are in its way, and what it does about them.

use core::num::NonZeroU32;

use super::home::Home;
use crate::access::Access;
use crate::command::CreateMode;
use crate::format::{CandidatePrefix, Format, Recovery};
use crate::id::{NomineeId, SessionId};
use crate::name::{CandidateName, Sequence};
use crate::policy::{ElectionNode, NodeKind, WhenAsked};
use crate::ticket::Part;

/// What a nominee stands for, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Contest {
    /// One that offers the access.
    pub(crate) format: Format,
    pub(crate) access: Access,
    pub(crate) patience: Patience,
    pub(crate) home: Home,
    pub(crate) rule: Rule,
    pub(crate) ending: Ending,
    pub(crate) when_asked: WhenAsked,
    /// The part of its recipe that a contender is: its tickets bear it.
    pub(crate) part: Part,
}

/// Whether a child of what the contenders are below may say that the contest is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ending {
    /// In a format that has a mark for it.
    ByMark,
    Unheeded,
}

/// When the way of a contender is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// Once no rival is before it.
    Turn,
    /// Once no more children stand than this, whatever they are: its own is one.
    Room(NonZeroU32),
}

/// What a nominee does when others are in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Patience {
    Waits,
    Leaves,
}

impl Contest {
    pub(crate) const ELECTION: Self = Self {
        format: Format::curator_latch(),
        access: Access::Exclusive,
        patience: Patience::Waits,
        home: Home::Node,
        rule: Rule::Turn,
        ending: Ending::ByMark,
        when_asked: WhenAsked::StandsBehind,
        part: Part::First,
    };

    pub(super) const fn prefix(self, by: (NomineeId, u32), session: SessionId) -> CandidatePrefix {
        CandidatePrefix::new(self.format, self.access, by, session)
    }

    /// The child that says that the contest is ended, if one can.
    pub(super) const fn end_mark(self) -> Option<&'static str> {
        match self.ending {
            Ending::ByMark => self.format.end_mark(),
            Ending::Unheeded => None,
        }
    }

    /// Whether the names tell the own znodes from all others. Where they do not, a session has one
    /// contender at the node, and all that it owns there is that one's.
    pub(super) const fn has_ids(self) -> bool {
        matches!(self.format.recovery(), Recovery::Id)
    }

    pub(super) fn rival(self, name: &str) -> Option<Sequence> {
        self.format.rival(self.access, name)
    }

    /// How often what the contenders are below is created for one of them, or that which it is itself
    /// below: containers are reaped while they are empty, so it may be gone again before the contender is
    /// in it (CURATOR-435).
    pub(super) const fn rounds(self) -> u8 {
        match self.home {
            Home::Node => 3,
            Home::Child(_) => 6,
        }
    }

    /// What is missing where a contender cannot be created, and the kind it is to have, if it is a child
    /// of the recipe's node.
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

    /// Whether nothing is in the way any more once this contender, the last one, is gone.
    pub(super) fn goes_for_good(self, predecessor: &CandidateName) -> bool {
        self.format.goes_for_good(self.access, &predecessor.text())
    }
}
