//! The tree with the effects of operations that are checked and not yet applied.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use zk_jute::Version;

use super::counters::PendingCounters;
use crate::access::AccessList;
use crate::lifetime::Lifetime;
use crate::path;
use crate::tree::{ChildrenCreated, Tree, Znode};

/// A tree with changes laid over it, for the later operations of a multi.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    tree: &'a Tree,
    counters: &'a PendingCounters,
    changed: BTreeMap<String, Option<Outline>>,
}

/// The parts of a znode that the next check needs.
#[derive(Clone, Debug)]
pub(super) struct Outline {
    pub(super) version: Version,
    pub(super) aversion: Version,
    pub(super) access: AccessList,
    pub(super) children_created: ChildrenCreated,
    pub(super) children: usize,
    pub(super) is_ephemeral: bool,
}

impl<'a> Draft<'a> {
    pub(super) const fn new(tree: &'a Tree, counters: &'a PendingCounters) -> Self {
        let changed = BTreeMap::new();
        Self { tree, counters, changed }
    }

    /// Returns the counters of the znodes that the operations concern; `None` for a deleted one.
    pub(super) fn into_counters(self) -> Vec<(String, Option<ChildrenCreated>)> {
        let changed = self.changed.into_iter();
        changed.map(|(path, outline)| (path, outline.map(|o| o.children_created))).collect()
    }

    pub(super) fn get(&self, path: &str) -> Option<Outline> {
        let path = path::stored(path);
        match self.changed.get(path) {
            Some(outline) => outline.clone(),
            None => self.tree.get(path).map(|znode| Outline::of(znode, self.counters.get(path))),
        }
    }

    pub(super) fn put(&mut self, path: &str, outline: Outline) {
        self.changed.insert(path::stored(path).to_string(), Some(outline));
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.changed.insert(path::stored(path).to_string(), None);
    }
}

impl Outline {
    fn of(znode: &Znode, pending: Option<ChildrenCreated>) -> Self {
        let stat = znode.stat();
        Self {
            version: stat.version,
            aversion: stat.aversion,
            access: znode.access().clone(),
            children_created: pending.unwrap_or_else(|| znode.children_created()),
            children: znode.children().len(),
            is_ephemeral: matches!(znode.lifetime(), Lifetime::Ephemeral(_)),
        }
    }

    /// Makes the draft of a znode just created.
    pub(super) fn of_new(access: AccessList, lifetime: Lifetime) -> Self {
        Self {
            version: Version::new(0),
            aversion: Version::new(0),
            access,
            children_created: ChildrenCreated::NONE,
            children: 0,
            is_ephemeral: matches!(lifetime, Lifetime::Ephemeral(_)),
        }
    }
}
