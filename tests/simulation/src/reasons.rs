//! The reasons for which a nomination may fail in a run.

use election_core::election::NominationError;

use super::incident::{Incident, What};
use super::plan::Plan;
use super::queue::Queue;

/// The server's word that an access list does not permit something.
const NO_AUTH: i32 = -102;

/// How often a nominee creates a missing node on one connection. It fails once that has vanished so
/// often.
const ROUNDS: usize = 3;

/// The reasons to fail that there are in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasons {
    access: Access,
    counters: Counters,
    endings: Endings,
    removals: Removals,
}

/// How often an operator removes one and the same node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removals {
    TooFewToFail,
    Enough,
}

/// Whether an operator changes access lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Everybody,
    Changes,
}

/// Whether an operator ends elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endings {
    Never,
    Sometimes,
}

/// Where the counters of the election nodes begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counters {
    /// At their beginning.
    Fresh,
    /// So few creates before the last number that servers give once.
    Before(i32),
}

impl Reasons {
    pub(super) fn of(plan: &Plan) -> Self {
        let incidents = &plan.incidents;
        let changes =
            |incident: &Incident| matches!(incident.what, What::Hide(_) | What::Forbid(..));
        let access =
            if incidents.iter().any(changes) { Access::Changes } else { Access::Everybody };
        let ends = |incident: &Incident| matches!(incident.what, What::EndElection(_));
        let endings = if incidents.iter().any(ends) { Endings::Sometimes } else { Endings::Never };
        let removed = |incident: &Incident| match incident.what {
            What::RemoveElectionNode(election) => Some(Queue::election(election, plan.elections)),
            What::RemoveLock(lock) => Some(Queue::lock(lock)),
            _ => None,
        };
        let of = |queue| incidents.iter().filter(|what| removed(what) == Some(queue)).count();
        let is_enough = Queue::ALL.into_iter().any(|queue| of(queue) >= ROUNDS);
        let removals = if is_enough { Removals::Enough } else { Removals::TooFewToFail };
        Self { access, counters: plan.counters, endings, removals }
    }

    /// Whether an operator ends elections.
    pub(super) fn elections_end(self) -> bool {
        self.endings == Endings::Sometimes
    }

    /// Whether an operator changes access lists.
    pub(super) fn access_changes(self) -> bool {
        self.access == Access::Changes
    }

    /// Whether a nomination may fail with this. Lost connections alone are no reason.
    pub(super) fn explain(self, error: NominationError) -> bool {
        match error {
            NominationError::NoElectionNode => self.removals == Removals::Enough,
            NominationError::Rejected(NO_AUTH) => self.access == Access::Changes,
            NominationError::SequenceExhausted => self.counters != Counters::Fresh,
            _ => false,
        }
    }
}
