//! One znode: what is shown of it, and what has to be asked.

use alloc::sync::Arc;

use zk_jute::Zxid;
use zk_jute::records::Stat;

use super::node::CachedNode;
use crate::set_up::TrackerWatches;

#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) shown: ShownNode,
    pub(super) fresh: Fresh,
    pub(super) names: Names,
}

#[derive(Clone, Debug)]
pub(super) enum ShownNode {
    /// It was not read yet; or it is the root, and does not exist.
    Nothing,
    Unreadable,
    Node(Arc<CachedNode>),
}

/// The freshness of a value: whether it still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fresh {
    /// No event has come since it was read.
    Clean,
    Due,
    /// The read with this ticket is on its way.
    Asked {
        ticket: u64,
        after: After,
    },
}

/// The last change of a znode that was reported while its read is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum After {
    Nothing,
    Transaction(Zxid),
    Unknown,
}

/// The knowledge of a znode's children by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// The next read of the znode tells whether it has to be listed.
    Unlisted,
    /// They were known when `pzxid` was this one, and changes may have been missed since. The next read tells.
    Doubtful {
        pzxid: Zxid,
    },
    Known {
        pzxid: Zxid,
    },
    Due,
    Asked(u64),
    /// The list with this ticket is on its way, and may be out of date.
    Outdated(u64),
}

impl Slot {
    pub(super) const UNREAD: Self =
        Self { shown: ShownNode::Nothing, fresh: Fresh::Due, names: Names::Unlisted };

    /// Returns whether a read is due, and whether a list is.
    pub(super) const fn is_due(&self) -> (bool, bool) {
        (matches!(self.fresh, Fresh::Due), matches!(self.names, Names::Due))
    }

    pub(super) const fn is_clean(&self) -> bool {
        matches!(self.fresh, Fresh::Clean)
            && !matches!(self.names, Names::Due | Names::Asked(_) | Names::Outdated(_))
    }
}

impl ShownNode {
    pub(super) const fn node(&self) -> Option<&Arc<CachedNode>> {
        match self {
            Self::Node(node) => Some(node),
            Self::Nothing | Self::Unreadable => None,
        }
    }

    pub(super) const fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Node(one), Self::Node(other)) => one.is_same(other),
            (Self::Nothing, Self::Nothing) | (Self::Unreadable, Self::Unreadable) => true,
            _ => false,
        }
    }
}

impl Fresh {
    /// The state after an event.
    pub(super) fn after(self, event: After) -> Self {
        match self {
            Self::Clean | Self::Due => Self::Due,
            Self::Asked { ticket, after } => Self::Asked { ticket, after: after.max(event) },
        }
    }
}

impl After {
    pub(super) fn event(zxid: Option<Zxid>) -> Self {
        zxid.map_or(Self::Unknown, Self::Transaction)
    }

    /// Returns whether a reply with this zxid shows the change. An event may be reported before a reply that came
    /// first.
    pub(super) fn is_covered(self, reply: Option<Zxid>) -> bool {
        match self {
            Self::Nothing => true,
            Self::Transaction(zxid) => reply.is_some_and(|reply| reply >= zxid),
            Self::Unknown => false,
        }
    }
}

impl Names {
    pub(super) fn awaits(self, ticket: u64) -> bool {
        matches!(self, Self::Asked(awaited) | Self::Outdated(awaited) if awaited == ticket)
    }

    /// The state after a read of the znode that shows all changes that were reported. A recursive watch reports each
    /// child that comes from its reading on.
    pub(super) fn after_read(
        self,
        stat: &Stat,
        watching: TrackerWatches,
        has_children: bool,
    ) -> Self {
        let known = Self::Known { pzxid: stat.pzxid };
        match (self, watching) {
            (Self::Unlisted | Self::Doubtful { .. }, _) if !has_children => known,
            (Self::Unlisted | Self::Doubtful { .. }, TrackerWatches::OneShot) => Self::Due,
            (Self::Doubtful { pzxid }, _) if pzxid == stat.pzxid => known,
            (Self::Unlisted | Self::Doubtful { .. }, _) if stat.num_children > 0 => Self::Due,
            (Self::Unlisted | Self::Doubtful { .. }, _)
            | (Self::Known { .. }, TrackerWatches::Persistent) => known,
            (names, _) => names,
        }
    }

    /// The state after a report that the list has changed.
    pub(super) const fn outdated(self) -> Self {
        match self {
            Self::Known { .. } | Self::Due => Self::Due,
            Self::Asked(ticket) | Self::Outdated(ticket) => Self::Outdated(ticket),
            Self::Unlisted | Self::Doubtful { .. } => self,
        }
    }

    /// The state after a gap: the next read tells. Names that are known by the last change alone may lack others of
    /// its transaction, and `pzxid` does not tell that.
    pub(super) fn doubted(self, last_change: Option<Zxid>) -> Self {
        match self {
            Self::Known { pzxid } | Self::Doubtful { pzxid } if Some(pzxid) == last_change => {
                Self::Unlisted
            }
            Self::Known { pzxid } | Self::Doubtful { pzxid } => Self::Doubtful { pzxid },
            Self::Unlisted | Self::Due | Self::Asked(_) | Self::Outdated(_) => Self::Unlisted,
        }
    }
}
