//! The law of the barrier: no participant passes it while it is set.

use election_core::barrier::{BarrierEnd, BarrierState};
use zk_embedded::Database;
use zk_jute::Zxid;

use super::{BARRIER, Broken, Moment, children_at, created};

/// The knowledge of a barrier.
#[derive(Debug, Default)]
pub struct BarrierBook {
    /// That of its node's parent: of when it was set or lifted last.
    turned: Option<Zxid>,
    set: Option<Zxid>,
    last_set: Moment,
    last_lifted: Moment,
    /// Waits that have ended behind a barrier that was set when they began.
    passed: u64,
}

impl BarrierBook {
    pub(super) fn take_in(&mut self, before: Moment, now: Moment, database: &Database) {
        let parent = BARRIER.rsplit_once('/').map_or("/", |(parent, _)| parent);
        let turned = children_at(database.znode(parent));
        let set = created(database.znode(BARRIER));
        let is_other = core::mem::replace(&mut self.turned, turned) != turned;
        if self.set.is_some() {
            self.last_set = self.last_set.max(before);
        } else {
            self.last_lifted = self.last_lifted.max(before);
        }
        // One step may have set it and lifted it again.
        if is_other {
            (self.last_set, self.last_lifted) = (now, now);
        }
        self.set = set;
    }

    /// Whether it is set.
    pub const fn is_set(&self) -> bool {
        self.set.is_some()
    }

    /// Waits that ended behind a barrier that was set when they began.
    pub const fn passed(&self) -> u64 {
        self.passed
    }

    fn was_set(&self, since: Moment) -> bool {
        self.set.is_some() || self.last_set >= since
    }

    fn was_lifted(&self, since: Moment) -> bool {
        self.set.is_none() || self.last_lifted >= since
    }

    /// Checks the end of a use of the barrier that began at that moment. The user says whether it
    /// was set then.
    ///
    /// # Errors
    ///
    /// It was so at no moment since.
    pub fn ended(&mut self, since: Moment, end: BarrierEnd) -> Result<(), Broken> {
        let was_so = match end {
            BarrierEnd::Set | BarrierEnd::Is(BarrierState::Set) => self.was_set(since),
            BarrierEnd::Passed => {
                self.passed += u64::from(self.was_set(since));
                self.was_lifted(since)
            }
            BarrierEnd::Lifted | BarrierEnd::Is(BarrierState::Lifted) => self.was_lifted(since),
            BarrierEnd::GaveUp(_) => true,
            BarrierEnd::Failed(failure) => return Err(format!("a barrier failed: {failure}")),
        };
        if was_so { Ok(()) } else { Err(format!("{end:?}, and the barrier was never so")) }
    }
}
