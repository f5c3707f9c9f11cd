//! The laws of barriers, queues and the counter: the notices to processes, held against the committed state.

use core::fmt;
use std::collections::BTreeMap;

use election_core::counter::CounterOp;
use zk_embedded::Database;
use zk_simulation::recipes::{Books, Broken, ItemId, Moment};

use super::Laws;

/// How many have to enter the double barrier.
pub(crate) const PARTICIPANTS: u32 = 2;

/// The knowledge of the recipes.
pub(super) struct RecipeBook {
    books: Books,
    items: u32,
    /// Items that were taken for futures that were dropped, in lives that have ended before they were told.
    untold: usize,
    /// Takes that each process has dropped in its life.
    dropped: BTreeMap<usize, usize>,
    /// How often each process came to an end with one.
    done: BTreeMap<usize, u64>,
}

impl Default for RecipeBook {
    fn default() -> Self {
        let participants = usize::try_from(PARTICIPANTS).unwrap_or(usize::MAX);
        let (dropped, done) = (BTreeMap::new(), BTreeMap::new());
        Self { books: Books::new(participants), items: 0, untold: 0, dropped, done }
    }
}

impl fmt::Debug for RecipeBook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecipeBook").finish_non_exhaustive()
    }
}

impl Laws {
    /// Checks the recipes after each step of a server.
    pub(crate) fn recipes_show(&self, database: &Database) {
        self.with_recipes(|books| books.take_in(database));
    }

    /// Checks that a recipe's notices agree with the committed state.
    pub(crate) fn with_recipes(&self, work: impl FnOnce(&mut Books) -> Result<(), Broken>) {
        let mut book = self.book();
        if let Err(law) = work(&mut book.recipes.books) {
            book.broken(law);
        }
    }

    /// Returns the state that is committed, and the number of the counter in it.
    pub(crate) fn committed(&self) -> (Moment, i64) {
        let book = self.book();
        (book.recipes.books.now(), book.recipes.books.counter.value())
    }

    /// Returns an item that was never put.
    pub(crate) fn next_item(&self) -> ItemId {
        let mut book = self.book();
        book.recipes.items += 1;
        ItemId(book.recipes.items)
    }

    /// Notes that a change of the counter is on its way: it may be made, even if the process ends.
    pub(crate) fn may_count(&self, op: CounterOp) {
        self.book().recipes.books.counter.in_doubt(op);
    }

    /// Notes that a process has dropped a take: the item that it has taken is kept for the next
    /// one.
    pub(crate) fn take_is_dropped(&self, process: usize) {
        let mut book = self.book();
        *book.recipes.dropped.entry(process).or_default() += 1;
    }

    /// Notes that a process is gone: the items that were kept, or on their way, are lost with it.
    pub(crate) fn takes_are_forgotten(&self, process: usize) {
        let mut book = self.book();
        let dropped = book.recipes.dropped.remove(&process).unwrap_or_default();
        book.recipes.untold += dropped + 1;
    }

    /// Notes that a process has all that was kept for it.
    pub(crate) fn takes_are_told(&self, process: usize) {
        self.book().recipes.dropped.remove(&process);
    }

    /// Notes that a process has done with one.
    pub(crate) fn used(&self, process: usize) {
        let mut book = self.book();
        book.tally.used += 1;
        *book.recipes.done.entry(process).or_default() += 1;
    }

    /// Returns how often each process has done with one so far.
    pub(crate) fn times_used(&self) -> BTreeMap<usize, u64> {
        self.book().recipes.done.clone()
    }

    /// Checks, in the end, that nothing of a process is left, and that everything is accounted for.
    pub(crate) fn recipes_are_accounted_for(&self) {
        let mut book = self.book();
        let left = book.recipes.books.ephemerals();
        if left > 0 {
            book.broken(format!("{left} entries and claims are left behind"));
        }
        let untold = book.recipes.untold;
        if let Err(law) = book.recipes.books.check_at_rest_but(untold) {
            book.broken(law);
        }
        let books = &book.recipes.books;
        let (inside, _) = books.double_barrier.counts();
        let (passed, (counted, _)) = (books.barrier.passed(), books.counter.counts());
        let counts = books.queues.iter().map(zk_simulation::recipes::QueueBook::counts);
        let (taken, finished) = counts
            .fold((0, 0), |(taken, finished), (more, done, _)| (taken + more, finished + done));
        book.tally.passed += passed;
        book.tally.inside += inside;
        book.tally.taken += taken;
        book.tally.finished += finished;
        book.tally.counted += counted;
    }
}
