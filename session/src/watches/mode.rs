//! The reach of a persistent watch.

use zk_jute::records::AddWatchMode;

/// The reach of a persistent watch (since ZooKeeper 3.6.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchMode {
    /// The watch covers the znode and the list of its children.
    Persistent,
    /// The watch covers the znode and everything below it: creations, deletions and data, but no lists
    /// of children.
    PersistentRecursive,
}

impl WatchMode {
    pub(crate) const fn wire(self) -> AddWatchMode {
        match self {
            Self::Persistent => AddWatchMode::PERSISTENT,
            Self::PersistentRecursive => AddWatchMode::PERSISTENT_RECURSIVE,
        }
    }
}
