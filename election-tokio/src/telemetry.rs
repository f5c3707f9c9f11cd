//! Telemetry: spans, events and metrics. `docs/telemetry.md` lists them all; the targets and names here are
//! part of the interface.
//!
//! No field holds the data of a znode, a credential or a session password. The labels of metrics
//! have a fixed set of values, except the label that distinguishes elections.

mod connection;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_election_metrics.rs")]
mod election_metrics;
mod figure;
mod journal;
mod lock;
#[cfg(feature = "metrics")]
mod loss;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_metrics.rs")]
pub(crate) mod metrics;
mod operation;
mod outage;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_recipe_metrics.rs")]
pub(crate) mod recipe_metrics;
mod repeats;
mod request;
mod seen;
#[cfg_attr(not(feature = "metrics"), path = "telemetry/no_work_metrics.rs")]
pub(crate) mod work_metrics;

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

/// The target of events about connections and sessions.
pub(crate) const CONNECTION: &str = "election_tokio::connection";
/// The target of events about nominations and leaderships.
pub(crate) const ELECTION: &str = "election_tokio::election";
/// The target of events about what keeps an election from having a leader, and only a human
/// removes.
pub(crate) const BLOCKED: &str = "election_tokio::election::blocked";
/// The target of events about locks.
const LOCK: &str = "election_tokio::lock";
/// The target of events about what keeps a lock from being held, and only a human removes.
const LOCK_BLOCKED: &str = "election_tokio::lock::blocked";
/// The target of events about memberships of groups.
const GROUP: &str = "election_tokio::group";
/// The target of operations on barriers and double barriers.
const BARRIER: &str = "election_tokio::barrier";
/// The target of operations on counters.
const COUNTER: &str = "election_tokio::counter";
/// The target of operations on queues.
const QUEUE: &str = "election_tokio::queue";
/// The target of single requests.
const REQUEST: &str = "election_tokio::request";
