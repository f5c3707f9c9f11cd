//! The metrics of slots, several locks, jobs that run once, and caches. All are recorded in the task that causes
//! them, without a lock.

use election_session::cache::CacheCounts;
use metrics::{Unit, counter, gauge, histogram};
use tokio::time::Instant;

use super::loss::loss_name;
use crate::error::lost::LockLost;

const SLOTS_HELD: &str = "zk_slot_held";
const SLOTS_GAINED: &str = "zk_slot_gained_total";
const SLOTS_GIVEN_UP: &str = "zk_slot_given_up_total";
const SLOTS_LOST: &str = "zk_slot_lost_total";
const SLOTS_HELD_DURATION: &str = "zk_slot_held_duration_seconds";
const LOCKS_ASKED: &str = "zk_several_locks_asked_total";
const LOCKS_HELD: &str = "zk_several_locks_held";
const LOCKS_LOST: &str = "zk_several_locks_lost_total";
const LOCKS_ANEW: &str = "zk_several_locks_begun_anew_total";
const LOCKS_WAIT: &str = "zk_several_locks_wait_duration_seconds";
const ONCE_ASKED: &str = "zk_once_asked_total";
const ONCE_RUNS: &str = "zk_once_runs_total";
const ONCE_RUN_DURATION: &str = "zk_once_run_duration_seconds";
const CACHE_ZNODES: &str = "zk_cache_znodes";
const CACHE_CHANGES: &str = "zk_cache_changes_total";
const CACHE_FILLS: &str = "zk_cache_fills_total";
const CACHE_FILL_DURATION: &str = "zk_cache_fill_duration_seconds";
const CACHE_GAPS: &str = "zk_cache_gaps_total";

// The counters below begin at 0, because a query for the increase misses a counter that is first seen at 1.
const GIVEN_UP_REASONS: [&str; 3] = ["asked", "overdue", "unasked"];
const LOST_REASONS: [&str; 5] =
    ["session_expired", "lease_lapsed", "broken", "failed", "client_closed"];
const RUN_OUTCOMES: [&str; 4] = ["succeeded", "failed", "interrupted", "unrecorded"];
const GAP_KINDS: [&str; 2] = ["missed", "lost"];

