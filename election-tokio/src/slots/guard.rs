//! A slot that is held.

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use std::sync::Arc;

use election_core::election::Departure;
use election_session::slots::{GuardEnd, SlotName};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::held::Tenure;
use crate::lock::{GuardLost, LockGuard, LockLost, ReleaseError};
use crate::telemetry::work_metrics::SlotMeter;

/// The state of a slot in the eyes of its member, while the user has its guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotOrder {
    Keep,
    /// The slot is another member's; its lock is released at this moment.
    GiveUp(Instant),
    /// The work had until then to end, and has not: the lock is released.
    Overdue(Instant),
}

impl SlotOrder {
    const fn give_up_by(self) -> Option<Instant> {
        match self {
            Self::Keep => None,
            Self::GiveUp(by) | Self::Overdue(by) => Some(by),
        }
    }

    /// The state once the deadline has passed.
    pub(super) const fn overdue(self) -> Self {
        match self {
            Self::Keep => Self::Keep,
            Self::GiveUp(by) | Self::Overdue(by) => Self::Overdue(by),
        }
    }
}

/// A slot, held by its lock for as long as that is valid. It dereferences to the [`LockGuard`], with
/// its token, its transactions and its lease.
///
/// Dropping it gives the slot up. While the plan gives the slot to this member, the member then asks
/// for it again: at once if the lock was lost, after a second if it was not.
#[must_use = "a guard that is dropped gives the slot up"]
pub struct SlotGuard {
    slot: SlotName,
    lock: LockGuard,
    told: watch::Receiver<SlotOrder>,
    /// Behind the lock, so that it is dropped after it.
    dropped: Dropped,
}

impl fmt::Debug for SlotGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotGuard")
            .field("slot", &format_args!("{}", self.slot))
            .field("lock", &self.lock)
            .finish_non_exhaustive()
    }
}

/// Tells the member of the guard's end, behind the release of its lock.
struct Dropped {
    slot: SlotName,
    tenure: Arc<Tenure<LockLost>>,
    told: watch::Receiver<SlotOrder>,
    meter: SlotMeter,
    ends: mpsc::UnboundedSender<(SlotName, GuardEnd)>,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        let lost = self.tenure.lost();
        let end = match lost {
            None | Some(LockLost::Released) => GuardEnd::Released,
            Some(_) => GuardEnd::Lost,
        };
        let given_up = match *self.told.borrow() {
            SlotOrder::Keep => "unasked",
            SlotOrder::GiveUp(_) => "asked",
            SlotOrder::Overdue(_) => "overdue",
        };
        self.meter.ended(lost, given_up);
        // The member may be gone.
        let _ = self.ends.send((self.slot.clone(), end));
    }
}

impl SlotGuard {
    pub(super) fn new(
        slot: SlotName,
        lock: LockGuard,
        told: watch::Receiver<SlotOrder>,
        ends: mpsc::UnboundedSender<(SlotName, GuardEnd)>,
    ) -> Self {
        let (tenure, meter) = (lock.tenure(), SlotMeter::gained());
        let dropped = Dropped { slot: slot.clone(), tenure, told: told.clone(), meter, ends };
        Self { slot, lock, told, dropped }
    }

    /// Returns the slot's name.
    pub const fn slot(&self) -> &SlotName {
        &self.slot
    }

    /// Waits until the slot is to be given up, and returns by when: end the work, and drop the guard
    /// or [release](SlotGuard::release) it. At that moment the lock is released, whatever the work
    /// does.
    ///
    /// It never returns if the lock is lost first: see [`LockGuard::lost`].
    ///
    /// Cancel safe.
    pub async fn give_up_requested(&self) -> Instant {
        let mut told = self.told.clone();
        let is_asked = told.wait_for(|told| told.give_up_by().is_some()).await;
        match is_asked.map(|told| told.give_up_by()) {
            Ok(Some(by)) => by,
            // The member is gone, and tells nothing any more.
            Ok(None) | Err(_) => core::future::pending().await,
        }
    }

    /// Returns by when the slot is to be given up, if it is.
    pub fn give_up_by(&self) -> Option<Instant> {
        self.told.borrow().give_up_by()
    }

    /// Runs `work` while the slot is held. When the lock is lost, it drops `work`, at an await
    /// point.
    ///
    /// # Errors
    ///
    /// [`GuardLost`], if `work` was dropped.
    pub async fn guard<F: Future>(&self, work: F) -> Result<F::Output, GuardLost> {
        self.lock.guard(work).await
    }

    /// Gives the slot up, and waits until its lock's znode is gone.
    ///
    /// Cancel safe: it is given up with the call.
    ///
    /// # Errors
    ///
    /// Those of [`LockGuard::release`].
    pub async fn release(self) -> Result<Departure, ReleaseError> {
        let Self { lock, dropped, .. } = self;
        let _told_behind_the_release = dropped;
        lock.release().await
    }
}

impl Deref for SlotGuard {
    type Target = LockGuard;

    fn deref(&self) -> &LockGuard {
        &self.lock
    }
}
