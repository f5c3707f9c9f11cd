//! The metrics, by the facade `metrics`: the program chooses the recorder.

use core::time::Duration;

use election_core::lock::GaveUp;
use metrics::{Unit, counter, gauge, histogram};
use tokio::time::Instant;
use zk_jute::records::EventType;
use zk_jute::{Frames, OpCode};

use super::loss::loss_name;
use super::{Outcome, election_metrics, recipe_metrics, work_metrics};
use crate::error::lost::LockLost;

const REQUESTS: &str = "zk_client_requests_total";
const REQUEST_DURATION: &str = "zk_client_request_duration_seconds";
const BYTES_SENT: &str = "zk_client_sent_bytes_total";
const BYTES_RECEIVED: &str = "zk_client_received_bytes_total";
const WATCH_EVENTS: &str = "zk_client_watch_events_total";
const CONNECTIONS: &str = "zk_client_connections";
const CONNECT_FAILURES: &str = "zk_client_connect_failures_total";
const CONNECTION_LOSSES: &str = "zk_client_connection_losses_total";
const RECONNECTS: &str = "zk_client_reconnects_total";
const SESSIONS: &str = "zk_client_sessions_total";
const WITHOUT_LEASE: &str = "zk_client_connections_without_lease_total";
const ROLLBACKS: &str = "zk_client_ensemble_rollbacks_total";
const EXPIRED_SESSIONS: &str = "zk_client_expired_sessions_total";
const SUSPENDED_DURATION: &str = "zk_client_suspended_duration_seconds";
const LEASE_REMAINING: &str = "zk_client_lease_remaining_seconds";
const RECIPE_REQUESTS: &str = "zk_recipe_requests_total";
const ACQUIRED: &str = "zk_lock_acquired_total";
const GIVEN_UP: &str = "zk_lock_given_up_total";
const LOCK_LOST: &str = "zk_lock_lost_total";
const HELD: &str = "zk_lock_held";
const WAIT_DURATION: &str = "zk_lock_wait_duration_seconds";
const HELD_DURATION: &str = "zk_lock_held_duration_seconds";

/// Describes each metric of this crate, with its unit, to the recorder of this process. Call it
/// once, after the recorder is installed, for recorders that show descriptions.
///
/// With the feature `metrics`.
pub fn describe_metrics() {
    let counters = [
        (REQUESTS, Unit::Count, "Requests of callers that have come to an end"),
        (BYTES_SENT, Unit::Bytes, "Bytes handed to transports: whole frames"),
        (BYTES_RECEIVED, Unit::Bytes, "Bytes taken from transports: whole frames"),
        (WATCH_EVENTS, Unit::Count, "Changes that watches of callers have seen"),
        (CONNECT_FAILURES, Unit::Count, "Attempts to connect that failed"),
        (CONNECTION_LOSSES, Unit::Count, "Connections that ended, the session in doubt"),
        (RECONNECTS, Unit::Count, "Connections that went on with the session before"),
        (SESSIONS, Unit::Count, "Sessions that servers granted"),
        (WITHOUT_LEASE, Unit::Count, "Connections to servers that are not Apache ZooKeeper"),
        (EXPIRED_SESSIONS, Unit::Count, "Sessions that expired"),
        (ROLLBACKS, Unit::Count, "Losses of transactions by the ensemble that a write showed"),
        (RECIPE_REQUESTS, Unit::Count, "Requests of recipes that have come to an end"),
        (ACQUIRED, Unit::Count, "Locks and permits that were got"),
        (GIVEN_UP, Unit::Count, "Locks and permits that were not got"),
        (LOCK_LOST, Unit::Count, "Locks and permits that are held no longer"),
    ];
    election_metrics::describe();
    recipe_metrics::describe();
    work_metrics::describe();
    for (name, unit, description) in counters {
        metrics::describe_counter!(name, unit, description);
    }
    metrics::describe_gauge!(CONNECTIONS, Unit::Count, "Clients whose connection is in a state");
    metrics::describe_gauge!(HELD, Unit::Count, "Locks and permits that are held");
    metrics::describe_histogram!(
        REQUEST_DURATION,
        Unit::Seconds,
        "From the making of a request to its answer, the wait for room included"
    );
    metrics::describe_histogram!(
        SUSPENDED_DURATION,
        Unit::Seconds,
        "How long clients were without a connection, their session in doubt"
    );
    metrics::describe_histogram!(
        LEASE_REMAINING,
        Unit::Seconds,
        "What was left of leases when a timer went off"
    );
    metrics::describe_histogram!(
        WAIT_DURATION,
        Unit::Seconds,
        "From asking for a lock or a permit until it was got"
    );
    metrics::describe_histogram!(
        HELD_DURATION,
        Unit::Seconds,
        "How long locks and permits were held"
    );
}

/// Counts a caller's request, and measures its time.
#[derive(Debug)]
pub(crate) struct RequestMeter {
    operation: OpCode,
    started: Instant,
}

