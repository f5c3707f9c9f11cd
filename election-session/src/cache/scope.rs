//! Which znodes a cache keeps.

use alloc::string::String;

/// The znodes that a cache keeps: a root, and what stands below it.
///
/// A driver that keeps fewer leaves them out of the lists of children and of the events of created znodes that it
/// reports; then nothing below them is kept either.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a scope is for a cache"]
pub struct CacheScope {
    root: String,
    depth: usize,
}

impl CacheScope {
    /// Returns the scope of the whole tree below this znode.
    pub const fn below(root: String) -> Self {
        Self { root, depth: usize::MAX }
    }

    /// Leaves out znodes that are more levels than this below the root.
    pub const fn depth(mut self, levels: usize) -> Self {
        self.depth = levels;
        self
    }

    pub(super) fn root(&self) -> &str {
        &self.root
    }

    /// Returns how many levels below the root the path is.
    fn level(&self, path: &str) -> Option<usize> {
        let below = path.strip_prefix(self.root.as_str())?;
        if self.root == "/" {
            return Some(if below.is_empty() { 0 } else { below.matches('/').count() + 1 });
        }
        (below.is_empty() || below.starts_with('/')).then(|| below.matches('/').count())
    }

    pub(super) fn holds(&self, path: &str) -> bool {
        self.level(path).is_some_and(|level| level <= self.depth)
    }

    pub(super) fn holds_children_of(&self, path: &str) -> bool {
        self.level(path).is_some_and(|level| level < self.depth)
    }
}
