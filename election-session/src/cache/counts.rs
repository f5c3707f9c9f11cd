//! The counts of a cache's changes.

use alloc::sync::Arc;

use super::node::CachedNode;

/// The changes of a cached tree since the cache began: of what it keeps, which may be several writes in one. The
/// znodes that it keeps are those created, less those deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheCounts {
    /// Znodes that came into the tree.
    pub created: u64,
    /// Znodes of the tree whose data or metadata became another.
    pub changed: u64,
    /// Znodes that left the tree. One that was deleted and created again is in both counts.
    pub deleted: u64,
}

impl CacheCounts {
    pub(super) fn count(
        &mut self,
        before: Option<&Arc<CachedNode>>,
        after: Option<&Arc<CachedNode>>,
    ) {
        if let (Some(before), Some(after)) = (before, after)
            && before.is_one_with(after)
        {
            self.changed += 1;
        } else {
            self.deleted += u64::from(before.is_some());
            self.created += u64::from(after.is_some());
        }
    }
}
