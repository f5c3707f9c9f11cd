//! A participant inside a double barrier.

use core::fmt;
use election_core::NomineeId;

use super::error::LeaveError;
use super::participation::Participation;
use crate::barrier::BarrierLost;
use crate::telemetry::recipe_metrics::BarrierMeter;

/// A participant that is inside a double barrier.
///
/// Dropping it leaves in the background, without waiting for the others.
#[must_use = "a participant that is dropped leaves"]
pub struct Entered {
    participation: Participation,
    entry: String,
}

impl fmt::Debug for Entered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entered")
            .field("entry", &self.entry)
            .field("is_inside", &self.is_inside())
            .finish_non_exhaustive()
    }
}

impl Entered {
    pub(super) fn new(participation: Participation, id: NomineeId) -> Self {
        Self { participation, entry: id.to_string() }
    }

    /// Returns the name of the participant's znode.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Returns whether it is inside, as far as is known here: its session or its entry has not been
    /// reported gone. While the connection is lost, the others may have left without it.
    pub fn is_inside(&self) -> bool {
        self.participation.is_inside()
    }

    /// Waits until it is not inside any more, although it has not left, and returns why.
    ///
    /// Cancel safe: dropping the future changes nothing.
    pub async fn lost(&self) -> BarrierLost {
        self.participation.lost().await
    }

    /// Leaves, and waits until all others of the round have left, too, or are gone.
    ///
    /// Cancel safe: it leaves with the first poll. If the future is dropped, it does not wait for
    /// the others.
    ///
    /// # Errors
    ///
    /// [`LeaveError`]: it is not known whether all have left.
    pub async fn leave(self) -> Result<(), LeaveError> {
        let Self { participation, .. } = self;
        let meter = BarrierMeter::start("leave");
        let mut span = participation.span("leave");
        let left = span.within(participation.leave()).await;
        let failed = left.as_ref().err().map(|error| match error {
            LeaveError::AlreadyLost { .. } => "lost",
            LeaveError::ClientClosed { .. } | LeaveError::Failed { .. } => "failed",
        });
        span.finished(failed.unwrap_or("done"));
        meter.finished(failed);
        left
    }
}
