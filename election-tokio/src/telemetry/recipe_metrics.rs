//! The metrics of barriers, queues and counters. All are recorded in the caller's task, without a
//! lock.

use core::time::Duration;

use metrics::{Unit, counter, histogram};
use tokio::time::Instant;

const BARRIERS: &str = "zk_barrier_operations_total";
const BARRIER_WAITS: &str = "zk_barrier_wait_duration_seconds";
const PUTS: &str = "zk_queue_puts_total";
const TAKES: &str = "zk_queue_takes_total";
const TAKE_WAITS: &str = "zk_queue_wait_duration_seconds";
const CLAIMS_ENDED: &str = "zk_queue_claims_ended_total";
const CLAIM_DURATION: &str = "zk_queue_claim_duration_seconds";
const COUNTER_CHANGES: &str = "zk_counter_changes_total";

pub(super) fn describe() {
    let counters = [
        (BARRIERS, "What was asked of barriers and double barriers"),
        (PUTS, "Items that were put, or not"),
        (TAKES, "Takes and claims that have come to an end"),
        (CLAIMS_ENDED, "Claims that have ended"),
        (COUNTER_CHANGES, "Changes of counters that have come to an end"),
    ];
    for (name, description) in counters {
        metrics::describe_counter!(name, Unit::Count, description);
    }
    let histograms = [
        (BARRIER_WAITS, "From asking at a barrier until it was done"),
        (TAKE_WAITS, "From asking for an item until it was got"),
        (CLAIM_DURATION, "How long claims lasted"),
    ];
    for (name, description) in histograms {
        metrics::describe_histogram!(name, Unit::Seconds, description);
    }
}

/// Counts the outcome of an operation on a barrier, even if the future is dropped.
#[derive(Debug)]
pub(crate) struct BarrierMeter {
    kind: &'static str,
    /// `None` once the outcome was counted.
    started: Option<Instant>,
}

impl BarrierMeter {
    pub(crate) fn start(kind: &'static str) -> Self {
        Self { kind, started: Some(Instant::now()) }
    }

    /// Records the end, with the name of the failure if it failed.
    pub(crate) fn finished(mut self, failed: Option<&'static str>) {
        let waited = self.started.take().map(|started| started.elapsed());
        let outcome = failed.unwrap_or("done");
        counter!(BARRIERS, "kind" => self.kind, "outcome" => outcome).increment(1);
        if let (None, Some(waited)) = (failed, waited) {
            histogram!(BARRIER_WAITS, "kind" => self.kind).record(waited);
        }
    }
}

impl Drop for BarrierMeter {
    fn drop(&mut self) {
        if self.started.is_some() {
            counter!(BARRIERS, "kind" => self.kind, "outcome" => "given_up").increment(1);
        }
    }
}

pub(crate) fn items_put(count: usize, outcome: &'static str) {
    counter!(PUTS, "outcome" => outcome).increment(u64::try_from(count).unwrap_or(u64::MAX));
}

/// Measures from the call that asks for an item.
#[derive(Debug)]
pub(crate) struct TakeMeter {
    kind: &'static str,
    started: Instant,
}

impl TakeMeter {
    pub(crate) fn start(kind: &'static str) -> Self {
        Self { kind, started: Instant::now() }
    }

    pub(crate) fn got(&self) {
        self.ended("got");
        histogram!(TAKE_WAITS, "kind" => self.kind).record(self.started.elapsed());
    }

    pub(crate) fn ended(&self, outcome: &'static str) {
        counter!(TAKES, "kind" => self.kind, "outcome" => outcome).increment(1);
    }
}

/// Measures from the moment at which an item was claimed.
#[derive(Debug)]
pub(crate) struct ClaimMeter {
    began: Instant,
}

impl ClaimMeter {
    pub(crate) fn start() -> Self {
        Self { began: Instant::now() }
    }

    pub(crate) fn ended(&self, outcome: &'static str) {
        let lasted: Duration = self.began.elapsed();
        counter!(CLAIMS_ENDED, "outcome" => outcome).increment(1);
        histogram!(CLAIM_DURATION).record(lasted);
    }
}

pub(crate) fn counter_changed(outcome: &'static str) {
    counter!(COUNTER_CHANGES, "outcome" => outcome).increment(1);
}
