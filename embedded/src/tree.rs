//! The tree of znodes, and the four changes that it supports.

mod growth;
mod quota;
mod znode;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use core::ops::Bound;

use bytes::Bytes;
use zk_jute::records::Stat;
use zk_jute::{SessionId, Zxid};

use self::growth::Growth;
pub(crate) use self::znode::ChildrenCreated;
pub use self::znode::Znode;
use crate::access::AccessList;
use crate::config::CounterEnd;
use crate::lifetime::Lifetime;
use crate::path;
use crate::time::Timestamp;
use crate::txn::{Diverged, Moment};

/// All znodes by path. Every znode's parent exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    znodes: BTreeMap<String, Znode>,
    ephemerals: BTreeMap<SessionId, BTreeSet<String>>,
    /// Containers and znodes with a time to live, which the leader checks in intervals.
    reaped: BTreeSet<String>,
    /// Paths with a quota, whether or not the znode exists.
    quotas: BTreeSet<String>,
    data_bytes: usize,
    /// About how many bytes all znodes take besides paths and data.
    overhead_bytes: usize,
    counter_end: CounterEnd,
}

/// Estimates the bytes of a znode besides its path and data: the server's own overhead, the copies
/// of its name in its parent and elsewhere, and its access list.
fn overhead(path: &str, access: &AccessList) -> usize {
    512 + 2 * path.len() + access.weight()
}

impl Tree {
    /// Makes a tree with the znodes that every server begins with.
    pub(crate) fn new(counter_end: CounterEnd) -> Self {
        let mut tree = Self {
            znodes: BTreeMap::new(),
            ephemerals: BTreeMap::new(),
            reaped: BTreeSet::new(),
            quotas: BTreeSet::new(),
            data_bytes: 0,
            overhead_bytes: 0,
            counter_end,
        };
        for system in path::SYSTEM {
            let mut znode = tree.system_znode();
            if system == path::CONFIG {
                znode.access = AccessList::read_only();
                znode.aversion = -1;
            }
            tree.overhead_bytes += overhead(system, &znode.access);
            tree.znodes.insert(system.to_string(), znode);
            if let Some((parent, name)) = path::split(system).filter(|(_, name)| !name.is_empty())
                && let Some(parent) = tree.znodes.get_mut(parent)
            {
                parent.children.insert(name.to_string());
            }
        }
        tree
    }

    fn system_znode(&self) -> Znode {
        let open = self.get(path::ROOT).map(|root| root.access.clone());
        Znode {
            data: Some(Bytes::new()),
            access: open.unwrap_or_else(AccessList::open),
            lifetime: Lifetime::Persistent,
            czxid: Zxid::ZERO,
            mzxid: Zxid::ZERO,
            pzxid: Zxid::ZERO,
            ctime: Timestamp::default(),
            mtime: Timestamp::default(),
            version: 0,
            aversion: 0,
            children_created: ChildrenCreated::NONE,
            children: BTreeSet::new(),
        }
    }

    /// Finds a znode. The empty path is the root's other name.
    pub(crate) fn get(&self, path: &str) -> Option<&Znode> {
        self.znodes.get(path::stored(path))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Znode)> {
        self.znodes.iter().map(|(path, znode)| (&**path, znode))
    }

    /// Returns the number of all descendants.
    pub(crate) fn count_below(&self, path: &str) -> usize {
        self.below(path).count()
    }

    /// Returns all descendants with their paths.
    fn below(&self, path: &str) -> impl Iterator<Item = (&str, &Znode)> {
        let below = path::join(path::stored(path), "");
        self.znodes
            .range::<str, _>((Bound::Excluded(&*below), Bound::Unbounded))
            .map(|(path, znode)| (&**path, znode))
            .take_while(move |(path, _)| path.starts_with(&below))
    }

    /// Returns the paths of a session's ephemeral znodes.
    pub(crate) fn ephemerals_of(&self, session: SessionId) -> impl Iterator<Item = &str> {
        let paths = self.ephemerals.get(&session);
        paths.into_iter().flatten().map(String::as_str)
    }

    /// Returns the number of all ephemeral znodes.
    pub(crate) fn count_ephemerals(&self) -> usize {
        self.ephemerals.values().map(BTreeSet::len).sum()
    }

    /// Returns the znodes that have to be deleted now.
    pub(crate) fn reapable(&self, now: Timestamp) -> impl Iterator<Item = &str> {
        let is_reapable = move |path: &&str| self.get(path).is_some_and(|z| z.is_reapable(now));
        self.reaped.iter().map(String::as_str).filter(is_reapable)
    }

    /// Returns whether any znode may have to be deleted in time.
    pub(crate) fn has_reaped(&self) -> bool {
        !self.reaped.is_empty()
    }

    /// Bytes of all data and paths.
    pub(crate) fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Returns the approximate number of bytes of memory that all znodes take.
    pub(crate) fn bytes(&self) -> usize {
        self.data_bytes + self.overhead_bytes
    }

