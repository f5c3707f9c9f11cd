//! What a nominee stands for: which children are in its way, and what it does about them.

use super::stage::{Ahead, Behind, PredecessorWatch};
use crate::access::Access;
use crate::format::{CandidatePrefix, Format};
use crate::id::NomineeId;
use crate::name::{CandidateName, Sequence};
use crate::outcome::Obstacle;
use crate::place::Remaining;

/// What a nominee stands for, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Contest {
    /// One with an id in its names, which offers the access.
    pub(crate) format: Format,
    pub(crate) access: Access,
    pub(crate) patience: Patience,
}

/// What a nominee does when others are in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Patience {
    Waits,
    Leaves,
}

impl Contest {
    pub(super) const ELECTION: Self = Self {
        format: Format::curator_latch(),
        access: Access::Exclusive,
        patience: Patience::Waits,
    };

    pub(super) const fn prefix(self, id: NomineeId, attempt: u32) -> CandidatePrefix {
        CandidatePrefix::new(self.format, self.access, id, attempt)
    }

    pub(super) fn rival(self, name: &str) -> Option<Sequence> {
        self.format.rival(self.access, name)
    }

    pub(super) fn behind(
        self,
        by: &str,
        lowest: &str,
        remaining: Remaining,
    ) -> Result<Behind, Obstacle> {
        let kept = |name| self.format.parse(name).map_err(|_| self.obstacle(name));
        let ahead = match remaining {
            Remaining::Last => Ahead::Nobody,
            Remaining::More => Ahead::Others { leader: kept(lowest)? },
        };
        Ok(Behind { predecessor: kept(by)?, watch: PredecessorWatch::Unset, ahead })
    }

    /// A candidate whose name cannot be kept.
    fn obstacle(self, name: &str) -> Obstacle {
        self.rival(name).map_or(Obstacle::OwnName, Obstacle::LongName)
    }

    /// Whether nothing is in the way any more once this contender, the last one, is gone.
    pub(super) fn goes_for_good(self, predecessor: &CandidateName) -> bool {
        self.format.goes_for_good(self.access, predecessor.as_str())
    }
}
