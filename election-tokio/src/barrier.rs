//! Barriers: set, waited for, and lifted; double barriers, which participants enter and leave together.
//!
//! Begin with [`Client::barrier`] or [`Client::double_barrier`]. Costs and limits:
//! [barrier](https://github.com/zk-election/zk-election/blob/main/docs/barrier.md), [double barrier](https://github.com/zk-election/zk-election/blob/main/docs/double-barrier.md).

pub(crate) mod error;

use core::fmt;
use std::sync::Arc;

use election_core::barrier::{BarrierEnd, BarrierGaveUp, BarrierState, BarrierTask};
use zk_session::SessionEnd;

pub use election_core::barrier::{BarrierFailure, WhenUnderWay};

pub use crate::double_barrier::{DoubleBarrier, EnterError, Entered, LeaveError};
pub use error::{BarrierError, BarrierLost};

use crate::acl::Acls;
use crate::client::Client;
use crate::spot::Spot;
use crate::telemetry::Asked;
use crate::telemetry::recipe_metrics::BarrierMeter;

/// A barrier at a path; made by [`Client::barrier`]. It is set while the znode at the path exists,
/// as with Curator's `DistributedBarrier` and kazoo's `Barrier`.
///
/// All four operations go on over lost connections and expired sessions. Dropping them leaves
/// nothing behind, not even a watch on the server.
#[derive(Clone)]
#[must_use = "a barrier does nothing until it is asked for something"]
pub struct Barrier {
    spot: Spot,
}

impl Client {
    /// Returns a barrier, at which clients wait while it is set.
    pub fn barrier(&self, path: &str) -> Barrier {
        Barrier { spot: Spot::new(self.clone(), "barrier", path) }
    }
}

impl Barrier {
    /// Sets the barrier. It leaves a barrier that is set as it is.
    ///
    /// If the reply is lost, it sends the request again. If another client has lifted the barrier
    /// in between, this sets it once more.
    ///
    /// Cancel safe: the barrier is set or not.
    ///
    /// # Errors
    ///
    /// [`BarrierError`]: trying again does not repair it.
    pub async fn set(&self) -> Result<(), BarrierError> {
        self.run(BarrierTask::Set).await.map(drop)
    }

    /// Lifts the barrier: all waiters go on. It leaves a barrier that is not set as it is.
    ///
    /// It lifts one barrier at most: if the reply is lost, it leaves a barrier that was set since.
    ///
    /// Cancel safe: the barrier is lifted or not.
    ///
    /// # Errors
    ///
    /// [`BarrierError`]: trying again does not repair it.
    pub async fn lift(&self) -> Result<(), BarrierError> {
        self.run(BarrierTask::Lift).await.map(drop)
    }

    /// Waits until the barrier is not set.
    ///
    /// It returns only if the barrier was not set at some moment after the call, even if the
    /// client's server is behind. It is sure to return if the barrier is lifted after the waiter
    /// has seen it, even if it is set again at once. The barrier may be set again when this
    /// returns.
    ///
    /// Cancel safe: it leaves no watch behind.
    ///
    /// # Errors
    ///
    /// [`BarrierError`]: waiting does not repair it.
    pub async fn wait(&self) -> Result<(), BarrierError> {
        self.run(BarrierTask::Wait).await.map(drop)
    }

    /// Returns whether the barrier was set at some moment between the call and the reply. A quorum
    /// of servers agrees on the answer.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`BarrierError`]: trying again does not repair it.
    pub async fn is_set(&self) -> Result<bool, BarrierError> {
        self.run(BarrierTask::Ask).await.map(|end| end == BarrierEnd::Is(BarrierState::Set))
    }

    async fn run(&self, task: BarrierTask) -> Result<BarrierEnd, BarrierError> {
        let operation = step(task);
        let meter = BarrierMeter::start(operation);
        let mut span = self.spot.span(Asked::Barrier, operation);
        let outcome = span.within(self.carry_out(task)).await;
        let failed = outcome.is_err().then_some("failed");
        span.finished(failed.unwrap_or("done"));
        meter.finished(failed);
        outcome
    }

    async fn carry_out(&self, task: BarrierTask) -> Result<BarrierEnd, BarrierError> {
        let Spot { client, .. } = &self.spot;
        let at = || self.spot.place(step(task));
        let site = Arc::clone(self.spot.site(step(task))?);
        let mut standing = client.stand_at(site, election_core::barrier::Barrier::new(task));
        match standing.notice().await {
            Ok(BarrierEnd::Failed(failure)) => Err(BarrierError::Failed { at: at(), failure }),
            // Only a dropped operation is withdrawn, and none has a deadline.
            Ok(BarrierEnd::GaveUp(BarrierGaveUp::Withdrawn | BarrierGaveUp::TimedOut)) => {
                Err(BarrierError::ClientClosed { at: at(), end: SessionEnd::Abandoned })
            }
            Ok(end) => Ok(end),
            Err(end) => Err(BarrierError::ClientClosed { at: at(), end }),
        }
    }
}

const fn step(task: BarrierTask) -> &'static str {
    match task {
        BarrierTask::Set => "set",
        BarrierTask::Lift => "lift",
        BarrierTask::Wait => "wait",
        BarrierTask::Ask => "ask",
    }
}

/// Settings.
impl Barrier {
    /// Sets the access list of the barrier's node, and of its ancestors if they have to be created
    /// (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.spot.set_acls(acls);
        self
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("path", &self.spot.path).finish_non_exhaustive()
    }
}
