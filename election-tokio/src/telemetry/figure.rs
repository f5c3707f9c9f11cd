//! Measurements of an election, beside its leaderships.

use core::time::Duration;

use super::election_metrics::{self, ElectionLabel};
use super::seen::{AfterSuspension, SeenBy};

/// A measurement of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElectionFigure {
    pub(crate) label: ElectionLabel,
    pub(crate) what: Figure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// No leader is known from here on.
    LeaderlessBegan(SeenBy),
    /// A leader is known again, after this time. Without a time, the observation ended, and is not
    /// measured.
    LeaderlessEnded(SeenBy, Option<Duration>),
    /// The nominee waits behind a znode that only a human can remove.
    BlockedBegan,
    /// The nominee no longer waits behind such a znode.
    BlockedEnded,
    /// The time from the report of the predecessor's end to the election of the nominee.
    TookOver(Duration),
    /// A leader was suspended for this time.
    SuspensionEnded(Duration, AfterSuspension),
    /// The reply to the create of a candidate was lost.
    AmbiguousCreate,
    /// The nominee deletes a left-over candidate of its own.
    GhostRemoved,
}

impl ElectionFigure {
    pub(super) fn tell(self) {
        let Self { label, what } = self;
        match what {
            Figure::LeaderlessBegan(by) => election_metrics::leaderless_began(label, by),
            Figure::LeaderlessEnded(by, lasted) => {
                election_metrics::leaderless_ended(label, by, lasted);
            }
            Figure::BlockedBegan => election_metrics::blocked_began(label),
            Figure::BlockedEnded => election_metrics::blocked_ended(label),
            Figure::TookOver(after) => election_metrics::took_over(label, after),
            Figure::SuspensionEnded(lasted, then) => {
                election_metrics::suspension_ended(label, lasted, then);
            }
            Figure::AmbiguousCreate => election_metrics::ambiguous_create(label),
            Figure::GhostRemoved => election_metrics::ghost_removed(label),
        }
    }
}
