//! What the client tells about itself: spans, events and metrics. `README.md` lists them all; the
//! targets and names here are part of the interface.
//!
//! No field holds the data of a znode, a credential or a session password, and no label of a metric
//! has more values than this crate has words for, but for the label that tells elections apart.

mod connection;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_election_metrics.rs")]
mod election_metrics;
mod figure;
mod journal;
mod lock;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_metrics.rs")]
pub(crate) mod metrics;
mod operation;
mod outage;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_recipe_metrics.rs")]
pub(crate) mod recipe_metrics;
mod repeats;
mod request;
mod seen;

pub(crate) use connection::{ConnectionObserver, client_span};
pub(crate) use election_metrics::{ElectionLabel, nomination_began};
pub(crate) use figure::{ElectionFigure, Figure};
pub(crate) use journal::{ElectionEntry, Entry, InElection, Journal};
pub(crate) use lock::{LockEntry, OnLock};
pub(crate) use operation::{Asked, OperationSpan};
pub(crate) use outage::{FailedAttempt, FailureKind, Outage};
pub(crate) use repeats::RepeatLimit;
pub(crate) use request::{CallKey, Outcome, RequestSpan, RequestSpans};
pub(crate) use seen::{AfterSuspension, SeenBy};

/// The target of what concerns connections and sessions.
pub(crate) const CONNECTION: &str = "election_tokio::connection";
/// The target of what concerns nominations and leaderships.
pub(crate) const ELECTION: &str = "election_tokio::election";
/// What keeps an election from having a leader, and takes a human to remove.
pub(crate) const BLOCKED: &str = "election_tokio::election::blocked";
/// The target of what concerns locks.
const LOCK: &str = "election_tokio::lock";
/// What keeps a lock from being held, and takes a human to remove.
const LOCK_BLOCKED: &str = "election_tokio::lock::blocked";
/// The target of what callers ask of barriers and double barriers.
const BARRIER: &str = "election_tokio::barrier";
/// The target of what callers ask of counters.
const COUNTER: &str = "election_tokio::counter";
/// The target of what callers ask of queues.
const QUEUE: &str = "election_tokio::queue";
/// The target of what concerns single requests.
const REQUEST: &str = "election_tokio::request";
