//! The metrics of elections, and the label that distinguishes elections.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use election_session::LostReason;
use metrics::{Label, Unit, counter, gauge, histogram};

use super::seen::{AfterSuspension, SeenBy};

const ELECTED: &str = "zk_election_elected_total";
const LOST: &str = "zk_election_lost_total";
const LEADING: &str = "zk_election_leading";
const LEADERSHIP_DURATION: &str = "zk_election_leadership_duration_seconds";
const BLOCKED: &str = "zk_election_blocked";
const LEADERLESS: &str = "zk_election_leaderless";
const LEADERLESS_DURATION: &str = "zk_election_leaderless_duration_seconds";
const TAKE_OVER_DURATION: &str = "zk_election_take_over_duration_seconds";
const SUSPENDED_DURATION: &str = "zk_election_suspended_duration_seconds";
const AMBIGUOUS_CREATES: &str = "zk_election_ambiguous_creates_total";
const GHOSTS: &str = "zk_election_ghosts_removed_total";

pub(super) fn describe() {
    let counters = [
        (ELECTED, "Leaderships that began"),
        (LOST, "Leaderships that ended"),
        (AMBIGUOUS_CREATES, "Creates of candidates whose reply was lost"),
        (GHOSTS, "Own candidates that were left over, and deleted"),
    ];
    for (name, description) in counters {
        metrics::describe_counter!(name, Unit::Count, description);
    }
    metrics::describe_gauge!(LEADING, Unit::Count, "Leaderships that are held");
    metrics::describe_gauge!(
        BLOCKED,
        Unit::Count,
        "Nominees that wait behind a znode which takes a human to remove"
    );
    metrics::describe_gauge!(
        LEADERLESS,
        Unit::Count,
        "Nominees and observers that know of no leader at present"
    );
    let histograms = [
        (LEADERSHIP_DURATION, "How long leaderships lasted"),
        (LEADERLESS_DURATION, "How long nominees and observers knew of no leader"),
        (TAKE_OVER_DURATION, "From the event of the predecessor's deletion until elected"),
        (SUSPENDED_DURATION, "How long leaders were suspended"),
    ];
    for (name, description) in histograms {
        metrics::describe_histogram!(name, Unit::Seconds, description);
    }
}

/// The value of the label `election`, if the user sets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElectionLabel(Option<&'static str>);

/// The most values of the label in one process, besides [`OTHER`].
const MOST_LABELS: usize = 64;
/// The longest value, in bytes.
const LONGEST_LABEL: usize = 64;
/// The value for further elections, and for longer values.
const OTHER: &str = "other";

/// The values so far. They are few, and live as long as the process.
static LABELS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl ElectionLabel {
    pub(crate) const NONE: Self = Self(None);

    /// Makes the label with this value, if it is one of the first that the process uses.
    pub(crate) fn new(value: &str) -> Self {
        if value.is_empty() || value.len() > LONGEST_LABEL {
            return Self(Some(OTHER));
        }
        let mut labels = LABELS.lock().unwrap_or_else(PoisonError::into_inner);
        Self(Some(interned(&mut labels, value)))
    }

    fn with(self, others: &[(&'static str, &'static str)]) -> Vec<Label> {
        let election = self.0.map(|value| ("election", value));
        let all = election.into_iter().chain(others.iter().copied());
        all.map(|(key, value)| Label::from_static_parts(key, value)).collect()
    }
}

