//! Clients keep a tree in caches, and write to it; the world compares what caches tell with what servers had.

use super::{Event, Phase, World};
use crate::checker::Broken;
use crate::client::{Client, Observed};
use crate::many::draw_watches;
use crate::outcome::{Law, TreeStats};
use crate::plan::Plan;
use crate::recipes::{Part, TreeBook};
use crate::server::Host;

/// The state of a run in which clients keep a tree.
#[derive(Debug)]
pub(super) struct Trees {
    rng: fastrand::Rng,
    book: TreeBook,
    caches: u64,
}

impl Trees {
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        plan.many.map(|_| Self {
            rng: fastrand::Rng::with_seed(plan.seed ^ 0x07ee_cac4_0000),
            book: TreeBook::default(),
            caches: 0,
        })
    }

    pub(super) fn stats(&self) -> TreeStats {
        let counts = self.book.counts;
        let (changes, moments) = (counts.changes, counts.moments);
        TreeStats { caches: self.caches, changes, moments, unseen: counts.unseen }
    }

    pub(super) fn book(&mut self) -> &mut TreeBook {
        &mut self.book
    }
}

impl World<'_> {
    /// Lets a client write to the tree, until the calm; it keeps a cache, or drops one, to begin another.
    pub(super) fn tend_tree(&mut self, client: usize) -> Result<(), Broken> {
        let (Some(many), Some(trees)) = (self.plan.many, &mut self.trees) else {
            return Ok(());
        };
        if matches!(self.phase, Phase::Incidents | Phase::Settling { .. }) {
            self.agenda.add(self.now + many.every, Event::TendTree(client));
        }
        let is_calm = self.now >= self.plan.calm_at;
        let (part, watches) = (Part::draw(&mut trees.rng), draw_watches(&mut trees.rng));
        let is_dropped = trees.rng.u8(..12) == 0 && !is_calm;
        let Some(process) = self.processes.get_mut(client).filter(|process| process.is_up()) else {
            return Ok(());
        };
        let now = process.now(self.now);
        if let Some(running) = &mut process.client {
            if is_dropped {
                running.drop_tree(now);
            } else if !running.keeps_tree() {
                running.keep_tree(part, watches);
                trees.caches += 1;
            }
            if !is_calm {
                running.write_to_the_tree(now, &mut trees.rng);
            }
        }
        self.settle_client(client)
    }

    /// Takes in what the cache of a client tells.
    pub(super) fn observe_tree(&mut self, client: usize, what: &Observed) -> Result<(), Broken> {
        let Some(trees) = &mut self.trees else {
            return Ok(());
        };
        let checked = match what {
            Observed::CacheBegins(part) => {
                trees.book.begins(client, *part);
                return Ok(());
            }
            Observed::CacheEnds => {
                trees.book.ends(client);
                return Ok(());
            }
            Observed::Cached(change) => trees.book.tells(client, change.clone()),
            Observed::CacheShows(part, zxid, nodes) => {
                let nodes = nodes.iter().map(|(path, node)| (&**path, &**node));
                trees.book.shows(*part, nodes, *zxid)
            }
            _ => return Ok(()),
        };
        self.note_change();
        checked.map_err(|detail| (Law::TreesAsTheyWere, detail))
    }

    /// Returns why caches are not settled: each client has one, which is current.
    pub(super) fn unsettled_tree(&self) -> Option<String> {
        self.trees.as_ref()?;
        let without = |client: &usize| {
            let process = self.processes.get(*client);
            let running = process.and_then(|process| process.client.as_ref());
            !running.is_some_and(Client::has_current_tree)
        };
        let client = self.clients_that_go_on().find(without)?;
        Some(format!("client {} has no current tree", client + 1))
    }

    /// Returns the clients that are not over: one that is still closing when it is to be restarted is so for good.
    pub(super) fn clients_that_go_on(&self) -> impl Iterator<Item = usize> {
        let is_over =
            |client: &usize| self.processes.get(*client).is_none_or(super::Process::is_over);
        (0..self.operator()).filter(move |client| !is_over(client))
    }

    /// Checks, once all is settled, that caches have told of the tree of the server that is ahead.
    pub(super) fn check_trees(&mut self) -> Result<(), Broken> {
        let there: Vec<usize> = self.clients_that_go_on().collect();
        let Some(trees) = &mut self.trees else {
            return Ok(());
        };
        let Some(newest) = Host::newest(&self.hosts) else {
            return Ok(());
        };
        for client in 0..self.processes.len() {
            if !there.contains(&client) {
                trees.book.ends(client);
            }
        }
        let checked = trees.book.check_at_rest(newest, there.len());
        checked.map_err(|detail| (Law::TreesAsTheyWere, detail))
    }
}
