//! Barriers: set, waited for, and lifted; double barriers, which participants enter and leave together.
//!
//! Begin with [`Client::barrier`] or [`Client::double_barrier`]. Costs and limits:
//! [barrier](https://github.com/zk-election/zk-election/blob/main/docs/barrier.md), [double barrier](https://github.com/zk-election/zk-election/blob/main/docs/double-barrier.md).

pub(crate) mod error;
mod face;

use core::fmt;
use std::sync::Arc;

use bytes::Bytes;
use election_core::barrier::{BarrierEnd, BarrierGaveUp, BarrierState, BarrierTask};
use election_core::election::{ElectionNode, NodeKind};
use election_session::{AclList, RecipeKey};
use zk_session::SessionEnd;

pub use election_core::barrier::{BarrierFailure, WhenUnderWay};

pub use crate::double_barrier::{DoubleBarrier, EnterError, Entered, LeaveError};
pub(crate) use error::checked_path;
pub use error::{BarrierError, BarrierLost};

use self::face::{BarrierFace, ShownBarrier};
use crate::acl::Acls;
use crate::client::Client;
use crate::error::Place;
use crate::hub::Seat;
use crate::site::site;
use crate::telemetry::recipe_metrics::BarrierMeter;
use crate::telemetry::{Asked, OperationSpan};
use crate::updates::Updates;

/// A barrier at a path; made by [`Client::barrier`]. It is set while the znode at the path exists,
/// as with Curator's `DistributedBarrier` and kazoo's `Barrier`.
///
/// All four operations go on over lost connections and expired sessions. Dropping them leaves
/// nothing behind, not even a watch on the server.
#[derive(Clone)]
#[must_use = "a barrier does nothing until it is asked for something"]
pub struct Barrier {
    client: Client,
    path: String,
    acls: Acls,
}

impl Client {
    /// Returns a barrier, at which clients wait while it is set.
    pub fn barrier(&self, path: &str) -> Barrier {
        Barrier { client: self.clone(), path: path.to_owned(), acls: Acls::open() }
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
        let client = &self.client.shared().span;
        let mut span = OperationSpan::open(Asked::Barrier, operation, &self.path, client);
        let outcome = span.within(self.carry_out(task)).await;
        let failed = outcome.is_err().then_some("failed");
        span.finished(failed.unwrap_or("done"));
        meter.finished(failed);
        outcome
    }

    async fn carry_out(&self, task: BarrierTask) -> Result<BarrierEnd, BarrierError> {
        let at = || Place::new("barrier", &self.path, step(task));
        let path = checked_path(&self.path)?;
        let acls = self.acls.checked();
        let acl =
            AclList::new(&acls.map_err(|error| BarrierError::InvalidAcl { at: at(), error })?);
        let node = ElectionNode::Create(NodeKind::Persistent);
        let site = site(&self.client, &path, Bytes::new(), acl, node);
        let (face, shown) = BarrierFace::new();
        let seat = <dyn Seat>::new(election_core::barrier::Barrier::new(task), face);
        let key = self.client.shared().with(|hub, now| hub.stand(now, seat, Arc::clone(&site)));
        let mut running = Running { client: &self.client, key, shown: Updates::new(shown) };
        match running.ended().await {
            ShownBarrier::Ended(BarrierEnd::Failed(failure)) => {
                Err(BarrierError::Failed { at: at(), failure })
            }
            ShownBarrier::Ended(BarrierEnd::GaveUp(
                BarrierGaveUp::Withdrawn | BarrierGaveUp::TimedOut,
            ))
            | ShownBarrier::Running => {
                Err(BarrierError::ClientClosed { at: at(), end: SessionEnd::Abandoned })
            }
            ShownBarrier::Ended(end) => Ok(end),
            ShownBarrier::ClientEnded(end) => Err(BarrierError::ClientClosed { at: at(), end }),
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
        self.acls = acls;
        self
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("path", &self.path).finish_non_exhaustive()
    }
}

/// An operation on a barrier. Dropping it gives it up.
struct Running<'c> {
    client: &'c Client,
    key: RecipeKey,
    shown: Updates<ShownBarrier>,
}

impl Running<'_> {
    async fn ended(&mut self) -> ShownBarrier {
        let ended = self.shown.wait_for(|shown| !matches!(shown, ShownBarrier::Running)).await;
        ended.unwrap_or(ShownBarrier::ClientEnded(SessionEnd::Abandoned))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.client.shared().with(|hub, now| hub.host.withdraw(now, self.key));
    }
}
