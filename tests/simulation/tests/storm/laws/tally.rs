//! Counts of what has happened.

use core::ops::AddAssign;

/// The counts of events: a storm in which nothing happens proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) elected: u64,
    pub(crate) guarded_writes: u64,
    pub(crate) views: u64,
    pub(crate) answers: u64,
    pub(crate) failures: u64,
    pub(crate) given_up: u64,
    pub(crate) handed_over: u64,
    /// Guards of locks.
    pub(crate) held: u64,
    /// The locks that were given while another reader's was valid.
    pub(crate) held_together: u64,
    /// The locks that were waited for, and not given in time.
    pub(crate) waits_given_up: u64,
    /// Permits of the semaphore.
    pub(crate) permits: u64,
    /// Looks at which all permits were held.
    pub(crate) permits_together: u64,
    /// Leaderships of the operated election.
    pub(crate) operated: u64,
    pub(crate) operated_handed_over: u64,
    /// Those of an heir.
    pub(crate) led_by_heirs: u64,
    /// Those after a leader that has not said that it ended.
    pub(crate) delays_kept: u64,
    /// How often it was ended.
    pub(crate) ends: u64,
    pub(crate) told_of_an_end: u64,
    /// How often it was deleted.
    pub(crate) deletions: u64,
    pub(crate) writes_in_epochs: u64,
    /// Uses of barriers, queues and the counter.
    pub(crate) used: u64,
    pub(crate) passed: u64,
    pub(crate) inside: u64,
    pub(crate) taken: u64,
    pub(crate) finished: u64,
    pub(crate) counted: u64,
    /// Guards of several locks at once.
    pub(crate) several: u64,
    /// Runs of the job.
    pub(crate) runs: u64,
    /// Guards of slots.
    pub(crate) slots_gained: u64,
    /// Plans of slots that planners wrote, and the slots that these moved.
    pub(crate) plans: u64,
    pub(crate) slots_moved: u64,
    /// Plans that were not held against the one before: it was deleted or overwritten, or none saw it.
    pub(crate) plans_excused: u64,
    /// Plans of slots some of which are to be apart.
    pub(crate) plans_apart: u64,
    /// Works on slots that did not end in time.
    pub(crate) slots_overdue: u64,
    /// Leaders that are checked.
    pub(crate) well_leaders: u64,
    /// Works that ended because their member was unwell.
    pub(crate) unwell: u64,
    /// Works that were to end for a better candidate, and leaders that gave way to one.
    pub(crate) told_of_better: u64,
    pub(crate) gave_way: u64,
    /// The most leaders, one after the other, that a calm began with.
    pub(crate) most_in_calm: u64,
    /// Writes to the cached tree that were acknowledged.
    pub(crate) tree_writes: u64,
    /// Changes and moments that streams of caches told of.
    pub(crate) tree_changes: u64,
    /// Moments of caches that were held against the servers' tree, and those at which no server stopped.
    pub(crate) moments: u64,
    pub(crate) moments_unseen: u64,
    /// Of runs on an ensemble: times that another member led it.
    pub(crate) successions: u64,
    pub(crate) ensembles: u64,
    /// Clocks of servers that were set.
    pub(crate) clocks_set: u64,
    /// Plagues of servers that are not ZooKeeper's.
    pub(crate) plagues_of_others: u64,
    /// Runs in which clients ask such servers for a lease.
    pub(crate) without_lease: u64,
    /// Operations in histories that were judged, and how many of them had an unknown outcome.
    pub(crate) judged: u64,
    pub(crate) unknown: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.elected += other.elected;
        self.guarded_writes += other.guarded_writes;
        self.views += other.views;
        self.answers += other.answers;
        self.failures += other.failures;
        self.given_up += other.given_up;
        self.handed_over += other.handed_over;
        self.held += other.held;
        self.held_together += other.held_together;
        self.waits_given_up += other.waits_given_up;
        self.permits += other.permits;
        self.permits_together += other.permits_together;
        self.operated += other.operated;
        self.operated_handed_over += other.operated_handed_over;
        self.led_by_heirs += other.led_by_heirs;
        self.delays_kept += other.delays_kept;
        self.ends += other.ends;
        self.told_of_an_end += other.told_of_an_end;
        self.deletions += other.deletions;
        self.writes_in_epochs += other.writes_in_epochs;
        self.used += other.used;
        self.passed += other.passed;
        self.inside += other.inside;
        self.taken += other.taken;
        self.finished += other.finished;
        self.counted += other.counted;
        self.several += other.several;
        self.runs += other.runs;
        self.slots_gained += other.slots_gained;
        self.plans += other.plans;
        self.slots_moved += other.slots_moved;
        self.plans_excused += other.plans_excused;
        self.plans_apart += other.plans_apart;
        self.slots_overdue += other.slots_overdue;
        self.well_leaders += other.well_leaders;
        self.unwell += other.unwell;
        self.told_of_better += other.told_of_better;
        self.gave_way += other.gave_way;
        self.most_in_calm = self.most_in_calm.max(other.most_in_calm);
        self.tree_writes += other.tree_writes;
        self.tree_changes += other.tree_changes;
        self.moments += other.moments;
        self.moments_unseen += other.moments_unseen;
        self.successions += other.successions;
        self.ensembles += other.ensembles;
        self.clocks_set += other.clocks_set;
        self.plagues_of_others += other.plagues_of_others;
        self.without_lease += other.without_lease;
        self.judged += other.judged;
        self.unknown += other.unknown;
    }
}

