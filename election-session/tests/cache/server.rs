//! A server with all its states, and the watches of one client.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use zk_jute::records::{EventType, Stat};
use zk_jute::{SessionId, Version, Zxid};

/// Draws an index. By numbers of 32 bits, so that a seed is one run on all processors.
pub(crate) fn index(rng: &mut fastrand::Rng, range: Range<usize>) -> usize {
    let [start, end] = [range.start, range.end].map(|bound| u32::try_from(bound).expect("small"));
    usize::try_from(rng.u32(start..end)).expect("it was one")
}

pub(crate) const ROOT: &str = "/r";
/// Some names stand between a znode and its children in the order of paths.
const PATHS: [&str; 10] =
    ["/r", "/r/a", "/r/a-b", "/r/a/x", "/r/a/x/1", "/r/a/x/2", "/r/a/y", "/r/b", "/r/b/x", "/r/a0"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Znode {
    pub(crate) czxid: i64,
    pub(crate) mzxid: i64,
    pzxid: i64,
    ctime: i64,
    mtime: i64,
}

/// What tells a state of a znode from all others, also on a server that gives a zxid again.
pub(crate) type Identity = [i64; 4];

impl Znode {
    pub(crate) const fn identity(&self) -> Identity {
        [self.czxid, self.mzxid, self.ctime, self.mtime]
    }
}

pub(crate) type Tree = BTreeMap<String, Znode>;
pub(crate) type Event = (String, EventType, i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Table {
    Data,
    Child,
}

pub(crate) type Watch = (Table, String);

#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create(String),
    Set(String),
    Delete(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// By zxid.
    pub(crate) history: Vec<Tree>,
    writes: Vec<Vec<Write>>,
    /// The time of the next transaction.
    clock: i64,
    /// Whether it has lost transactions.
    pub(crate) has_lost: bool,
    /// The zxid up to which the client's server has applied.
    pub(crate) applied: usize,
    pub(crate) has_tree_watch: bool,
    pub(crate) held: BTreeSet<Watch>,
    /// What the client may not read. It gets no events of it.
    pub(crate) hidden: Option<&'static str>,
}

impl Server {
    pub(crate) fn new() -> Self {
        let root = Znode { czxid: 0, mzxid: 0, pzxid: 0, ctime: 0, mtime: 0 };
        Self {
            history: vec![Tree::from([(ROOT.to_owned(), root)])],
            writes: vec![Vec::new()],
            clock: 1,
            has_lost: false,
            applied: 0,
            has_tree_watch: false,
            held: BTreeSet::new(),
            hidden: None,
        }
    }

    pub(crate) fn tip(&self) -> usize {
        self.history.len() - 1
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.history[self.applied]
    }

    /// Commits a transaction of one to three random writes.
    pub(crate) fn commit(&mut self, rng: &mut fastrand::Rng) {
        let mut tree = self.history[self.tip()].clone();
        let mut writes = Vec::new();
        for _ in 0..index(rng, 1..4) {
            let path = PATHS[index(rng, 0..PATHS.len())].to_owned();
            let write = match tree.contains_key(&path) {
                true if rng.bool() || has_children(&tree, &path) => Write::Set(path),
                true => Write::Delete(path),
                false => Write::Create(path),
            };
            self.write(&mut tree, &mut writes, write);
        }
        self.push(tree, writes);
    }

    /// Returns each write of one of these znodes that the last state allows.
    pub(crate) fn possible_writes(&self, paths: &[&str]) -> Vec<Write> {
        let tree = &self.history[self.tip()];
        let mut writes = Vec::new();
        for path in paths.iter().map(|path| (*path).to_owned()) {
            if !tree.contains_key(&path) {
                if path == ROOT || tree.contains_key(parent(&path)) {
                    writes.push(Write::Create(path));
                }
                continue;
            }
            if !has_children(tree, &path) {
                writes.push(Write::Delete(path.clone()));
            }
            writes.push(Write::Set(path));
        }
        writes
    }

    /// Commits a transaction of one write.
    pub(crate) fn commit_one(&mut self, write: Write) {
        let mut tree = self.history[self.tip()].clone();
        let mut writes = Vec::new();
        self.write(&mut tree, &mut writes, write);
        self.push(tree, writes);
    }

    pub(crate) fn set(&mut self, path: &str) {
        let mut tree = self.history[self.tip()].clone();
        let mut writes = Vec::new();
        if tree.contains_key(path) {
            self.write(&mut tree, &mut writes, Write::Set(path.to_owned()));
        }
        self.push(tree, writes);
    }

    pub(crate) fn create_many(&mut self, paths: impl Iterator<Item = String>) {
        let mut tree = self.history[self.tip()].clone();
        let mut writes = Vec::new();
        for path in paths {
            self.write(&mut tree, &mut writes, Write::Create(path));
        }
        self.push(tree, writes);
    }

    /// Commits a transaction that changes nothing.
    pub(crate) fn commit_nothing(&mut self) {
        self.push(self.history[self.tip()].clone(), Vec::new());
    }

    fn push(&mut self, tree: Tree, writes: Vec<Write>) {
        self.history.push(tree);
        self.writes.push(writes);
        self.clock += 1;
    }

    /// Starts again with a copy that has the transactions up to this one. The next ones get the zxids of those that are
    /// lost.
    pub(crate) fn restore(&mut self, last: usize) {
        self.has_lost = true;
        self.history.truncate(last + 1);
        self.writes.truncate(last + 1);
    }

    fn write(&self, tree: &mut Tree, writes: &mut Vec<Write>, write: Write) {
        let zxid = i64::try_from(self.history.len()).expect("small");
        match &write {
            Write::Create(path) => {
                if path != ROOT && !tree.contains_key(parent(path)) {
                    return;
                }
                let [ctime, mtime] = [self.clock; 2];
                let znode = Znode { czxid: zxid, mzxid: zxid, pzxid: zxid, ctime, mtime };
                tree.insert(path.clone(), znode);
            }
            Write::Set(path) => {
                let znode = tree.get_mut(path).expect("it is there");
                (znode.mzxid, znode.mtime) = (zxid, self.clock);
            }
            Write::Delete(path) => drop(tree.remove(path)),
        }
        if let Write::Create(path) | Write::Delete(path) = &write
            && let Some(parent) = tree.get_mut(parent(path))
        {
            parent.pzxid = zxid;
        }
        writes.push(write);
    }

    /// Applies the next transaction, and returns the events of the client's watches.
    pub(crate) fn apply(&mut self) -> Vec<Event> {
        self.applied += 1;
        let zxid = i64::try_from(self.applied).expect("small");
        let mut events = Vec::new();
        for write in self.writes[self.applied].clone() {
            let (path, kind, tables): (_, _, &[Table]) = match write {
                Write::Create(path) => (path, EventType::NODE_CREATED, &[Table::Data]),
                Write::Set(path) => (path, EventType::NODE_DATA_CHANGED, &[Table::Data]),
                Write::Delete(path) => {
                    (path, EventType::NODE_DELETED, &[Table::Data, Table::Child])
                }
            };
            let mut is_watched = self.has_tree_watch;
            for table in tables {
                is_watched |= self.held.remove(&(*table, path.clone()));
            }
            if is_watched && self.may_read(&path) {
                events.push((path.clone(), kind, zxid));
            }
            let above = parent(&path).to_owned();
            if kind != EventType::NODE_DATA_CHANGED
                && self.held.remove(&(Table::Child, above.clone()))
            {
                events.push((above, EventType::NODE_CHILDREN_CHANGED, zxid));
            }
        }
        events
    }

    pub(crate) fn may_read(&self, path: &str) -> bool {
        self.hidden != Some(path)
    }

    pub(crate) fn names(&self, path: &str) -> Option<Vec<String>> {
        let tree = self.tree();
        tree.get(path)?;
        let children = below(tree, path).filter(|child| parent(child) == path);
        Some(children.map(|child| child[path.len() + 1..].to_owned()).collect())
    }

    pub(crate) fn stat(&self, path: &str) -> Option<Stat> {
        let znode = self.tree().get(path)?;
        let children = self.names(path).map_or(0, |names| names.len());
        Some(Stat {
            czxid: Zxid::new(znode.czxid),
            mzxid: Zxid::new(znode.mzxid),
            ctime: znode.ctime,
            mtime: znode.mtime,
            version: Version::new(0),
            cversion: Version::new(0),
            aversion: Version::new(0),
            ephemeral_owner: SessionId::NONE,
            data_length: if path == "/r/a/y" { 5_000 } else { 5 },
            num_children: i32::try_from(children).expect("small"),
            pzxid: Zxid::new(znode.pzxid),
        })
    }

    /// Sets a one-shot watch again: returns the event that it missed, or holds it.
    pub(crate) fn set_watch(
        &mut self,
        watch: &Watch,
        was_absent: bool,
        since: usize,
    ) -> Option<Event> {
        let since = i64::try_from(since).expect("small");
        let (table, path) = watch;
        let znode = self.tree().get(path).copied();
        let kind = match (table, znode) {
            (Table::Data, Some(_)) if was_absent => Some(EventType::NODE_CREATED),
            (Table::Data, None) if was_absent => None,
            (_, None) => Some(EventType::NODE_DELETED),
            (Table::Data, Some(znode)) => {
                (znode.mzxid > since).then_some(EventType::NODE_DATA_CHANGED)
            }
            (Table::Child, Some(znode)) => {
                (znode.pzxid > since).then_some(EventType::NODE_CHILDREN_CHANGED)
            }
        };
        if kind.is_none() {
            self.held.insert(watch.clone());
        }
        kind.map(|kind| (path.clone(), kind, -1))
    }
}

fn has_children(tree: &Tree, path: &str) -> bool {
    below(tree, path).next().is_some()
}

/// Returns each znode below another one. In the order of paths they stand together.
fn below<'t>(tree: &'t Tree, path: &str) -> impl Iterator<Item = &'t String> {
    let above = format!("{path}/");
    let from = tree.range(above.clone()..).map(|(below, _)| below);
    from.take_while(move |below| below.starts_with(&above))
}

pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