    /// Returns the approximate number of bytes that a znode takes.
    pub(crate) fn weight(path: &str, data: Option<&Bytes>, access: &AccessList) -> usize {
        path.len() + data.map_or(0, Bytes::len) + overhead(path, access)
    }

    pub(crate) fn create(&mut self, new: NewZnode<'_>, at: Moment) -> Result<Stat, Diverged> {
        let (parent, name) = path::split(new.path).ok_or(Diverged)?;
        if self.znodes.contains_key(new.path) {
            return Err(Diverged);
        }
        let parent = self.znodes.get_mut(parent).ok_or(Diverged)?;
        parent.children.insert(name.to_string());
        // A counter that sticks also hides the new child from clients that compare `pzxid`.
        if let Some(next) = parent.children_created.stored_next(self.counter_end) {
            parent.children_created = next;
            parent.pzxid = at.zxid;
        }
        let znode = Znode {
            data: new.data.cloned(),
            access: new.access.clone(),
            lifetime: new.lifetime,
            czxid: at.zxid,
            mzxid: at.zxid,
            pzxid: at.zxid,
            ctime: at.time,
            mtime: at.time,
            version: 0,
            aversion: 0,
            children_created: ChildrenCreated::NONE,
            children: BTreeSet::new(),
        };
        let path = new.path.to_string();
        match new.lifetime {
            Lifetime::Persistent => {}
            Lifetime::Ephemeral(owner) => {
                self.ephemerals.entry(owner).or_default().insert(path.clone());
            }
            Lifetime::Container | Lifetime::Ttl(_) => {
                self.reaped.insert(path.clone());
            }
        }
        self.data_bytes += path.len() + new.data.map_or(0, Bytes::len);
        self.overhead_bytes += overhead(new.path, new.access);
        let stat = znode.stat();
        self.znodes.insert(path, znode);
        self.track_created(new.path, Growth::created(new.data));
        Ok(stat)
    }

    /// Removes a znode without children, and returns it.
    pub(crate) fn delete(&mut self, path: &str, zxid: Zxid) -> Result<Znode, Diverged> {
        let (parent, name) = path::split(path).ok_or(Diverged)?;
        let has_children = |znode: &Znode| !znode.children.is_empty();
        if self.get(path).is_none_or(has_children) || path::SYSTEM.contains(&path) {
            return Err(Diverged);
        }
        let parent = self.znodes.get_mut(parent).ok_or(Diverged)?;
        parent.children.remove(name);
        parent.pzxid = zxid;
        let znode = self.znodes.remove(path).ok_or(Diverged)?;
        match znode.lifetime {
            Lifetime::Persistent => {}
            Lifetime::Ephemeral(owner) => self.forget_ephemeral(owner, path),
            Lifetime::Container | Lifetime::Ttl(_) => {
                self.reaped.remove(path);
            }
        }
        self.overhead_bytes -= overhead(path, &znode.access);
        self.data_bytes -= path.len() + znode.data.as_ref().map_or(0, Bytes::len);
        self.track_deleted(path, Growth::deleted(znode.data.as_ref()));
        Ok(znode)
    }

    fn forget_ephemeral(&mut self, owner: SessionId, path: &str) {
        if let Some(paths) = self.ephemerals.get_mut(&owner) {
            paths.remove(path);
            if paths.is_empty() {
                self.ephemerals.remove(&owner);
            }
        }
    }

    pub(crate) fn set_data(
        &mut self,
        path: &str,
        data: Option<&Bytes>,
        at: Moment,
    ) -> Result<&Znode, Diverged> {
        let znode = self.znodes.get_mut(path).ok_or(Diverged)?;
        self.data_bytes += data.map_or(0, Bytes::len);
        self.data_bytes -= znode.data.as_ref().map_or(0, Bytes::len);
        let growth = Growth::written(znode.data.as_ref(), data);
        znode.data = data.cloned();
        znode.version = znode.version.wrapping_add(1);
        znode.mzxid = at.zxid;
        znode.mtime = at.time;
        self.count(path, growth);
        self.get(path).ok_or(Diverged)
    }

    pub(crate) fn set_acl(&mut self, path: &str, access: &AccessList) -> Result<Stat, Diverged> {
        let znode = self.znodes.get_mut(path).ok_or(Diverged)?;
        self.overhead_bytes += access.weight();
        self.overhead_bytes -= znode.access.weight();
        znode.access = access.clone();
        znode.aversion = znode.aversion.wrapping_add(1);
        Ok(znode.stat())
    }

    /// Sets how many children the znode has had, if it exists.
    pub(crate) fn set_children_created(&mut self, path: &str, count: i32) {
        if let Some(znode) = self.znodes.get_mut(path) {
            znode.children_created = ChildrenCreated::new(count);
        }
    }
}

/// The parts of a new znode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewZnode<'a> {
    pub(crate) path: &'a str,
    pub(crate) data: Option<&'a Bytes>,
    pub(crate) access: &'a AccessList,
    pub(crate) lifetime: Lifetime,
}

#[cfg(test)]
mod tests;
