//! The laws of cached trees: each moment is the servers' tree, and a stream yields each change once.

use std::collections::BTreeMap;

use election_tokio::cache::{CacheChange, CacheSnapshot, CachedNode};
use zk_embedded::Database;
use zk_jute::Zxid;
use zk_jute::records::Stat;

use super::slots::Season;
use super::{Book, Laws};
use crate::cached::{Part, TREE};

/// The znodes below the root, as a server has them.
type Tree = BTreeMap<String, (Stat, Vec<u8>)>;
/// The znodes that a cache has.
type Shown = BTreeMap<String, CachedNode>;

/// The knowledge of cached trees.
#[derive(Debug, Default)]
pub(super) struct TreeBook {
    season: Season,
    history: History,
    /// The cache of each process, as its stream has told of it.
    told: BTreeMap<usize, Told>,
}

/// The trees that servers have shown.
#[derive(Debug, Default)]
struct History {
    /// By the first transaction after which a tree was seen, with the last one.
    trees: BTreeMap<Zxid, (Zxid, Tree)>,
    /// The last transaction of each server.
    at: BTreeMap<usize, Zxid>,
}

#[derive(Debug)]
struct Told {
    part: Part,
    shown: Shown,
    current: Option<Zxid>,
    /// How many changes, without moments.
    changes: u64,
}

impl History {
    /// Notes the tree that a server has after a transaction. It is committed.
    fn note(&mut self, zxid: Zxid, tree: Tree) {
        if let Some((_, (last, before))) = self.trees.range_mut(..=zxid).next_back()
            && *before == tree
        {
            *last = zxid.max(*last);
            return;
        }
        let next = self.trees.range(zxid..).next().map(|(first, _)| *first);
        let is_next = |first: &Zxid| self.trees.get(first).is_some_and(|(_, next)| *next == tree);
        let last = match next.filter(is_next) {
            Some(first) => self.trees.remove(&first).map_or(zxid, |(last, _)| last),
            None => zxid,
        };
        self.trees.insert(zxid, (last, tree));
    }

    /// Returns the tree as it was after a transaction. None if no server stopped there between two steps.
    fn tree_at(&self, zxid: Zxid) -> Option<&Tree> {
        let (_, (last, tree)) = self.trees.range(..=zxid).next_back()?;
        (zxid <= *last).then_some(tree)
    }
}

impl Laws {
    /// From now on no process writes to the tree, and each keeps its cache.
    pub(crate) fn trees_are_to_rest(&self) {
        self.book().trees.season = Season::Calm;
    }

    pub(crate) fn season_of_trees(&self) -> Season {
        self.book().trees.season
    }

    /// Notes the tree after each step of a server.
    pub(crate) fn tree_stands(&self, place: usize, database: &Database) {
        let (mut book, zxid) = (self.book(), database.last_zxid());
        if book.trees.history.at.insert(place, zxid) != Some(zxid) {
            book.trees.history.note(zxid, tree_of(database));
        }
    }

    pub(crate) fn cache_begins(&self, process: usize, part: Part) {
        let told = Told { part, shown: Shown::new(), current: None, changes: 0 };
        self.book().trees.told.insert(process, told);
    }

    /// Checks what the stream of a process's cache yields.
    pub(crate) fn cache_tells(&self, process: usize, change: CacheChange) {
        self.tell(|| format!("a cache of {process} tells {change:?}"));
        let mut book = self.book();
        book.tally.tree_changes += 1;
        let Some(told) = book.trees.told.get_mut(&process) else { return };
        let law = match change {
            CacheChange::Current(zxid) => match told.current.replace(zxid) {
                Some(before) if before >= zxid => Some(format!("{zxid:?} follows {before:?}")),
                _ => {
                    let (part, shown) = (told.part, told.shown.clone());
                    book.is_a_moment(part, &shown, zxid)
                }
            },
            change => told.take_in(change),
        };
        if let Some(law) = law {
            book.broken(format!("a cache of {process}: {law}"));
        }
    }

    /// Checks a snapshot of a process's cache.
    pub(crate) fn cache_shows(&self, process: usize, part: Part, snapshot: &CacheSnapshot) {
        let Some(zxid) = snapshot.current() else { return };
        let nodes = snapshot.iter().map(|(path, node)| (path.to_owned(), CachedNode::clone(node)));
        let shown: Shown = nodes.collect();
        let mut book = self.book();
        if let Some(law) = book.is_a_moment(part, &shown, zxid) {
            book.broken(format!("a snapshot of {process}: {law}"));
        }
    }

