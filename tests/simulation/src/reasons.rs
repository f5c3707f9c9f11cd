//! The reasons for which a nomination may fail in a run.

use election_core::NominationError;

use super::incident::{Incident, What};

/// The server's word that an access list does not permit something.
const NO_AUTH: i32 = -102;

/// The reasons to fail that there are in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasons {
    access: Access,
    counters: Counters,
}

/// Whether an operator changes access lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Everybody,
    Changes,
}

/// The numbers at which the counters of the election nodes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counters {
    /// At their beginning.
    Fresh,
    /// So few creates before the last number that servers give once.
    Before(i32),
}

impl Reasons {
    pub(super) fn of(incidents: &[Incident], counters: Counters) -> Self {
        let changes =
            |incident: &Incident| matches!(incident.what, What::Hide(_) | What::Forbid(..));
        let access =
            if incidents.iter().any(changes) { Access::Changes } else { Access::Everybody };
        Self { access, counters }
    }

    /// Whether an operator changes access lists.
    pub(super) fn access_changes(self) -> bool {
        self.access == Access::Changes
    }

    /// Whether a nomination may fail with this. The election node may be removed again and again.
    pub(super) fn explain(self, error: NominationError) -> bool {
        match error {
            NominationError::NoElectionNode => true,
            NominationError::Rejected(NO_AUTH) => self.access == Access::Changes,
            NominationError::SequenceExhausted => self.counters != Counters::Fresh,
            _ => false,
        }
    }
}
