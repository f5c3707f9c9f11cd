//! The counts of cached trees and of slots.

use core::ops::AddAssign;

/// What caches have told of the tree.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeStats {
    /// Caches that were begun.
    pub caches: u64,
    /// Changes that they told of, moments included.
    pub changes: u64,
    /// Moments that were held against the servers' tree.
    pub moments: u64,
    /// Moments at which no server stopped between two steps.
    pub unseen: u64,
}

/// What became of slots.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotStats {
    /// Slots that were gained.
    pub gained: u64,
    /// Slots that were lost while they were held.
    pub lost: u64,
    /// Guarded writes that were the first of their holder.
    pub writes: u64,
    /// Plans that planners wrote.
    pub plans: u64,
    /// The slots that these moved.
    pub moved: u64,
    /// Plans that were not held against the one before.
    pub excused: u64,
    /// Plans that had slots to keep apart.
    pub apart: u64,
    /// Plans with a member that was drained.
    pub drained: u64,
}

impl AddAssign for TreeStats {
    fn add_assign(&mut self, other: Self) {
        self.caches += other.caches;
        self.changes += other.changes;
        self.moments += other.moments;
        self.unseen += other.unseen;
    }
}

impl AddAssign for SlotStats {
    fn add_assign(&mut self, other: Self) {
        self.gained += other.gained;
        self.lost += other.lost;
        self.writes += other.writes;
        self.plans += other.plans;
        self.moved += other.moved;
        self.excused += other.excused;
        self.apart += other.apart;
        self.drained += other.drained;
    }
}
