//! Caches: a tree of znodes in memory, kept as the server has it, with a stream of its changes.
//!
//! Begin with [`Client::cache`]. Costs and limits: [cached trees](https://github.com/zk-election/zk-election/blob/main/docs/cache.md).

mod driver;
mod tree;

use core::fmt;
use std::sync::Arc;

use election_session::cache::{CacheData, CacheScope};

pub use election_session::cache::{CacheChange, CachedNode};
pub use tree::{CacheChanges, CacheSnapshot, CachedTree};

use self::driver::Filter;
use crate::Error;
use crate::client::Client;

/// A tree to be cached; made by [`Client::cache`].
#[must_use = "nothing is cached until it is kept"]
pub struct Cache {
    client: Client,
    root: String,
    scope: CacheScope,
    data: CacheData,
    filter: Filter,
}

impl Client {
    /// Returns a cache of the znode at a path and of all that stands below it, as Curator's
    /// `CuratorCache`. The znode need not exist.
    pub fn cache(&self, path: &str) -> Cache {
        let scope = CacheScope::below(path.to_owned());
        let client = self.clone();
        let filter: Filter = Arc::new(|_: &str| true);
        Cache { client, root: path.to_owned(), scope, data: CacheData::Kept, filter }
    }
}

/// Settings.
impl Cache {
    /// Leaves out znodes that are more levels than this below the root (default: none). With 0 it
    /// keeps the root alone, as Curator's `NodeCache`, with 1 also its children, as
    /// `PathChildrenCache`.
    pub fn depth(mut self, levels: usize) -> Self {
        self.scope = self.scope.depth(levels);
        self
    }

    /// Leaves out the paths for which `filter` returns `false`, with all that stands below them
    /// (default: none). It runs on the cache's task, and often: it should not take long. The root
    /// is never left out.
    pub fn filter(mut self, filter: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let before = self.filter;
        self.filter = Arc::new(move |path| before(path) && filter(path));
        self
    }

    /// Keeps no data: names and metadata only.
    pub fn without_data(mut self) -> Self {
        self.data = CacheData::Left;
        self
    }

    /// Begins to keep the tree, from a task of its own on the current runtime.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`](crate::ErrorKind::InvalidPath).
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn keep(mut self) -> Result<CachedTree, Error> {
        self.client.server_path::<zk_jute::records::GetDataRequest<'_>>(&self.root)?;
        if self.root == "/" && self.client.shared().chroot.as_str().is_empty() {
            // Servers change znodes of their own there without an event.
            self = self.filter(|path| path != "/zookeeper");
        }
        let Self { client, root, scope, data, filter } = self;
        Ok(CachedTree::begin(client, scope, (root, data, filter)))
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scope, data, .. } = self;
        let mut shown = f.debug_struct("Cache");
        shown.field("scope", scope).field("data", data).finish_non_exhaustive()
    }
}
