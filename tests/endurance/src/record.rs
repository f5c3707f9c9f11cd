//! The records that clients write.

use super::laws::holds::Hold;
use super::laws::orders::Committed;
use super::laws::reads::Sighting;
use super::laws::views::View;
use super::laws::vigils::Vigil;
use super::laws::writes::Attempt;

/// The servers' answers to the clients of a workload.
#[derive(Debug, Default)]
pub struct Record {
    /// Each attempt to write something that stays, and the znode where it is then.
    pub attempts: Vec<Attempt<String>>,
    /// The transactions of acknowledged writes.
    pub committed: Vec<Committed>,
    /// The states of znodes that are never deleted, as each client saw them, in its order.
    pub sightings: Vec<Vec<Sighting>>,
    /// Each one-shot watch.
    pub vigils: Vec<Vigil>,
    /// Each watch that stays.
    pub views: Vec<View>,
    /// Each time that a lock was held.
    pub holds: Vec<Hold>,
}

impl Record {
    /// Adds what other clients noted down.
    pub fn add(&mut self, other: Self) {
        self.attempts.extend(other.attempts);
        self.committed.extend(other.committed);
        self.sightings.extend(other.sightings);
        self.vigils.extend(other.vigils);
        self.views.extend(other.views);
        self.holds.extend(other.holds);
    }
}
