//! The laws of cached trees: each moment is the servers' tree, and a cache tells of each change once.

use std::collections::BTreeMap;

use election_session::cache::{CacheChange, CacheScope, CachedNode};
use zk_embedded::Database;
use zk_jute::Zxid;
use zk_jute::records::Stat;

use super::Broken;

/// The root of the tree, which does not stand at first.
pub const TREE: &str = "/tree";
/// The names of the znodes below the root, and below these.
pub const NAMES: [&str; 3] = ["a", "b", "c"];
/// What a filter leaves out, with all that stands below it.
const LEFT_OUT: &str = "/tree/b";

/// The part of the tree that a cache keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// Names and metadata.
    Names,
    /// The root and its children.
    Children,
    /// All but one child, and what stands below that.
    Filtered,
}

/// The znodes below the root, as a server has them.
type Tree = BTreeMap<String, (Stat, Vec<u8>)>;
/// The znodes that a cache has.
type Shown = BTreeMap<String, CachedNode>;

/// The knowledge of the caches of all clients, and of the trees that servers had.
#[derive(Debug, Default)]
pub struct TreeBook {
    history: History,
    /// The cache of each client, as it has told of it.
    told: BTreeMap<usize, Told>,
    /// What was told so far.
    pub counts: TreeCounts,
}

/// The counts of what caches have told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeCounts {
    /// Changes, moments included.
    pub changes: u64,
    /// Moments that were held against the servers' tree.
    pub moments: u64,
    /// Moments at which no server stopped between two steps.
    pub unseen: u64,
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

impl Part {
    /// Draws one.
    pub fn draw(rng: &mut fastrand::Rng) -> Self {
        match rng.u8(..6) {
            0 => Self::Names,
            1 => Self::Children,
            2 => Self::Filtered,
            _ => Self::All,
        }
    }

    /// Returns the scope of a cache that keeps it.
    pub fn scope(self) -> CacheScope {
        let scope = CacheScope::below(TREE.to_owned());
        if self == Self::Children { scope.depth(1) } else { scope }
    }

    /// Whether a filter keeps this znode, and what stands below it.
    pub fn keeps(self, path: &str) -> bool {
        self != Self::Filtered || path != LEFT_OUT
    }

    /// Whether the cache is to have a znode of the tree.
    pub fn holds(self, path: &str) -> bool {
        match self {
            Self::All | Self::Names => true,
            Self::Children => path.matches('/').count() <= 2,
            Self::Filtered => !path.starts_with(LEFT_OUT),
        }
    }

    /// Whether the cache keeps data.
    pub fn has_data(self) -> bool {
        self != Self::Names
    }
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

impl TreeBook {
    /// Notes the tree after each step of a server.
    pub fn take_in(&mut self, server: usize, database: &Database) {
        let zxid = database.last_zxid();
        if self.history.at.insert(server, zxid) != Some(zxid) {
            self.history.note(zxid, tree_of(database));
        }
    }

    /// Notes that a client begins a cache.
    pub fn begins(&mut self, client: usize, part: Part) {
        self.told.insert(client, Told { part, shown: Shown::new(), current: None, changes: 0 });
    }

    /// Notes that a client has none any more.
    pub fn ends(&mut self, client: usize) {
        self.told.remove(&client);
    }

    /// Takes in what the cache of a client tells.
    ///
    /// # Errors
    ///
    /// It breaks a law.
    pub fn tells(&mut self, client: usize, change: CacheChange) -> Result<(), Broken> {
        self.counts.changes += 1;
        let Some(told) = self.told.get_mut(&client) else { return Ok(()) };
        let law = match change {
            CacheChange::Current(zxid) => match told.current.replace(zxid) {
                Some(before) if before >= zxid => Some(format!("{zxid:?} follows {before:?}")),
                _ => {
                    let (part, shown) = (told.part, &told.shown);
                    self.counts.look(&self.history, (part, shown), zxid)
                }
            },
            change => told.take_in(change),
        };
        law.map_or(Ok(()), |law| Err(format!("a cache of {client}: {law}")))
    }

    /// Checks what a cache of a part has at a moment that it names.
    ///
    /// # Errors
    ///
    /// The servers had another tree then.
    pub fn shows<'a>(
        &mut self,
        part: Part,
        nodes: impl Iterator<Item = (&'a str, &'a CachedNode)>,
        zxid: Zxid,
    ) -> Result<(), Broken> {
        let shown: Shown = nodes.map(|(path, node)| (path.to_owned(), node.clone())).collect();
        let law = self.counts.look(&self.history, (part, &shown), zxid);
        law.map_or(Ok(()), Err)
    }

    /// Checks that as many caches as this have told of the tree of a server.
    ///
    /// # Errors
    ///
    /// There are more or less, or one of them has told of another tree.
    pub fn check_at_rest(&self, database: &Database, caches: usize) -> Result<(), Broken> {
        let tree = tree_of(database);
        let shows = |told: &Told| {
            told.current.is_some() && difference(told.part, &told.shown, &tree).is_none()
        };
        let count = self.told.len();
        if count != caches {
            return Err(format!("there are {count} caches"));
        }
        match self.told.iter().find(|(_, told)| !shows(told)) {
            Some((client, told)) => Err(format!("{client} has {told:?} of {tree:?}")),
            None => Ok(()),
        }
    }

    /// Returns how many changes the cache of each client has told of, without moments.
    pub fn told(&self) -> BTreeMap<usize, u64> {
        self.told.iter().map(|(client, told)| (*client, told.changes)).collect()
    }
}

impl TreeCounts {
    /// Checks that this was the tree after a transaction; returns the law that is broken.
    fn look(
        &mut self,
        history: &History,
        (part, shown): (Part, &Shown),
        zxid: Zxid,
    ) -> Option<String> {
        let Some(tree) = history.tree_at(zxid) else {
            self.unseen += 1;
            return None;
        };
        self.moments += 1;
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
