//! The reasons for which a nomination may fail in a run: what the world did until then.

use election_core::election::NominationError;

/// The server's word that an access list does not permit something.
const NO_AUTH: i32 = -102;

/// How often a nominee creates a missing node on one connection. It fails once that has vanished so
/// often.
const ROUNDS: usize = 3;

/// The reasons to fail that there were so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasons {
    access: Access,
    counters: Counters,
    endings: Endings,
}

/// Whether an operator has changed access lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Everybody,
    Changes,
}

/// Whether an operator has ended elections.
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
    pub(super) const fn new(counters: Counters) -> Self {
        Self { access: Access::Everybody, counters, endings: Endings::Never }
    }

    /// An operator changes an access list.
    pub(super) const fn access_list_changed(&mut self) {
        self.access = Access::Changes;
    }

    /// An operator ends an election.
    pub(super) const fn election_ended(&mut self) {
        self.endings = Endings::Sometimes;
    }

    /// Whether an operator has ended elections.
    pub(super) fn elections_end(self) -> bool {
        self.endings == Endings::Sometimes
    }

    /// Whether an operator has changed access lists.
    pub(super) fn access_changes(self) -> bool {
        self.access == Access::Changes
    }

    /// Whether a nomination may fail with this, where its node was removed so often since its client is
    /// connected. Lost connections alone are no reason.
    pub(super) fn explain(self, error: NominationError, removals: usize) -> bool {
        match error {
            NominationError::NoElectionNode => removals >= ROUNDS,
            NominationError::Rejected(NO_AUTH) => self.access == Access::Changes,
            NominationError::SequenceExhausted => self.counters != Counters::Fresh,
            _ => false,
        }
    }
}
