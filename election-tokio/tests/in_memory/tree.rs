//! The znodes of the in-memory server, and what requests do to them.

use std::collections::BTreeMap;

use zk_jute::records::{CreateMode, Stat};
use zk_jute::{ErrorCode, SessionId, Version, Zxid};

/// Znodes by path; the root has the empty path.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    znodes: BTreeMap<String, Znode>,
    pub(crate) zxid: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Znode {
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) stat: Stat,
}

/// What a write changed, for the watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Created(String),
    Deleted(String),
    DataSet(String),
}

pub(crate) type Written<T> = Result<(T, Change), ErrorCode>;

impl Tree {
    pub(crate) fn new() -> Self {
        let root = Znode { data: None, stat: stat(0, SessionId::NONE) };
        Self { znodes: BTreeMap::from([(String::new(), root)]), zxid: 1 }
    }

    pub(crate) fn get(&self, path: &str) -> Result<&Znode, ErrorCode> {
        self.znodes.get(key(path)).ok_or(ErrorCode::NO_NODE)
    }

    pub(crate) fn children(&self, path: &str) -> Result<(Vec<&str>, Stat), ErrorCode> {
        let parent = self.get(path)?;
        let children = self
            .znodes
            .keys()
            .filter_map(|znode| znode.rsplit_once('/'))
            .filter(|(above, _)| *above == key(path))
            .map(|(_, name)| name);
        Ok((children.collect(), parent.stat))
    }

    pub(crate) fn create(
        &mut self,
        path: &str,
        data: Option<&[u8]>,
        mode: CreateMode,
        session: SessionId,
    ) -> Written<(String, Stat)> {
        let (above, _) = path.rsplit_once('/').ok_or(ErrorCode::BAD_ARGUMENTS)?;
        let parent = self.znodes.get_mut(above).ok_or(ErrorCode::NO_NODE)?;
        let mut path = path.to_owned();
        if mode.is_sequential() {
            path = format!("{path}{:010}", parent.stat.cversion.get());
        }
        if self.znodes.contains_key(&path) {
            return Err(ErrorCode::NODE_EXISTS);
        }
        self.zxid += 1;
        let owner = if mode.is_ephemeral() { session } else { SessionId::NONE };
        let znode = Znode { data: data.map(<[u8]>::to_vec), stat: stat(self.zxid, owner) };
        let created = znode.stat;
        self.znodes.insert(path.clone(), znode);
        self.child_changed(above.to_owned().as_str(), 1);
        Ok(((path.clone(), created), Change::Created(path)))
    }

    pub(crate) fn delete(&mut self, path: &str, version: Version) -> Written<()> {
        self.check(path, version)?;
        if !self.children(path)?.0.is_empty() {
            return Err(ErrorCode::NOT_EMPTY);
        }
        self.zxid += 1;
        self.znodes.remove(path);
        self.child_changed(path.rsplit_once('/').map_or("", |(above, _)| above), 0);
        Ok(((), Change::Deleted(path.to_owned())))
    }

    pub(crate) fn set_data(
        &mut self,
        path: &str,
        data: Option<&[u8]>,
        version: Version,
    ) -> Written<Stat> {
        self.check(path, version)?;
        self.zxid += 1;
        let znode = self.znodes.get_mut(key(path)).ok_or(ErrorCode::NO_NODE)?;
        znode.data = data.map(<[u8]>::to_vec);
        znode.stat.mzxid = Zxid::new(self.zxid);
        znode.stat.version = Version::new(znode.stat.version.get() + 1);
        Ok((znode.stat, Change::DataSet(path.to_owned())))
    }

    pub(crate) fn check(&self, path: &str, version: Version) -> Result<(), ErrorCode> {
        let znode = self.get(path)?;
        if version == Version::ANY || version == znode.stat.version {
            Ok(())
        } else {
            Err(ErrorCode::BAD_VERSION)
        }
    }

    /// The paths of a session's own znodes that begin with a string.
    pub(crate) fn ephemerals(&self, session: SessionId, prefix: &str) -> Vec<&str> {
        let owned = self.znodes.iter().filter(|(_, znode)| znode.stat.ephemeral_owner == session);
        owned.map(|(path, _)| path.as_str()).filter(|path| path.starts_with(prefix)).collect()
    }

    /// Deletes what goes with a session.
    pub(crate) fn end_session(&mut self, session: SessionId) -> Vec<Change> {
        let owned: Vec<_> = self
            .znodes
            .iter()
            .filter(|(_, znode)| znode.stat.ephemeral_owner == session)
            .map(|(path, _)| path.clone())
            .collect();
        owned
            .iter()
            .filter_map(|path| self.delete(path, Version::ANY).ok())
            .map(|((), change)| change)
            .collect()
    }

    /// Lets so many children have been created below a znode.
    pub(crate) fn count_on(&mut self, path: &str, children: i32) {
        if let Some(parent) = self.znodes.get_mut(key(path)) {
            parent.stat.cversion = Version::new(children);
        }
    }

    fn child_changed(&mut self, parent: &str, created: i32) {
        if let Some(parent) = self.znodes.get_mut(parent) {
            parent.stat.pzxid = Zxid::new(self.zxid);
            // It sticks at its end, as on servers since 3.6.
            let cversion = parent.stat.cversion.get().saturating_add(created);
            parent.stat.cversion = Version::new(cversion);
        }
    }
}

fn key(path: &str) -> &str {
    if path == "/" { "" } else { path }
}

fn stat(zxid: i64, owner: SessionId) -> Stat {
    Stat {
        czxid: Zxid::new(zxid),
        mzxid: Zxid::new(zxid),
        ctime: 0,
        mtime: 0,
        version: Version::new(0),
        cversion: Version::new(0),
        aversion: Version::new(0),
        ephemeral_owner: owner,
        data_length: 0,
        num_children: 0,
        pzxid: Zxid::new(zxid),
    }
}
