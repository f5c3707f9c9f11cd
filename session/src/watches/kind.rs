//! The kinds of watches, and the watches that a server holds at a path.

use zk_jute::ErrorCode;
use zk_jute::records::EventType;

use super::mode::WatchMode;

/// The request that asks for the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchedBy {
    Exists,
    GetData,
    GetChildren,
    /// A watch of the mode `mode`, for which the session asks the server for the mode `wire`.
    AddWatch {
        mode: WatchMode,
        wire: WatchMode,
    },
}

impl WatchedBy {
    /// Returns the watch that a reply leaves behind, if any.
    pub(super) const fn leaves(self, reply: ErrorCode) -> Option<Kind> {
        match (self, reply) {
            (Self::Exists | Self::GetData, ErrorCode::OK) => Some(Kind::Data),
            (Self::Exists, ErrorCode::NO_NODE) => Some(Kind::Exist),
            (Self::GetChildren, ErrorCode::OK) => Some(Kind::Child),
            (Self::AddWatch { mode, .. }, ErrorCode::OK | ErrorCode::NO_NODE) => {
                Some(Kind::of(mode))
            }
            _ => None,
        }
    }

    /// Returns what the server holds for a watch of this kind.
    pub(super) const fn held(self, left: Kind) -> ServerWatches {
        match self {
            Self::AddWatch { wire, .. } => Kind::of(wire).held(),
            Self::Exists | Self::GetData | Self::GetChildren => left.held(),
        }
    }
}

/// The list of `setWatches2` in which a client names the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Exist,
    Child,
    Persistent,
    Recursive,
}

impl Kind {
    /// All lists in the order in which `setWatches2` has them. Where a server keeps one watch for each
    /// path, the last one counts, so the watch that sees most is last.
    pub(super) const ALL: [Self; 5] =
        [Self::Data, Self::Exist, Self::Child, Self::Persistent, Self::Recursive];

    const fn of(mode: WatchMode) -> Self {
        match mode {
            WatchMode::Persistent => Self::Persistent,
            WatchMode::PersistentRecursive => Self::Recursive,
        }
    }

    pub(super) const fn is_fired_by(self, event: EventType) -> bool {
        match event {
            EventType::NODE_CREATED | EventType::NODE_DATA_CHANGED => !matches!(self, Self::Child),
            EventType::NODE_CHILDREN_CHANGED => matches!(self, Self::Child | Self::Persistent),
            EventType::NODE_DELETED => true,
            _ => false,
        }
    }

    pub(super) const fn held(self) -> ServerWatches {
        match self {
            Self::Data | Self::Exist => ServerWatches::DATA,
            Self::Child => ServerWatches::CHILD,
            Self::Persistent => ServerWatches::PERSISTENT,
            Self::Recursive => ServerWatches::RECURSIVE,
        }
    }
}

/// The watches that the server may hold for this connection at one path. It never holds more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerWatches(u8);

impl ServerWatches {
    pub(super) const NOTHING: Self = Self(0);
    const DATA: Self = Self(1);
    const CHILD: Self = Self(2);
    const PERSISTENT: Self = Self(4);
    const RECURSIVE: Self = Self(8);

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) const fn is_recursive(self) -> bool {
        self.has_any(Self::RECURSIVE)
    }

    /// Returns whether the persistent watches among these see all that a one-shot one would.
    pub(super) const fn covers(self, by: WatchedBy) -> bool {
        match by {
            WatchedBy::Exists | WatchedBy::GetData => {
                self.has_any(Self::PERSISTENT.with(Self::RECURSIVE))
            }
            WatchedBy::GetChildren => self.has_any(Self::PERSISTENT),
            WatchedBy::AddWatch { .. } => false,
        }
    }

    /// Returns the watches after an event on the path, which uses up the one-shot watches that it
    /// concerns.
    pub(super) const fn after(self, event: EventType) -> Self {
        match event {
            EventType::NODE_CREATED | EventType::NODE_DATA_CHANGED => self.without(Self::DATA),
            EventType::NODE_CHILDREN_CHANGED => self.without(Self::CHILD),
            EventType::NODE_DELETED => self.without(Self::DATA.with(Self::CHILD)),
            _ => self,
        }
    }
}
