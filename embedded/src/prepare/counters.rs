//! Numbers behind sequential names that were given out, and that no tree keeps.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use zk_jute::Zxid;

use crate::tree::ChildrenCreated;

/// The counters of ZooKeeper's `outstandingChangesForPath` that went beyond their end. The leader
/// counts on from such a record as long as it lives, which is until the last transaction that
/// concerns the parent is applied; then the tree's counter counts, where the number stuck.
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

    /// The transaction `zxid` concerns this znode, which has this counter then; `None`: it deletes
    /// the znode.
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

    /// Everything up to this transaction is applied.
    pub(crate) fn forget(&mut self, applied: Zxid) {
        self.0.retain(|_, pending| pending.until > applied);
    }
}