impl Tally {
    /// Whether enough has happened: a storm in which nothing happens proves nothing.
    pub(crate) fn is_a_storm(self, seeds: u64) -> bool {
        self.elected > 5 * seeds
            && self.guarded_writes > 50 * seeds
            && self.views > 50 * seeds
            && self.answers > 500 * seeds
            && self.failures > 50 * seeds
            && self.given_up > 50 * seeds
            && self.handed_over > seeds / 2
            && self.held > 20 * seeds
            && self.held_together > seeds
            && self.waits_given_up > 5 * seeds
            && self.permits > 10 * seeds
            && self.permits_together > 10 * seeds
            && self.operated > 8 * seeds
            && self.led_by_heirs >= seeds
            && self.delays_kept > 2 * seeds
            && self.ends > seeds
            && self.told_of_an_end > 4 * seeds
            && self.passed > 2 * seeds
            && self.inside > 5 * seeds
            && self.taken > 5 * seeds
            && self.finished > seeds
            && self.counted > 5 * seeds
            && self.several > 10 * seeds
            && self.runs > 3 * seeds
            && self.slots_gained > 20 * seeds
            && self.plans > 4 * seeds
            && self.slots_moved > 3 * seeds
            && self.judged > 300 * seeds
            && self.unknown > 50 * seeds
            && self.ensembles >= seeds / 2
            && self.successions > 2 * self.ensembles
    }
}

impl Tally {
    /// Whether enough has happened on servers that are not ZooKeeper's. In a quarter of the seeds nobody leads.
    pub(crate) fn is_a_storm_of_others(self, seeds: u64) -> bool {
        self.plagues_of_others > 2 * seeds
            && self.without_lease > 0
            && self.elected > 3 * seeds
            && self.guarded_writes > 20 * seeds
            && self.held > 5 * seeds
            && self.taken > seeds
            && self.counted > seeds
            && self.judged > 100 * seeds
    }
}

impl Tally {
    /// Whether enough has happened in runs of slots alone on servers that are not ZooKeeper's.
    pub(crate) fn slots_are_shared_on_others(self, seeds: u64) -> bool {
        self.plagues_of_others > 2 * seeds
            && self.without_lease > 0
            && self.slots_gained > 20 * seeds
            && self.plans > 4 * seeds
            && self.slots_moved > 5 * seeds
    }

    /// Whether enough has happened in runs of checked members alone on such servers.
    pub(crate) fn members_fall_ill_on_others(self, seeds: u64) -> bool {
        self.plagues_of_others > 2 * seeds
            && self.without_lease > 0
            && self.well_leaders > 7 * seeds
            && self.unwell > 2 * seeds
            && self.gave_way > seeds / 2
    }

    /// Whether enough has happened in runs of cached trees alone on such servers.
    pub(crate) fn trees_are_kept_on_others(self, seeds: u64) -> bool {
        self.plagues_of_others > 2 * seeds && self.trees_are_kept_in_a_storm(seeds)
    }
}

impl Tally {
    /// Whether enough has happened in runs of slots alone.
    pub(crate) fn slots_are_shared_in_a_storm(self, seeds: u64) -> bool {
        self.slots_gained > 40 * seeds
            && self.plans > 8 * seeds
            && self.plans_apart > seeds
            && self.slots_moved > 20 * seeds
            && self.slots_overdue > seeds
            && self.plans_excused < self.plans / 2
    }

    /// Whether enough has happened in runs of checked members alone.
    pub(crate) fn members_fall_ill_in_a_storm(self, seeds: u64) -> bool {
        self.well_leaders > 15 * seeds
            && self.unwell > 5 * seeds
            && self.told_of_better > 2 * seeds
            && self.gave_way > seeds
    }

    /// Whether enough has happened in runs of cached trees alone.
    pub(crate) fn trees_are_kept_in_a_storm(self, seeds: u64) -> bool {
        self.tree_writes > 100 * seeds
            && self.tree_changes > 500 * seeds
            && self.moments > 200 * seeds
            && self.moments_unseen <= self.moments / 100
    }
}
