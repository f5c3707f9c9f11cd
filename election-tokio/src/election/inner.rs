//! The parts that the handles of one nomination have in common, and the end of a nomination.

use election_core::NomineeId;
use election_core::election::{Departure, Nominee};
use std::sync::Arc;
use zk_session::SessionEnd;

use super::facts::Facts;
use super::status::{EndReason, LostReason, Role, Status};
use crate::error::Place;
use crate::held::Tenure;
use crate::standing::RecipeHandle;
use crate::updates::Updates;

/// The parts that a nomination's handle and its leaderships have in common.
#[derive(Clone, Debug)]
pub(super) struct NominationInner {
    pub(super) recipe: RecipeHandle,
    pub(super) id: NomineeId,
    pub(super) facts: Arc<Facts>,
}

impl NominationInner {
    /// Returns the place of an error.
    pub(super) fn place(&self, step: &'static str) -> Place {
        Place::new("election", self.facts.settings.site.path(), step)
    }

    /// Makes the error of a step that the end of the nomination ends.
    pub(super) fn ended(&self, step: &'static str, reason: EndReason) -> NominationEnded {
        NominationEnded { at: self.place(step), reason }
    }

    /// Waits for the end of a nomination that its holder withdraws.
    pub(super) async fn withdrawn(
        &self,
        step: &'static str,
        mut status: Updates<Status>,
    ) -> Result<Departure, WithdrawError> {
        let at = || self.place(step);
        match status.wait_for(|status| matches!(status.role, Role::Ended(_))).await {
            Ok(Status { role: Role::Ended(reason), .. }) => match reason {
                EndReason::Resigned(departure) | EndReason::Withdrawn(departure) => Ok(departure),
                EndReason::ClientClosed(SessionEnd::Closed | SessionEnd::Expired(_)) => {
                    Ok(Departure::WithSession)
                }
                EndReason::ClientClosed(end) => Err(WithdrawError::Unconfirmed { at: at(), end }),
                reason => Err(WithdrawError::AlreadyEnded { at: at(), reason }),
            },
            _ => Err(WithdrawError::Unconfirmed { at: at(), end: SessionEnd::Abandoned }),
        }
    }

    /// Ends the nomination, with work that may go on after it.
    pub(super) fn end_uncleanly(&self) {
        self.recipe.with(|hub, _, key| {
            if let Some(nominee) = hub.recipe_mut::<Nominee>(key) {
                nominee.end_uncleanly();
            }
        });
    }

    /// Keeps the lock delay, if this tenure is the present one.
    pub(super) fn keep_lock_delay(&self, tenure: &Arc<Tenure<LostReason>>) {
        self.recipe.with(|hub, _, key| {
            if self.is_present(tenure)
                && let Some(nominee) = hub.recipe_mut::<Nominee>(key)
            {
                nominee.end_uncleanly();
            }
        });
    }

    fn is_present(&self, tenure: &Arc<Tenure<LostReason>>) -> bool {
        self.facts.tenure().is_some_and(|present| Arc::ptr_eq(&present, tenure))
    }

    /// Ends this tenure, if it is the present one, so that the nominee stands again behind the others.
    pub(super) fn step_down(&self, tenure: &Arc<Tenure<LostReason>>) {
        self.recipe.with(|hub, now, key| {
            if self.is_present(tenure) {
                hub.host.reach_deadline(now, key);
            }
        });
    }
}

/// The nomination has ended for this client, but its candidate znode may still exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WithdrawError {
    /// The client ended before a server confirmed the deletion.
    #[error("{at}: {end}; the candidate znode lives on until its session ends")]
    Unconfirmed {
        /// The recipe, its path and the step.
        at: Place,
        /// The end of its session.
        end: SessionEnd,
    },
    /// The nomination had ended for another reason.
    #[error("{at}: the nomination had ended: {reason}")]
    AlreadyEnded {
        /// The recipe, its path and the step.
        at: Place,
        /// The reason.
        reason: EndReason,
    },
}

/// A leadership was lost, which ended what rested on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {lost}")]
pub struct LeadershipLost {
    /// The recipe, its path and the step.
    pub at: Place,
    /// The reason.
    pub lost: LostReason,
}

/// A nomination has ended: it does not lead again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {reason}")]
pub struct NominationEnded {
    /// The recipe, its path and the step.
    pub at: Place,
    /// The reason.
    pub reason: EndReason,
}
