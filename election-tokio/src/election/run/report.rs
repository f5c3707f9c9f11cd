//! The report on the terms of a run.

use election_core::Token;
use election_core::election::Departure;

use crate::election::inner::WithdrawError;
use crate::election::preferring::BetterCandidate;
use crate::election::status::{EndReason, LostReason};
use crate::election::step_down_request::StepDownRequested;
use crate::error::Place;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunReport<T> {
    /// Why it ended.
    pub end: RunEnd,
    /// The report on each term.
    pub terms: Terms<T>,
    /// The end of the candidate znode.
    pub resignation: Resignation,
}

/// Why a run ended without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunEnd {
    /// The work of the last term has returned by itself.
    Finished,
    /// The shutdown has completed.
    Shutdown,
    /// The work has resigned, by [`Leadership::resign`](super::super::Leadership::resign).
    Resigned,
}

/// The fate of the candidate znode at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resignation {
    /// It is gone, or there was none.
    Done(Departure),
    /// No server has confirmed its deletion in time. The client goes on to delete it while it
    /// lives; at the latest the znode goes with the session.
    TimedOut,
    /// The client ended before a server confirmed it.
    Unconfirmed(WithdrawError),
}

/// The nomination of a run ended against its will: standing again does not repair it, or by its policy it
/// was not to stand again.
///
/// A service with the [`reason`](Self::reason) [`EndReason::Failed`] or [`EndReason::ElectionEnded`] can
/// do nothing until an operator has acted: end it with an exit code after which its manager does not restart it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason}")]
#[non_exhaustive]
pub struct RunError<T> {
    /// The recipe, its path and the step.
    pub at: Place,
    /// Why the nomination ended.
    pub reason: EndReason,
    /// The report on each term.
    pub terms: Terms<T>,
}

/// The report on the terms of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms<T> {
    kept: Vec<Term<T>>,
    count: u64,
}

/// The report on a term: on the leadership, and on the work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Term<T> {
    /// The token of the leader.
    pub token: Token,
    /// Why it ended.
    pub end: TermEnd,
    /// The end of the work.
    pub work: WorkEnd<T>,
}

/// Why a term ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermEnd {
    /// The work has returned by itself.
    Finished,
    /// The shutdown has completed.
    Shutdown,
    /// A client asked the leader to step down.
    SteppedDown(StepDownRequested),
    /// The nominee was unwell, and withdrew. With the reason of the check that decided.
    Unwell(String),
    /// A better candidate was the next, and the leader has stepped down for it.
    HandedOver(BetterCandidate),
    /// A better candidate was the next, and has gone while the work ended. The next term has the same
    /// token.
    CandidateGone(BetterCandidate),
    /// The connection was lost, and the work ended before the lease did. If the session goes on, so
    /// does the leadership: the next term then has the same token.
    Suspended,
    /// The leadership was lost.
    Lost(LostReason),
}

/// The end of a term's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkEnd<T> {
    /// It has returned this.
    Returned(T),
    /// It was cancelled, had not ended within the grace, and was dropped.
    GraceExceeded,
    /// It was dropped because the leadership was lost.
    Dropped,
}

impl<T> Terms<T> {
    /// How many terms are kept.
    const KEPT: usize = 100;

    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), count: 0 }
    }

    pub(super) fn push(&mut self, term: Term<T>) {
        if self.kept.len() == Self::KEPT {
            self.kept.remove(0);
        }
        self.kept.push(term);
        self.count += 1;
    }

    /// Returns how many terms there were.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the last term.
    pub fn last(&self) -> Option<&Term<T>> {
        self.kept.last()
    }

    /// Returns the terms, oldest first; only the last hundred of them.
    pub fn iter(&self) -> impl Iterator<Item = &Term<T>> {
        self.kept.iter()
    }

    /// Returns what the work of the last term has returned, if it has.
    pub fn into_value(mut self) -> Option<T> {
        match self.kept.pop()?.work {
            WorkEnd::Returned(value) => Some(value),
            WorkEnd::GraceExceeded | WorkEnd::Dropped => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_terms_the_last_hundred_are_kept() {
        let mut terms = Terms::new();
        for number in 0..250 {
            let work = WorkEnd::Returned(number);
            terms.push(Term { token: Token::new(number), end: TermEnd::Suspended, work });
        }
        assert_eq!((terms.count(), terms.iter().count()), (250, 100));
        assert_eq!(terms.iter().next().map(|term| term.token), Some(Token::new(150)));
        assert_eq!(terms.into_value(), Some(249));
    }
}
