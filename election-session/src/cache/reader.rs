//! What each reader of a cache knows.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use zk_jute::Zxid;

use super::node::{CacheChange, CachedNode};
use super::slot::ShownNode;

/// A reader of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CacheReader(u64);

type Known = Option<Arc<CachedNode>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Readers {
    by_key: BTreeMap<CacheReader, Reader>,
    last: u64,
}

#[derive(Clone, Debug)]
struct Reader {
    /// Znodes that may differ from what the reader knows, with what it knows.
    pending: BTreeMap<Arc<str>, Known>,
    current: Option<Zxid>,
}

impl Readers {
    pub(super) fn open<'a>(&mut self, shown: impl Iterator<Item = &'a Arc<str>>) -> CacheReader {
        self.last += 1;
        let pending = shown.map(|path| (Arc::clone(path), None)).collect();
        self.by_key.insert(CacheReader(self.last), Reader { pending, current: None });
        CacheReader(self.last)
    }

    pub(super) fn close(&mut self, reader: CacheReader) {
        self.by_key.remove(&reader);
    }

    /// Notes that a znode is not what it was.
    pub(super) fn note(&mut self, path: &Arc<str>, before: &Known) {
        for reader in self.by_key.values_mut() {
            reader.pending.entry(Arc::clone(path)).or_insert_with(|| before.clone());
        }
    }

    /// Returns the next change for a reader, where `look` returns what is shown at a path.
    pub(super) fn poll<'a>(
        &mut self,
        key: CacheReader,
        look: impl Fn(&str) -> &'a ShownNode,
        current: Option<Zxid>,
    ) -> Option<CacheChange> {
        let reader = self.by_key.get_mut(&key)?;
        while let Some((path, before)) = reader.pending.pop_first() {
            return Some(match (before, look(&path).node().cloned()) {
                (before, None) if look(&path).is_unreadable() => {
                    CacheChange::Unreadable { path, before }
                }
                (None, None) => continue,
                (None, Some(node)) => CacheChange::Created { path, node },
                (Some(before), None) => CacheChange::Deleted { path, before },
                (Some(before), Some(node)) if before.is_same(&node) => continue,
                (Some(before), Some(node)) if before.is_one_with(&node) => {
                    CacheChange::Changed { path, before, node }
                }
                (Some(before), Some(_)) => {
                    reader.pending.insert(Arc::clone(&path), None);
                    CacheChange::Deleted { path, before }
                }
            });
        }
        let moment = current.filter(|_| reader.current != current)?;
        reader.current = current;
        Some(CacheChange::Current(moment))
    }
}
