//! The laws of cached trees, which the simulation has, too: each moment is the servers' tree, and a stream yields each
//! change once.

use std::collections::BTreeMap;

use election_tokio::cache::{CacheChange, CacheSnapshot};
use zk_embedded::Database;
use zk_simulation::recipes::{Broken, Part, TreeBook};

use super::slots::Season;
use super::{Book, Laws};

/// The knowledge of cached trees.
#[derive(Debug, Default)]
pub(super) struct TreesBook {
    season: Season,
    trees: TreeBook,
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
        self.book().trees.trees.take_in(place, database);
    }

    pub(crate) fn cache_begins(&self, process: usize, part: Part) {
        self.book().trees.trees.begins(process, part);
    }

    /// Checks what the stream of a process's cache yields.
    pub(crate) fn cache_tells(&self, process: usize, change: CacheChange) {
        self.tell(|| format!("a cache of {process} tells {change:?}"));
        let mut book = self.book();
        let told = book.trees.trees.tells(process, change);
        book.trees_hold(told);
    }

    /// Checks a snapshot of a process's cache.
    pub(crate) fn cache_shows(&self, process: usize, part: Part, snapshot: &CacheSnapshot) {
        let Some(zxid) = snapshot.current() else { return };
        let mut book = self.book();
        let nodes = snapshot.iter().map(|(path, node)| (path, &**node));
        let shown = book.trees.trees.shows(part, nodes, zxid);
        book.trees_hold(shown.map_err(|law| format!("a snapshot of {process}: {law}")));
    }

    /// Checks, in the calm, that the streams of as many caches have told of the tree of a server.
    pub(crate) fn caches_are_the_tree(&self, database: &Database, caches: usize) {
        let mut book = self.book();
        let rest = book.trees.trees.check_at_rest(database, caches);
        book.trees_hold(rest.map_err(|law| format!("in the calm {law}")));
    }

    /// Returns how many changes the cache of each process has told of.
    pub(crate) fn told_of_trees(&self) -> BTreeMap<usize, u64> {
        self.book().trees.trees.told()
    }
}

impl Book {
    /// Notes whether a law was broken, and what was counted.
    fn trees_hold(&mut self, checked: Result<(), Broken>) {
        let counts = self.trees.trees.counts;
        self.tally.tree_changes = counts.changes;
        (self.tally.moments, self.tally.moments_unseen) = (counts.moments, counts.unseen);
        if let Err(law) = checked {
            self.broken(law);
        }
    }
}
