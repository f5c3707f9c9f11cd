//! Counters: a number that clients share.
//!
//! Begin with [`Client::counter`]. Costs and limits: [counter](https://github.com/zk-election/zk-election/blob/main/docs/counter.md).

use core::fmt;
use std::sync::Arc;

use election_core::counter::{CounterChange, CounterEnd, CounterOp};
use zk_session::SessionEnd;

pub use election_core::counter::{CounterFailure, CounterFormat};

use crate::acl::{AclError, Acls};
use crate::client::Client;
use crate::error::{Place, Refusable};
use crate::path::PathError;
use crate::spot::{Spot, misplaced};
use crate::telemetry::{Asked, recipe_metrics};

/// A number at a path that clients read and change; made by [`Client::counter`].
///
/// Each change is written with the version that it has read, so none overwrites another. If its
/// znode does not exist, or has no data, the counter is at zero, and its first change creates the
/// znode.
#[derive(Clone)]
#[must_use = "a counter does nothing until it is asked for something"]
pub struct Counter {
    spot: Spot,
    format: CounterFormat,
}

/// The outcome of [`Counter::compare_and_set`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CompareAndSet {
    /// The counter was at the expected number, and is at the new one now.
    Set,
    /// The counter is at this number, and was not changed.
    Differs(i64),
}

/// Why a counter was not read or changed, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CounterError {
    /// The path of the counter is invalid.
    #[error("invalid path of a counter {path:?}: {error}")]
    InvalidPath {
        /// The path.
        path: String,
        /// The fault in the path.
        error: PathError,
    },
    /// No server would accept the access list.
    #[error("{at}: invalid access list: {error}")]
    InvalidAcl {
        /// The recipe, its path and the step.
        at: Place,
        /// The fault in the list.
        error: AclError,
    },
    /// The counter was changed to this number, or not: the reply was lost, and another client has
    /// written since.
    #[error("{at}: it was changed to {after}, or not: the reply was lost; read it")]
    Unknown {
        /// The recipe, its path and the step.
        at: Place,
        /// The number that it was to have.
        after: i64,
    },
    /// It was not changed.
    #[error("{at}: {}", Refusable(*failure))]
    Failed {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        failure: CounterFailure,
    },
    /// The client ended. A change may have been made, or not.
    #[error("{at}: {end}")]
    ClientClosed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
}

misplaced!(CounterError);

impl CounterError {
    /// Returns whether the counter may have been changed, although this failed.
    pub const fn may_have_happened(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::ClientClosed { .. })
    }
}

impl Client {
    /// Returns the counter at a path, in decimal digits, as kazoo's `Counter`: see
    /// [`Counter::format`].
    pub fn counter(&self, path: &str) -> Counter {
        let spot = Spot::new(self.clone(), "counter", path);
        Counter { spot, format: CounterFormat::Decimal }
    }
}

impl Counter {
    /// Reads the number, as one server knows it; it may be out of date. Without a connection this
    /// waits for one.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`CounterError::Failed`] if the data is not a number, among others.
    pub async fn get(&self) -> Result<i64, CounterError> {
        self.run(CounterOp::Get).await
    }

    /// Adds a number, which may be negative, and returns the sum. If other clients are faster it
    /// begins again: each time, one of them has made its change.
    ///
    /// Cancel safe: the change may still be made, once.
    ///
    /// # Errors
    ///
    /// [`CounterError::may_have_happened`] says whether the change may have been made; it is not
    /// made twice.
    pub async fn add(&self, number: i64) -> Result<i64, CounterError> {
        self.run(CounterOp::Add(number)).await
    }

    /// Replaces the number by another one, if it is the expected one.
    ///
    /// Cancel safe, as [`Counter::add`].
    ///
    /// # Errors
    ///
    /// Those of [`Counter::add`].
    pub async fn compare_and_set(
        &self,
        expected: i64,
        new: i64,
    ) -> Result<CompareAndSet, CounterError> {
        match self.end_of(CounterOp::CompareAndSet { expected, new }).await? {
            CounterEnd::Differs { actual } => Ok(CompareAndSet::Differs(actual)),
            end => {
                let op = CounterOp::CompareAndSet { expected, new };
                self.outcome(op, end).map(|_| CompareAndSet::Set)
            }
        }
    }

    async fn run(&self, op: CounterOp) -> Result<i64, CounterError> {
        self.outcome(op, self.end_of(op).await?)
    }

    async fn end_of(&self, op: CounterOp) -> Result<CounterEnd, CounterError> {
        let operation = step(op);
        let mut span = self.spot.span(Asked::Counter, operation);
        let end = span.within(self.carry_out(op)).await;
        let outcome = match &end {
            Ok(CounterEnd::Value(_)) if op == CounterOp::Get => "read",
            Ok(CounterEnd::Changed { .. } | CounterEnd::Value(_)) => "changed",
            Ok(CounterEnd::Differs { .. }) => "differs",
            Ok(CounterEnd::Unknown { .. }) | Err(CounterError::ClientClosed { .. }) => "unknown",
            Ok(CounterEnd::Failed(_) | CounterEnd::Withdrawn) | Err(_) => "failed",
        };
        span.finished(outcome);
        if op != CounterOp::Get {
            recipe_metrics::counter_changed(outcome);
        }
        end
    }

    fn outcome(&self, op: CounterOp, end: CounterEnd) -> Result<i64, CounterError> {
        let at = || self.spot.place(step(op));
        match end {
            // A change that was not made leaves the number as it is.
            CounterEnd::Value(number)
            | CounterEnd::Changed { after: number, .. }
            | CounterEnd::Differs { actual: number } => Ok(number),
            CounterEnd::Unknown { after } => Err(CounterError::Unknown { at: at(), after }),
            CounterEnd::Failed(failure) => Err(CounterError::Failed { at: at(), failure }),
            // Only a dropped change is withdrawn.
            CounterEnd::Withdrawn => {
                Err(CounterError::ClientClosed { at: at(), end: SessionEnd::Abandoned })
            }
        }
    }

    async fn carry_out(&self, op: CounterOp) -> Result<CounterEnd, CounterError> {
        let site = Arc::clone(self.spot.site(step(op))?);
        let mut standing = self.spot.client.stand_at(site, CounterChange::new(self.format, op));
        let ended = |end| CounterError::ClientClosed { at: self.spot.place(step(op)), end };
        standing.notice().await.map_err(ended)
    }
}

/// Settings.
impl Counter {
    /// Sets how the number is written (default: [`CounterFormat::Decimal`]).
    pub fn format(mut self, format: CounterFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the access list of the counter's znode, and of its ancestors if they have to be created
    /// (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }
}

const fn step(op: CounterOp) -> &'static str {
    match op {
        CounterOp::Get => "get",
        CounterOp::Add(_) => "add",
        CounterOp::CompareAndSet { .. } => "compare_and_set",
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spot: Spot { path, .. }, format } = self;
        f.debug_struct("Counter")
            .field("path", path)
            .field("format", format)
            .finish_non_exhaustive()
    }
}