impl RequestMeter {
    pub(crate) fn start(operation: OpCode) -> Self {
        Self { operation, started: Instant::now() }
    }

    pub(crate) fn finished(&self, outcome: Outcome) {
        let operation = name(self.operation);
        counter!(REQUESTS, "operation" => operation, "outcome" => outcome_name(outcome))
            .increment(1);
        if let Outcome::Answered | Outcome::Refused = outcome {
            histogram!(REQUEST_DURATION, "operation" => operation).record(self.started.elapsed());
        }
    }
}

/// Notes that a client begins, with its connection in this state. The counters of connections and sessions begin at
/// 0: a monitor that asks for the increase sees none in a counter that is first seen at 1.
pub(crate) fn client_begun(state: &'static str) {
    for name in [
        CONNECT_FAILURES,
        CONNECTION_LOSSES,
        RECONNECTS,
        SESSIONS,
        WITHOUT_LEASE,
        EXPIRED_SESSIONS,
        ROLLBACKS,
    ] {
        counter!(name).increment(0);
    }
    state_begun(state);
}

fn state_begun(state: &'static str) {
    gauge!(CONNECTIONS, "state" => state).increment(1);
}

/// Records that a client's connection has changed its state.
pub(crate) fn state_entered(left: &'static str, entered: &'static str) {
    state_ended(left);
    state_begun(entered);
}

/// Records that a client is gone, with its connection in this state.
pub(crate) fn state_ended(state: &'static str) {
    gauge!(CONNECTIONS, "state" => state).decrement(1);
}

pub(crate) fn lock_acquired(kind: &'static str, waited: Duration) {
    counter!(ACQUIRED, "kind" => kind).increment(1);
    gauge!(HELD, "kind" => kind).increment(1);
    histogram!(WAIT_DURATION, "kind" => kind).record(waited);
}

pub(crate) fn lock_given_up(kind: &'static str, reason: GaveUp) {
    let reason = match reason {
        GaveUp::Withdrawn => "withdrawn",
        GaveUp::Busy => "busy",
        GaveUp::TimedOut => "timed_out",
    };
    counter!(GIVEN_UP, "kind" => kind, "reason" => reason).increment(1);
}

pub(crate) fn lock_lost(kind: &'static str, reason: LockLost, lasted: Duration) {
    counter!(LOCK_LOST, "kind" => kind, "reason" => loss_name(reason)).increment(1);
    gauge!(HELD, "kind" => kind).decrement(1);
    histogram!(HELD_DURATION, "kind" => kind).record(lasted);
}

pub(crate) fn recipe_request(step: &'static str, outcome: Outcome) {
    let outcome = outcome_name(outcome);
    counter!(RECIPE_REQUESTS, "step" => step, "outcome" => outcome).increment(1);
}

pub(crate) fn sent(bytes: usize) {
    counter!(BYTES_SENT).increment(widened(bytes));
}

/// Records these payloads, with the length before each.
pub(crate) fn received(frames: &[Frames]) {
    let bytes = frames.iter().map(|frames| widened(frames.sent_len())).sum();
    counter!(BYTES_RECEIVED).increment(bytes);
}

pub(crate) fn watch_event(kind: EventType) {
    counter!(WATCH_EVENTS, "kind" => kind.name().unwrap_or(UNKNOWN)).increment(1);
}

pub(crate) fn connect_failed() {
    counter!(CONNECT_FAILURES).increment(1);
}

pub(crate) fn connection_lost() {
    counter!(CONNECTION_LOSSES).increment(1);
}

pub(crate) fn session_resumed() {
    counter!(RECONNECTS).increment(1);
}

/// Records that a connection was lost for this time, with this outcome for the session.
pub(crate) fn suspension_ended(outcome: &'static str, lasted: Duration) {
    histogram!(SUSPENDED_DURATION, "outcome" => outcome).record(lasted);
}

/// Records that a timer of the session has fired.
pub(crate) fn lease_remaining(remaining: Duration) {
    histogram!(LEASE_REMAINING).record(remaining);
}

pub(crate) fn session_granted() {
    counter!(SESSIONS).increment(1);
}

/// Counts a connection to a server on which no lease holds.
pub(crate) fn connected_without_lease() {
    counter!(WITHOUT_LEASE).increment(1);
}

pub(crate) fn session_expired() {
    counter!(EXPIRED_SESSIONS).increment(1);
}

pub(crate) fn rolled_back() {
    counter!(ROLLBACKS).increment(1);
}

const UNKNOWN: &str = "unknown";

fn name(operation: OpCode) -> &'static str {
    operation.name().unwrap_or(UNKNOWN)
}

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::Refused => "refused",
        Outcome::ConnectionLoss => "connection_loss",
        Outcome::NotSent => "not_sent",
        Outcome::GivenUp => "given_up",
    }
}

fn widened(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
