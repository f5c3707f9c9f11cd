//! A reader that folds what it hears.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use election_session::cache::{CacheChange, CacheReader, CacheTracker, CachedNode};

use super::server::Identity;

type Fold = BTreeMap<String, Identity>;

#[derive(Clone, Debug)]
pub(crate) struct Reader {
    key: CacheReader,
    pub(crate) fold: Fold,
    told: BTreeSet<(String, Identity)>,
    /// Whether the server may show earlier states again.
    has_lost: bool,
    pub(crate) moments: usize,
    last: i64,
}

pub(crate) fn identity(node: &CachedNode) -> Identity {
    [node.czxid.get(), node.mzxid.get(), node.ctime, node.mtime]
}

impl Reader {
    pub(crate) fn open(tracker: &mut CacheTracker) -> Self {
        let key = tracker.open_reader();
        Self {
            key,
            fold: Fold::new(),
            told: BTreeSet::new(),
            has_lost: false,
            moments: 0,
            last: -1,
        }
    }

    pub(crate) fn key(&self) -> CacheReader {
        self.key
    }

    /// Notes that the server has lost transactions.
    pub(crate) fn lost(&mut self) {
        self.has_lost = true;
        self.told.clear();
        self.last = -1;
    }

    /// Hears the next change, and returns the zxid if the reader knows all. Checks that the change fits to what it knows.
    pub(crate) fn hear(&mut self, tracker: &mut CacheTracker) -> Option<Heard> {
        let change = tracker.poll_change(self.key)?;
        let mut is_new = |path: &Arc<str>, node: &CachedNode| {
            assert!(self.told.insert((path.to_string(), identity(node))), "told twice: {change:?}");
        };
        match &change {
            CacheChange::Created { path, node } => {
                is_new(path, node);
                let known = self.fold.insert(path.to_string(), identity(node));
                assert_eq!(known, None, "{change:?} to {:?}", self.fold);
            }
            CacheChange::Changed { path, before, node } => {
                is_new(path, node);
                let is_later = node.mzxid > before.mzxid || self.has_lost;
                let is_one = (node.czxid, node.ctime) == (before.czxid, before.ctime);
                assert!(is_later && is_one, "{change:?}");
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