    /// Checks, in the calm, that the streams of as many caches have told of the tree of a server.
    pub(crate) fn caches_are_the_tree(&self, database: &Database, caches: usize) {
        let (mut book, tree) = (self.book(), tree_of(database));
        let shows = |told: &Told| {
            told.current.is_some() && difference(told.part, &told.shown, &tree).is_none()
        };
        let late = book.trees.told.iter().find(|(_, told)| !shows(told));
        let count = book.trees.told.len();
        let law = match late {
            _ if count != caches => Some(format!("in the calm there are {count} caches")),
            Some((process, told)) => {
                Some(format!("in the calm {process} has {told:?} of {tree:?}"))
            }
            None => None,
        };
        if let Some(law) = law {
            book.broken(law);
        }
    }

    /// Returns how many changes the cache of each process has told of.
    pub(crate) fn told_of_trees(&self) -> BTreeMap<usize, u64> {
        let book = self.book();
        book.trees.told.iter().map(|(process, told)| (*process, told.changes)).collect()
    }
}

impl Book {
    /// Checks that this was the tree after a transaction; returns the law that is broken.
    fn is_a_moment(&mut self, part: Part, shown: &Shown, zxid: Zxid) -> Option<String> {
        let Some(tree) = self.trees.history.tree_at(zxid) else {
            self.tally.moments_unseen += 1;
            return None;
        };
        self.tally.moments += 1;
        let path = difference(part, shown, tree)?;
        let (was, shown) = (tree.get(&path), shown.get(&path));
        Some(format!("at {zxid:?} it has {shown:?} at {path}, and servers had {was:?}"))
    }
}

impl Told {
    /// Takes a change in; returns the law that is broken.
    fn take_in(&mut self, change: CacheChange) -> Option<String> {
        self.changes += 1;
        let shown = &mut self.shown;
        match change {
            CacheChange::Created { path, node } => {
                let before = shown.insert(path.to_string(), CachedNode::clone(&node));
                before.map(|before| format!("{path} is created, and was {before:?}"))
            }
            CacheChange::Changed { path, before, node } => {
                let known = shown.insert(path.to_string(), CachedNode::clone(&node));
                let goes_on = node.czxid == before.czxid && node.mzxid > before.mzxid;
                let is_told_once = known.as_ref() == Some(&*before) && goes_on;
                (!is_told_once)
                    .then(|| format!("{path} is {node:?} after {before:?}, and was {known:?}"))
            }
            CacheChange::Deleted { path, before } => {
                let known = shown.remove(&*path);
                (known.as_ref() != Some(&*before))
                    .then(|| format!("{path} is deleted, {before:?}, and was {known:?}"))
            }
            other => Some(format!("it tells {other:?}")),
        }
    }
}

fn tree_of(database: &Database) -> Tree {
    let (mut tree, mut left) = (Tree::new(), vec![TREE.to_owned()]);
    while let Some(path) = left.pop() {
        let Some(znode) = database.znode(&path) else { continue };
        left.extend(znode.children().map(|name| format!("{path}/{name}")));
        tree.insert(path, (znode.stat(), znode.data().unwrap_or_default().to_vec()));
    }
    tree
}

/// Returns a path at which a cache of a part of the tree differs from it.
fn difference(part: Part, shown: &Shown, tree: &Tree) -> Option<String> {
    let differs = |(path, (stat, data)): &(&String, &(Stat, Vec<u8>))| {
        shown.get(*path).is_none_or(|node| !is_same(part, node, stat, data))
    };
    let due = tree.iter().filter(|(path, _)| part.holds(path));
    let differing = due.clone().find(differs).map(|(path, _)| path);
    let surplus = || shown.keys().find(|path| !part.holds(path) || !tree.contains_key(*path));
    differing.or_else(surplus).cloned()
}

fn is_same(part: Part, node: &CachedNode, stat: &Stat, data: &[u8]) -> bool {
    let kept = part.has_data().then_some(data);
    (node.czxid, node.mzxid, node.version) == (stat.czxid, stat.mzxid, stat.version)
        && (node.ctime, node.mtime, node.ephemeral_owner)
            == (stat.ctime, stat.mtime, stat.ephemeral_owner)
        && node.data_length == stat.data_length
        && node.data.as_deref() == kept
}
