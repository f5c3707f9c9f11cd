//! Which znodes a cache keeps.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

type Filter = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// The znodes that a cache keeps: a root, and what stands below it.
#[must_use = "a scope is for a cache"]
pub struct CacheScope {
    root: String,
    depth: usize,
    filter: Filter,
}

impl CacheScope {
    /// Returns the scope of the whole tree below this znode.
    pub fn below(root: String) -> Self {
        Self { root, depth: usize::MAX, filter: Box::new(|_| true) }
    }

    /// Leaves out znodes that are more levels than this below the root.
    pub fn depth(mut self, levels: usize) -> Self {
        self.depth = levels;
        self
    }

    /// Leaves out the paths for which `filter` returns `false`, with all that stands below them. The root is never
    /// left out.
    pub fn filter(mut self, filter: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let before = self.filter;
        self.filter = Box::new(move |path| before(path) && filter(path));
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
        match self.level(path) {
            None => false,
            Some(0) => true,
            Some(level) => level <= self.depth && (self.filter)(path),
        }
    }

    pub(super) fn holds_children_of(&self, path: &str) -> bool {
        self.level(path).is_some_and(|level| level < self.depth)
    }
}

impl fmt::Debug for CacheScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, depth, .. } = self;
        let mut shown = f.debug_struct("CacheScope");
        shown.field("root", root).field("depth", depth).finish_non_exhaustive()
    }
}
