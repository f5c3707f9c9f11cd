//! Claims to items.

use core::fmt;
use core::future::poll_fn;

use election_core::queue::TakerEnd;

use super::error::{ClaimError, ClaimLost};
use super::item::QueueItem;
use super::slot::Said;
use super::taking::Taking;
use crate::telemetry::recipe_metrics::ClaimMeter;

/// A claimed item. It stays in the queue, and other takers pass it over, until it is done or given
/// back.
///
/// Dropping it gives the item back, in its place, in the background. So does the end of the
/// session, if the process dies or is cut off for longer than the session timeout. Then another
/// taker may have the item while this one is still at work: an item is done at least once.
#[must_use = "an item that is claimed and dropped is given back"]
pub struct Claimed {
    item: QueueItem,
    taking: Taking,
    meter: ClaimMeter,
    /// Its end, once it was reported.
    ended: Option<Ended>,
}

impl fmt::Debug for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claimed")
            .field("item", &format_args!("{}", self.item.name))
            .finish_non_exhaustive()
    }
}

impl Claimed {
    pub(super) fn new(item: QueueItem, taking: Taking) -> Self {
        Self { item, taking, meter: ClaimMeter::start(), ended: None }
    }

    /// Returns the item.
    pub const fn item(&self) -> &QueueItem {
        &self.item
    }

    /// Deletes the item and the claim, in one transaction. If the reply is lost, it finds out what
    /// happened.
    ///
    /// Cancel safe: once polled it goes on in the background; before, the item is given back.
    ///
    /// # Errors
    ///
    /// [`ClaimError`] if it is not known that only this claim has done the item.
    pub async fn done(mut self) -> Result<(), ClaimError> {
        self.taking.finish();
        let lost = match self.end().await {
            Ended::Finished => return Ok(()),
            Ended::Lost(lost) => lost,
            Ended::GivenBack => ClaimLost::Lost,
        };
        Err(ClaimError { at: self.taking.place("done"), lost })
    }

    /// Gives the item back, in its place, and waits until other takers can have it.
    ///
    /// Cancel safe: it goes on in the background.
    ///
    /// # Errors
    ///
    /// [`ClaimError`] if it was lost before, or the client ended.
    pub async fn give_back(mut self) -> Result<(), ClaimError> {
        self.taking.withdraw();
        let lost = match self.end().await {
            Ended::GivenBack => return Ok(()),
            Ended::Lost(lost) => lost,
            Ended::Finished => ClaimLost::Lost,
        };
        Err(ClaimError { at: self.taking.place("give back"), lost })
    }

    /// Waits until the claim is lost with its session, and reports it. It does not report a claim
    /// that an operator has deleted: [`Claimed::done`] does.
    ///
    /// Cancel safe.
    pub async fn lost(&mut self) -> ClaimLost {
        match self.end().await {
            Ended::Lost(lost) => lost,
            Ended::Finished | Ended::GivenBack => ClaimLost::Lost,
        }
    }

    async fn end(&mut self) -> Ended {
        loop {
            if let Some(ended) = self.ended {
                return ended;
            }
            self.ended = match poll_fn(|cx| self.taking.poll(cx)).await {
                Said::Claimed(_) => None,
                Said::Ended(TakerEnd::Finished) => Some(Ended::Finished),
                Said::Ended(TakerEnd::FinishedOnce) => Some(Ended::Lost(ClaimLost::Unknown)),
                Said::Ended(TakerEnd::GivenBack) => Some(Ended::GivenBack),
                Said::Ended(TakerEnd::Failed(failure)) => {
                    Some(Ended::Lost(ClaimLost::Failed(failure)))
                }
                Said::Ended(_) => Some(Ended::Lost(ClaimLost::Lost)),
                Said::ClientEnded { end, .. } => Some(Ended::Lost(ClaimLost::ClientClosed(end))),
            };
            if let Some(ended) = self.ended {
                self.meter.ended(ended.name());
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Finished,
    GivenBack,
    Lost(ClaimLost),
}

impl Ended {
    /// Returns the name for metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Finished => "done",
            Self::GivenBack => "given_back",
            Self::Lost(ClaimLost::Lost) => "lost",
            Self::Lost(ClaimLost::Unknown) => "unknown",
            Self::Lost(ClaimLost::Failed(_)) => "failed",
            Self::Lost(ClaimLost::ClientClosed(_)) => "client_closed",
        }
    }
}

impl Drop for Claimed {
    /// Does not wait for the work in the background.
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.meter.ended("dropped");
        }
    }
}
