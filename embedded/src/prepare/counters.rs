//! Sequence numbers that were given out, but that no tree keeps.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use zk_jute::Zxid;

use crate::tree::ChildrenCreated;

/// The counters of ZooKeeper's `outstandingChangesForPath` that went beyond their end. While such a
/// record lives, the leader counts on from it. The record goes once the last transaction that
/// concerns the parent is applied; from then on the tree's counter counts, where the number stuck.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingCounters(BTreeMap<String, PendingCounter>);

#[derive(Clone, Copy, Debug)]
struct PendingCounter {
    counter: ChildrenCreated,
    until: Zxid,
}

impl PendingCounters {
    pub(crate) fn get(&self, path: &str) -> Option<ChildrenCreated> {
        self.0.get(path).map(|pending| pending.counter)
    }

    /// Records that the transaction `zxid` concerns this znode, and the counter that the znode has
    /// then; `None` if the transaction deletes it.
    pub(crate) fn note(&mut self, zxid: Zxid, path: &str, counter: Option<ChildrenCreated>) {
        match counter.filter(|counter| counter.is_beyond_the_end()) {
            Some(counter) => {
                self.0.insert(path.to_string(), PendingCounter { counter, until: zxid });
            }
            None => {
                self.0.remove(path);
            }
        }
    }

    /// Forgets the records of all transactions up to this one, which are applied.
    pub(crate) fn forget(&mut self, applied: Zxid) {
        self.0.retain(|_, pending| pending.until > applied);
    }
}
