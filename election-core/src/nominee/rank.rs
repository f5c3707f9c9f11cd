//! The number of candidates before a nominee, for its user. No step of the machine depends on it.

use core::hash::{Hash, Hasher};

/// The number of candidates before a nominee, by its last knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// The number of candidates ahead: 0 for the leader, and for a nominee with nothing in its way.
    pub ahead: u32,
    /// Counts how often the nominee has learned it. While this number stays the same, the nominee has
    /// learned nothing new.
    pub learned: u32,
}

/// The last rank. Machines that differ in nothing else are equal, and take the same steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastRank(Rank);

impl LastRank {
    pub(super) const UNKNOWN: Self = Self(Rank { ahead: 0, learned: 0 });

    pub(super) const fn get(self) -> Rank {
        self.0
    }

    pub(super) fn learn(&mut self, ahead: usize) {
        let Self(Rank { learned, .. }) = *self;
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        *self = Self(Rank { ahead, learned: learned.wrapping_add(1) });
    }
}

impl PartialEq for LastRank {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LastRank {}

impl Hash for LastRank {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
