//! A reader that folds what it hears.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_session::cache::{CacheChange, CacheReader, CacheTracker, CachedNode};

type Fold = BTreeMap<String, (i64, i64)>;

#[derive(Clone, Debug)]
pub(crate) struct Reader {
    key: CacheReader,
    pub(crate) fold: Fold,
    told: BTreeSet<(String, i64, i64)>,
    pub(crate) moments: usize,
    last: i64,
}

pub(crate) fn identity(node: &CachedNode) -> (i64, i64) {
    (node.czxid.get(), node.mzxid.get())
}

impl Reader {
    pub(crate) fn open(tracker: &mut CacheTracker) -> Self {
        let key = tracker.open_reader();
        Self { key, fold: Fold::new(), told: BTreeSet::new(), moments: 0, last: -1 }
    }

    pub(crate) fn key(&self) -> CacheReader {
        self.key
    }

    /// Hears the next change, and returns the zxid if the reader knows all. Checks that the change fits to what it knows.
    pub(crate) fn hear(&mut self, tracker: &mut CacheTracker) -> Option<Heard> {
        let change = tracker.poll_change(self.key)?;
        let mut is_new = |path: &Arc<str>, node: &CachedNode| {
            let (czxid, mzxid) = identity(node);
            assert!(self.told.insert((path.to_string(), czxid, mzxid)), "told twice: {change:?}");
        };
        match &change {
            CacheChange::Created { path, node } => {
                is_new(path, node);
                let known = self.fold.insert(path.to_string(), identity(node));
                assert_eq!(known, None, "{change:?} to {:?}", self.fold);
            }
            CacheChange::Changed { path, before, node } => {
                is_new(path, node);
                assert!(node.mzxid > before.mzxid && node.czxid == before.czxid, "{change:?}");
                let known = self.fold.insert(path.to_string(), identity(node));
                assert_eq!(known, Some(identity(before)), "{change:?} to {:?}", self.fold);
            }
            CacheChange::Deleted { path, before } => {
                let known = self.fold.remove(&**path);
                assert_eq!(known, Some(identity(before)), "{change:?} to {:?}", self.fold);
            }
            CacheChange::Unreadable { path, before } => {
                let known = self.fold.remove(&**path);
                assert_eq!(known, before.as_deref().map(identity), "{change:?} to {:?}", self.fold);
            }
            CacheChange::Current(zxid) => {
                assert!(zxid.get() > self.last, "{change:?} after {}", self.last);
                self.last = zxid.get();
                self.moments += 1;
                return Some(Heard::Moment(zxid.get()));
            }
            other => panic!("{other:?}"),
        }
        Some(Heard::Change)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Change,
    Moment(i64),
}
