//! One znode.

use alloc::collections::BTreeSet;
use alloc::string::String;
use core::time::Duration;

use bytes::Bytes;
use zk_jute::records::Stat;
use zk_jute::{SessionId, Version, Zxid};

use crate::access::AccessList;
use crate::time::Timestamp;

/// A znode: data, access list, what [`Stat`] tells, and the names of its children.
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
    /// The data; null and empty are kept apart.
    pub fn data(&self) -> Option<&[u8]> {
        self.data.as_deref()
    }

    /// Who may do what.
    pub fn access(&self) -> &AccessList {
        &self.access
    }

    /// What ends the znode's life.
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime
    }

    /// The names of the children, in the order of their bytes.
    pub fn children(&self) -> impl ExactSizeIterator<Item = &str> {
        self.children.iter().map(String::as_str)
    }

    /// How many children were ever created.
    pub(crate) fn children_created(&self) -> ChildrenCreated {
        self.children_created
    }

    /// What servers tell about a znode (protocol section 5.2).
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

    /// Whether the time has come to delete it: a container that lost its last child, or a znode
    /// whose time to live is over (protocol section 9).
    pub(crate) fn is_reapable(&self, now: Timestamp) -> bool {
        let overdue = match self.lifetime {
            Lifetime::Persistent | Lifetime::Ephemeral(_) => false,
            Lifetime::Container => self.children_created != ChildrenCreated::NONE,
            Lifetime::Ttl(ttl) => now.saturating_since(self.mtime) > ttl,
        };
        overdue && self.children.is_empty()
    }
}

/// What ends a znode's life, besides a `delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Nothing.
    Persistent,
    /// The end of this session.
    Ephemeral(SessionId),
    /// The loss of its last child.
    Container,
    /// Not having been written for so long, once it has no children.
    Ttl(Duration),
}

/// The counter that sequences are taken from: how many children a znode ever had. It does not
/// count the children that every server begins with, and stays at 2147483647 once there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChildrenCreated(i32);

impl ChildrenCreated {
    pub(crate) const NONE: Self = Self(0);

    /// After one more.
    #[must_use]
    pub(crate) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The ten digits that go behind the name of the next sequential child.
    pub(crate) fn sequence(self) -> String {
        alloc::format!("{:010}", self.0)
    }

    /// Children created and deleted, as [`Stat::cversion`] shows it.
    const fn cversion(self, num_children: i32) -> Version {
        Version::new(self.0.wrapping_mul(2).wrapping_sub(num_children))
    }

    #[cfg(test)]
    pub(crate) const fn new(count: i32) -> Self {
        Self(count)
    }
}

/// More than fits cannot be: the frames that would have brought it are limited.
fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protocol section 9: the counter sticks, and the visible cversion runs backwards.
    #[test]
    fn the_counter_sticks_at_its_end() {
        let last = ChildrenCreated::new(i32::MAX);
        assert_eq!(last.sequence(), "2147483647");
        assert_eq!(last.next(), last);
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
