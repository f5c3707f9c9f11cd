//! One znode.

use alloc::collections::BTreeSet;
use alloc::string::String;

use bytes::Bytes;
use zk_jute::records::Stat;
use zk_jute::{SessionId, Version, Zxid};

use crate::access::AccessList;
use crate::config::CounterEnd;
use crate::lifetime::Lifetime;
use crate::time::Timestamp;

/// A znode: data, access list, metadata ([`Stat`]), and the names of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Znode {
    pub(super) data: Option<Bytes>,
    pub(super) access: AccessList,
    pub(super) lifetime: Lifetime,
    pub(super) czxid: Zxid,
    pub(super) mzxid: Zxid,
    pub(super) pzxid: Zxid,
    pub(super) ctime: Timestamp,
    pub(super) mtime: Timestamp,
    pub(super) version: i32,
    pub(super) aversion: i32,
    pub(super) children_created: ChildrenCreated,
    pub(super) children: BTreeSet<String>,
}

impl Znode {
    /// Returns the data. Null and empty data differ.
    pub fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }

    /// Returns the access list.
    pub fn access(&self) -> &AccessList {
        &self.access
    }

    /// Returns what ends the znode's life.
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    /// Returns the names of the children, ordered by their bytes.
    pub fn children(&self) -> impl ExactSizeIterator<Item = &str> {
        self.children.iter().map(String::as_str)
    }

    /// Returns how many children the znode has ever had.
    pub(crate) fn children_created(&self) -> ChildrenCreated {
        self.children_created
    }

    /// Returns the znode's metadata.
    pub fn stat(&self) -> Stat {
        let num_children = count(self.children.len());
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            ctime: self.ctime.millis(),
            mtime: self.mtime.millis(),
            version: Version::new(self.version),
            cversion: self.children_created.cversion(num_children),
            aversion: Version::new(self.aversion),
            ephemeral_owner: match self.lifetime {
                Lifetime::Ephemeral(owner) => owner,
                Lifetime::Persistent | Lifetime::Container | Lifetime::Ttl(_) => SessionId::NONE,
            },
            data_length: count(self.data.as_ref().map_or(0, Bytes::len)),
            num_children,
            pzxid: self.pzxid,
        }
    }

    /// Returns whether the server has to delete it now: it is a container that lost its last child,
    /// or its time to live has passed.
    pub(crate) fn is_reapable(&self, now: Timestamp) -> bool {
        let overdue = match self.lifetime {
            Lifetime::Persistent | Lifetime::Ephemeral(_) => false,
            Lifetime::Container => self.children_created.0 > 0,
            Lifetime::Ttl(ttl) => now.saturating_since(self.mtime) > ttl,
        };
        overdue && self.children.is_empty()
    }
}

/// The counter of sequence numbers: how many children a znode has ever had, as far as it counts
/// ([`CounterEnd`]). It does not count the children that every server begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChildrenCreated(i32);

impl ChildrenCreated {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) const fn new(count: i32) -> Self {
        Self(count)
    }

    /// Returns whether it has counted beyond 2147483647.
    pub(crate) const fn is_beyond_the_end(self) -> bool {
        self.0 < 0
    }

    /// Returns the counter after one more child, as the leader counts among changes that are not
    /// applied.
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// Returns the counter after one more child, as the tree stores it; `None` if the stored one
    /// stays.
    pub(crate) fn stored_next(self, end: CounterEnd) -> Option<Self> {
        let next = self.next();
        match end {
            CounterEnd::Sticks => (next.0 > self.0).then_some(next),
            CounterEnd::Wraps => Some(next),
        }
    }

    /// Returns the ten characters, or eleven for large negative numbers, at the end of the next
    /// sequential child's name.
    pub(crate) fn sequence(self) -> String {
        alloc::format!("{:010}", self.0)
    }

    /// Returns the number of children created and deleted, as [`Stat::cversion`] shows it.
    const fn cversion(self, num_children: i32) -> Version {
        Version::new(self.0.wrapping_mul(2).wrapping_sub(num_children))
    }
}

/// Converts a length. It always fits, because frames are limited.
fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Since 3.6 the counter sticks, and the visible cversion runs backwards.
    #[test]
    fn the_counter_sticks_or_wraps_at_its_end() {
        let last = ChildrenCreated::new(i32::MAX);
        assert_eq!(last.sequence(), "2147483647");
        assert_eq!(last.stored_next(CounterEnd::Sticks), None);
        let wrapped = last.stored_next(CounterEnd::Wraps).expect("a number");
        assert_eq!(wrapped.sequence(), "-2147483648");
        assert_eq!(wrapped.next().sequence(), "-2147483647");
        assert_eq!(ChildrenCreated::new(-1).sequence(), "-000000001");
        assert_eq!(ChildrenCreated::new(-1).next(), ChildrenCreated::NONE);
        assert_eq!(last.cversion(0), Version::new(-2));
        assert_eq!(last.cversion(1), Version::new(-3));
        assert_eq!(ChildrenCreated::NONE.next().sequence(), "0000000001");
    }

    #[test]
    fn the_visible_cversion_counts_creations_and_deletions() {
        for (created, present, visible) in [(0, 1, -1), (0, 2, -2), (3, 1, 5), (2, 2, 2)] {
            let cversion = ChildrenCreated::new(created).cversion(present);
            assert_eq!(cversion, Version::new(visible));
        }
    }
}
