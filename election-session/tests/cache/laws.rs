//! What has to hold of a cache, and of what its readers hear.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::identity;
use super::server::{Identity, ROOT, Tree, parent};
use super::world::World;

impl World {
    /// Checks that the cache, and what each reader has heard, is the last tree.
    pub(super) fn check_rest(&mut self) {
        assert!(self.tracker.current().is_some(), "{:#?} {:#?}", self.tracker, self.log);
        let last = self.expected(self.server.tip());
        self.check_tree();
        for mut reader in core::mem::take(&mut self.readers) {
            while reader.hear(&mut self.tracker).is_some() {}
            assert_eq!(reader.fold, last, "{:#?}", self.log);
            self.readers.push(reader);
        }
    }

    /// Checks that the cache, if it is current at a zxid, is the server's tree then, and that its counts are of what it
    /// keeps.
    pub(super) fn check_tree(&mut self) {
        let counts = self.tracker.counts();
        let kept = u64::try_from(self.tracker.iter().count()).expect("small");
        assert_eq!(counts.created, counts.deleted + kept, "{counts:?}: {:#?}", self.log);
        if let Some(zxid) = self.tracker.current() {
            assert!(zxid.get() >= self.last_moment, "{zxid:?}: {:#?}", self.log);
            self.moments += usize::from(zxid.get() > self.last_moment);
            self.last_moment = zxid.get();
            let nodes = self.tracker.iter();
            let tree: BTreeMap<_, _> =
                nodes.map(|(path, node)| (path.to_string(), identity(node))).collect();
            let zxid = usize::try_from(zxid.get()).expect("small");
            assert_eq!(tree, self.expected(zxid), "current at {zxid}: {:#?}", self.log);
            let children: BTreeSet<_> = self.tracker.children(ROOT).into_iter().collect();
            let below = tree.keys().filter(|path| parent(path) == ROOT);
            assert_eq!(children, below.map(|path| path[ROOT.len() + 1..].to_owned()).collect());
        }
    }

    /// Returns what the cache shows of the tree at this zxid.
    pub(super) fn expected(&self, zxid: usize) -> BTreeMap<String, Identity> {
        let tree: &Tree = &self.server.history[zxid];
        let is_below =
            |path: &str, other: &str| path == other || path.starts_with(&format!("{other}/"));
        let is_shown = |path: &str| {
            path.matches('/').count() - 1 <= self.scope.depth
                && (self.scope.left_out.is_empty() || !is_below(path, self.scope.left_out))
                && !self.server.hidden.is_some_and(|hidden| is_below(path, hidden))
        };
        let shown = tree.iter().filter(|(path, _)| is_shown(path));
        shown.map(|(path, znode)| (path.clone(), znode.identity())).collect()
    }
}