fn begin_at_zero(name: &'static str, label: &'static str, values: &[&'static str]) {
    for value in values {
        counter!(name, label => *value).increment(0);
    }
}

pub(super) fn describe() {
    let counters = [
        (SLOTS_GAINED, "Slots that members of this process have gained"),
        (SLOTS_GIVEN_UP, "Slots that were given up, their locks held until then"),
        (SLOTS_LOST, "Slots whose locks were lost"),
        (LOCKS_ASKED, "What was asked of several locks at once"),
        (LOCKS_LOST, "Several locks that are held together no longer"),
        (LOCKS_ANEW, "Waits for several locks that began anew, one of those held being lost"),
        (ONCE_ASKED, "What was asked of jobs that run once in a period"),
        (ONCE_RUNS, "Runs of such jobs that have ended"),
        (CACHE_CHANGES, "Znodes that came into cached trees, changed there, or left"),
        (CACHE_FILLS, "Cached trees that became the server's, at first or after a gap"),
        (CACHE_GAPS, "Times in which caches may have missed changes"),
    ];
    for (name, description) in counters {
        metrics::describe_counter!(name, Unit::Count, description);
    }
    metrics::describe_gauge!(SLOTS_HELD, Unit::Count, "Slots that are held");
    metrics::describe_gauge!(LOCKS_HELD, Unit::Count, "Several locks that are held together");
    metrics::describe_gauge!(CACHE_ZNODES, Unit::Count, "Znodes in cached trees");
    let histograms = [
        (SLOTS_HELD_DURATION, "How long slots were held"),
        (LOCKS_WAIT, "From asking for several locks until all were held"),
        (ONCE_RUN_DURATION, "How long runs of jobs lasted"),
        (
            CACHE_FILL_DURATION,
            "From the beginning of a cache, or a gap, until its tree was the server's",
        ),
    ];
    for (name, description) in histograms {
        metrics::describe_histogram!(name, Unit::Seconds, description);
    }
}

/// Measures a slot from its gain to its guard's end.
#[derive(Debug)]
pub(crate) struct SlotMeter {
    gained: Instant,
}

impl SlotMeter {
    pub(crate) fn gained() -> Self {
        begin_at_zero(SLOTS_GIVEN_UP, "reason", &GIVEN_UP_REASONS);
        begin_at_zero(SLOTS_LOST, "reason", &LOST_REASONS);
        counter!(SLOTS_GAINED).increment(1);
        gauge!(SLOTS_HELD).increment(1);
        Self { gained: Instant::now() }
    }

    /// Records the end, with the reason for which it was given up unless its lock was lost.
    pub(crate) fn ended(&self, lost: Option<LockLost>, given_up: &'static str) {
        gauge!(SLOTS_HELD).decrement(1);
        histogram!(SLOTS_HELD_DURATION).record(self.gained.elapsed());
        match lost {
            None | Some(LockLost::Released) => {
                counter!(SLOTS_GIVEN_UP, "reason" => given_up).increment(1);
            }
            Some(lost) => counter!(SLOTS_LOST, "reason" => loss_name(lost)).increment(1),
        }
    }
}

/// Measures a wait for several locks, even if its future is dropped.
#[derive(Debug)]
pub(crate) struct LocksMeter {
    /// `None` once the outcome was counted.
    asked: Option<Instant>,
}

impl LocksMeter {
    pub(crate) fn start() -> Self {
        counter!(LOCKS_ANEW).increment(0);
        Self { asked: Some(Instant::now()) }
    }

    pub(crate) fn began_anew() {
        counter!(LOCKS_ANEW).increment(1);
    }

    pub(crate) fn held(mut self) -> LocksHeldMeter {
        if let Some(asked) = self.asked.take() {
            histogram!(LOCKS_WAIT).record(asked.elapsed());
        }
        counter!(LOCKS_ASKED, "outcome" => "held").increment(1);
        gauge!(LOCKS_HELD).increment(1);
        LocksHeldMeter
    }

    pub(crate) fn not_held(mut self, outcome: &'static str) {
        self.asked = None;
        counter!(LOCKS_ASKED, "outcome" => outcome).increment(1);
    }
}

impl Drop for LocksMeter {
    fn drop(&mut self) {
        if self.asked.is_some() {
            counter!(LOCKS_ASKED, "outcome" => "given_up").increment(1);
        }
    }
}

/// Counts several locks as held.
#[derive(Debug)]
pub(crate) struct LocksHeldMeter;

impl LocksHeldMeter {
    #[expect(clippy::unused_self, reason = "its end, exactly once")]
    pub(crate) fn ended(self, lost: LockLost) {
        gauge!(LOCKS_HELD).decrement(1);
        counter!(LOCKS_LOST, "reason" => loss_name(lost)).increment(1);
    }
}

/// Counts what came of asking whether a job is due, even if the future is dropped.
#[derive(Debug)]
pub(crate) struct OnceMeter {
    outcome: &'static str,
}

impl OnceMeter {
    pub(crate) fn start() -> Self {
        begin_at_zero(ONCE_RUNS, "outcome", &RUN_OUTCOMES);
        Self { outcome: "given_up" }
    }

    pub(crate) fn finished(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for OnceMeter {
    fn drop(&mut self) {
        counter!(ONCE_ASKED, "outcome" => self.outcome).increment(1);
    }
}

/// Measures a run, which was interrupted unless another end is noted.
#[derive(Debug)]
pub(crate) struct RunMeter {
    began: Instant,
    outcome: &'static str,
}

impl RunMeter {
    pub(crate) fn start() -> Self {
        Self { began: Instant::now(), outcome: "interrupted" }
    }

    pub(crate) fn finished(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for RunMeter {
    fn drop(&mut self) {
        counter!(ONCE_RUNS, "outcome" => self.outcome).increment(1);
        histogram!(ONCE_RUN_DURATION).record(self.began.elapsed());
    }
}

/// Measures a cache, until it is dropped.
#[derive(Debug)]
pub(crate) struct CacheMeter {
    counts: CacheCounts,
    /// When the cache began to fill, unless its tree has become the server's since.
    filling: Option<Instant>,
}

impl CacheMeter {
    pub(crate) fn start() -> Self {
        begin_at_zero(CACHE_GAPS, "kind", &GAP_KINDS);
        Self { counts: CacheCounts::default(), filling: Some(Instant::now()) }
    }

    /// Records a gap, by what made it.
    pub(crate) fn gap(&mut self, kind: &'static str) {
        counter!(CACHE_GAPS, "kind" => kind).increment(1);
        self.filling.get_or_insert_with(Instant::now);
    }

    /// Records what has changed, and whether the tree is the server's.
    pub(crate) fn look(&mut self, counts: CacheCounts, is_current: bool) {
        let before = core::mem::replace(&mut self.counts, counts);
        let changes = [
            ("created", counts.created - before.created),
            ("changed", counts.changed - before.changed),
            ("deleted", counts.deleted - before.deleted),
        ];
        for (kind, count) in changes.into_iter().filter(|(_, count)| *count > 0) {
            counter!(CACHE_CHANGES, "kind" => kind).increment(count);
        }
        if counts != before {
            gauge!(CACHE_ZNODES).increment(znodes(counts) - znodes(before));
        }
        if let Some(began) = self.filling.take_if(|_| is_current) {
            counter!(CACHE_FILLS).increment(1);
            histogram!(CACHE_FILL_DURATION).record(began.elapsed());
        }
    }
}

impl Drop for CacheMeter {
    fn drop(&mut self) {
        gauge!(CACHE_ZNODES).decrement(znodes(self.counts));
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52 znodes")]
const fn znodes(counts: CacheCounts) -> f64 {
    counts.created.saturating_sub(counts.deleted) as f64
}
