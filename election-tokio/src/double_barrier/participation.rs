//! A participant, from entering to its end.

use std::sync::Arc;

use election_core::barrier::DoubleBarrierEnd;
use election_session::Site;
use zk_session::SessionEnd;

use super::error::{EnterError, LeaveError};
use super::face::{DoubleBarrierFace, ShownEntry};
use crate::barrier::{BarrierError, BarrierLost};
use crate::client::Client;
use crate::error::Place;
use crate::standing::{RecipeHandle, StandingRecipe};
use crate::telemetry::{Asked, OperationSpan};
use crate::updates::Updates;

/// A participant. Dropping it gives up, or leaves without waiting for the others, in the background.
#[derive(Debug)]
pub(super) struct Participation {
    recipe: StandingRecipe,
    site: Arc<Site>,
    shown: Updates<ShownEntry>,
}

/// The outcome of entering.
pub(super) enum Outcome {
    Inside,
    /// It was inside, and its entry is gone.
    Lost,
}

impl Participation {
    pub(super) fn begin(
        client: &Client,
        site: &Arc<Site>,
        participant: election_core::barrier::DoubleBarrier,
    ) -> Self {
        let (face, shown) = DoubleBarrierFace::new();
        let recipe = RecipeHandle::stand(client, Arc::clone(site), participant, face).into();
        Self { recipe, site: Arc::clone(site), shown: Updates::new(shown) }
    }

    /// Returns the span of an operation of its user.
    pub(super) fn span(&self, operation: &'static str) -> OperationSpan {
        let client = &self.recipe.client().shared().span;
        OperationSpan::open(Asked::Barrier, operation, self.site.path(), client)
    }

    /// Waits until it is inside, or over. Cancel safe.
    pub(super) async fn outcome(&mut self) -> Result<Outcome, EnterError> {
        let shown = self.shown.wait_for(|shown| !matches!(shown, ShownEntry::Entering)).await;
        let at = Place::new("double barrier", self.site.path(), "enter");
        Err(match shown {
            Ok(ShownEntry::Inside) => return Ok(Outcome::Inside),
            Ok(ShownEntry::Ended(DoubleBarrierEnd::UnderWay)) => EnterError::RoundUnderWay { at },
            Ok(ShownEntry::Ended(DoubleBarrierEnd::Failed(failure))) => {
                BarrierError::Failed { at, failure }.into()
            }
            Ok(ShownEntry::Ended(_) | ShownEntry::Entering) => return Ok(Outcome::Lost),
            Ok(ShownEntry::ClientEnded(end)) => BarrierError::ClientClosed { at, end }.into(),
            Err(_) => BarrierError::ClientClosed { at, end: SessionEnd::Abandoned }.into(),
        })
    }

    pub(super) fn is_inside(&self) -> bool {
        matches!(self.shown.latest(), ShownEntry::Inside)
    }

    /// Waits until it is not inside any more. Cancel safe.
    pub(super) async fn lost(&self) -> BarrierLost {
        let mut shown = self.shown.clone();
        let is_over =
            |shown: &ShownEntry| matches!(shown, ShownEntry::Ended(_) | ShownEntry::ClientEnded(_));
        match shown.wait_for(is_over).await {
            Ok(ShownEntry::Ended(DoubleBarrierEnd::Lost(cause))) => BarrierLost::of_cause(cause),
            Ok(ShownEntry::Ended(DoubleBarrierEnd::Failed(failure))) => {
                BarrierLost::Failed(failure)
            }
            Ok(ShownEntry::ClientEnded(end)) => BarrierLost::ClientClosed(end),
            Ok(_) | Err(_) => BarrierLost::ClientClosed(SessionEnd::Abandoned),
        }
    }

    /// Leaves, and waits until all others have left. A loss that it reports happened before.
    pub(super) async fn leave(mut self) -> Result<(), LeaveError> {
        let at = Place::new("double barrier", self.site.path(), "leave");
        if !self.is_inside() {
            return Err(LeaveError::AlreadyLost { at, lost: self.lost().await });
        }
        self.recipe.withdraw();
        let is_over =
            |shown: &ShownEntry| matches!(shown, ShownEntry::Ended(_) | ShownEntry::ClientEnded(_));
        match self.shown.wait_for(is_over).await {
            Ok(ShownEntry::Ended(DoubleBarrierEnd::Lost(cause))) => {
                Err(LeaveError::AlreadyLost { at, lost: BarrierLost::of_cause(cause) })
            }
            Ok(ShownEntry::Ended(DoubleBarrierEnd::Failed(failure))) => {
                Err(LeaveError::Failed { at, failure })
            }
            Ok(ShownEntry::Ended(_)) => Ok(()),
            Ok(ShownEntry::ClientEnded(end)) => Err(LeaveError::ClientClosed { at, end }),
            Ok(ShownEntry::Entering | ShownEntry::Inside) | Err(_) => {
                Err(LeaveError::ClientClosed { at, end: SessionEnd::Abandoned })
            }
        }
    }
}

impl Drop for Participation {
    fn drop(&mut self) {
        self.recipe.with(|hub, now, key| {
            hub.host.withdraw(now, key);
            // A participant that leaves no longer waits for the others.
            hub.host.set_deadline(key, Some(now));
        });
    }
}