fn interned(labels: &mut BTreeSet<&'static str>, value: &str) -> &'static str {
    match labels.get(value) {
        Some(known) => known,
        None if labels.len() >= MOST_LABELS => OTHER,
        None => {
            let kept: &'static str = Box::leak(Box::from(value));
            labels.insert(kept);
            kept
        }
    }
}

/// Notes that a nomination begins. Its counters begin at 0, because a query for the increase misses a
/// counter that is first seen at 1. The caller must hold no lock.
pub(crate) fn nomination_began(label: ElectionLabel) {
    counter!(ELECTED, label.with(&[])).increment(0);
    for reason in LOST_REASONS {
        counter!(LOST, label.with(&[("reason", reason)])).increment(0);
    }
    for name in [LEADING, BLOCKED] {
        gauge!(name, label.with(&[])).increment(0);
    }
}

pub(crate) fn tenure_began(label: ElectionLabel) {
    counter!(ELECTED, label.with(&[])).increment(1);
    gauge!(LEADING, label.with(&[])).increment(1);
}

pub(crate) fn tenure_ended(label: ElectionLabel, reason: LostReason, lasted: Duration) {
    let reason = reason_name(reason);
    counter!(LOST, label.with(&[("reason", reason)])).increment(1);
    gauge!(LEADING, label.with(&[])).decrement(1);
    histogram!(LEADERSHIP_DURATION, label.with(&[])).record(lasted);
}

/// The names that [`reason_name`] can return.
const LOST_REASONS: [&str; 9] = [
    "resigned",
    "session_expired",
    "lease_lapsed",
    "evicted",
    "stepped_down",
    "election_ended",
    "suspended",
    "failed",
    "client_closed",
];

const fn reason_name(reason: LostReason) -> &'static str {
    match reason {
        LostReason::Resigned => "resigned",
        LostReason::SessionExpired => "session_expired",
        LostReason::LeaseLapsed => "lease_lapsed",
        LostReason::Evicted => "evicted",
        LostReason::SteppedDown => "stepped_down",
        LostReason::ElectionEnded => "election_ended",
        LostReason::Suspended => "suspended",
        LostReason::Failed(_) => "failed",
        LostReason::ClientClosed(_) => "client_closed",
        _ => "unknown",
    }
}

pub(crate) fn blocked_began(label: ElectionLabel) {
    gauge!(BLOCKED, label.with(&[])).increment(1);
}

pub(crate) fn blocked_ended(label: ElectionLabel) {
    gauge!(BLOCKED, label.with(&[])).decrement(1);
}

pub(crate) fn leaderless_began(label: ElectionLabel, by: SeenBy) {
    gauge!(LEADERLESS, seen(label, by)).increment(1);
}

pub(crate) fn leaderless_ended(label: ElectionLabel, by: SeenBy, lasted: Option<Duration>) {
    gauge!(LEADERLESS, seen(label, by)).decrement(1);
    if let Some(lasted) = lasted {
        histogram!(LEADERLESS_DURATION, seen(label, by)).record(lasted);
    }
}

pub(crate) fn took_over(label: ElectionLabel, after: Duration) {
    histogram!(TAKE_OVER_DURATION, label.with(&[])).record(after);
}

pub(crate) fn suspension_ended(label: ElectionLabel, lasted: Duration, then: AfterSuspension) {
    let outcome = match then {
        AfterSuspension::Resumed => "resumed",
        AfterSuspension::Lost => "lost",
    };
    histogram!(SUSPENDED_DURATION, label.with(&[("outcome", outcome)])).record(lasted);
}

pub(crate) fn ambiguous_create(label: ElectionLabel) {
    counter!(AMBIGUOUS_CREATES, label.with(&[])).increment(1);
}

pub(crate) fn ghost_removed(label: ElectionLabel) {
    counter!(GHOSTS, label.with(&[])).increment(1);
}

fn seen(label: ElectionLabel, by: SeenBy) -> Vec<Label> {
    let by = match by {
        SeenBy::Nominee => "nominee",
        SeenBy::Observer => "observer",
    };
    label.with(&[("seen_by", by)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_the_label_are_few() {
        let mut labels = BTreeSet::new();
        for number in 0..MOST_LABELS {
            let value = format!("election-{number}");
            assert_eq!(interned(&mut labels, &value), value);
        }
        assert_eq!(interned(&mut labels, "one-more"), OTHER);
        assert_eq!(interned(&mut labels, "election-7"), "election-7");
        assert_eq!(labels.len(), MOST_LABELS);
        for unfit in [String::new(), "x".repeat(LONGEST_LABEL + 1)] {
            assert_eq!(ElectionLabel::new(&unfit), ElectionLabel(Some(OTHER)));
        }
    }
}
