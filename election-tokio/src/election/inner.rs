//! The parts that the handles of one nomination have in common, and the end of a nomination.

use election_core::NomineeId;
use election_core::election::{Departure, Nominee};
use election_session::RecipeKey;
use std::sync::Arc;
use zk_session::SessionEnd;

use super::facts::Facts;
use super::status::{EndReason, LostReason, Role, Status};
use crate::client::Client;
use crate::held::Tenure;
use crate::updates::Updates;

/// The parts that a nomination's handle and its leaderships have in common.
#[derive(Clone, Debug)]
pub(super) struct NominationInner {
    pub(super) client: Client,
    pub(super) key: RecipeKey,
    pub(super) id: NomineeId,
    pub(super) facts: Arc<Facts>,
}

impl NominationInner {
    pub(super) fn withdraw(&self) {
        self.client.shared().with(|hub, now| hub.host.withdraw(now, self.key));
    }

    /// Ends the nomination, with work that may go on after it.
    pub(super) fn end_uncleanly(&self) {
        self.client.shared().with(|hub, _| {
            if let Some(nominee) = hub.recipe_mut::<Nominee>(self.key) {
                nominee.end_uncleanly();
            }
        });
    }

    /// Keeps the lock delay, if this tenure is the present one.
    pub(super) fn keep_lock_delay(&self, tenure: &Arc<Tenure<LostReason>>) {
        self.client.shared().with(|hub, _| {
            if self.is_present(tenure)
                && let Some(nominee) = hub.recipe_mut::<Nominee>(self.key)
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
        self.client.shared().with(|hub, now| {
            if self.is_present(tenure) {
                hub.host.reach_deadline(now, self.key);
            }
        });
    }
}

/// The nomination has ended for this client, but its candidate znode may still exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WithdrawError {
    /// The client ended before a server confirmed the deletion.
    #[error("{0}; the candidate znode lives on until its session ends")]
    Unconfirmed(SessionEnd),
    /// The nomination had ended for another reason.
    #[error("the nomination had ended: {0}")]
    AlreadyEnded(EndReason),
}

/// Waits for the end of a nomination that its holder withdraws.
pub(super) async fn ended(status: &mut Updates<Status>) -> Result<Departure, WithdrawError> {
    let ended = status.wait_for(|status| matches!(status.role, Role::Ended(_))).await;
    match ended {
        Ok(Status { role: Role::Ended(reason), .. }) => match reason {
            EndReason::Resigned(departure) | EndReason::Withdrawn(departure) => Ok(departure),
            EndReason::ClientClosed(SessionEnd::Closed | SessionEnd::Expired(_)) => {
                Ok(Departure::WithSession)
            }
            EndReason::ClientClosed(end) => Err(WithdrawError::Unconfirmed(end)),
            reason => Err(WithdrawError::AlreadyEnded(reason)),
        },
        _ => Err(WithdrawError::Unconfirmed(SessionEnd::Abandoned)),
    }
}
